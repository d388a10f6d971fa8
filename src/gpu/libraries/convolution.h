// A convolution as libraries of GPUs know it: by what it has to do with a forward one, outputs = images * weights, with
// tensors in one order of dimensions whatever dim_labels says.
//
//   fprop   the outputs, of images and weights
//   dgrad   the images' gradient, of the outputs' and the weights: HLO writes it with a base dilation, and the weights
//           turned over
//   wgrad   the weights' gradient, of the images and the outputs': HLO writes it with the outputs' gradient as the
//           window, batch and channels exchanged
#ifndef HLO_GPU_LIBRARIES_CONVOLUTION_H_
#define HLO_GPU_LIBRARIES_CONVOLUTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/libraries/contraction.h"

namespace hlo::gpu {

// Dimensions: batch, channels, spatial; of weights: output channels, input channels of a group, spatial.
struct ConvolutionTensor {
  int64_t operand = -1;  // -1: the result.
  PrimitiveType type = {};
  std::vector<int64_t> dims, strides;

  // Each element has a place of its own, and places follow each other.
  bool IsDense() const;
};
// The dimensions but those of size 1 in the order in which they lie, the outermost first.
std::vector<int64_t> OrderInMemory(const ConvolutionTensor& tensor);

// Of the forward convolution: output p reads images at p * stride + r * dilation - pad_low.
struct ConvolutionDim {
  int64_t stride = 1, dilation = 1, pad_low = 0, pad_high = 0;
  bool flipped = false;  // The weights lie turned over: what is read with r lies at size - 1 - r.
};

struct ConvolutionStep {
  EpilogueOp op;
  double constant = 0;
  ConvolutionTensor tensor;  // As the result has its dimensions; 1 where it is broadcast. operand -1: the constant.
};

struct ConvolutionProblem {
  ConvolutionKind kind = ConvolutionKind::kFprop;
  ConvolutionTensor images, weights, outputs;
  std::vector<ConvolutionDim> spatial;
  int64_t groups = 1;
  std::vector<ConvolutionStep> epilogue;
  int64_t stored = 0;           // The number of the call's result that is its elements.
  std::vector<ResultSum> sums;  // Of its elements, for each channel of a forward convolution.

  // What it computes.
  const ConvolutionTensor& result() const {
    return kind == ConvolutionKind::kFprop ? outputs : kind == ConvolutionKind::kDgrad ? images : weights;
  }
  bool IsDepthwise() const { return groups > 1 && weights.dims[1] == 1; }
};

struct ConvolutionAnswer {
  ConvolutionProblem problem;
  std::string why_not;  // Empty: `problem` is filled in.
};
ConvolutionAnswer ReadConvolution(const Contraction& contraction);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_CONVOLUTION_H_
