// nvJitLink: ptxas as a library of the CUDA toolkit, usable without a GPU and a driver. Opened on first use.
#ifndef HLO_GPU_DEVICE_NVJITLINK_H_
#define HLO_GPU_DEVICE_NVJITLINK_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/nvptx.h"

namespace hlo::gpu {

// The version, such as "13.0", or the reason why it is missing.
Result<std::string> NvJitLinkVersion(const std::vector<std::string>& search);

// Like kernel::Ptxas. Thread-safe.
Result<kernel::PtxasReport> NvJitLink(const std::string& ptx, const std::string& arch,
                                      const std::vector<std::string>& search);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_NVJITLINK_H_
