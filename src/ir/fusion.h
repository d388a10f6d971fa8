// Properties of fusions, which passes create and src/gpu compiles.
//
// The sequential computations are the entry, loop bodies, loop conditions, branches and called computations. After the
// pipeline they contain only fusions, parameter, constant, tuple, get-tuple-element, bitcast, copy, while, conditional,
// call, custom-call, and ops without an emitter. A fused computation that is not a region (ir/analysis/region.h)
// contains no fusion, no tuple except its root, and no constant with more than one element: such constants are
// operands.
//
//   kLoop    Each element of each root is computed independently. Several roots form a tuple and have equal dimensions,
//            except in segments. A fusion of one instruction with its own emitter (scatter, sort, dot...) is also
//            kLoop.
//   kInput   One or more reduces over operands of equal dimensions and with equal `dimensions`, independent of each
//            other. Each root is one of:
//              - a reduce, or an elementwise function (reshapes included) of reduces and other values *with as many
//                elements*, which is evaluated once for each result element after the reduction;
//              - a value with the dimensions of the reduces' operand, which is stored while the operand is read.
//            A fusion that was a region of rows (ir/analysis/region.h) may also reduce values that depend on other
//            reduces along the same rows. Instead of reduces there may be running folds (ir/analysis/running_fold.h)
//            along one dimension, over operands of equal dimensions, with roots of as many elements.
//   kCustom  A region (ir/analysis/region.h), or a library call: backend_config={"library":"gemm"} or
//   {"library":"convolution"}.
//            The computation of a call holds the dot or convolution and its epilogue (passes/libraries) as plain HLO.
//
// The plan determines the kernel (ir/fusion_plan.h). Predicates for fusions without a plan: passes/fusion/walk.h.
//
// A fusion instruction has the origin of its root. With several roots, each get-tuple-element has the origin of the
// root that it selects.
#ifndef HLO_IR_FUSION_H_
#define HLO_IR_FUSION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/instruction.h"

namespace hlo {

class Computation;
class Module;

inline bool IsFusion(const Instruction& inst) { return inst.Is(Opcode::kFusion); }
bool IsLibraryCall(const Instruction& inst);
bool IsKernel(const Instruction& inst);

const Computation& FusedComputation(const Instruction& fusion);
// The operands of a root tuple, or the root.
std::vector<const Instruction*> FusionRoots(const Instruction& fusion);

// Returns k if root `root` is a dynamic-update-slice of parameter k, nothing else in the fusion reads the parameter or
// the updated value, and operand k occurs once. The kernel then writes only the update, and the result may share the
// memory of operand k.
std::optional<int64_t> CanUpdateInPlace(const Instruction& fusion, int64_t root);

// The cost of one result element, in additions of f32 (ElementCost in ir/opcode.h).
double InstructionCost(const Instruction& inst);

// The backend_config, without quotes and escapes.
std::string ConfigText(const Instruction& inst);
// The value of `key` in the flat JSON of backend_config, without quotes.
std::optional<std::string> ConfigValue(const Instruction& inst, std::string_view key);
void SetConfigValue(Instruction& inst, std::string_view key, std::string_view value);
std::string LibraryOf(const Instruction& inst);

// The entry and the computations reached by while, conditional and call, callees first.
std::vector<Computation*> SequentialComputations(const Module& module);

struct KernelCounts {
  int64_t kernels = 0, libraries = 0, copies = 0, others = 0;  // `others` are computing instructions outside fusions.
};
// Counts instructions of sequential computations once.
KernelCounts CountKernels(const Module& module);

}  // namespace hlo

#endif  // HLO_IR_FUSION_H_
