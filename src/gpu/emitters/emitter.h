// Emitters turn a fusion, or a single computing instruction, into the kernels of its plan (ir/fusion_plan.h) with the
// structured builder. All choices are in the plan. Ops without an emitter are reported by name as unsupported during
// planning and never approximated.
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

// The counters of loops in a kernel. Set before the launch: the number of trips after which the outermost loops stop
// regardless of their conditions, and the most trips of any loop. Read afterwards: the trips of the last outermost
// loop, and 1 + the number of the loop (in EmittedKernel::loops) that exceeded the most trips, or 0.
enum TripField : uint8_t { kStopAfter, kMostTrips, kTripsMade, kEndless, kTripFields };

struct KernelBuffer {
  enum class Kind : uint8_t {
    kOperand,  // A read-only leaf of an operand of the source instruction.
    kOutput,   // A leaf of its result. Every element is written unless in_place_operand is set.
    kScratch,  // Shared by the kernels of one EmitFusion with the same `scratch`.
    kLiteral,  // A constant that is too large for the code.
    kTrips,    // kTripFields 64-bit numbers for the loops in the kernel.
  };
  Kind kind;
  int64_t operand = 0;  // kOperand
  ShapeIndex index;     // kOperand, kOutput: the leaf.
  int64_t bytes = 0;
  int scratch = 0;      // kScratch
  bool zeroed = false;  // kScratch: must be zero before the first kernel; the kernels leave it zero.
  Literal literal;      // kLiteral: in row-major order.
  // kOutput: only a part is written. The rest must already have the bytes of this operand leaf, in a shared buffer or
  // by a copy. -1 if all is written.
  int64_t in_place_operand = -1;
  ShapeIndex in_place_index;
};

// An operand leaf that may share its buffer with an output leaf. Each thread reads an element before it writes the same
// position, and no other thread reads it. Updates in place, which should share, are not listed.
struct SharablePair {
  int64_t operand = 0;
  ShapeIndex operand_index, output;
};

// One launch. The kernels of a fusion run in order.
struct EmittedKernel {
  std::shared_ptr<const kernel::Kernel> kernel;  // With the numbers of blocks and threads.
  std::string emitter;                           // For reports: "loop", "row reduction", ...
  std::vector<KernelBuffer> buffers;             // In the order of the kernel's parameters.
  std::vector<SharablePair> sharable;
  PrecisionPlan precision;                // Indexed by the ids of the fused instructions.
  std::vector<const Instruction*> loops;  // The loops in the kernel, an outermost one first.
  const Instruction* source = nullptr;
};

// The input of an emitter: one kernel of a plan.
struct EmitRequest {
  const FusionBody& body;
  const KernelPlan& plan;
  std::string suffix;  // Appended to the kernel's name.
  int64_t number = 0;  // The index of the kernel in the plan, which has `count`.
  int64_t count = 1;

  // Returns an error (C001) with the fault of the plan unless `holds`.
  Status Require(bool holds, std::string_view what) const;
  // Requires whole warps in `threads` and a tile of this rank.
  Status RequireBlock(size_t tile_rank) const;
  // The instructions that the plan names, or the single instruction if it names none.
  Result<std::vector<const Instruction*>> Heroes() const;
};

#define OTHER_KIND(Name, text, fields, what)
#define KERNEL_KIND(Name, text, fields, what) Result<EmittedKernel> Emit##Name(const EmitRequest& request);
#include "ir/kernel_kinds.def"

// Also returns C001 if the plan does not fit the fusion or has no kernels of ours.
Result<std::vector<EmittedKernel>> EmitFusion(const Instruction& inst, const FusionPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_EMITTER_H_
