// Renumbers a kernel that is inserted into another one.
#ifndef HLO_GPU_KERNEL_RENUMBER_H_
#define HLO_GPU_KERNEL_RENUMBER_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// Offsets to add to numbers, and each array's new index.
struct Renumbering {
  int32_t values, slots, variables, sources, statements;
  std::vector<int32_t> arrays;
};

// Offsets beyond all numbers of `whole`, which has `statements` statements. Leaves `arrays` empty.
Renumbering Behind(const Kernel& whole, int32_t statements);
// Appends slots, variables and sources of `part` to `whole`, and adds the number of values.
void Append(const Kernel& part, Kernel& whole);
void Renumber(Region& region, const Renumbering& to);
// The highest statement number, or -1.
int32_t LastStatement(const Region& region);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_RENUMBER_H_
