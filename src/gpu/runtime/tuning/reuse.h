// Estimates which data a step finds in the device's last-level cache when it starts.
#ifndef HLO_GPU_RUNTIME_TUNING_REUSE_H_
#define HLO_GPU_RUNTIME_TUNING_REUSE_H_

#include <cstdint>
#include <unordered_set>

#include "ir/module.h"

namespace hlo::gpu {

// The ids of the steps that find less than half of their input in the cache. Data is evicted when as many other bytes
// as the cache holds, each counted once, were accessed since its last access. The program runs repeatedly, and for
// loops the later trips count. `module` is prepared: each computation has one caller.
std::unordered_set<int> ColdSteps(const Module& module, int64_t cache_bytes);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_REUSE_H_
