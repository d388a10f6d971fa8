// Lists the engines that cuDNN has for a device that exists only as a description.
#ifndef HLO_TESTS_GPU_CUDNN_DESCRIBED_H_
#define HLO_TESTS_GPU_CUDNN_DESCRIBED_H_

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "gpu/libraries/cudnn_choice.h"

namespace hlo::gpu {

inline constexpr const char* kDescribedH100 =
    R"({"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,"totalGlobalMem":85014478848,
"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":132,
"smCountOrigin":0,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,
"oversizedSharedMemoryPerBlock":0,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,
"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,
"smClockRateKHz":1980000,"memClockRateKHz":2619000,"memoryBusWidth":5120,"l2CacheSize":52428800,
"deviceName":"NVIDIA H100 80GB HBM3"})";

// The engines that fit, as a line such as "12 of 40, engines 62 10 ...". A `c` marks a compiled engine ("4 of 9,
// engines 4c"). If none fits, the line has the last reason: "none of 9: ...". Sets `taken` if an engine fits.
inline std::string EnginesText(const Result<std::vector<CudnnEngine>>& engines, bool* taken) {
  if (!engines) return engines.error().message();
  const auto fits = [](const CudnnEngine& engine) { return engine.why_not.empty(); };
  const auto count = std::ranges::count_if(*engines, fits);
  *taken |= count > 0;
  if (engines->empty()) return "none";
  if (count == 0) return Str("none of ", engines->size(), ": ", engines->back().why_not);
  std::string list;
  std::set<int64_t> said;  // An engine appears once for each of its configurations.
  for (const CudnnEngine& engine : *engines) {
    if (fits(engine) && said.insert(engine.index).second) list += Str(" ", engine.index, engine.is_compiled ? "c" : "");
  }
  return Str(count, " of ", engines->size(), ", engines", list);
}

}  // namespace hlo::gpu

#endif  // HLO_TESTS_GPU_CUDNN_DESCRIBED_H_
