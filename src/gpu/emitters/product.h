// Shared parts of the emitters of products: the product and the use of its sums.
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

// The dot or convolution that the plan names. An error if product kernels do not support it.
Result<const Instruction*> ProductOf(const EmitRequest& request);

// Its iteration space. An error if it has no terms.
Result<std::unique_ptr<ContractionSpace>> ProductSpaceOf(const EmitRequest& request, const Instruction& product);
// The axes of a tile: rows, columns, terms.
std::array<TileAxis, 3> ProductAxes(const ContractionSpace& space);

// The type of sums. It affects results only through the rounding of floats. Integers have at least 32 bits, and 64 bits
// if they saturate.
kernel::Type SumTypeOf(const Instruction& product);

// For the host.
Result<EmittedKernel> EmitPackedContraction(const EmitRequest& request);
Result<EmittedKernel> EmitStreamedContraction(const EmitRequest& request);

// Computes and writes the results of a fusion from the sums of its product.
class ProductResults {
 public:
  ProductResults(const ContractionSpace& space, const Instruction& hero, KernelFrame& frame);

  // Stores a warp's rows of a tile of `tile_rows` x `tile_columns` at row0, column0. `sums` has a slot for each row.
  // Used in a body for each warp.
  void Store(std::span<const kernel::Slot> sums, kernel::Value row0, int64_t tile_rows, kernel::Value column0,
             int64_t tile_columns);
  // Stores one row, whose variables are bound. The column is the lane.
  void StoreRow(const kernel::Slot& sum, kernel::Value column0, int64_t tile_columns);
  // `accumulator` is the type of the sums, and `chain` the most additions of any term.
  EmittedKernel Finish(std::string_view emitter, kernel::Type accumulator, int64_t chain,
                       SumRounding rounding = SumRounding::kNearest) &&;

 private:
  // The sum as the declared type of the product.
  kernel::Value Declared(kernel::Value sum) const;

  const ContractionSpace& space_;
  const Instruction& hero_;
  const kernel::Type declared_;
  KernelFrame& frame_;
  std::vector<kernel::Array> outputs_;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_PRODUCT_H_
