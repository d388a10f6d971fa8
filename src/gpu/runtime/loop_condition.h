// A loop's condition, computed in the kernel that sets it, possibly the body's last one.
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

// Emits code for one thread. `again` is true if there is another trip. Other arguments: LoopConditionKernel.
void SetLoopCondition(kernel::KernelBuilder& k, kernel::Array condition, kernel::Value again, kernel::Array trips,
                      bool first);

// Parameters: the condition, the values at `places` and the trip counters, which `places` may lack.
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
