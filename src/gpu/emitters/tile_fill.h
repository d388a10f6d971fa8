// Copies a tile of an operand to shared memory, from where a product reads it.
#ifndef HLO_GPU_EMITTERS_TILE_FILL_H_
#define HLO_GPU_EMITTERS_TILE_FILL_H_

#include <functional>
#include <optional>
#include <span>

#include "gpu/emitters/emission.h"
#include "gpu/kernel/builder.h"

namespace hlo::gpu {

// Element [line, term] of an operand's tile is at line * pitches.line + term * pitches.term.
struct TilePitches {
  int64_t line, term;
};

// One index of a tile: its start, its steps, and its pitch in the tile.
struct FillAxis {
  std::function<void(kernel::Value)> bind;
  int64_t size;  // The number of elements. The last one is read again for larger indices.
  kernel::Value from;
  int64_t steps, pitch;
  std::optional<int64_t> counted;  // For a term: elements from this index on are 0.
};

// Used at block level. The warps divide the steps of `line`. The lanes of a warp take `lane`, whose index is
// `lane_index`; its steps are 32 times a power of 2, at most 16. `node` is converted to `declared` and then to the
// tile's type. Where a condition does not hold, the element is 0.
void FillTile(kernel::KernelBuilder& k, Emission& emission, const kernel::Array& tile, NodeId node,
              kernel::Type declared, std::span<const IndexCondition> conditions, const FillAxis& line,
              const FillAxis& lane, IndexExpr lane_index);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_TILE_FILL_H_
