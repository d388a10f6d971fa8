// cuDNN 9: convolutions on cuda. Opened when first used.
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

// With which names of algorithms begin that leave part of the call to a kernel of ours: "parts_3".
inline constexpr std::string_view kCudnnParts = "parts_";

// "9.19.0", or why there is none. Needs no GPU.
Result<std::string> CudnnVersion(const std::vector<std::string>& search);

// Null `device`: what can be said without opening it.
Result<LibraryAnswer> CudnnConvolution(const Contraction& contraction, Device* device, const LibraryOptions& options);

// The same by an interface that is there already.
Result<LibraryAnswer> CudnnConvolution(const Contraction& contraction, Device& device, const LibraryOptions& options,
                                       const cudnn::Api& api);

// What it has for a convolution on a device that is only described, as its own JSON says it ("deviceVer": 900...):
// plans are made, and cannot run. From 9.8 on.
Result<std::vector<CudnnEngine>> CudnnEngines(const ConvolutionProblem& problem, bool with_epilogue,
                                              const std::string& device_json, const LibraryOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_CUDNN_H_
