// Chooses the numbers of a plan, and computes the launch shape of its kernel.
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

// Variables of one role, with their product as `size`, which a dimension of the tile divides.
struct TileAxis {
  int64_t size;
  Role role;
};

struct LaunchShape {
  int64_t blocks = 1;
  int threads = 32;
};

// One block for each tile of kept values, times the splits.
LaunchShape LaunchOf(const IterationSpace& space, std::span<const TileAxis> axes, const KernelPlan& plan);
LaunchShape LaunchOf(const ScatterSpace& space, const KernelPlan& plan);

// All elements, or with `by_row`: rows (all variables except the minor one) and elements of a row.
std::vector<TileAxis> ElementAxes(const IterationSpace& space, bool by_row);
// Kept values and elements of a row, or terms and columns.
std::vector<TileAxis> ReductionAxes(const ReductionSpace& space);
std::vector<TileAxis> RowAxes(const RowsSpace& space);
// Kept values and elements of a row, or scanned elements and columns.
std::vector<TileAxis> ScanAxes(const ScanSpace& space);

// Steps of a result without splits: tiles of a row reduction, or terms of a column reduction.
int64_t StepsOf(const ReductionSpace& space, const KernelPlan& plan);

// Elements of the widest loaded or stored type in `bytes`, at most 16, the limit of a tile.
int VectorWidth(const ElementGraph& graph, std::span<const NodeId> nodes, const std::vector<FusionBody::Root>& roots,
                int bytes);

// `work`, rounded up to a multiple of 32, but at most `most`.
int ThreadsFor(int64_t work, int most = 256);

// The vector divides `size`. Rows of up to `warp_lanes` lanes have a warp, and the tile's first size then counts warps.
// Longer rows have a block.
void ShapeAlongMinor(int64_t size, int width, int64_t warp_lanes, KernelPlan& plan);

void ShapeReduction(const ReductionSpace& space, const DeviceDescription& device, KernelPlan& plan);

void ShapeRows(const RowsSpace& space, const DeviceDescription& device, KernelPlan& plan);
void ShapeScan(const ScanSpace& space, const DeviceDescription& device, KernelPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_LAUNCH_SHAPE_H_
