#include "gpu/plan/launch_shape.h"

#include <algorithm>

#include "gpu/kernel/builder.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

using kernel::CeilDiv;

// Blocks that a reduction is split into, where there are fewer rows or columns.
constexpr int kWavesOfBlocks = 4;

// What rows and columns do not have in common. A warp takes a row of at most `warp_lanes` vectors, and then all of it;
// narrow columns share a warp, whose block takes a row of them with each of its warps.
struct ReductionNumbers {
  int64_t warp_lanes;
  int64_t unroll;
  bool splits_warps;                      // Also where a warp has all lanes.
  int64_t least_steps, least_warp_steps;  // Of a block that shares a reduction with others.
};
constexpr ReductionNumbers kRows = {64, 4, false, 4, 4}, kColumns = {32, 8, true, 32, 64};

// Blocks to give each of `groups` independent reductions of `steps` steps.
int64_t SplitsFor(int64_t groups, int64_t steps, int64_t least_steps, const DeviceDescription& device) {
  const int64_t wanted = int64_t{kWavesOfBlocks} * device.multiprocessors;
  if (groups * 2 > wanted) return 1;
  return std::clamp<int64_t>(CeilDiv(wanted, groups), 1, std::max<int64_t>(1, steps / least_steps));
}

bool ReducesMinor(const ReductionSpace& space) { return space.minor().role == Role::kReduced; }

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
  const int64_t blocks = space.windows_overlap ? 1 : CeilDiv(space.window().size, plan.threads);
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

int64_t StepsOf(const ReductionSpace& space, const KernelPlan& plan) {
  const int64_t terms = space.Size(Role::kReduced), row = space.minor().size;
  return ReducesMinor(space) ? terms / row * CeilDiv(row, plan.tile[1]) : terms;
}

int VectorWidth(const ElementGraph& graph, std::span<const NodeId> nodes, const std::vector<FusionBody::Root>& roots,
                int bytes) {
  int64_t widest = 1;
  for (const FusionBody::Root& root : roots) {
    if (root.shape->NumElements() == 0) continue;  // Nobody writes it; its type may be one that no kernel has.
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
  // 16 bytes on any device: the width decides in which order terms are combined, and so the bits.
  ShapeAlongMinor(minor, VectorWidth(space.graph, space.Inputs(), {}, 16), numbers.warp_lanes, plan);
  const bool by_warp = CeilDiv(minor, plan.vector) <= numbers.warp_lanes;
  const int64_t steps = StepsOf(space, plan), groups = LaunchOf(space, ReductionAxes(space), plan).blocks;
  // Whole steps only: of elements of a row, or of the warps of a block.
  const bool unrolls =
      rows ? minor % plan.tile[1] == 0 && steps % numbers.unroll == 0 : steps % (numbers.unroll * plan.tile[0]) == 0;
  plan.unroll = unrolls ? numbers.unroll : 1;
  if (!by_warp || numbers.splits_warps)
    plan.splits = SplitsFor(groups, steps, by_warp ? numbers.least_warp_steps : numbers.least_steps, device);
}

}  // namespace hlo::gpu
