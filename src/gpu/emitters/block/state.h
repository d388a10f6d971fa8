// The state of the emitter of a region that runs in one block, and the functions of its parts.
#ifndef HLO_GPU_EMITTERS_BLOCK_STATE_H_
#define HLO_GPU_EMITTERS_BLOCK_STATE_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <variant>
#include <vector>

#include "gpu/emitters/cluster_product.h"
#include "gpu/emitters/frame.h"
#include "gpu/plan/block_space.h"
#include "ir/device_limits.h"

namespace hlo::gpu {

// An array's location. Empty if the array has no elements or is never read.
using Home = std::variant<std::monostate, Value, Variable, Array>;
// A location for each leaf of a value's shape.
using Homes = std::vector<Home>;
using Known = std::unordered_map<const Instruction*, Homes>;

// A state array that the loop fills. It is the buffer of result `root` and initially contains `operand`.
struct Filled {
  int64_t operand;
  size_t root;
};

struct BlockState {
  BlockState(const BlockSpace& space, const EmitRequest& request)
      : space(space),
        request(request),
        region(request.body.source()),
        threads(request.plan.threads),
        k(KernelName(region, request.suffix), request.plan.splits, static_cast<int>(threads)) {
    if (!space.recurrent) return;
    k.SetCluster(static_cast<int>(request.plan.splits));
    columns.emplace(k, space.recurrent->period);
    most_shared_bytes = kMostSharedBytes - SharedBytes(*space.recurrent, k.cluster(), k.warps());
  }

  const BlockSpace& space;
  const EmitRequest& request;
  const Instruction& region;
  const int64_t threads;
  KernelBuilder k;
  EmittedKernel kernel;
  // If shared arrays exceed the most bytes, further ones are in scratch memory, which a cache holds.
  int64_t shared_bytes = 0, most_shared_bytes = kStaticValueBytes;
  int scratches = 0;
  Array trips;
  Value most_trips, outermost_trips;
  // Whether a loop exceeded its limit of trips.
  Variable stopped;
  int depth = 0;
  // States of the surrounding loops, outermost first.
  std::vector<const Homes*> states;
  std::optional<ClusterColumns> columns;
  std::map<const RecurrentLoop::Product*, ClusterProduct> products;
  Array sums;
  std::map<const Instruction*, Array> gathered;
  std::set<const Instruction*> is_gathered;
  std::map<int64_t, Filled> filled;
  // Operands and results that share buffers with filled arrays.
  std::set<int64_t> filled_from;
  std::set<size_t> filled_roots;
};

// ---- Locations of values -------------------------------------------------------------------------------------------

void TakeLeaf(BlockState& block, const FusionBody::Leaf& leaf, Known& known);
void StoreResults(BlockState& block, const Homes& homes);
void FindFilled(BlockState& block);
// With `is_shared`, the array is in shared memory, which the plan has reserved.
Array MakeArray(BlockState& block, const Shape& shape, bool is_shared = false);
Array MakeFilled(BlockState& block, const Filled& filled);
Home HomeOf(BlockState& block, const Literal& literal);
Value ValueOf(const Home& home);
// In a cluster, each block copies only its own columns, if the array has columns.
void Copy(BlockState& block, const Home& from, const Array& to);
void ForChunks(BlockState& block, int64_t size, int width, const std::function<void(Value)>& f);
int WidthFor(const BlockState& block, int64_t size);

// ---- Computations --------------------------------------------------------------------------------------------------

void EmitComputation(BlockState& block, const Computation& computation, Known& known);
Homes EmitPart(BlockState& block, BlockPart& part, const Known& known);
Homes EmitLoop(BlockState& block, const Instruction& loop, const Homes& init);
// Blocks of a cluster must make equally many trips, so they read the limits from a buffer that no block writes.
void OpenTrips(BlockState& block);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_BLOCK_STATE_H_
