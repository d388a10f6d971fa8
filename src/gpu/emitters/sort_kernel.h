// Shared parts of the kernels of a sort, where a block has a tile of a line. They compute elements, keys and
// comparisons by position, distribute a tile over threads, and store results.
#ifndef HLO_GPU_EMITTERS_SORT_KERNEL_H_
#define HLO_GPU_EMITTERS_SORT_KERNEL_H_

#include <functional>
#include <span>
#include <vector>

#include "gpu/emitters/frame.h"
#include "gpu/plan/sort_space.h"

namespace hlo::gpu {

// The scratch arrays of a sort: positions for merges, keys, the data that moves with them, and digit counts. Arrays
// that are read and written alternately exist twice. The remaining ones pass data between kRadixDigits and kRadixPass
// (sort_ranks.cpp).
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

  // `needed` are the nodes that are read from the operands.
  SortKernel(SortSpace& space, const EmitRequest& request, const SortStepAt& at, std::span<const NodeId> needed);

  kernel::KernelBuilder& k() { return frame_.k(); }
  KernelFrame& frame() { return frame_; }
  const SortSpace& space() const { return space_; }
  const SortShape& shape() const { return shape_; }
  const SortStepAt& at() const { return at_; }
  int64_t tiles() const { return tiles_; }  // In a line. kRadixOffsets has one block for all of them.

  Value line() const { return line_; }
  Value tile() const { return tile_; }    // For kRadixDigits, the number of the block within the line.
  Value first() const { return first_; }  // The first position of the tile.
  Value count() const { return count_; }  // The number of positions of the tile.

  // A scratch array for the elements of all lines. Alternating halves have the ids `id` and `id + 1`.
  Array Scratch(SortScratch id, int half, kernel::Type type);
  Value InLine(Value position) { return line_ * space_.length + position; }
  // The number of tiles that blocks have taken, in each pass.
  Array NextTiles();
  // The number of a kRadixPass, which is a parameter and not part of the code.
  Value pass() const { return pass_; }

  // Calls `body` for each walker's part of [0, count) of the tile in a phase. If there is one walker, calls it for all
  // of the tile at block level. `alone`, if set, tells whether the first walker has the whole tile.
  void Walk(const RangeBody& body, Value alone = Value());
  // Calls body(i) for i in [0, count), on all threads.
  void ForEach(Value count, const IndexBody& body);
  // Replaces each of [begin, begin + entries), kU32, by the sum of the entries before it.
  void SumBefore(Array counts, Value begin, int64_t entries);

  Value Element(int64_t operand, Value position);
  // Whether the element at position p comes before the element at q.
  Value Less(Value p, Value q);
  // Whether a key of the tile is a NaN that is unordered. No value if that cannot be.
  Value HasUnordered();
  Value KeyAt(Value position);
  kernel::Type key_type() const;
  kernel::Type carried_type() const;  // kU32 for a position.
  Value CarriedAt(Value position);

  // Stores the results at `place` of the line, from the element at a position, or from its key and carried data. Places
  // after the kept ones are ignored.
  void Results(Value place, Value position);
  void Results(Value place, Value key, Value carried);
  // The number of places of the tile that are written.
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

// The keys of long lines between passes. The first pass computes them from the operands, later ones read scratch
// memory, and the last one writes the results.
class MovedKeys {
 public:
  // If `moves`, the pass also reads the carried data and writes keys and data.
  MovedKeys(SortKernel& sort, bool moves);

  // The key of the i-th element of the tile.
  kernel::Value KeyAt(kernel::Value i) const;
  kernel::Value CarriedAt(kernel::Value i) const;
  void StoreAt(kernel::Value place, kernel::Value key, kernel::Value carried) const;

 private:
  SortKernel& sort_;
  kernel::Array keys_, carried_, keys_to_, carried_to_;
};

// The nodes that the kernel of a step reads from the operands.
std::vector<NodeId> ReadBy(const SortSpace& space, const SortStepAt& at);

// The emitters of the algorithms (sort_merge.cpp, sort_radix.cpp, sort_ranks.cpp, sort_select.cpp).
EmittedKernel EmitMerge(SortSpace& space, const EmitRequest& request, const SortStepAt& at);
EmittedKernel EmitRadix(SortSpace& space, const EmitRequest& request, const SortStepAt& at);
EmittedKernel EmitRanks(SortSpace& space, const EmitRequest& request, const SortStepAt& at);
EmittedKernel EmitSelect(SortSpace& space, const EmitRequest& request, const SortStepAt& at);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SORT_KERNEL_H_
