// The condition of a loop, computed in the kernel that sets it, which may be the last one of the loop's body.
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

// By one thread: counts the trips, and sets the condition to whether there is another, `again` (see
// LoopConditionKernel).
void SetLoopCondition(kernel::KernelBuilder& k, kernel::Array condition, kernel::Value again, kernel::Array trips,
                      bool first);

// (condition, what lies at `places`, trips)
struct LoopCondition {
  kernel::Kernel kernel;
  std::vector<PlaceNumber> places;
};

// At the end of a trip, from the state. Nothing: `condition` is more than one step, or that is no small computation of
// single elements. `emitted`: behind Program::code.
std::optional<LoopCondition> ComputedCondition(const Block& condition, std::span<const EmittedKernel* const> emitted);

// `tail`, with all its places, behind the kernel that `work` launches.
struct FoldedCondition {
  kernel::Kernel kernel;
  std::vector<PlaceNumber> places;  // Of all parameters but the condition, which comes behind those of `work`.
  bool counts = false;              // And a counter, last.
};
std::optional<FoldedCondition> FoldBehind(const Program& program, const KernelWork& work, const kernel::Kernel& kernel,
                                          const LoopCondition& tail);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_LOOP_CONDITION_H_
