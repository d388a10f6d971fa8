// A loop's condition, computed by the kernel that sets it. This may be the last kernel of the body.
#ifndef HLO_GPU_RUNTIME_LOOP_CONDITION_H_
#define HLO_GPU_RUNTIME_LOOP_CONDITION_H_

#include <optional>
#include <span>
#include <vector>

#include "gpu/emitters/emitter.h"
#include "gpu/kernel/builder.h"
#include "gpu/kernel/kernel.h"
#include "gpu/runtime/program.h"

namespace hlo::gpu {

// Emits code for one thread, which sets the condition. `again` is true if there is another trip. For other arguments,
// see LoopConditionKernel.
void SetLoopCondition(kernel::KernelBuilder& k, kernel::Array condition, kernel::Value again, kernel::Array trips,
                      bool first);

// Parameters: the condition, the values at `places` and the trip counters. ComputedCondition does not add the counters
// to `places`.
struct LoopCondition {
  kernel::Kernel kernel;
  std::vector<PlaceNumber> places;
};

// Empty unless `condition` is one step with a small computation on single elements. `emitted` has the kernel of each
// Program::code.
std::optional<LoopCondition> ComputedCondition(const Block& condition, std::span<const EmittedKernel* const> emitted);

struct FoldedCondition {
  kernel::Kernel kernel;
  std::vector<PlaceNumber> places;  // All parameters except the condition, which follows the parameters of `work`.
  bool counts = false;              // The last parameter is a counter.
};
// Appends `tail` to `work`'s kernel. Empty if impossible.
std::optional<FoldedCondition> FoldBehind(const Program& program, const KernelWork& work, const kernel::Kernel& kernel,
                                          const LoopCondition& tail);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_LOOP_CONDITION_H_
