// The contraction emitter: dot and convolution with an elementwise epilogue, as products of 64 x 64 tiles through
// shared memory. The fallback for library calls: right first, 35-40 % of a library's speed on the host at best.
#ifndef HLO_GPU_EMITTERS_CONTRACTION_H_
#define HLO_GPU_EMITTERS_CONTRACTION_H_

#include <optional>

#include "gpu/emitters/elemental.h"
#include "gpu/emitters/emitter.h"

namespace hlo::gpu {

// Nothing when there is no single dot or convolution with an epilogue of as many elements, or it is too small.
Result<std::optional<KernelPlan>> EmitContraction(const FusionBody& body, const EmitterOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_CONTRACTION_H_
