// Emitters: a fusion, or a computing instruction by itself, becomes one or more kernels through the structured builder.
// Which emitter takes what:
//
//   loop       every element of the outputs by itself: elementwise, data movement, gathers, windows, small reductions
//   reduction  reduce roots over minor (row) or major (column) dimensions, with producers and elementwise epilogues
//   fused transpose  like loop, with the operands whose minor dimension moves staged through tiles of shared memory
//   gemm       dot and convolution with an epilogue: the fallback for library calls
//
// What no emitter takes is reported as unsupported, by the op's name, when it is planned; never approximated.
#ifndef HLO_GPU_EMITTERS_EMITTER_H_
#define HLO_GPU_EMITTERS_EMITTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/kernel.h"
#include "ir/instruction.h"
#include "ir/precision_plan.h"

namespace hlo::gpu {

inline constexpr std::string_view kKernelFaults[] = {"tail", "dropped_term", "max_ignores_nan", "rounded_twice",
                                                     "wrong_index"};

struct EmitterOptions {
  int multiprocessors = 132;  // What launch shapes are made for.
  // A planted fault, for tests of localisation: "tail" (the last element of a kernel's inner loop is left out),
  // "dropped_term" (a reduction or contraction misses its last term), "max_ignores_nan", "rounded_twice" (f32 becomes
  // bf16 by way of f16), "wrong_index" (the first operand is read one element off). Empty: none.
  std::string inject;
};

// A parameter of a kernel.
struct KernelBuffer {
  enum class Kind : uint8_t {
    kOperand,  // A leaf of an operand of the source instruction; read only.
    kOutput,   // A leaf of its result; every element is written, unless in_place_operand says otherwise.
    kScratch,  // Shared by the plans of one EmitFusion by `scratch`.
    kLiteral,  // A constant of the fusion that is too large for the code.
  };
  Kind kind;
  int64_t operand = 0;  // kOperand
  ShapeIndex index;     // kOperand, kOutput: which leaf.
  int64_t bytes = 0;
  int scratch = 0;      // kScratch
  bool zeroed = false;  // kScratch: must be zero when the first kernel starts; the kernels leave it zero.
  Literal literal;      // kLiteral: laid out row-major.
  // kOutput: only a part is written; the rest must hold the bytes of that operand leaf beforehand, by sharing its
  // buffer or by a copy. -1: none.
  int64_t in_place_operand = -1;
  ShapeIndex in_place_index;
};

// An operand leaf may share its buffer with an output leaf: each thread reads an element before it writes the one in
// the same place, and nobody else reads it. (Not listed for in-place updates, which want to share.)
struct SharablePair {
  int64_t operand = 0;
  ShapeIndex operand_index, output;
};

// One launch. The plans of a fusion run in order.
struct KernelPlan {
  std::shared_ptr<const kernel::Kernel> kernel;  // Blocks and threads are in it.
  std::string emitter;                           // "loop", "row reduction", ...; for reports.
  std::vector<KernelBuffer> buffers;             // In the order of the kernel's parameters.
  std::vector<SharablePair> sharable;
  PrecisionPlan precision;  // Of what this kernel computes, by the ids of the fused instructions.
  const Instruction* source = nullptr;
};

Result<std::vector<KernelPlan>> EmitFusion(const Instruction& inst, const EmitterOptions& options = {});

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_EMITTER_H_
