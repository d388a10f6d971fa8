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

// The prefix of algorithm names that leave a part of the call to our kernels: "parts_3".
inline constexpr std::string_view kCudnnParts = "parts_";

// The version, such as "9.19.0", or the reason why it is missing. Needs no GPU.
Result<std::string> CudnnVersion(const std::vector<std::string>& search);

// Without a `device`, answers as far as possible without opening the library.
Result<LibraryAnswer> CudnnConvolution(const Contraction& contraction, Device* device, const LibraryOptions& options);

// The same with an open library.
Result<LibraryAnswer> CudnnConvolution(const Contraction& contraction, Device& device, const LibraryOptions& options,
                                       const cudnn::Api& api);

// The engines for a convolution on a described device. `device_json` is cuDNN's description ("deviceVer": 900...).
// Plans are made but cannot run. Requires 9.8.
Result<std::vector<CudnnEngine>> CudnnEngines(const ConvolutionProblem& problem, bool with_epilogue,
                                              const std::string& device_json, const LibraryOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_CUDNN_H_
