// Decides which kernels of a segments region (ir/region.h) share a launch, and their parts in it.
#ifndef HLO_GPU_PLAN_SEGMENTS_H_
#define HLO_GPU_PLAN_SEGMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "ir/device_description.h"
#include "ir/fusion_plan.h"
#include "ir/instruction.h"
#include "ir/region.h"

namespace hlo::gpu {

// Results of an elementwise kernel that depend on the same arrays, such as one of the many tensors of an optimizer.
struct SegmentUnit {
  const Instruction* kernel;
  std::vector<int64_t> roots;     // Result numbers of the kernel.
  std::vector<int64_t> operands;  // Operands of the kernel that are arrays of the same size.
  int64_t elements = 0;
  // Equal for units that differ only in their arrays, ordered as in `operands` and `roots`, and in the number of
  // elements. One piece of code serves all of them.
  std::string key;
  int64_t instructions = 0, square_roots = 0;
};
// The units of a kernel whose results are computed elementwise from arrays in memory order. Empty for other kernels.
std::vector<SegmentUnit> UnitsOf(const Instruction& kernel);

// The kernels of one launch: the units, grouped by key, and the kernels without units.
struct SegmentLaunch {
  std::vector<std::vector<SegmentUnit>> alike;
  std::vector<const Instruction*> others;
};
SegmentLaunch LaunchOf(const Instruction& region);

// Groups of several kernels of the region that share a launch. The other kernels run separately.
RegionGroups GroupSegments(const Instruction& region, const DeviceDescription& device);

// Writes plans on the kernels without units in the segments regions of the module, with equal thread counts in a
// launch. Emitters read these plans.
void PlanSegments(Module& module, const DeviceDescription& device);

// The array that `value` refers to through bitcasts and get-tuple-elements. It consists of the instruction (or
// parameter) that computes it, and the index in that result.
struct NamedArray {
  const Instruction* of;
  ShapeIndex index;
  auto operator<=>(const NamedArray&) const = default;
};
NamedArray ArrayNamedBy(const Instruction& value, ShapeIndex index = {});

// An array in an operand of the region.
struct RegionOperand {
  int64_t operand = 0;
  ShapeIndex index;
};
// The region's operand that an array in `value`, an operand of a kernel of the region, refers to. Empty if a kernel
// computes it.
std::optional<RegionOperand> OperandOfRegion(const Instruction& value, ShapeIndex index);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SEGMENTS_H_
