// What the kernels of a sort have in common: a block has a tile of a line; elements at a position, comparisons of two
// positions, keys; how threads share a tile, and where results go.
#ifndef HLO_GPU_EMITTERS_SORT_KERNEL_H_
#define HLO_GPU_EMITTERS_SORT_KERNEL_H_

#include <functional>
#include <span>
#include <vector>

#include "gpu/emitters/frame.h"
#include "gpu/plan/sort_space.h"

namespace hlo::gpu {

// The scratch arrays of a sort: positions of merges; keys, what moves with them, and how often digits occur. Those that
// are read and written by turns are two. The rest is between kernels of kRadixDigits and kRadixPass (sort_ranks.cpp).
enum SortScratch : int {
  kPlaces = 0,
  kKeys = 2,
  kCarried = 4,
  kCounts = 6,
  kBegins,
  kStates,
  kNextTiles,
  kSums,
  kArrivals
};

class SortKernel {
 public:
  using Value = kernel::Value;
  using Array = kernel::Array;
  using RangeBody = std::function<void(Value begin, Value end)>;
  using IndexBody = kernel::KernelBuilder::IndexBody;

  // `needed`: what is read of the operands.
  SortKernel(SortSpace& space, const EmitRequest& request, const SortStepAt& at, std::span<const NodeId> needed);

  kernel::KernelBuilder& k() { return frame_.k(); }
  KernelFrame& frame() { return frame_; }
  const SortSpace& space() const { return space_; }
  const SortShape& shape() const { return shape_; }
  const SortStepAt& at() const { return at_; }
  int64_t tiles() const { return tiles_; }  // Of a line; kRadixOffsets has one block for all.

  Value line() const { return line_; }
  Value tile() const { return tile_; }    // Of kRadixDigits: the number of the block among those of the line.
  Value first() const { return first_; }  // The first position of the tile...
  Value count() const { return count_; }  // ...and how many it has.

  // Scratch memory of two halves by turns has ids `id` and `id + 1`; elements of all lines.
  Array Scratch(SortScratch id, int half, kernel::Type type);
  Value InLine(Value position) { return line_ * space_.length + position; }
  // How many tiles blocks have taken, in each pass.
  Array NextTiles();
  // Of kRadixPass: its number, which the code of a kernel does not know.
  Value pass() const { return pass_; }

  // Each walker's own part of [0, count) of the tile, in a phase; the whole of it at block level where there is one.
  // `alone`, if any: whether the first walker has it all.
  void Walk(const RangeBody& body, Value alone = Value());
  // body(i) for i in [0, count), by all threads.
  void ForEach(Value count, const IndexBody& body);
  // Each of [begin, begin + entries), kU32, becomes the sum of those before it.
  void SumBefore(Array counts, Value begin, int64_t entries);

  Value Element(int64_t operand, Value position);
  // Does the element at position p come before that at q?
  Value Less(Value p, Value q);
  // Whether a key of the tile is a NaN that compares with nothing. None where there can be no such.
  Value HasUnordered();
  Value KeyAt(Value position);
  kernel::Type key_type() const;
  kernel::Type carried_type() const;  // kU32: a position.
  Value CarriedAt(Value position);

  // The results at `place` of the line, from the element at a position; or from its key and what was carried with it.
  // Places beyond those that are kept are left out.
  void Results(Value place, Value position);
  void Results(Value place, Value key, Value carried);
  // How many of the tile's places go out.
  Value KeptCount();

  EmittedKernel Finish(std::string_view what) &&;

 private:
  Value NumberOfBlock();
  void Store(Value place, const std::function<Value(size_t output)>& value);
  Value NumberAt(Value position);
  Value FromKey(Value key);
  Value ToKey(Value number);

  SortSpace& space_;
  SortShape shape_;
  SortStepAt at_;
  int64_t tiles_;
  KernelFrame frame_;
  std::vector<Array> outputs_;
  Value pass_, line_, tile_, first_, count_;
};

// The keys of long lines, from one pass to the next: read off the operands in the first, and from scratch memory later;
// the last one writes the results.
class MovedKeys {
 public:
  // `moves`: what goes along with the keys is read, and all is written.
  MovedKeys(SortKernel& sort, bool moves);

  // Of the i-th element of the tile.
  kernel::Value KeyAt(kernel::Value i) const;
  kernel::Value CarriedAt(kernel::Value i) const;
  void Put(kernel::Value place, kernel::Value key, kernel::Value carried) const;

 private:
  SortKernel& sort_;
  kernel::Array keys_, carried_, keys_to_, carried_to_;
};

// What a kernel of a pass reads of the operands.
std::vector<NodeId> ReadBy(const SortSpace& space, const SortStepAt& at);

// What the ways emit (sort_merge.cpp, sort_radix.cpp, sort_ranks.cpp, sort_select.cpp).
EmittedKernel EmitMerge(SortSpace& space, const EmitRequest& request, const SortStepAt& at);
EmittedKernel EmitRadix(SortSpace& space, const EmitRequest& request, const SortStepAt& at);
EmittedKernel EmitRanks(SortSpace& space, const EmitRequest& request, const SortStepAt& at);
EmittedKernel EmitSelect(SortSpace& space, const EmitRequest& request, const SortStepAt& at);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SORT_KERNEL_H_
