// Shared parts of the emitters of products.
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

// The plan's only hero. Error C001 if product kernels do not support it.
Result<const Instruction*> ProductOf(const EmitRequest& request);

// Error C001 if `product` has no ContractionSpace or no terms.
Result<std::unique_ptr<ContractionSpace>> ProductSpaceOf(const EmitRequest& request, const Instruction& product);
// The axes of rows, columns and terms.
std::array<TileAxis, 3> ProductAxes(const ContractionSpace& space);

// Type of the sums. For integers it has at least 32 bits, and 64 if the product saturates.
Type SumTypeOf(const Instruction& product);

Result<EmittedKernel> EmitPackedContraction(const EmitRequest& request);
Result<EmittedKernel> EmitStreamedContraction(const EmitRequest& request);

// Writes a fusion's results from the sums of its product.
class ProductResults {
 public:
  ProductResults(const ContractionSpace& space, const Instruction& hero, KernelFrame& frame);

  // Stores the warp's rows of the tile at row0, column0. Called at warp level. `sums` has a slot for each row.
  void Store(std::span<const Slot> sums, Value row0, int64_t tile_rows, Value column0, int64_t tile_columns);
  // The row's variables must be bound. The column is the lane.
  void StoreRow(const Slot& sum, Value column0, int64_t tile_columns);
  // `chain` is the most additions that a term passes through.
  EmittedKernel Finish(std::string_view emitter, Type accumulator, int64_t chain,
                       SumRounding rounding = SumRounding::kNearest) &&;

 private:
  Value Declared(Value sum) const;

  const ContractionSpace& space_;
  const Instruction& hero_;
  const Type declared_;
  KernelFrame& frame_;
  std::vector<Array> outputs_;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_PRODUCT_H_
