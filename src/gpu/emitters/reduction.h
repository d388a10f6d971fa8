// The reduction emitter: reduces over minor dimensions (rows) or major ones (columns), of any reducer made of scalar
// ops, with their producers, elementwise epilogues and stores on the way fused.
//
//   row      a block or a warp walks each row; long rows that are few are split over blocks, whose partial results the
//   last
//            block to arrive combines in order
//   column   a thread owns neighbouring columns and walks down; narrow matrices give each warp of a block rows of its
//   own
//
// Order of combination is fixed by shapes alone: the same bits each time, on any number of threads.
#ifndef HLO_GPU_EMITTERS_REDUCTION_H_
#define HLO_GPU_EMITTERS_REDUCTION_H_

#include <optional>

#include "gpu/emitters/elemental.h"
#include "gpu/emitters/emitter.h"

namespace hlo::gpu {

// Nothing when the fusion is not of this form, or too small for it to pay: then it is a loop.
Result<std::optional<KernelPlan>> EmitReduction(const FusionBody& body, const EmitterOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_REDUCTION_H_
