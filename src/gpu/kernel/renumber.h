// What is in one kernel, put into another: its numbers become those of the whole.
#ifndef HLO_GPU_KERNEL_RENUMBER_H_
#define HLO_GPU_KERNEL_RENUMBER_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// What is added to each, and what an array becomes.
struct Renumbering {
  int32_t values, slots, variables, sources, statements;
  std::vector<int32_t> arrays;
};

// Behind all that `whole` has. `statements`: how many are numbered in it. `arrays` is empty.
Renumbering Behind(const Kernel& whole, int32_t statements);
// All but arrays and the body.
void Append(const Kernel& part, Kernel& whole);
void Renumber(Region& region, const Renumbering& to);
// -1: none.
int32_t LastStatement(const Region& region);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_RENUMBER_H_
