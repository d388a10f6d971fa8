#include "gpu/plan/launch_shape.h"

#include <algorithm>

#include "gpu/kernel/builder.h"
#include "gpu/plan/scalar.h"
#include "ir/device_limits.h"

namespace hlo::gpu {
namespace {

using kernel::CeilDiv;

constexpr int kWavesOfBlocks = 4;
constexpr int64_t kMostThreads = 256;

// Numbers of row and column reductions. If columns are narrow, a block's warps take different rows. On a GPU they also
// do so if columns would leave threads idle, because few threads have too few loads in flight.
struct ReductionNumbers {
  int64_t warp_lanes;
  int64_t unroll;
  // Whether blocks share a reduction with one warp for each row.
  bool splits_warps;
  // Fewest steps of a block that shares a reduction, for tiles of one row and of several.
  int64_t least_steps, least_warp_steps;
};
constexpr ReductionNumbers kRows = {64, 4, false, 4, 4}, kColumns = {32, 8, true, 32, 64};

int64_t SplitsFor(int64_t groups, int64_t steps, int64_t least_steps, const DeviceDescription& device,
                  int64_t waves = kWavesOfBlocks) {
  const int64_t wanted = waves * device.multiprocessors;
  if (groups * 2 > wanted) return 1;
  return std::clamp<int64_t>(CeilDiv(wanted, groups), 1, std::max<int64_t>(1, steps / least_steps));
}

bool ReducesMinor(const ReductionSpace& space) { return space.minor().role == Role::kReduced; }

// Columns of the transposed tile in which each thread reduces a row. 0 if a warp or block should reduce it. A host also
// uses such tiles for longer rows whose length is not a multiple of 32 (bench/results/reductions.md#short-rows).
int64_t TransposedColumns(const ReductionSpace& space, const DeviceDescription& device) {
  constexpr int64_t kShortRow = 64, kMostFolded = 256, kLanes = 32, kFoldedColumns = 16;
  const int64_t minor = space.minor().size;
  if (!ReducesMinor(space) || space.variables.size() != 2) return 0;
  const bool folds = !device.is_gpu && space.stores.empty() && minor > kLanes && minor < kMostFolded;
  if (folds && minor % kLanes != 0) return kFoldedColumns;
  return minor < kShortRow ? minor : 0;
}

// Gives each short row a thread, if possible. Combining the results of lanes would take as long as loading a row's few
// vectors.
bool TransposesShortRows(const ReductionSpace& space, const DeviceDescription& device, KernelPlan& plan) {
  constexpr int64_t kLanes = 64, kLanesOfGpu = 128;
  const int64_t columns = TransposedColumns(space, device);
  if (columns == 0) return false;
  int64_t row_bytes = 0;
  for (const ReductionSpace::Hero& hero : space.heroes) {
    for (const kernel::Type type : hero.types) row_bytes += kernel::Bytes(type) * CeilDiv(columns + 1, 16) * 16;
  }
  // A host's tile and its transpose should fit into the first-level cache (bench/results/reductions.md#short-rows).
  const int64_t lanes = device.is_gpu ? kLanesOfGpu : row_bytes * kLanes < kFirstCacheBytes ? kLanes : kLanes / 2;
  if (space.Size(Role::kKept) < lanes || (device.is_gpu && row_bytes * lanes > kStaticValueBytes)) return false;
  plan.vector = 1;
  plan.threads = lanes;
  plan.tile = {lanes, columns};
  return true;
}

// Fits the plan to a host, where each partial result is in memory and costs as much as a term. Steps of four times
// kStepBytes are slower, and so are more warps.
void FitToHost(const ReductionSpace& space, bool by_warp, int elements_of_16_bytes, KernelPlan& plan) {
  constexpr int64_t kLanes = 32, kStepBytes = 256, kFewSteps = 4;
  const bool rows = ReducesMinor(space);
  const int64_t minor = space.minor().size;
  const bool is_row = minor == space.Size(Role::kReduced);
  const bool fits = by_warp ? is_row && minor % kLanes == 0 : is_row || minor < kFewSteps * plan.tile[1];
  if (rows && minor > kLanes && fits) {
    plan.vector = 1;
    plan.threads = kLanes;
    plan.tile = {1, kLanes};
    plan.unroll = std::max<int64_t>(1, kStepBytes / 16 * elements_of_16_bytes / kLanes);
  } else if (!rows && by_warp) {
    plan.threads = 32;
    plan.tile = {1, 32 * plan.vector};
  }
}

// If a warp for each result would leave most of a GPU idle, each warp becomes a block, and many blocks share a result.
// Not measured on a GPU.
void SplitShortRows(const ReductionSpace& space, const DeviceDescription& device, KernelPlan& plan) {
  const int64_t rows = space.Size(Role::kKept), warps = plan.threads / 32;
  if (2 * CeilDiv(rows, warps) > device.multiprocessors) return;
  KernelPlan split = plan;
  split.threads = 32;
  split.tile = {1, plan.tile[1]};
  split.splits = SplitsFor(rows, StepsOf(space, split), 4 * kRows.least_steps, device, warps * kWavesOfBlocks);
  if (split.splits > 1) plan = split;
}

}  // namespace

LaunchShape LaunchOf(const IterationSpace& space, std::span<const TileAxis> axes, const KernelPlan& plan) {
  int64_t blocks = plan.splits, rest = space.Size(Role::kKept);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].role != Role::kKept) continue;
    blocks *= CeilDiv(axes[i].size, plan.tile[i]);
    rest /= axes[i].size;
  }
  return {blocks * rest, static_cast<int>(plan.threads)};
}

