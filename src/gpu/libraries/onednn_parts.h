// A matrix product as several calls of oneDNN, each on one of our threads. oneDNN's own threads sleep between calls,
// and waking them takes as long as millions of operations (bench/results/products.md#parts-of-a-product).
#ifndef HLO_GPU_LIBRARIES_ONEDNN_PARTS_H_
#define HLO_GPU_LIBRARIES_ONEDNN_PARTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/libraries/contraction.h"
#include "gpu/libraries/library.h"

namespace hlo::gpu::onednn {

struct Range {
  int64_t begin = 0, count = 1;
};
struct ProductPart {
  Range batch, rows, columns;
};

// At most one part for each of our threads, with enough work in each. Parts are whole products of a batch, or ranges of
// rows. Columns are divided only for a single row, because oneDNN's faster implementations do not support strided
// results.
std::vector<ProductPart> ProductPartsOf(const MatrixProduct& product);

// Runs `parts` on our threads, and then a ReLU over `relu_elements` elements of the result, 0 for none.
std::unique_ptr<LibraryCall> InParts(std::vector<std::unique_ptr<LibraryCall>> parts, int64_t relu_elements);

}  // namespace hlo::gpu::onednn

#endif  // HLO_GPU_LIBRARIES_ONEDNN_PARTS_H_
