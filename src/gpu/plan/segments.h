// Decides which kernels of a segments region (ir/analysis/region.h) share a launch, and splits them into units.
#ifndef HLO_GPU_PLAN_SEGMENTS_H_
#define HLO_GPU_PLAN_SEGMENTS_H_

#include <optional>
#include <string>
#include <vector>

#include "ir/analysis/region.h"
#include "ir/device_description.h"
#include "ir/fusion_plan.h"
#include "ir/instruction.h"

namespace hlo::gpu {

// An elementwise kernel's results that depend on common arrays.
struct SegmentUnit {
  const Instruction* kernel;
  std::vector<int64_t> roots;
  std::vector<int64_t> operands;  // Numbers of operands that are arrays of `elements` elements.
  int64_t elements = 0;
  // Equal for units that differ only in their arrays, ordered as in `operands` and `roots`, and in the number of
  // elements. They share code.
  std::string key;
  int64_t instructions = 0, square_roots = 0;
};
// Empty unless all results are computed elementwise from row-major arrays.
std::vector<SegmentUnit> UnitsOf(const Instruction& kernel);

// One launch: its units, grouped by key, and its kernels without units.
struct SegmentLaunch {
  std::vector<std::vector<SegmentUnit>> alike;
  std::vector<const Instruction*> others;
};
SegmentLaunch LaunchOf(const Instruction& region);

// Groups of several kernels that share a launch.
RegionGroups GroupSegments(const Instruction& region, const DeviceDescription& device);

// Sets the plans of kernels without units, for their emitters. A launch has one thread count.
void PlanSegments(Module& module, const DeviceDescription& device);

// The array behind `value`, through bitcasts and get-tuple-elements: the instruction or parameter that computes it, and
// the index in that result.
struct NamedArray {
  const Instruction* of;
  ShapeIndex index;
  auto operator<=>(const NamedArray&) const = default;
};
NamedArray ArrayNamedBy(const Instruction& value, ShapeIndex index = {});

struct RegionOperand {
  int64_t operand = 0;
  ShapeIndex index;
};
// The region's operand that is array `index` of a kernel's operand `value`. Empty if a kernel computes it.
std::optional<RegionOperand> OperandOfRegion(const Instruction& value, ShapeIndex index);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SEGMENTS_H_
