// Choices for vectorising the loop over a body's elements.
#ifndef HLO_GPU_CODEGEN_HOST_VECTORS_H_
#define HLO_GPU_CODEGEN_HOST_VECTORS_H_

#include <cstdint>

#include "gpu/kernel/facts.h"

namespace hlo::kernel {

// Whether stores to the array bypass the caches (streaming.h).
bool IsStreamed(const ArrayInfo& array);

// Whether to emit a tile with a limit twice: for whole tiles, and for one that ends at the limit. The code for whole
// tiles needs no masked stores, which delay loads of partial results and do not stream. Its known length allows
// interleaving.
bool IsWorthTwice(const HostFacts& facts, const Region& body);

// The Forget function (distinct.h) of the host lowering. It reduces an array's size to one of three classes: small,
// large and streamed.
void ForgetForHost(Kernel& kernel);

// Number of vectors in each step of a loop over `elements` elements.
int Interleave(const HostFacts& facts, const Region& body, int64_t elements, bool masked_tails);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_HOST_VECTORS_H_
