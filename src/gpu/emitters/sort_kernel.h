// Shared parts of the kernels of a sort.
#ifndef HLO_GPU_EMITTERS_SORT_KERNEL_H_
#define HLO_GPU_EMITTERS_SORT_KERNEL_H_

#include <functional>
#include <span>
#include <vector>

#include "gpu/emitters/frame.h"
#include "gpu/plan/sort_space.h"

namespace hlo::gpu {

// Numbers of scratch arrays. Arrays that are read and written alternately also have the next number. The last five are
// for kRadixDigits and kRadixPass (sort_ranks.cpp).
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
  using RangeBody = std::function<void(Value begin, Value end)>;
  using IndexBody = KernelBuilder::IndexBody;

  SortKernel(SortSpace& space, const EmitRequest& request, const SortStepAt& at, std::span<const NodeId> needed);

  KernelBuilder& k() { return frame_.k(); }
  KernelFrame& frame() { return frame_; }
  const SortSpace& space() const { return space_; }
  const SortShape& shape() const { return shape_; }
  const SortStepAt& at() const { return at_; }
  int64_t tiles() const { return tiles_; }  // Tiles of a line. In kRadixOffsets, one block has all of them.

  Value line() const { return line_; }
  Value tile() const { return tile_; }  // The block's tile. For kRadixDigits, the block's number in the line.
  Value first() const { return first_; }
  Value count() const { return count_; }

  // The halves of an alternating array have ids `id` and `id + 1`.
  Array Scratch(SortScratch id, int half, Type type);
  Value InLine(Value position) { return line_ * space_.length + position; }
  // For each pass, the number of tiles that blocks have taken.
  Array NextTiles();
  // The number of the radix pass, which is a parameter of the kernel.
  Value pass() const { return pass_; }

  // Calls `body` for each walker's part of [0, count()). If a chunk is the whole tile (SortShape), the only walker is
  // the block, at block level. Otherwise each thread is a walker, in a phase. If `alone` is true, the first walker gets
  // the whole tile.
  void Walk(const RangeBody& body, Value alone = Value());
  void ForEach(Value count, const IndexBody& body);
  // Replaces each kU32 of [begin, begin + entries) by the sum of the entries before it.
  void SumBefore(Array counts, Value begin, int64_t entries);

  Value Element(int64_t operand, Value position);
  Value Less(Value p, Value q);
  // Whether the tile has a NaN key that compares with nothing. An empty Value if that is impossible or does not matter.
  Value HasUnordered();
  Value KeyAt(Value position);
  Type key_type() const;
  Type carried_type() const;  // kU32 for a position.
  Value CarriedAt(Value position);

  // Stores the results for `place` of the line, if the place is kept.
  void Results(Value place, Value position);
  void Results(Value place, Value key, Value carried);
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

// Keys of long lines. The first pass computes them from the operands, later passes read scratch memory, the last pass
// writes the results.
class MovedKeys {
 public:
  // Without `moves`, only reads keys.
  MovedKeys(SortKernel& sort, bool moves);

  // `i` counts elements of the tile.
  Value KeyAt(Value i) const;
  Value CarriedAt(Value i) const;
  void StoreAt(Value place, Value key, Value carried) const;

 private:
  SortKernel& sort_;
  Array keys_, carried_, keys_to_, carried_to_;
};

// Nodes that the step's kernel reads from operands.
std::vector<NodeId> ReadBy(const SortSpace& space, const SortStepAt& at);

EmittedKernel EmitMerge(SortSpace& space, const EmitRequest& request, const SortStepAt& at);
EmittedKernel EmitRadix(SortSpace& space, const EmitRequest& request, const SortStepAt& at);
EmittedKernel EmitRanks(SortSpace& space, const EmitRequest& request, const SortStepAt& at);
EmittedKernel EmitSelect(SortSpace& space, const EmitRequest& request, const SortStepAt& at);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SORT_KERNEL_H_