LaunchShape LaunchOf(const ScatterSpace& space, const KernelPlan& plan) {
  const int64_t blocks = space.windows_overlap ? 1 : plan.splits * CeilDiv(space.window().size, plan.threads);
  return {blocks, static_cast<int>(plan.threads)};
}

std::vector<TileAxis> ElementAxes(const IterationSpace& space, bool by_row) {
  if (!by_row) return {{space.Size(), Role::kKept}};
  return {{space.Size() / space.minor().size, Role::kKept}, {space.minor().size, Role::kKept}};
}

std::vector<TileAxis> ReductionAxes(const ReductionSpace& space) {
  const Role other = ReducesMinor(space) ? Role::kKept : Role::kReduced;
  return {{space.Size(other), other}, {space.minor().size, space.minor().role}};
}

std::vector<TileAxis> RowAxes(const RowsSpace& space) {
  return {{space.Size(Role::kKept), Role::kKept}, {space.minor().size, Role::kRow}};
}

std::vector<TileAxis> ScanAxes(const ScanSpace& space) {
  if (space.ScansMinor()) return {{space.Size(Role::kKept), Role::kKept}, {space.minor().size, Role::kScanned}};
  return {{space.scanned().size, Role::kScanned}, {space.minor().size, Role::kKept}};
}

int64_t StepsOf(const ReductionSpace& space, const KernelPlan& plan) {
  const int64_t terms = space.Size(Role::kReduced), row = space.minor().size;
  return ReducesMinor(space) ? terms / row * CeilDiv(row, plan.tile[1]) : terms;
}

int VectorWidth(const ElementGraph& graph, std::span<const NodeId> nodes, const std::vector<FusionBody::Root>& roots,
                int bytes) {
  int64_t widest = 1;
  for (const FusionBody::Root& root : roots) {
    if (root.shape->NumElements() == 0) continue;  // Its type may have no kernels.
    widest = std::max(widest, ByteWidth(root.shape->type()));
  }
  for (const NodeId id : graph.Reachable(nodes)) {
    const ElementNode& node = graph.node(id);
    if (node.kind != ElementNode::Kind::kLoad || node.variables.empty()) continue;
    widest = std::max(widest, ByteWidth(node.inst->shape().type()));
  }
  return static_cast<int>(std::min<int64_t>(bytes / widest, 16));
}

int ThreadsFor(int64_t work, int most) {
  return static_cast<int>(std::clamp<int64_t>((work + 31) / 32 * 32, 32, most));
}

void ShapeAlongMinor(int64_t size, int width, int64_t warp_lanes, KernelPlan& plan) {
  while (width > 1 && size % width != 0) width /= 2;
  const int64_t lanes = CeilDiv(size, width);
  const bool by_warp = lanes <= warp_lanes;
  plan.vector = width;
  plan.threads = by_warp ? 256 : ThreadsFor(lanes);
  if (by_warp) plan.tile = {plan.threads / 32, 32 * width};
  else plan.tile = {1, plan.threads * width};
}

