// One call of oneDNN: a matrix product or a convolution that is described in its terms, with the steps that follow it.
// Private to gpu/libraries/onednn*.cpp.
#ifndef HLO_GPU_LIBRARIES_ONEDNN_CALL_H_
#define HLO_GPU_LIBRARIES_ONEDNN_CALL_H_

#include <cstdint>
#include <vector>

#include "gpu/libraries/library.h"
#include "gpu/libraries/onednn_api.h"
#include "gpu/libraries/open.h"

namespace hlo::gpu::onednn {

// A tensor as one of oneDNN's: its dimensions in oneDNN's order.
struct Tensor {
  int type;
  std::vector<int64_t> dims, strides;
  int64_t offset = 0;  // Bytes, of its first element.
};

struct BinaryStep {
  int algorithm;
  int64_t operand;  // -1: the constant.
  double constant;
  Tensor tensor;
  bool in_place = false;  // Added to what lies in the result.
};

struct Window {
  std::vector<int64_t> strides, dilates, pad_low, pad_high;
};

struct Operation {
  Tensor lhs, rhs, result;
  int64_t lhs_operand = 0, rhs_operand = 0;
  bool packs_rhs = false;  // The weights are put into the library's own order first.
  std::vector<BinaryStep> steps;
  bool relu = false;               // Behind the steps.
  const Window* window = nullptr;  // None: a matrix product.
};

// Of `options` the implementation to take, empty: the library's first choice; and whether all are to be listed. On so
// many of the library's threads.
LibraryAnswer MakeCall(const Api& api, const LibraryOptions& options, const Operation& operation, int threads);

// maximum(x, 0), here and not in oneDNN: its ReLU turns NaN into 0.
void Relu(void* result, int64_t elements);

}  // namespace hlo::gpu::onednn

#endif  // HLO_GPU_LIBRARIES_ONEDNN_CALL_H_
