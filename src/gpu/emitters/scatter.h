// The scatter emitter: updates in the order of the indices, so the same bits each time, also where indices meet.
// Threads share the elements of a window; each walks all indices.
#ifndef HLO_GPU_EMITTERS_SCATTER_H_
#define HLO_GPU_EMITTERS_SCATTER_H_

#include <optional>
#include <vector>

#include "gpu/emitters/elemental.h"
#include "gpu/emitters/emitter.h"

namespace hlo::gpu {

// Nothing when the root is no scatter. The operand is copied first, unless it can be updated in place.
Result<std::optional<std::vector<KernelPlan>>> EmitScatter(const FusionBody& body, const EmitterOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SCATTER_H_
