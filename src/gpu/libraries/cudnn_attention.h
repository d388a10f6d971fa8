// cuDNN's attention: the products, the softmax and what stands between, as one graph; its gradients as another.
#ifndef HLO_GPU_LIBRARIES_CUDNN_ATTENTION_H_
#define HLO_GPU_LIBRARIES_CUDNN_ATTENTION_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/libraries/attention.h"
#include "gpu/libraries/attention_gradient.h"
#include "gpu/libraries/cudnn_choice.h"
#include "gpu/libraries/open.h"

namespace hlo::gpu {

// Whether it is cuDNN's without a measurement: 16-bit floats, of 64 queries or a MiB of scores at least. Empty: it is;
// else why not. Not measured on a device yet.
std::string WhyNotByRule(const AttentionProblem& problem);
std::string WhyNotByRule(const AttentionGradientProblem& problem);

// Null `device`: what can be said without opening it.
Result<LibraryAnswer> CudnnAttention(const AttentionProblem& problem, Device* device, const LibraryOptions& options);
Result<LibraryAnswer> CudnnAttentionGradient(const AttentionGradientProblem& problem, Device* device,
                                             const LibraryOptions& options);

// The same by an interface that is there already.
Result<LibraryAnswer> CudnnAttention(const AttentionProblem& problem, Device& device, const LibraryOptions& options,
                                     const cudnn::Api& api);
Result<LibraryAnswer> CudnnAttentionGradient(const AttentionGradientProblem& problem, Device& device,
                                             const LibraryOptions& options, const cudnn::Api& api);

// As CudnnEngines of a convolution.
Result<std::vector<CudnnEngine>> CudnnAttentionEngines(const AttentionProblem& problem, const std::string& device_json,
                                                       const LibraryOptions& options);
Result<std::vector<CudnnEngine>> CudnnAttentionEngines(const AttentionGradientProblem& problem,
                                                       const std::string& device_json, const LibraryOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_CUDNN_ATTENTION_H_
