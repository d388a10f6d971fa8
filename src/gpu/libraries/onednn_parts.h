// A matrix product as several calls of oneDNN, each on one thread of ours. oneDNN's threads sleep between calls
// (onednn_api.cpp), and to wake them takes as long as some 10 million operations: with two threads of an Emerald Rapids
// products of 16.8 million took 150 us, on one of them 112.
// Private to gpu/libraries/onednn*.cpp.
#ifndef HLO_GPU_LIBRARIES_ONEDNN_PARTS_H_
#define HLO_GPU_LIBRARIES_ONEDNN_PARTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/library.h"

namespace hlo::gpu::onednn {

// Where each dimension of a part of a product begins, and how long it is there.
struct Range {
  int64_t begin = 0, count = 1;
};
struct ProductPart {
  Range batch, rows, columns;
};

// One for each thread of ours, where all are worth it: of a batch whole products, else rows; columns of a single row,
// as those of several would be apart in the result, for which oneDNN's better implementations are not. What takes long
// is left to the library, which cuts it in two directions.
std::vector<ProductPart> PartsOf(const MatrixProduct& product);

// The calls of all parts as one; behind them a ReLU of so many elements.
std::unique_ptr<LibraryCall> InParts(std::vector<std::unique_ptr<LibraryCall>> parts, int64_t relu_elements);

}  // namespace hlo::gpu::onednn

#endif  // HLO_GPU_LIBRARIES_ONEDNN_PARTS_H_
