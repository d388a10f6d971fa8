#include "ir/markers.h"

#include <algorithm>
#include <string_view>

#include "ir/instruction.h"

namespace hlo {
namespace {

struct Row {
  std::string_view target;
  Marker marker;
};
constexpr Row kRows[] = {
    {"Sharding", Marker::kValue},
    {"sdy.sharding_constraint", Marker::kValue},
    {"xla.sdy.FuncResultSharding", Marker::kValue},
    {"xla.sdy.PropagationBarrier", Marker::kValue},
    {"xla.sdy.ShardingGroup", Marker::kNotice},
    {"InspectSharding", Marker::kNotice},
    {"ShardBarrierFrom", Marker::kValue},
    {"ShardBarrierTo", Marker::kValue},
    {"SPMDFullToShardShape", Marker::kShard},
    {"SPMDShardToFullShape", Marker::kWhole},
    // The next four are from two versions of Shardy.
    {"GlobalToLocalShape", Marker::kShard},
    {"LocalToGlobalShape", Marker::kWhole},
    {"xla.sdy.GlobalToLocalShape", Marker::kShard},
    {"xla.sdy.LocalToGlobalShape", Marker::kWhole},
    {"annotate_device_placement", Marker::kValue},
    {"LayoutConstraint", Marker::kValue},
    {"MoveToDevice", Marker::kValue},
    {"MoveToHost", Marker::kValue},
    {"PinToDevice", Marker::kValue},
    {"PinToDeviceSram", Marker::kValue},
    {"AssumeGatherIndicesInBound", Marker::kValue},
    {"SetBound", Marker::kValue},
    {"xla_mark_tensor", Marker::kValue},
};

}  // namespace

Marker MarkerOf(const Instruction& inst) {
  if (!inst.Is(Opcode::kCustomCall)) return Marker::kNone;
  const std::string_view target = inst.attrs<CustomCallAttrs>().target;
  const auto* const row = std::ranges::find(kRows, target, &Row::target);
  return row == std::end(kRows) ? Marker::kNone : row->marker;
}

std::vector<std::string_view> MarkerTargets() {
  std::vector<std::string_view> targets;
  for (const Row& row : kRows) targets.push_back(row.target);
  return targets;
}

bool IsIdentityMarker(const Instruction& inst) {
  const Marker marker = MarkerOf(inst);
  if (marker == Marker::kNone) return false;
  const Shape& shape = inst.shape();
  if (marker == Marker::kNotice) return shape.IsTuple() && shape.elements().empty();
  if (!shape.IsTuple()) return inst.operand_count() == 1 && Compatible(inst.operand(0).shape(), shape);
  if (inst.operand_count() == 1 && Compatible(inst.operand(0).shape(), shape)) return true;
  if (inst.operand_count() != static_cast<int64_t>(shape.elements().size())) return false;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (!Compatible(inst.operand(i).shape(), shape.element(i))) return false;
  }
  return true;
}

bool EndsManualRegion(const Instruction& inst) { return MarkerOf(inst) == Marker::kWhole && !IsIdentityMarker(inst); }

}  // namespace hlo
