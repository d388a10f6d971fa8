// A product of two matrices in shared memory. The threads of a block hold its sums in registers.
#ifndef HLO_GPU_EMITTERS_BLOCK_PRODUCT_H_
#define HLO_GPU_EMITTERS_BLOCK_PRODUCT_H_

#include <memory>
#include <optional>

#include "gpu/emitters/names.h"
#include "gpu/emitters/tile_fill.h"

namespace hlo::gpu {

// The left matrix: element [line, term] is array[at + line * pitch + term].
struct LeftMatrix {
  Array array;
  Value at;
  int64_t pitch;
};

// `lines` x `columns` sums in f32. The functions are called at block level.
class BlockProduct {
 public:
  virtual ~BlockProduct() = default;

  virtual void Clear() = 0;
  // Adds left * right, with the first `terms` terms of both. A line of `right` is a column of the product.
  virtual void Add(const LeftMatrix& left, const Array& right, TilePitches right_pitches, int64_t terms) = 0;
  // Stores to[at + line * pitch + column].
  virtual void Store(const Array& to, Value at, int64_t pitch) = 0;
};

// Without `shape`, threads compute the product. Then `lines` must be a multiple of the number of warps, and `columns`
// must be 32 times a power of 2. With `shape`, matrix units compute the product. Then `lines` must be a multiple of 16,
// `columns` a multiple of 8 times the number of warps, and Add's `terms` a multiple of kernel::InfoOf(shape).terms.
std::unique_ptr<BlockProduct> MakeBlockProduct(KernelBuilder& k, int64_t lines, int64_t columns,
                                               std::optional<kernel::MmaShape> shape);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_BLOCK_PRODUCT_H_
