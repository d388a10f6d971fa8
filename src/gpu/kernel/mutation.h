// Faults in finished kernels that a wrong emitter could make, to test the comparisons. Only for tests and --inject.
//
// A mutated kernel ends, stays within its arrays and has valid barriers. Values that steer it (steering.h) are
// unchanged, or get a smaller upper limit.
#ifndef HLO_GPU_KERNEL_MUTATION_H_
#define HLO_GPU_KERNEL_MUTATION_H_

#include <span>
#include <string_view>

#include "gpu/kernel/kernel.h"
#include "gpu/kernel/steering.h"

namespace hlo::kernel {

struct Mutation {
  std::string_view name;
  std::string_view what;
  // Mutates the kernel. False, with the kernel unchanged, if the mutation does not fit. `steering` must belong to
  // `kernel`.
  bool (*apply)(Kernel& kernel, const Steering& steering);
};

std::span<const Mutation> Mutations();
const Mutation* FindMutation(std::string_view name);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_MUTATION_H_
