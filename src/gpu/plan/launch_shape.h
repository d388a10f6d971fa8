// Launch shapes, as pure functions: of a space and a device the numbers of a plan that planners of several kinds choose
// alike; of a space and a plan the blocks that it comes to.
#ifndef HLO_GPU_PLAN_LAUNCH_SHAPE_H_
#define HLO_GPU_PLAN_LAUNCH_SHAPE_H_

#include <span>
#include <vector>

#include "gpu/plan/iteration_space.h"
#include "gpu/plan/reduction_space.h"
#include "gpu/plan/rows_space.h"
#include "gpu/plan/scan_space.h"
#include "gpu/plan/scatter_space.h"
#include "ir/device_description.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// What one size of a plan's tile cuts: so many values, of variables of one role.
struct TileAxis {
  int64_t size;
  Role role;
};

struct LaunchShape {
  int64_t blocks = 1;
  int threads = 32;  // Of a block.
};

// A block for each tile of what is kept, times the blocks that share a reduction. `axes`: one for each size of the
// tile.
LaunchShape LaunchOf(const IterationSpace& space, std::span<const TileAxis> axes, const KernelPlan& plan);
// Of overlapping windows one block takes all.
LaunchShape LaunchOf(const ScatterSpace& space, const KernelPlan& plan);

// Axes of the kinds: rows (all variables but the minor one) and elements of a row, or all as one...
std::vector<TileAxis> ElementAxes(const IterationSpace& space, bool by_row);
// ...what is kept and elements of a row; terms and columns.
std::vector<TileAxis> ReductionAxes(const ReductionSpace& space);
// ...rows and elements of one.
std::vector<TileAxis> RowAxes(const RowsSpace& space);
// ...what is kept and elements of a row; what is scanned and columns.
std::vector<TileAxis> ScanAxes(const ScanSpace& space);

// Steps that one block, or one warp, goes through for a reduction that is not split: tiles of rows, or terms.
int64_t StepsOf(const ReductionSpace& space, const KernelPlan& plan);

// Elements in `bytes` of the widest type that `nodes` load or that goes out; at most 16, which a tile phase takes.
int VectorWidth(const ElementGraph& graph, std::span<const NodeId> nodes, const std::vector<FusionBody::Root>& roots,
                int bytes);

// Threads for `work` items: a multiple of 32, at most `most`.
int ThreadsFor(int64_t work, int most = 256);

// Vector, threads and tile of a kernel that goes along a minor variable of `size`: vectors of at most `width` that
// divide it; a warp for as many lanes as `warp_lanes` or fewer (the tile's first size then counts warps), else a block.
void ShapeAlongMinor(int64_t size, int width, int64_t warp_lanes, KernelPlan& plan);

// Vector, threads, tile, unroll and splits of a kernel of kind row_reduction or column_reduction.
void ShapeReduction(const ReductionSpace& space, const DeviceDescription& device, KernelPlan& plan);

// Vector, threads, tile and unroll of a kernel of kind rows.
void ShapeRows(const RowsSpace& space, const DeviceDescription& device, KernelPlan& plan);
// The same of a kernel of kind scan.
void ShapeScan(const ScanSpace& space, const DeviceDescription& device, KernelPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_LAUNCH_SHAPE_H_
