// The transpose emitter: a loop whose operands' minor dimension moves reads them through tiles of shared memory, so
// that both sides of the transpose touch memory in runs.
#ifndef HLO_GPU_EMITTERS_TRANSPOSE_H_
#define HLO_GPU_EMITTERS_TRANSPOSE_H_

#include <optional>

#include "gpu/emitters/emitter.h"
#include "gpu/emitters/loop.h"

namespace hlo::gpu {

// Nothing when no operand is read across its memory order, or not in a way that two dimensions describe.
std::optional<KernelPlan> EmitTranspose(LoopPlan& plan, const EmitterOptions& options, std::string_view suffix);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_TRANSPOSE_H_
