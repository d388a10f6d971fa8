// A product of two matrices in shared memory, by all threads of a block; the sums are theirs.
#ifndef HLO_GPU_EMITTERS_BLOCK_PRODUCT_H_
#define HLO_GPU_EMITTERS_BLOCK_PRODUCT_H_

#include <memory>
#include <optional>

#include "gpu/emitters/tile_fill.h"
#include "gpu/kernel/builder.h"

namespace hlo::gpu {

// Element [line, term] of the left matrix.
struct LeftMatrix {
  kernel::Array array;
  kernel::Value at;
  int64_t pitch;
};

// Sums of `lines` x `columns`, in f32. At block level.
class BlockProduct {
 public:
  virtual ~BlockProduct() = default;

  virtual void Clear() = 0;
  // A line of the right matrix is a column of the product.
  virtual void Add(const LeftMatrix& left, const kernel::Array& right, TilePitches right_pitches, int64_t terms) = 0;
  // to[at + line * pitch + column], in its type.
  virtual void Store(const kernel::Array& to, kernel::Value at, int64_t pitch) = 0;
};

// By threads: `lines` are a multiple of the warps, columns 32 times a power of 2. By matrix units, where a shape is
// said: lines are a multiple of 16, columns of 8 times the warps, and terms of the shape's.
std::unique_ptr<BlockProduct> MakeBlockProduct(kernel::KernelBuilder& k, int64_t lines, int64_t columns,
                                               std::optional<kernel::MmaShape> shape);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_BLOCK_PRODUCT_H_
