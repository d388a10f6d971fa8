// Pure functions for launch shapes. Some compute numbers of a plan from a space and a device, for planners of several
// kinds. Others compute the number of blocks from a space and a plan.
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

// The values that one size of a tile divides, of variables with one role.
struct TileAxis {
  int64_t size;
  Role role;
};

struct LaunchShape {
  int64_t blocks = 1;
  int threads = 32;  // Threads of a block.
};

// One block for each tile of kept values, times the blocks that share a reduction. `axes` has one entry for each size
// of the tile.
LaunchShape LaunchOf(const IterationSpace& space, std::span<const TileAxis> axes, const KernelPlan& plan);
// Overlapping windows are handled by a single block.
LaunchShape LaunchOf(const ScatterSpace& space, const KernelPlan& plan);

// The axes of tiles: rows (all variables except the minor one) and elements of a row, or all elements.
std::vector<TileAxis> ElementAxes(const IterationSpace& space, bool by_row);
// Kept values and elements of a row, or terms and columns.
std::vector<TileAxis> ReductionAxes(const ReductionSpace& space);
// Rows and elements of a row.
std::vector<TileAxis> RowAxes(const RowsSpace& space);
// Kept values and elements of a row, or scanned elements and columns.
std::vector<TileAxis> ScanAxes(const ScanSpace& space);

// The number of tiles that one block or warp processes for a reduction without splits.
int64_t StepsOf(const ReductionSpace& space, const KernelPlan& plan);

// The number of elements of the widest loaded or stored type in `bytes`, at most 16, the limit of a tile.
int VectorWidth(const ElementGraph& graph, std::span<const NodeId> nodes, const std::vector<FusionBody::Root>& roots,
                int bytes);

// The number of threads for `work` items: a multiple of 32, at most `most`.
int ThreadsFor(int64_t work, int most = 256);

// Sets vector, threads and tile of a kernel along a minor variable of `size`. The vector is at most `width` and divides
// the size. A warp processes a row of up to `warp_lanes` lanes, and the tile's first size then counts warps; otherwise
// a block does.
void ShapeAlongMinor(int64_t size, int width, int64_t warp_lanes, KernelPlan& plan);

// Sets vector, threads, tile, unroll and splits of a row_reduction or column_reduction.
void ShapeReduction(const ReductionSpace& space, const DeviceDescription& device, KernelPlan& plan);

// Sets vector, threads, tile and unroll of kind rows.
void ShapeRows(const RowsSpace& space, const DeviceDescription& device, KernelPlan& plan);
// The same for kind scan.
void ShapeScan(const ScanSpace& space, const DeviceDescription& device, KernelPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_LAUNCH_SHAPE_H_
