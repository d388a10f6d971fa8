// cuDNN's attention as one graph, and its gradients as another.
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

// The reason against cuDNN without a measurement. "" for 16-bit floats with at least 64 queries or a MiB of scores.
// This rule has not been measured on a device.
std::string WhyNotByRule(const AttentionProblem& problem);
std::string WhyNotByRule(const AttentionGradientProblem& problem);

Result<LibraryAnswer> CudnnAttention(const AttentionProblem& problem, Device* device, const LibraryOptions& options);
Result<LibraryAnswer> CudnnAttentionGradient(const AttentionGradientProblem& problem, Device* device,
                                             const LibraryOptions& options);

Result<LibraryAnswer> CudnnAttention(const AttentionProblem& problem, Device& device, const LibraryOptions& options,
                                     const cudnn::Api& api);
Result<LibraryAnswer> CudnnAttentionGradient(const AttentionGradientProblem& problem, Device& device,
                                             const LibraryOptions& options, const cudnn::Api& api);

// See CudnnEngines.
Result<std::vector<CudnnEngine>> CudnnAttentionEngines(const AttentionProblem& problem, const std::string& device_json,
                                                       const LibraryOptions& options);
Result<std::vector<CudnnEngine>> CudnnAttentionEngines(const AttentionGradientProblem& problem,
                                                       const std::string& device_json, const LibraryOptions& options);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_CUDNN_ATTENTION_H_
