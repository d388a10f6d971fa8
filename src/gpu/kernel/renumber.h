// Inserts a kernel into another one and renumbers its values.
#ifndef HLO_GPU_KERNEL_RENUMBER_H_
#define HLO_GPU_KERNEL_RENUMBER_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// Offsets of numbers, and the new index of each array.
struct Renumbering {
  int32_t values, slots, variables, sources, statements;
  std::vector<int32_t> arrays;
};

// Numbers after all numbers of `whole`, which has `statements` statements. `arrays` is empty.
Renumbering Behind(const Kernel& whole, int32_t statements);
// Appends everything except arrays and the body.
void Append(const Kernel& part, Kernel& whole);
void Renumber(Region& region, const Renumbering& to);
// -1 if there is none.
int32_t LastStatement(const Region& region);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_RENUMBER_H_
