// all-reduce-folder and all-reduce-reassociate: merge two all-reduces into one.
#include <algorithm>
#include <map>
#include <set>

#include "ir/device_groups.h"
#include "passes/collectives/groups.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

namespace m = match;

// Groups of one all-reduce in place of both. nullopt if there are none, for example because an operand would count
// twice.
std::optional<IdGroups> Fold(const IdGroups& first, const IdGroups& second) {
  std::map<int64_t, const std::vector<int64_t>*> group_of;
  for (const auto& group : first) {
    for (const int64_t id : group) group_of[id] = &group;
  }
  std::map<std::vector<int64_t>, std::vector<int64_t>> holders;  // Keyed by the ids that contribute.
  for (const auto& group : second) {
    std::vector<int64_t> from;
    for (const int64_t id : group) {
      if (!group_of.contains(id)) return std::nullopt;
      from.insert(from.end(), group_of[id]->begin(), group_of[id]->end());
    }
    std::ranges::sort(from);
    if (std::ranges::adjacent_find(from) != from.end()) return std::nullopt;
    auto& ids = holders[std::move(from)];
    ids.insert(ids.end(), group.begin(), group.end());
  }
  IdGroups folded;
  for (auto& [from, ids] : holders) {
    std::ranges::sort(ids);
    if (ids != from) return std::nullopt;
    folded.push_back(from);
  }
  return folded;
}

// all-reduce(all-reduce(x, {{0,1},{2,3}}), {{0,2},{1,3}}) => all-reduce(x, {{0,1,2,3}}). An id must not represent
// several partitions, because their operands would count several times.
Result<Instruction*> FoldTwo(Instruction& inst, const PassContext&) {
  Instruction* inner;
  if (!IsCollectiveOfArray(inst, Opcode::kAllReduce) || !m::OneUse(m::Any(&inner))(&inst.operand(0))) return nullptr;
  if (!IsCollectiveOfArray(*inner, Opcode::kAllReduce)) return nullptr;
  const GroupMode mode = GroupModeOf(inst);
  if (mode != GroupModeOf(*inner) || inst.attrs<CollectiveAttrs>().mode != inner->attrs<CollectiveAttrs>().mode)
    return nullptr;
  if (mode == GroupMode::kCrossReplicaAndPartition && inst.module().header.num_partitions > 1) return nullptr;
  const auto op = CombinedBy(inst);
  if (!op || op != CombinedBy(*inner)) return nullptr;
  auto groups = Fold(WrittenGroups(*inner), WrittenGroups(inst));
  if (!groups) return nullptr;
  auto attrs = inst.attrs<CollectiveAttrs>();
  attrs.replica_groups.groups = std::move(*groups);
  return Replace(inst, Opcode::kAllReduce, {&inner->operand(0)}, attrs);
}

Result<Instruction*> CombineOperands(Instruction& inst, const PassContext&) {
  if (inst.operand_count() != 2 || &inst.operand(0) == &inst.operand(1)) return nullptr;
  for (const Instruction* side : inst.operands()) {
    if (!IsCollectiveOfArray(*side, Opcode::kAllReduce) || side->UseCount() != 1 || side->IsRoot()) return nullptr;
    if (CombinedBy(*side) != inst.opcode() || side->shape() != inst.shape()) return nullptr;
  }
  Instruction &a = inst.operand(0), &b = inst.operand(1);
  if (!MeetAlike(a, b) || a.operand(0).shape() != b.operand(0).shape()) return nullptr;
  Instruction* const own = Step(inst, inst.opcode(), a.operand(0).shape(), {&a.operand(0), &b.operand(0)});
  return Replace(inst, Opcode::kAllReduce, {own}, a.attributes());
}

// clang-format off: a table.
constexpr Rule kFolding[] = {
    {"M.ar.1", Opcode::kAllReduce, FoldTwo, Preserves::kReassociates, "all-reduce(all-reduce(x)) => all-reduce(x), over the combined groups"},
};
constexpr Rule kReassociation[] = {
    {"M.ar.2", {Opcode::kAdd, Opcode::kMultiply}, CombineOperands, Preserves::kReassociates, "all-reduce(a) + all-reduce(b) => all-reduce(a + b)"},
    {"M.ar.3", {Opcode::kMaximum, Opcode::kMinimum}, CombineOperands, Preserves::kExact, "max(all-reduce(a), all-reduce(b)) => all-reduce(max(a, b))"},
    {"M.ar.4", {Opcode::kAnd, Opcode::kOr}, CombineOperands, Preserves::kExact, "and(all-reduce(a), all-reduce(b)) => all-reduce(and(a, b))"},
};
// clang-format on

}  // namespace

std::span<const Rule> AllReduceFolderRules() { return kFolding; }
std::span<const Rule> AllReduceReassociateRules() { return kReassociation; }

Result<bool> FoldAllReduces(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kFolding);
}

Result<bool> ReassociateAllReduces(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kReassociation);
}

}  // namespace hlo
