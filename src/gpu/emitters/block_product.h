// A product of two matrices in shared memory. The threads of a block hold its sums in registers.
#ifndef HLO_GPU_EMITTERS_BLOCK_PRODUCT_H_
#define HLO_GPU_EMITTERS_BLOCK_PRODUCT_H_

#include <memory>
#include <optional>

#include "gpu/emitters/tile_fill.h"
#include "gpu/kernel/builder.h"

namespace hlo::gpu {

// The left matrix: element [line, term] is array[at + line * pitch + term].
struct LeftMatrix {
  kernel::Array array;
  kernel::Value at;
  int64_t pitch;
};

// `lines` x `columns` sums in f32, at block level.
class BlockProduct {
 public:
  virtual ~BlockProduct() = default;

  virtual void Clear() = 0;
  // Adds the product of the first `terms` terms. A line of the right matrix is a column of the product.
  virtual void Add(const LeftMatrix& left, const kernel::Array& right, TilePitches right_pitches, int64_t terms) = 0;
  // Stores to[at + line * pitch + column].
  virtual void Store(const kernel::Array& to, kernel::Value at, int64_t pitch) = 0;
};

// Without `shape`, threads compute the product: `lines` must be a multiple of the warps, and `columns` 32 times a power
// of 2. With `shape`, matrix units do: `lines` must be a multiple of 16, `columns` of 8 times the warps, and the number
// of terms of the shape's terms.
std::unique_ptr<BlockProduct> MakeBlockProduct(kernel::KernelBuilder& k, int64_t lines, int64_t columns,
                                               std::optional<kernel::MmaShape> shape);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_BLOCK_PRODUCT_H_
