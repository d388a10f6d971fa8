// Products of tiles in shared memory, for GPUs. A block computes a tile of the result, a panel of terms at a time.
// Operands are converted and padded with 0. Blocks that share a tile process different panels and write partial sums as
// [tile][split][row][column]. The last block to arrive adds these in the order of the terms.
#ifndef HLO_GPU_EMITTERS_TILED_PRODUCT_H_
#define HLO_GPU_EMITTERS_TILED_PRODUCT_H_

#include <span>

#include "gpu/emitters/product.h"
#include "gpu/emitters/tile_fill.h"

namespace hlo::gpu {

class TiledProduct {
 public:
  TiledProduct(ContractionSpace& space, const Instruction& hero, const EmitRequest& request, Type operand_type,
               TilePitches lhs_pitches, TilePitches rhs_pitches);
  virtual ~TiledProduct() = default;

  void Emit();

 protected:
  // Called at block level. Multiply adds the current panel's products.
  virtual void BeginSums() = 0;
  virtual void Multiply() = 0;
  // LeavePartials writes the sums row by row from `begin` on. StorePartials adds the sums of all splits from `begin`
  // on, and writes the results.
  virtual void Store() = 0;
  virtual void LeavePartials(const Array& partials, Value begin) = 0;
  virtual void StorePartials(const Array& partials, Value begin) = 0;

  ContractionSpace& space_;
  const Instruction& hero_;
  const Type declared_, operand_type_, sum_type_;
  const int64_t tile_rows_, tile_columns_, panel_, warps_, splits_;
  const TilePitches lhs_pitches_, rhs_pitches_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  ProductResults results_;
  Array lhs_tile_, rhs_tile_;
  Value column0_, row0_;

 private:
  using Dimension = ContractionSpace::Variable;

  struct Axis {
    const Dimension& variable;
    Value from;
    int64_t steps, pitch;
  };

  FillAxis Along(const Axis& axis);
  void Fill(const Array& tile, NodeId node, std::span<const IndexCondition> conditions, const Axis& line,
            const Axis& lane);
  void FillTiles(Value term0);
};

Result<EmittedKernel> EmitMatrixContraction(const EmitRequest& request);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_TILED_PRODUCT_H_
