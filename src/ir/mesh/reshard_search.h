// Searches for moves between two splits, regardless of their cost.
//
// Moves change a dimension only between numbers of parts that nest (reshard.h).
#ifndef HLO_IR_MESH_RESHARD_SEARCH_H_
#define HLO_IR_MESH_RESHARD_SEARCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/mesh/reshard.h"

namespace hlo {

using AtomList = std::vector<uint8_t>;  // The major atom first.

// The fields of an ArraySplit that moves change.
struct SplitState {
  std::vector<AtomList> dims;
  AxisSet pending;

  AxisSet InDims() const;
  bool operator==(const SplitState&) const = default;
};
SplitState StateOf(const ArraySplit& split);
// The split with this state, and with the other fields of `like`.
ArraySplit SplitOf(const SplitState& state, const ArraySplit& like);

struct MeshArray {
  Shape whole;
  std::vector<int64_t> atom_sizes;
  AxisSet usable;  // Atoms that are not manual.

  int64_t SizeOf(std::span<const uint8_t> atoms) const;
  int64_t SizeOf(AxisSet atoms) const;
  // Whether the parts by `coarse` consist of whole parts by `fine`. `coarse` is a beginning of `fine`.
  bool Nests(int64_t dim, std::span<const uint8_t> coarse, std::span<const uint8_t> fine) const;
  Shape LocalShape(const SplitState& state) const;
};

struct ReshardStep {
  MoveKind kind;
  SplitState after;
};
using Route = std::vector<ReshardStep>;

// A route by these rules, in order of preference:
//   1. a permute, if all dimensions have the final number of parts
//   2. slices by free atoms
//   3. scatter_sum of pending atoms into a dimension
//   4. exchanges that bring atoms to their final dimension
//   5. sum of the pending atoms that remain
//   6. with detours: exchanges that bring atoms nearer to their final dimension
//   7. a gather of as few atoms as possible that are in the way
// nullopt if the detours are circular.
std::optional<Route> FindRoute(const MeshArray& array, const SplitState& from, const SplitState& to, bool with_detours);

// The route of a sum, a gather of each dimension, and a slice.
Route GatherAllRoute(const SplitState& from, const SplitState& to);

// A split that a permute turns into `to`, and in which as many atoms as possible are at their place in `from`.
SplitState RelabelledNear(const MeshArray& array, const SplitState& from, const SplitState& to);

// `split`, sliced by those atoms of `other` that are free in it, in their dimensions.
SplitState RefinedBy(const MeshArray& array, const SplitState& split, const SplitState& other);

// The route from the end of `route` back to its beginning `from`. `route` must not reduce pending atoms.
Route Reversed(const SplitState& from, const Route& route);

}  // namespace hlo

#endif  // HLO_IR_MESH_RESHARD_SEARCH_H_
