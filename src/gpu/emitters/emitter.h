// Emitters make the kernels of a plan (ir/fusion_plan.h) from a fusion or single instruction. Planning reports ops
// without an emitter as unsupported.
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

// Indices into the buffer kTrips, which has s64 counters for a kernel's loops. The launch sets the first two: the trips
// after which outermost loops stop regardless of their conditions, and the most trips of any loop. The kernel sets the
// trips of the last outermost loop, and 1 + the number (in EmittedKernel::loops) of a loop that exceeded the most
// trips, or 0.
enum TripField : uint8_t { kStopAfter, kMostTrips, kTripsMade, kEndless, kTripFields };

struct KernelBuffer {
  enum class Kind : uint8_t {
    kOperand,  // A read-only leaf of an operand.
    kOutput,   // A leaf of the result, wholly written unless in_place_operand is set.
    kScratch,  // Memory between launches. Kernels of a fusion share buffers of equal `scratch`.
    kLiteral,  // A constant too large for the code.
    kTrips,
  };
  Kind kind;
  int64_t operand = 0;
  ShapeIndex index;  // The leaf of the operand or result.
  int64_t bytes = 0;
  int scratch = 0;
  bool zeroed = false;  // kScratch: zero before the first kernel. Kernels must leave it zero.
  Literal literal;      // kLiteral, in row-major order.
  // kOutput: if not -1, the kernel writes only some elements. The buffer must already contain this operand's leaf,
  // because it shares the leaf's buffer or has a copy.
  int64_t in_place_operand = -1;
  ShapeIndex in_place_index;
};

// An operand leaf that may share its buffer with an output leaf, because each element is read only by the thread that
// then writes its position. Updates in place (in_place_operand) are not listed.
struct SharablePair {
  int64_t operand = 0;
  ShapeIndex operand_index, output;
};

// One launch of a fusion.
struct EmittedKernel {
  std::shared_ptr<const kernel::Kernel> kernel;
  std::string emitter;                // For reports: "loop", "row reduction", ...
  std::vector<KernelBuffer> buffers;  // In the order of parameters.
  std::vector<SharablePair> sharable;
  PrecisionPlan precision;                // Indexed by the ids of the fused instructions.
  std::vector<const Instruction*> loops;  // `while` instructions, each before its inner loops.
  const Instruction* source = nullptr;
};

struct EmitRequest {
  const FusionBody& body;
  const KernelPlan& plan;
  std::string suffix;
  int64_t number = 0;  // Index in the fusion plan's `count` kernels.
  int64_t count = 1;

  // Error C001 with `what`, unless `holds`.
  Status Require(bool holds, std::string_view what) const;
  // Requires whole warps, a tile of this rank, and a power of 2 as vector.
  Status RequireBlock(size_t tile_rank) const;
  // The instructions that the plan names. Without names, an instruction that is not a fusion is its own hero.
  Result<std::vector<const Instruction*>> Heroes() const;
};

#define OTHER_KIND(Name, text, fields, what)
#define KERNEL_KIND(Name, text, fields, what) Result<EmittedKernel> Emit##Name(const EmitRequest& request);
#include "ir/kernel_kinds.def"

// Errors: C001 if the plan does not fit or has a kind without an emitter, U111 if operations depend on each other too
// deeply.
Result<std::vector<EmittedKernel>> EmitFusion(const Instruction& inst, const FusionPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_EMITTER_H_
