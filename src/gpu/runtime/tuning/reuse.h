// Estimates which data a step finds in the last-level cache.
#ifndef HLO_GPU_RUNTIME_TUNING_REUSE_H_
#define HLO_GPU_RUNTIME_TUNING_REUSE_H_

#include <cstdint>
#include <unordered_set>

#include "ir/module.h"

namespace hlo::gpu {

// Ids of the steps that find less than half of their input in the cache. Data is evicted after accesses to as many
// other bytes as the cache holds. In a loop, the last simulated trip decides. `module` comes from Prepare.
std::unordered_set<int> ColdSteps(const Module& module, int64_t cache_bytes);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_REUSE_H_
