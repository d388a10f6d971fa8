// nvJitLink: ptxas as a library, usable without a GPU and a driver.
#ifndef HLO_GPU_DEVICE_NVJITLINK_H_
#define HLO_GPU_DEVICE_NVJITLINK_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/codegen/nvptx.h"

namespace hlo::gpu {

// The version, such as "13.0". Error: why the library cannot be used.
Result<std::string> NvJitLinkVersion(const std::vector<std::string>& search);

// Assembles `ptx` as kernel::Ptxas does. Thread-safe.
Result<kernel::PtxasReport> NvJitLink(const std::string& ptx, const std::string& arch,
                                      const std::vector<std::string>& search);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_NVJITLINK_H_
