// What the emitters of products share: which product it is, and what becomes of its sums.
#ifndef HLO_GPU_EMITTERS_PRODUCT_H_
#define HLO_GPU_EMITTERS_PRODUCT_H_

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "gpu/emitters/emitter.h"
#include "gpu/emitters/frame.h"
#include "gpu/plan/contraction_space.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {

// The dot or convolution that the plan names; an error where kernels of products do not take it.
Result<const Instruction*> ProductOf(const EmitRequest& request);

// What it iterates over; an error where it has no terms.
Result<std::unique_ptr<ContractionSpace>> ProductSpaceOf(const EmitRequest& request, const Instruction& product);
// Those of a tile: rows, columns, terms.
std::array<TileAxis, 3> ProductAxes(const ContractionSpace& space);

// What sums are kept as, so that nothing of the result depends on it but, of floats, the rounding: integers in 32 bits
// at least, and in 64 where they saturate.
kernel::Type SumTypeOf(const Instruction& product);

// The forms for a host: packed_contraction.cpp, streamed_contraction.cpp.
Result<EmittedKernel> EmitPackedContraction(const EmitRequest& request);
Result<EmittedKernel> EmitStreamedContraction(const EmitRequest& request);

// Writes what a fusion makes of the sums of its product.
class ProductResults {
 public:
  ProductResults(const ContractionSpace& space, const Instruction& hero, KernelFrame& frame);

  // In a body for each warp: its rows of a tile of `tile_rows` x `tile_columns` that begins at row0, column0; a slot
  // for each row.
  void Store(std::span<const kernel::Slot> sums, kernel::Value row0, int64_t tile_rows, kernel::Value column0,
             int64_t tile_columns);
  // One row, which is bound; the column is the lane.
  void StoreRow(const kernel::Slot& sum, kernel::Value column0, int64_t tile_columns);
  // `sums` are kept as `accumulator`, and of each no term goes through more than `chain` additions.
  EmittedKernel Finish(std::string_view emitter, kernel::Type accumulator, int64_t chain,
                       SumRounding rounding = SumRounding::kNearest) &&;

 private:
  // What the product is for this sum.
  kernel::Value Declared(kernel::Value sum) const;

  const ContractionSpace& space_;
  const Instruction& hero_;
  const kernel::Type declared_;
  KernelFrame& frame_;
  std::vector<kernel::Array> outputs_;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_PRODUCT_H_
