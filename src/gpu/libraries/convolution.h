// A convolution in the form of GPU libraries, in terms of the forward convolution outputs = images * weights:
//
//   fprop   computes outputs
//   dgrad   computes the gradient of images. HLO writes it with a base dilation and reversed weights
//   wgrad   computes the gradient of weights. HLO writes it with the gradient of outputs as the window, and batch and
//           channels exchanged
#ifndef HLO_GPU_LIBRARIES_CONVOLUTION_H_
#define HLO_GPU_LIBRARIES_CONVOLUTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/libraries/contraction.h"

namespace hlo::gpu {

// Images and outputs have batch, channels, spatial dimensions. Weights have output channels, a group's input channels,
// spatial dimensions. Strides are in elements.
struct ConvolutionTensor {
  int64_t operand = -1;  // -1 for the result.
  PrimitiveType type = {};
  std::vector<int64_t> dims, strides;

  // Whether elements are contiguous and distinct.
  bool IsDense() const;
};
// The tensor with these dimensions of `view` in order.
ConvolutionTensor Ordered(const View& view, int64_t first, int64_t second, const std::vector<int64_t>& spatial);
bool IsBroadcast(const ConvolutionTensor& tensor);
// Dimensions above 1 in memory order, outermost first.
std::vector<int64_t> OrderInMemory(const ConvolutionTensor& tensor);

// A spatial dimension of the forward convolution. Output p reads images at p * stride + r * dilation - pad_low.
struct ConvolutionDim {
  int64_t stride = 1, dilation = 1, pad_low = 0, pad_high = 0;
  bool flipped = false;  // Weight r is stored at size - 1 - r.
};

struct ConvolutionStep {
  EpilogueOp op;
  double constant = 0;
  // Has the result's dimensions, with size 1 if broadcast. tensor.operand is -1 for the constant.
  ConvolutionTensor tensor;
};

struct ConvolutionProblem {
  ConvolutionKind kind = ConvolutionKind::kFprop;
  ConvolutionTensor images, weights, outputs;
  std::vector<ConvolutionDim> spatial;
  int64_t groups = 1;
  std::vector<ConvolutionStep> epilogue;
  int64_t stored = 0;           // Result number of the convolution after its epilogue.
  std::vector<ResultSum> sums;  // Sums for each channel of a forward convolution.

  const ConvolutionTensor& result() const {
    return kind == ConvolutionKind::kFprop ? outputs : kind == ConvolutionKind::kDgrad ? images : weights;
  }
  bool IsDepthwise() const { return groups > 1 && weights.dims[1] == 1; }
};

struct ConvolutionAnswer {
  ConvolutionProblem problem;
  std::string why_not;
};
ConvolutionAnswer ReadConvolution(const Contraction& contraction);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_CONVOLUTION_H_
