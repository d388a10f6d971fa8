// The iteration space of a sort: lines, and positions along each line. topk sorts values in total order, with the
// position as a second result, and keeps the first k positions.
//
//   f32[8,64,32] sort over {1}    kept 8, kept 32, scanned 64: 256 lines of 64 positions
//
// An algorithm is a list of kernels (steps):
//
//   merge   Tiles of a line are sorted and then merged with the comparator. Positions are moved, not elements.
//   radix   Keys become unsigned numbers in the order of the comparator. Stable passes sort by one digit after another,
//           the lowest first. If each thread has a part of the tile, digits are counted once, and tiles get their
//           destinations from the tiles before them (gpu/emitters/sort_ranks.cpp).
//   select  For a small k, if one thread processes a whole tile: keeps the first k elements of each tile, and then the
//           first k of these elements.
//
// A line that fits into one tile needs one kernel. All algorithms are stable.
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

// The key of a comparator that computes a number from each of its two elements in the same way, and compares the
// numbers with LT or GT.
struct SortKey {
  PrimitiveType type;
  bool descending;
  // Whether floats have a total order. Otherwise -0 equals +0, and comparisons with NaN are false.
  bool is_total;
  // Computes the number from one element. Null if the number is itself an element, of operand `element`.
  const Instruction* number;
  int64_t element;
};

struct SortSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  const Instruction* inst = nullptr;
  int64_t length = 1;            // Positions of a line.
  int64_t kept = 1;              // Positions that are written.
  std::vector<NodeId> elements;  // Operands' elements at a line and position.
  std::vector<int64_t> results;  // For each output, the operand that it sorts, or kPosition.
  std::optional<SortKey> key;

  // The data that moves with the key if the outputs need more than the key. If one other operand is written, this is
  // its element. Otherwise it is the position, from which all operands can be read.
  static constexpr int64_t kNothing = -2, kPosition = -1;
  int64_t carried = kPosition;
  bool HasDigits() const { return key && key->is_total; }
  // Whether the key alone determines operand `result`. False for kPosition.
  bool IsKey(int64_t result) const { return HasDigits() && key->number == nullptr && key->element == result; }

  const Variable& position() const { return variables.back(); }
  int64_t lines() const { return Size(Role::kKept); }
  const Computation* comparator() const;  // Null for topk.
  std::vector<NodeId> OutputValues() const;
};

// Returns null if the root is not a sort or topk. Errors: kUnsupported.
Result<std::unique_ptr<SortSpace>> SortSpaceOf(const FusionBody& body);

// One kernel's task, written in KernelPlan::algorithm.
enum class SortStep : uint8_t {
  kMergeLines,
  kMergeTiles,
  kMergeRuns,
  kRadixLines,
  kRadixCount,
  kRadixOffsets,  // Computes the destinations of each tile's digits.
  kRadixMove,
  kRadixDigits,  // Computes each digit's first destination in the line, for all passes.
  kRadixPass,    // Moves keys to their destinations, after those of earlier tiles.
  kSelectTiles,
  kSelectLines,  // Selects the first elements of a line, or of its tiles' selections.
};
std::string_view ToString(SortStep step);

// One kernel. kMergeRuns merges runs of length `run`. `pass` numbers merges, radix passes or selections.
struct SortStepAt {
  SortStep step;
  int64_t run = 0;
  int pass = 0;
  bool is_last = false;  // Writes the results.
};

// A plan's tile. `tile`: positions of a block. `chunk`: positions of a thread; if it is the whole tile, the block works
// as one thread. `digits`: values of a digit, a power of two, or 1 for merges. `slack`: elements that a selection can
// hold beyond the kept ones, else 0.
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
int64_t BytesMoved(const SortSpace& space);

std::vector<SortStepAt> SortSteps(const SortSpace& space, const SortShape& shape);

int64_t BlocksOfLine(const SortSpace& space, SortStep step, const SortShape& shape);
LaunchShape LaunchOf(const SortSpace& space, SortStep step, const KernelPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SORT_SPACE_H_
