// Plans for changing the split of an array over devices, by collectives and local slices.
//
//   mesh x=4, y=2, f32[16,16,16] from [{y}, {}, {x}] to [{}, {x, y}, {}]
//   => exchange(2 -> 1: {x}) 2048 B; exchange(0 -> 1: {y}) 2048 B
//
// The partitioner makes the instructions of a plan.
//
// Parts have ceil(size / parts) elements. If a size is not divisible, parts of parts need not nest: 10 elements have 2
// parts of 5 and 4 parts of 3, of which the first 2 hold 6 elements. A move changes a dimension only between numbers of
// parts that nest, and works on the padded parts:
//   1. Dimensions that get more parts are padded to a multiple of the later local size.
//   2. The collective, or the slice, moves blocks of equal size.
//   3. Dimensions that get fewer parts are cut to the later local size.
#ifndef HLO_IR_MESH_RESHARD_H_
#define HLO_IR_MESH_RESHARD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/mesh/axes.h"
#include "ir/shape.h"

namespace hlo {

enum class MoveKind : uint8_t {
  kSlice,       // Each device keeps its part along new atoms. Local.
  kPermute,     // The same parts on other devices, with as many copies of each: collective-permute.
  kExchange,    // Atoms leave the end of one dimension and split another one: all-to-all.
  kGather,      // Atoms leave the ends of dimensions: all-gather.
  kScatterSum,  // The array is reduced along pending atoms, which then split a dimension: reduce-scatter.
  kSum,         // The array is reduced along pending atoms: all-reduce.
};

// Atoms at the end of a dimension, the major one first.
struct DimAtoms {
  int64_t dim;
  std::vector<uint8_t> atoms;
};

struct Move {
  MoveKind kind;
  AxisSet atoms;  // Devices exchange data only with devices that differ from them in these atoms alone.
  ArraySplit before, after;
  Shape local_before, local_after;  // The shape on a device.
  int64_t result_bytes = 0;         // The collective's result on a device, padding included. 0 for a slice.
  int64_t arriving_bytes = 0;       // Bytes that a device receives from others, padding included.

  // Atoms that no longer split a dimension, by ascending dimension. Empty for a permute.
  std::vector<DimAtoms> Removed() const;
  // Atoms that newly split a dimension. An exchange may append its atoms in another order than it removes them.
  std::vector<DimAtoms> Added() const;
};

struct ReshardPlan {
  std::vector<Move> moves;
  // The mesh of the moves if a move uses a part of an atom. Otherwise the moves use the given mesh.
  std::optional<Axes> finer_axes;
  // Whether a move gathers the whole array on each device, although the plan begins and ends with parts.
  bool gathers_whole = false;

  int64_t Collectives() const;
  int64_t ArrivingBytes() const;
  // Sum of the bytes of each collective's operand or result on a device, whichever is larger.
  int64_t ArrayBytes() const;
  // The moves with the bytes of their results: "slice(0: {x}); gather(1: {y}) 8192 B". "none" for no moves, and ";
  // whole" at the end if `gathers_whole`. `axes` is the given mesh.
  std::string Text(const Axes& axes) const;
};

// `shape` is that of the whole array. `from`, `to` and `shape` must have the same rank. The plan is the cheapest of
// several: fewest arriving bytes, then fewest collectives. It has at most 2 * atoms + 1 moves, and no more arriving
// bytes than a gather of the whole array.
//
// Errors (U044): the manual atoms differ, the array would become pending along an atom or change its reduction, or the
// splits are not for the same single device.
Result<ReshardPlan> PlanReshard(const ArraySplit& from, const ArraySplit& to, const Shape& shape, const Axes& axes);

}  // namespace hlo

#endif  // HLO_IR_MESH_RESHARD_H_
