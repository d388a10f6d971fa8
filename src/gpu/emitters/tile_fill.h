// Copies an operand's tile to shared memory.
#ifndef HLO_GPU_EMITTERS_TILE_FILL_H_
#define HLO_GPU_EMITTERS_TILE_FILL_H_

#include <functional>
#include <optional>
#include <span>

#include "gpu/emitters/emission.h"
#include "gpu/emitters/names.h"

namespace hlo::gpu {

// Element [line, term] is at line * pitches.line + term * pitches.term.
struct TilePitches {
  int64_t line, term;
};

// An axis of a tile: indices [from, from + steps) of the operand.
struct FillAxis {
  std::function<void(Value)> bind;
  // Indices from `size` on read the last element again.
  int64_t size;
  Value from;
  int64_t steps, pitch;
  std::optional<int64_t> counted;  // For a term: elements from this index on are 0.
};

// Called at block level. Warps share the steps of `line`. Lanes share the steps of `lane` (index variable
// `lane_index`), 32 times a power of 2 up to 16. The value of `node` is converted to `declared` and then to the tile's
// type. Elements where a condition does not hold are 0.
void FillTile(KernelBuilder& k, Emission& emission, const Array& tile, NodeId node, Type declared,
              std::span<const IndexCondition> conditions, const FillAxis& line, const FillAxis& lane,
              IndexExpr lane_index);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_TILE_FILL_H_
