// A tile of an operand, put into shared memory for a product to read it from there.
#ifndef HLO_GPU_EMITTERS_TILE_FILL_H_
#define HLO_GPU_EMITTERS_TILE_FILL_H_

#include <functional>
#include <optional>
#include <span>

#include "gpu/emitters/emission.h"
#include "gpu/kernel/builder.h"

namespace hlo::gpu {

// Element [line, term] of an operand's tile is at line * line + term * term.
struct TilePitches {
  int64_t line, term;
};

// A way through an index: from where, how far, and how far apart its neighbours lie in the tile.
struct TileWay {
  std::function<void(kernel::Value)> bind;  // Binds the index.
  int64_t size;                             // Of the index. From there on the last element is read again...
  kernel::Value from;
  int64_t steps, pitch;
  std::optional<int64_t> counted;  // ...or, where it is a term, 0 from here on.
};

// At block level. A warp steps along `line`; its lanes take `lane`, whose index is `lane_index` and whose steps are 32
// times a power of 2, at most 16. `node` is converted to `declared`, then to the tile's type; where a condition does
// not hold it is 0.
void FillTile(kernel::KernelBuilder& k, Emission& emission, const kernel::Array& tile, NodeId node,
              kernel::Type declared, std::span<const IndexCondition> conditions, const TileWay& line,
              const TileWay& lane, IndexExpr lane_index);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_TILE_FILL_H_
