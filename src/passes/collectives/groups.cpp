#include "passes/collectives/groups.h"

#include <numeric>

#include "ir/device_groups.h"
#include "ir/module.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

int64_t IdsOf(const ModuleHeader& header, GroupMode mode) {
  switch (mode) {
    case GroupMode::kCrossPartition: return header.num_partitions;
    case GroupMode::kFlattenedId: return header.replica_count * header.num_partitions;
    default: return header.replica_count;
  }
}

}  // namespace

IdGroups WrittenGroups(const Instruction& collective) {
  IdGroups groups = ListGroups(collective.attrs<CollectiveAttrs>().replica_groups);
  if (!groups.empty()) return groups;
  std::vector<int64_t> all(IdsOf(collective.module().header, GroupModeOf(collective)));
  std::iota(all.begin(), all.end(), 0);
  return {all};
}

bool MeetAlike(const Instruction& a, const Instruction& b) {
  const auto &x = a.attrs<CollectiveAttrs>(), &y = b.attrs<CollectiveAttrs>();
  return a.opcode() == b.opcode() && GroupModeOf(a) == GroupModeOf(b) && x.mode == y.mode &&
         x.has_dynamic_root == y.has_dynamic_root && WrittenGroups(a) == WrittenGroups(b);
}

bool IsCollectiveOfArray(const Instruction& inst, Opcode opcode) {
  return inst.Is(opcode) && inst.operand_count() == 1 && inst.shape().IsArray() && !inst.shape().HasDynamicDims() &&
         !inst.attrs<CollectiveAttrs>().constrain_layout;
}

std::optional<Opcode> CombinedBy(const Instruction& collective) {
  const Computation* const reducer = collective.attrs<CollectiveAttrs>().to_apply;
  if (reducer == nullptr || reducer->root().shape().type() != collective.shape().type()) return std::nullopt;
  return ReducerOp(*reducer);
}

std::vector<bool> WithControlEdges(const Computation& computation) {
  std::vector<bool> with(computation.place_limit());
  for (const Instruction* inst : computation.instructions()) {
    for (const Instruction* before : inst->control_predecessors()) with[inst->place()] = with[before->place()] = true;
  }
  return with;
}

}  // namespace hlo
