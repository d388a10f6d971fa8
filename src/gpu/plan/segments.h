// Regions of segments (ir/region.h): which of their kernels share one launch, and what each of them is then.
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

// Results of an elementwise kernel that are computed from the same arrays: one tensor of an optimizer's many.
struct SegmentUnit {
  const Instruction* kernel;
  std::vector<int64_t> roots;     // Results of the kernel, by number.
  std::vector<int64_t> operands;  // Of the kernel: arrays of as many elements.
  int64_t elements = 0;
  // Equal for units that differ in numbers of elements and in arrays alone, taken in the order of `operands` and
  // `roots`: one code does for all of them.
  std::string key;
  int64_t instructions = 0, square_roots = 0;
};
// Of a kernel whose results are each made, element by element, of arrays in memory order; none of another one.
std::vector<SegmentUnit> UnitsOf(const Instruction& kernel);

// The kernels of one launch: the units of those that have some, by key, and the others.
struct SegmentLaunch {
  std::vector<std::vector<SegmentUnit>> alike;
  std::vector<const Instruction*> others;
};
SegmentLaunch LaunchOf(const Instruction& region);

// The kernels of a region, in groups that are one launch each, of several. Who is in none runs by itself.
RegionGroups GroupSegments(const Instruction& region, const DeviceDescription& device);

// Writes plans on the kernels without units in the module's regions of segments, as one launch has them: blocks of
// equally many threads. Emitters read them there.
void PlanSegments(Module& module, const DeviceDescription& device);

// The array that `value` is a name of, through bitcasts and get-tuple-elements: what computes it (or a parameter), and
// which array of that.
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
// That which an array in `value`, an operand of one of the region's kernels, is; nothing where a kernel computes it.
std::optional<RegionOperand> OperandOfRegion(const Instruction& value, ShapeIndex index);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SEGMENTS_H_
