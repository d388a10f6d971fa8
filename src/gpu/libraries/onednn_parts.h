// A matrix product as several calls of oneDNN, each on one of our threads. oneDNN's own threads sleep between calls
// (onednn_api.cpp), and waking them takes as long as millions of operations (bench/results/2026-11-27-cpu-6.md).
// Private to gpu/libraries/onednn*.cpp.
#ifndef HLO_GPU_LIBRARIES_ONEDNN_PARTS_H_
#define HLO_GPU_LIBRARIES_ONEDNN_PARTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/library.h"

namespace hlo::gpu::onednn {

// The start and length of a part in one dimension.
struct Range {
  int64_t begin = 0, count = 1;
};
struct ProductPart {
  Range batch, rows, columns;
};

// One part for each of our threads, if all parts are large enough. The parts are whole products of a batch, otherwise
// rows. A single row is divided into columns; columns of several rows would be strided in the result, which oneDNN's
// faster implementations do not support. Large products are left to the library, which divides them in two dimensions.
std::vector<ProductPart> ProductPartsOf(const MatrixProduct& product);

// The calls of all parts as one call, followed by a ReLU of `relu_elements`.
std::unique_ptr<LibraryCall> InParts(std::vector<std::unique_ptr<LibraryCall>> parts, int64_t relu_elements);

}  // namespace hlo::gpu::onednn

#endif  // HLO_GPU_LIBRARIES_ONEDNN_PARTS_H_
