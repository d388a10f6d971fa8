// What a fusion is, for those who make one (passes) and those who turn one into a kernel or a library call (gpu).
//
// After the pipeline every computing instruction of a computation that runs step by step (entry, loop bodies and
// conditions, branches) stands in a fusion; outside stand parameter, constant, tuple, get-tuple-element, bitcast, copy,
// while, conditional, call, custom-call, and what has no emitter. A fused computation holds no fusion, no tuple but its
// root, and no constant with more than one element: those are operands.
//
//   kLoop    Each element of each root by itself. Several roots form a tuple, of equal dimensions but for kernels side
//            by side. A fusion around one instruction with its own emitter (scatter, sort, dot...) is kLoop, too.
//   kInput   One or more reduces, all over operands of equal dimensions and with equal `dimensions`; nothing below a
//            reduce leads to another one. Roots, each one of:
//              - a reduce, or an elementwise function (reshapes included) of reduces and of other values *of as many
//                elements*, evaluated once for each result element after the reduction;
//              - a value of the reduces' operand dimensions, stored while the operand is walked (multi-output).
//            One made of a region of rows (ir/region.h) also holds reduces of what others gave, used along their rows.
//            Or running folds (ir/running_fold.h) along one dimension of equal operands, with roots of as many
//            elements, each evaluated at the fold's own.
//   kCustom  A library call: backend_config={"library":"gemm"} or {"library":"convolution"}; the computation holds the
//            dot or convolution with its epilogue as plain HLO (passes/libraries says which epilogues there are).
//
// Which kernel it becomes, its plan says (ir/fusion_plan.h). What strategies of fusion ask before there is one:
// passes/fusion/walk.h.
//
// The fusion instruction has the root's origin, and so has the get-tuple-element of each root of several.
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
bool IsLibraryCall(const Instruction& inst);  // A kCustom fusion with a library.
bool IsKernel(const Instruction& inst);       // A fusion of another kind.

const Computation& FusedComputation(const Instruction& fusion);
// The operands of the computation's tuple root, or its root.
std::vector<const Instruction*> FusionRoots(const Instruction& fusion);

// What passes may rely on before there is a plan: root number `root` of the fusion is a dynamic-update-slice whose
// operand is parameter k and nothing else in the fusion reads k but through this instruction. The planner (gpu/plan/
// in_place.h), who decides and may find more, will then write the update only, and the result may lie where operand k
// lies; a test holds it to that. Gives k.
std::optional<int64_t> CanUpdateInPlace(const Instruction& fusion, int64_t root);

// Rough cost of one element of the result, in adds; 0 for what only moves or names elements.
double InstructionCost(const Instruction& inst);

// backend_config, which may be written as an object or as a string that holds one, without that string's escapes.
std::string ConfigText(const Instruction& inst);
// backend_config as a flat JSON object. The value as written without its quotes; nullopt when there is no such key.
std::optional<std::string> ConfigValue(const Instruction& inst, std::string_view key);
void SetConfigValue(Instruction& inst, std::string_view key, std::string_view value);  // As a JSON string.
// "gemm", "convolution", or "" when this is no library call.
std::string LibraryOf(const Instruction& inst);

// The computations that run step by step: the entry, and what is reached from it through while, conditional and call.
// Callees first.
std::vector<Computation*> SequentialComputations(const Module& module);

struct KernelCounts {
  int64_t kernels = 0, libraries = 0, copies = 0, others = 0;  // `others`: computing instructions in no fusion.
};
// Of the sequential computations, each counted once.
KernelCounts CountKernels(const Module& module);

}  // namespace hlo

#endif  // HLO_IR_FUSION_H_
