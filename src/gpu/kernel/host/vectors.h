// Choices of the host lowering for vectorising the loop over the elements of a body.
#ifndef HLO_GPU_KERNEL_HOST_VECTORS_H_
#define HLO_GPU_KERNEL_HOST_VECTORS_H_

#include <cstdint>

#include "gpu/kernel/host/facts.h"

namespace hlo::kernel {

// Whether the array is written past the caches (streaming.h).
bool IsStreamed(const ArrayInfo& array);

// Whether to emit a tile twice, once whole and once cut at its limit: masked stores delay loads of partial results and
// do not stream, and a loop of unknown length is not interleaved.
bool IsWorthTwice(const HostFacts& facts, const Region& body);

// Resets properties that do not affect the code. Sizes of arrays become one of three classes.
void ForgetForHost(Kernel& kernel);

// Vectors to interleave in a loop over `elements`.
int Interleave(const HostFacts& facts, const Region& body, int64_t elements, bool masked_tails);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_VECTORS_H_
