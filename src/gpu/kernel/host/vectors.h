// How the loop over the elements of a body is to be vectorised: a pass of the host lowering.
#ifndef HLO_GPU_KERNEL_HOST_VECTORS_H_
#define HLO_GPU_KERNEL_HOST_VECTORS_H_

#include <cstdint>

#include "gpu/kernel/host/facts.h"

namespace hlo::kernel {

// Written past the caches (streaming.h).
bool IsStreamed(const ArrayInfo& array);

// Whether a tile is better emitted twice, whole and cut short at its limit: masked stores cannot stream, nor hand on
// partial results to the next tile; a loop of unknown length is not interleaved; and only the last tile is cut short.
bool IsWorthTwice(const HostFacts& facts, const Region& body);

// What of the launch and the parameters' sizes does not show in the code: all but a choice of three.
void ForgetForHost(Kernel& kernel);

// So many vectors go by turns, in a loop of `elements`.
int Interleave(const HostFacts& facts, const Region& body, int64_t elements, bool masked_tails);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_VECTORS_H_
