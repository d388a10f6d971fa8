// What the kernels of a sort iterate over: lines, and the positions along each. sort and topk are one: topk is the sort
// of values by their total order, with the position as a second result, of which the first k are kept.
//
//   f32[8,64,32] sort over {1}    kept 8, kept 32, scanned 64: 256 lines of 64 positions
//
// Three ways, each a list of kernels (the steps):
//
//   merge   tiles of a line are sorted and then merged, which compares as the comparator says; what moves are positions
//   radix   keys become unsigned numbers in the order of the comparator, whose digits are sorted one after the other,
//           the lowest first, each pass stable. Where each thread has a part of the tile, digits are counted once, and
//           tiles ask those before them where theirs go (gpu/emitters/sort_ranks.cpp)
//
//   select  where few of a line are kept, and one thread has a tile to itself: the first of each tile, and then of
//   those
//
// A tile that holds a line is one kernel. All are stable, whatever is asked for.
#ifndef HLO_GPU_PLAN_SORT_SPACE_H_
#define HLO_GPU_PLAN_SORT_SPACE_H_

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "gpu/plan/iteration_space.h"
#include "gpu/plan/launch_shape.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// What a sort is ordered by, where that is one number of each element: the smaller `number`, or the larger one, comes
// first. Found where a comparator is LT or GT of the same function of both sides.
struct SortKey {
  PrimitiveType type;
  bool descending;
  // Floats: in their total order. Otherwise -0 and +0 are equal, and a NaN compares with nothing.
  bool is_total;
  // An instruction of the comparator, of the parameters of one side; null: the operand `element` itself.
  const Instruction* number;
  int64_t element;
};

struct SortSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  const Instruction* inst = nullptr;  // The sort or topk.
  int64_t length = 1;                 // Positions of a line.
  int64_t kept = 1;                   // The first so many of them go out.
  std::vector<NodeId> elements;       // Of each operand, at a line and position.
  std::vector<int64_t> results;       // By output: the operand that it is of, or kPosition; its value is then -1.
  std::optional<SortKey> key;

  // What moves along with the key, for what cannot be read off it: the one operand that goes out beside it, or else
  // the position, from which all are found.
  static constexpr int64_t kNothing = -2, kPosition = -1;
  int64_t carried = kPosition;
  bool HasDigits() const { return key && key->is_total; }
  // Whether the elements of operand `result` (of kPosition: positions) are known from keys alone.
  bool IsKey(int64_t result) const { return HasDigits() && key->number == nullptr && key->element == result; }

  const Variable& position() const { return variables.back(); }
  int64_t lines() const { return Size(Role::kKept); }
  const Computation* comparator() const;  // Null: topk.
  std::vector<NodeId> OutputValues() const;
};

// Null where neither is at the root. Errors (kUnsupported): no kernels for it.
Result<std::unique_ptr<SortSpace>> SortSpaceOf(const FusionBody& body);

// What one kernel does; KernelPlan::algorithm says it by its text.
enum class SortStep : uint8_t {
  kMergeLines,    // All of a line, in one block.
  kMergeTiles,    // A tile of a line, in one block...
  kMergeRuns,     // ...and two sorted runs of tiles become one.
  kRadixLines,    // All of a line, in one block.
  kRadixCount,    // How often each digit is in each tile...
  kRadixOffsets,  // ...where those of it begin...
  kRadixMove,     // ...and there they go.
  kRadixDigits,   // Where the keys with each digit begin in the line, for all passes...
  kRadixPass,     // ...and there they go, after those of the tiles before.
  kSelectTiles,   // The first of a tile...
  kSelectLines,   // ...and of a line, or of what its tiles left.
};
std::string_view ToString(SortStep step);

// One step of a sort: merges have the length of their runs, passes over digits their number.
struct SortStepAt {
  SortStep step;
  int64_t run = 0;
  int pass = 0;
  bool is_last = false;  // It writes the results.
};

// Sizes of the tile of a plan: positions of a block, of one of its threads, values of a digit (a power of two; 1 where
// it merges); where it selects, for how many more than are kept there is room. Where one thread has the tile to itself
// the block goes through it as one.
struct SortShape {
  int64_t tile, chunk, digits, slack;
  explicit SortShape(const KernelPlan& plan)
      : tile(plan.tile[0]), chunk(plan.tile[1]), digits(plan.tile[2]), slack(plan.tile.size() > 3 ? plan.tile[3] : 0) {}
  bool selects() const { return slack != 0; }
  int64_t walkers() const { return tile / chunk; }
};

int KeyBits(const SortKey& key);
int DigitBits(const SortShape& shape);
int DigitPasses(const SortSpace& space, const SortShape& shape);
// Of a tile of digits: bytes of a key and what moves with it.
int64_t BytesMoved(const SortSpace& space);

// The kernels of a sort whose tiles have this shape, in order.
std::vector<SortStepAt> SortSteps(const SortSpace& space, const SortShape& shape);

// How many blocks share a line.
int64_t BlocksOfLine(const SortSpace& space, SortStep step, const SortShape& shape);
LaunchShape LaunchOf(const SortSpace& space, SortStep step, const KernelPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SORT_SPACE_H_
