// cuDNN 9: convolutions on cuda. Opened on first use.
#ifndef HLO_GPU_LIBRARIES_CUDNN_H_
#define HLO_GPU_LIBRARIES_CUDNN_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/libraries/contraction.h"
#include "gpu/libraries/convolution.h"
#include "gpu/libraries/cudnn_choice.h"
#include "gpu/libraries/open.h"

namespace hlo::gpu {

namespace cudnn {
struct Api;
}

// Algorithms with this prefix leave a part of the call to our kernels.
inline constexpr std::string_view kCudnnParts = "parts_";

// Needs no GPU.
Result<std::string> CudnnVersion(const std::vector<std::string>& search);

// Without a `device`, makes no call and does not open the library.
Result<LibraryAnswer> CudnnConvolution(const Contraction& contraction, Device* device, const LibraryOptions& options);

Result<LibraryAnswer> CudnnConvolution(const Contraction& contraction, Device& device, const LibraryOptions& options,
                                       const cudnn::Api& api);

// Lists engines for the device that `device_json` describes ({"deviceVer": 900, ...}), without running them. Requires
// cuDNN 9.8.
Result<std::vector<CudnnEngine>> CudnnEngines(const ConvolutionProblem& problem, bool with_epilogue,
                                              const std::string& device_json, const LibraryOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_CUDNN_H_
