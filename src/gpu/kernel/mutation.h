// Faults planted in finished kernels, as a wrong emitter would make them, to see whether the comparisons find them. For
// tests and --inject only; ir/mutation.h is the same for modules.
//
// A mutated kernel stays within its arrays, ends, and lets its threads meet where they met before, because values that
// steer it (steering.h) keep their meaning.
#ifndef HLO_GPU_KERNEL_MUTATION_H_
#define HLO_GPU_KERNEL_MUTATION_H_

#include <span>
#include <string_view>

#include "gpu/kernel/kernel.h"
#include "gpu/kernel/steering.h"

namespace hlo::kernel {

struct Mutation {
  std::string_view name;
  std::string_view what;  // The wrong behaviour, for a reader.
  // Plants the fault. Returns false, with the kernel unchanged, where the fault does not fit. `steering` belongs to
  // `kernel`.
  bool (*apply)(Kernel& kernel, const Steering& steering);
};

std::span<const Mutation> Mutations();
const Mutation* FindMutation(std::string_view name);  // Null when there is none.

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_MUTATION_H_
