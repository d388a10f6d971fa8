// What a step finds in the device's last-level cache when it begins, as far as the program tells.
#ifndef HLO_GPU_RUNTIME_TUNING_REUSE_H_
#define HLO_GPU_RUNTIME_TUNING_REUSE_H_

#include <cstdint>
#include <unordered_set>

#include "ir/module.h"

namespace hlo::gpu {

// The steps, by id, that find less than half of what they read: since the rest of it was last read or written, as many
// bytes were as the cache holds, each of them counted once. The program runs again and again, and of a loop it is the
// later trips that count. `module` is prepared: each computation is entered from one place.
std::unordered_set<int> ColdSteps(const Module& module, int64_t cache_bytes);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_REUSE_H_
