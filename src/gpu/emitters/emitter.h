// Emitters: a fusion, or a computing instruction by itself, becomes the kernels that its plan says (ir/fusion_plan.h),
// through the structured builder. What is chosen stands in the plan; an emitter works out what follows from it. What no
// emitter takes is reported as unsupported, by the op's name, when it is planned; never approximated.
#ifndef HLO_GPU_EMITTERS_EMITTER_H_
#define HLO_GPU_EMITTERS_EMITTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/kernel.h"
#include "gpu/plan/elemental.h"
#include "ir/fusion_plan.h"
#include "ir/instruction.h"
#include "ir/precision_plan.h"

namespace hlo::gpu {

// Loops in a kernel. Before the launch: after how many trips the outermost ones stop, whatever their conditions say,
// and how many trips are the most for any. Afterwards: how many the last of the outermost ones made, and 1 + the number
// of the loop (in EmittedKernel::loops) that would have gone on beyond the most; 0: none.
enum TripField : uint8_t { kStopAfter, kMostTrips, kTripsMade, kEndless, kTripFields };

// A parameter of a kernel.
struct KernelBuffer {
  enum class Kind : uint8_t {
    kOperand,  // A leaf of an operand of the source instruction; read only.
    kOutput,   // A leaf of its result; every element is written, unless in_place_operand says otherwise.
    kScratch,  // Shared by the kernels of one EmitFusion by `scratch`.
    kLiteral,  // A constant of the fusion that is too large for the code.
    kTrips,    // kTripFields numbers of 64 bits, of the loops in the kernel.
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

// One launch. The kernels of a fusion run in order.
struct EmittedKernel {
  std::shared_ptr<const kernel::Kernel> kernel;  // Blocks and threads are in it.
  std::string emitter;                           // "loop", "row reduction", ...; for reports.
  std::vector<KernelBuffer> buffers;             // In the order of the kernel's parameters.
  std::vector<SharablePair> sharable;
  PrecisionPlan precision;                // Of what this kernel computes, by the ids of the fused instructions.
  std::vector<const Instruction*> loops;  // In it; the first is an outermost one.
  const Instruction* source = nullptr;
};

// What an emitter is asked for: one kernel of a plan.
struct EmitRequest {
  const FusionBody& body;
  const KernelPlan& plan;
  std::string suffix;  // Of the kernel's name.
  int64_t number = 0;  // Of the kernel in the plan of the fusion, which has `count`.
  int64_t count = 1;

  // An error (C001) unless `holds`: what is wrong with the plan.
  Status Require(bool holds, std::string_view what) const;
  // `threads` are whole warps, and the tile has as many dimensions.
  Status RequireBlock(size_t tile_rank) const;
  // The instructions that the plan names; the lone instruction itself where it names none.
  Result<std::vector<const Instruction*>> Heroes() const;
};

#define OTHER_KIND(Name, text, fields, what)
#define KERNEL_KIND(Name, text, fields, what) Result<EmittedKernel> Emit##Name(const EmitRequest& request);
#include "ir/kernel_kinds.def"

// Errors also (C001): the plan does not fit the fusion, or has no kernels of ours.
Result<std::vector<EmittedKernel>> EmitFusion(const Instruction& inst, const FusionPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_EMITTER_H_