void ShapeReduction(const ReductionSpace& space, const DeviceDescription& device, KernelPlan& plan) {
  const bool rows = ReducesMinor(space);
  const ReductionNumbers& numbers = rows ? kRows : kColumns;
  const int64_t minor = space.minor().size;
  // Vectors have 16 bytes on every device, because their width determines the order of terms. So sums have the same
  // bits on every host. They may differ on a GPU (FitToHost) or with other splits.
  const int elements_of_16_bytes = VectorWidth(space.graph, space.Inputs(), {}, 16);
  ShapeAlongMinor(minor, elements_of_16_bytes, numbers.warp_lanes, plan);
  const bool by_warp = CeilDiv(minor, plan.vector) <= numbers.warp_lanes;
  if (TransposesShortRows(space, device, plan)) return;
  plan.unroll = numbers.unroll;
  if (!device.is_gpu) FitToHost(space, by_warp, elements_of_16_bytes, plan);
  if (device.is_gpu && !rows && plan.tile[0] == 1) {
    plan.tile[0] = std::max<int64_t>(1, kMostThreads / plan.threads);
    plan.threads *= plan.tile[0];
  }
  const int64_t steps = StepsOf(space, plan), groups = LaunchOf(space, ReductionAxes(space), plan).blocks;
  const bool unrolls =
      rows ? minor % plan.tile[1] == 0 && steps % plan.unroll == 0 : steps % (plan.unroll * plan.tile[0]) == 0;
  if (!unrolls) plan.unroll = 1;
  if (device.is_gpu && rows && by_warp) SplitShortRows(space, device, plan);
  if (!by_warp || numbers.splits_warps)
    plan.splits = SplitsFor(groups, steps, plan.tile[0] > 1 ? numbers.least_warp_steps : numbers.least_steps, device);
}

// On a host, threads have one element each and hold partial results in registers. Vectors are slower.
void ShapeRows(const RowsSpace& space, const DeviceDescription& device, KernelPlan& plan) {
  const int64_t row = space.minor().size;
  if (!device.is_gpu) {
    constexpr int64_t kLanes = 64;
    const bool by_warp = row <= kLanes;
    plan.threads = by_warp ? 256 : kLanes;
    plan.tile = by_warp ? std::vector<int64_t>{plan.threads / 32, 32} : std::vector<int64_t>{1, kLanes};
    plan.unroll = row % (2 * plan.tile[1]) == 0 ? 2 : 1;
    return;
  }
  std::vector<FusionBody::Root> along;
  for (const auto& store : space.elements) along.push_back(*store.root);
  std::vector<NodeId> nodes;
  for (int pass = 0; pass < space.passes; ++pass) {
    for (const NodeId id : space.InPass(pass)) nodes.push_back(id);
  }
  ShapeAlongMinor(row, VectorWidth(space.graph, nodes, along, 16), kRows.warp_lanes, plan);
  const int64_t steps = row / plan.tile[1];
  plan.unroll = row % plan.tile[1] == 0 && steps % kRows.unroll == 0 ? kRows.unroll : 1;
}

// Blocks share a scan, which then reads its operand twice, if half of the multiprocessors would be idle. On a GPU,
// blocks also share a scan along a major dimension whose threads are too few to hide the latency of memory.
void ShapeScan(const ScanSpace& space, const DeviceDescription& device, KernelPlan& plan) {
  constexpr int64_t kLeastSteps = 8, kLeastRows = 64;
  const int width = VectorWidth(space.graph, space.Needed(), space.graph.body().roots(), 16);
  const int64_t minor = space.minor().size;
  const auto blocks = [&] { return LaunchOf(space, ScanAxes(space), plan).blocks; };
  const auto split = [&](int64_t steps, int64_t least) {
    if (blocks() * 2 <= device.multiprocessors) plan.splits = SplitsFor(blocks(), steps, least, device);
  };
  if (space.ScansMinor()) {
    // On a GPU, a thread loads its neighbours as a vector, except in reverse scans. On a host, neighbours are lanes of
    // a warp.
    const bool by_lane = space.fold.reverse || !device.is_gpu;
    ShapeAlongMinor(minor, by_lane ? 1 : width, /*warp_lanes=*/device.is_gpu ? 256 : minor, plan);
    if (!device.is_gpu) {
      plan.threads = 32;
      plan.tile = {1, 32};
    }
    if (plan.tile[0] == 1) split(CeilDiv(minor, plan.tile[1]), kLeastSteps);
    return;
  }
  ShapeAlongMinor(minor, width, /*warp_lanes=*/0, plan);
  while (plan.threads > 32 && blocks() < device.multiprocessors) {
    plan.threads = ThreadsFor(plan.threads / 2);
    plan.tile[1] = plan.threads * plan.vector;
  }
  const int64_t rows = space.scanned().size;
  plan.unroll = rows % 4 == 0 ? 4 : 1;
  // This many threads of a multiprocessor reach half of the memory's rate, with four loads of 16 bytes in flight each.
  constexpr int64_t kThreadsForHalf = 256;
  if (device.is_gpu && blocks() * plan.threads * 2 <= kThreadsForHalf * device.multiprocessors)
    plan.splits = SplitsFor(blocks(), rows, kLeastRows, device, 2 * kThreadsForHalf / plan.threads);
  else split(rows, kLeastRows);
}

}  // namespace hlo::gpu
