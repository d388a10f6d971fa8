// One call of oneDNN. Private to gpu/libraries/onednn*.cpp.
#ifndef HLO_GPU_LIBRARIES_ONEDNN_CALL_H_
#define HLO_GPU_LIBRARIES_ONEDNN_CALL_H_

#include <cstdint>
#include <vector>

#include "gpu/libraries/library.h"
#include "gpu/libraries/onednn_api.h"
#include "gpu/libraries/open.h"

namespace hlo::gpu::onednn {

struct Tensor {
  int type;
  std::vector<int64_t> dims, strides;
  int64_t offset = 0;  // Bytes to the first element.
};

struct BinaryStep {
  int algorithm;
  int64_t operand;  // -1 for the constant.
  double constant;
  Tensor tensor;
  bool in_place = false;  // The operand is already in the result's buffer.
};

struct Window {
  std::vector<int64_t> strides, dilates, pad_low, pad_high;
};

struct Operation {
  Tensor lhs, rhs, result;
  int64_t lhs_operand = 0, rhs_operand = 0;
  bool packs_rhs = false;  // Weights get the library's own order.
  std::vector<BinaryStep> steps;
  bool relu = false;               // A ReLU after the steps.
  const Window* window = nullptr;  // Null for a matrix product.
};

// Makes a call, by default with the library's first choice of algorithm (LibraryOptions::algorithm).
LibraryAnswer MakeCall(const Api& api, const LibraryOptions& options, const Operation& operation, int threads);

// maximum(x, 0). oneDNN's ReLU turns NaN into 0.
void Relu(void* result, int64_t elements);

}  // namespace hlo::gpu::onednn

#endif  // HLO_GPU_LIBRARIES_ONEDNN_CALL_H_
