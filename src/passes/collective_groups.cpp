#include "passes/collective_groups.h"

#include <algorithm>
#include <numeric>

#include "ir/device_groups.h"
#include "ir/module.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Whether all axes are whole and longer than 1. Then different lists of axes give different groups.
bool HasPlainAxes(const MeshGroups& groups) {
  return std::ranges::all_of(groups.axes, [&](const AxisRef& ref) {
    return ref.size == 0 && ref.before == 1 && groups.mesh.axes[ref.axis].size > 1;
  });
}

// Lists the devices, of which a large mesh has many, only if necessary.
bool HaveEqualGroups(const Instruction& a, const Instruction& b) {
  const ReplicaGroups &x = a.attrs<CollectiveAttrs>().replica_groups, &y = b.attrs<CollectiveAttrs>().replica_groups;
  if (x == y) return true;
  const auto *mesh_x = std::get_if<MeshGroups>(&x.groups), *mesh_y = std::get_if<MeshGroups>(&y.groups);
  if (mesh_x != nullptr && mesh_y != nullptr && mesh_x->mesh == mesh_y->mesh && HasPlainAxes(*mesh_x) &&
      HasPlainAxes(*mesh_y))
    return false;
  IdGroups of_a = WrittenGroups(a), of_b = WrittenGroups(b);
  std::ranges::sort(of_a);  // The order of groups does not matter.
  std::ranges::sort(of_b);
  return of_a == of_b;
}

}  // namespace

IdGroups WrittenGroups(const Instruction& collective) {
  IdGroups groups = ListGroups(collective.attrs<CollectiveAttrs>().replica_groups);
  if (!groups.empty()) return groups;
  const ModuleHeader& header = collective.module().header;
  std::vector<int64_t> all(IdsOf(header.replica_count, header.num_partitions, GroupModeOf(collective)));
  std::iota(all.begin(), all.end(), 0);
  return {all};
}

bool MeetAlike(const Instruction& a, const Instruction& b) {
  const auto &x = a.attrs<CollectiveAttrs>(), &y = b.attrs<CollectiveAttrs>();
  return a.opcode() == b.opcode() && GroupModeOf(a) == GroupModeOf(b) && x.mode == y.mode &&
         x.has_dynamic_root == y.has_dynamic_root && HaveEqualGroups(a, b);
}

bool SameExchange(const Instruction& a, const Instruction& b, bool any_dimension) {
  if (a.opcode() != b.opcode()) return false;
  if (const auto* x = a.attributes().GetIf<PermuteAttrs>()) {
    const auto& y = b.attrs<PermuteAttrs>();
    return x->source_target_pairs == y.source_target_pairs && x->slice_sizes == y.slice_sizes &&
           x->channel_id.has_value() == y.channel_id.has_value();
  }
  const auto &x = a.attrs<CollectiveAttrs>(), &y = b.attrs<CollectiveAttrs>();
  const bool same_reducer = x.to_apply == y.to_apply || (CombinedBy(a).has_value() && CombinedBy(a) == CombinedBy(b));
  return same_reducer && (any_dimension || x.dimension == y.dimension) && x.constrain_layout == y.constrain_layout &&
         MeetAlike(a, b);
}

bool IsCollectiveOfArray(const Instruction& inst, Opcode opcode) {
  const auto* attrs = inst.attributes().GetIf<CollectiveAttrs>();
  return inst.Is(opcode) && inst.operand_count() == 1 && inst.shape().IsArray() && !inst.shape().HasDynamicDims() &&
         !(attrs != nullptr && attrs->constrain_layout);
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
