// nvJitLink: ptxas as a library of the CUDA toolkit, which needs neither a GPU nor a driver. Opened when first used.
#ifndef HLO_GPU_DEVICE_NVJITLINK_H_
#define HLO_GPU_DEVICE_NVJITLINK_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/nvptx.h"

namespace hlo::gpu {

// "13.0", or why there is none.
Result<std::string> NvJitLinkVersion(const std::vector<std::string>& search);

// As kernel::Ptxas. May be called from several threads at once.
Result<kernel::PtxasReport> NvJitLink(const std::string& ptx, const std::string& arch,
                                      const std::vector<std::string>& search);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_NVJITLINK_H_
