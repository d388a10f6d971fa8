// Products of tiles through shared memory, for a GPU: what the forms have in common. A block has a tile of the result;
// it goes through the terms by panels, of which each operand's part is put into shared memory, converted and with 0 for
// what is padding, and multiplied from there. Blocks that share a tile have some of the panels each and leave partial
// sums as [tile][split][row][column]; the last to arrive adds those up in the order of the terms.
#ifndef HLO_GPU_EMITTERS_TILED_PRODUCT_H_
#define HLO_GPU_EMITTERS_TILED_PRODUCT_H_

#include <span>

#include "gpu/emitters/product.h"
#include "gpu/emitters/tile_fill.h"

namespace hlo::gpu {

class TiledProduct {
 public:
  TiledProduct(ContractionSpace& space, const Instruction& hero, const EmitRequest& request, kernel::Type operand_type,
               TilePitches lhs_pitches, TilePitches rhs_pitches);
  virtual ~TiledProduct() = default;

  // The kernel without its name.
  void Emit();

 protected:
  // At block level: sums that are zero; plus the products of the tiles' panel.
  virtual void BeginSums() = 0;
  virtual void Multiply() = 0;
  // The sums to the results; to `partials` from `begin` on, a tile row by row; and those of all splits that begin at
  // `begin`, added up, to the results.
  virtual void Store() = 0;
  virtual void LeavePartials(const kernel::Array& partials, kernel::Value begin) = 0;
  virtual void StorePartials(const kernel::Array& partials, kernel::Value begin) = 0;

  ContractionSpace& space_;
  const Instruction& hero_;
  const kernel::Type declared_, operand_type_, sum_type_;
  const int64_t tile_rows_, tile_columns_, panel_, warps_, splits_;
  const TilePitches lhs_pitches_, rhs_pitches_;
  KernelFrame frame_;
  kernel::KernelBuilder& k_;
  Emission& emission_;
  ProductResults results_;
  kernel::Array lhs_tile_, rhs_tile_;
  kernel::Value column0_, row0_;  // Where the tile begins.

 private:
  using Dimension = ContractionSpace::Variable;

  struct Way {
    const Dimension& variable;
    kernel::Value from;
    int64_t steps, pitch;
  };

  TileWay Along(const Way& way);
  void Fill(const kernel::Array& tile, NodeId node, std::span<const IndexCondition> conditions, const Way& line,
            const Way& lane);
  void FillTiles(kernel::Value term0);
};

// The form for the matrix units: matrix_contraction.cpp.
Result<EmittedKernel> EmitMatrixContraction(const EmitRequest& request);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_TILED_PRODUCT_H_
