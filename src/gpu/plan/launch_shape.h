// Chooses a plan's numbers, and computes its kernel's launch shape.
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

// The axis that one number of a tile divides. `size` is the product of the variables' sizes.
struct TileAxis {
  int64_t size;
  Role role;
};

struct LaunchShape {
  int64_t blocks = 1;
  int threads = 32;
};

// A block for each combination of a tile of kept values and a split.
LaunchShape LaunchOf(const IterationSpace& space, std::span<const TileAxis> axes, const KernelPlan& plan);
LaunchShape LaunchOf(const ScatterSpace& space, const KernelPlan& plan);

// One axis of all elements. With `by_row`: rows (all variables except the minor one), and elements of a row.
std::vector<TileAxis> ElementAxes(const IterationSpace& space, bool by_row);
// Kept values and elements of a row if rows are reduced, terms and columns if columns are.
std::vector<TileAxis> ReductionAxes(const ReductionSpace& space);
std::vector<TileAxis> RowAxes(const RowsSpace& space);
// Kept values and elements of a row if rows are scanned, scanned elements and columns if columns are.
std::vector<TileAxis> ScanAxes(const ScanSpace& space);

// Sequential steps for one result without splits: tiles of a row, or terms of a column.
int64_t StepsOf(const ReductionSpace& space, const KernelPlan& plan);

// How many elements of the widest loaded or stored type have `bytes` bytes, at most 16, the limit of a tile.
int VectorWidth(const ElementGraph& graph, std::span<const NodeId> nodes, const std::vector<FusionBody::Root>& roots,
                int bytes);

// `work` rounded up to a multiple of 32, at most `most`.
int ThreadsFor(int64_t work, int most = 256);

// Sets the threads, the tile, and the vector, which divides `size`. A row of at most `warp_lanes` vectors gets a warp,
// and tile[0] is the number of warps. A longer row gets a block.
void ShapeAlongMinor(int64_t size, int width, int64_t warp_lanes, KernelPlan& plan);

void ShapeReduction(const ReductionSpace& space, const DeviceDescription& device, KernelPlan& plan);

void ShapeRows(const RowsSpace& space, const DeviceDescription& device, KernelPlan& plan);
void ShapeScan(const ScanSpace& space, const DeviceDescription& device, KernelPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_LAUNCH_SHAPE_H_
