// all-reduce-folder, all-reduce-reassociate, reduce-scatter-reassociate: merge two collectives into one.
#include <algorithm>
#include <map>
#include <set>

#include "ir/device_groups.h"
#include "passes/collectives/moved_sums.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

namespace m = match;

// Groups of one all-reduce in place of both. nullopt if an operand would count twice or groups do not fit.
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
// several partitions, whose operands would count several times.
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

// Longest chain of additions that is searched for a second all-reduce.
constexpr int kDeepest = 16;

// Returns `value` without one term that is AreAlike to `sum`, and sets `alike` to it. Null if there is none.
Instruction* WithoutAlike(Instruction& value, const MovedSum& sum, std::optional<MovedSum>* alike, int depth = 0) {
  if (!value.Is(sum.combiner()) || value.UseCount() != 1 || value.IsRoot() || depth > kDeepest) return nullptr;
  for (const int64_t side : {0, 1}) {
    Instruction &term = value.operand(side), &rest = value.operand(1 - side);
    *alike = ReadMovedSum(term, sum.collective->opcode());
    if (*alike && AreAlike(**alike, sum)) return &rest;
    if (Instruction* const less = WithoutAlike(term, sum, alike, depth + 1))
      return Step(value, value.opcode(), value.shape(), {less, &rest});
  }
  return nullptr;
}

// The second collective may be deeper in a sum: (all-reduce(a) + c) + all-reduce(b) => c + all-reduce(a + b). A wider
// type must not make the result larger than both results before.
template <Opcode kCollective>
Result<Instruction*> CombineOperands(Instruction& inst, const PassContext&) {
  const Opcode op = inst.opcode();
  if (inst.operand_count() != 2 || &inst.operand(0) == &inst.operand(1)) return nullptr;
  for (const int64_t side : {0, 1}) {
    Instruction& other = inst.operand(1 - side);
    const auto sum = ReadMovedSum(inst.operand(side), kCollective);
    if (!sum || sum->combiner() != op || inst.operand(side).shape() != inst.shape()) continue;
    if (BitWidth(sum->type) > 2 * BitWidth(sum->x().shape().type())) continue;
    auto alike = ReadMovedSum(other, kCollective);
    const bool is_whole = alike && AreAlike(*alike, *sum);
    Instruction* const rest = is_whole ? nullptr : WithoutAlike(other, *sum, &alike);
    if (!is_whole && rest == nullptr) continue;
    const MovedSum &first = side == 0 ? *sum : *alike, &second = side == 0 ? *alike : *sum;
    Instruction &a = Widened(first), &b = Widened(second);
    Instruction& both = WithOperand(first, *Step(inst, op, a.shape(), {&a, &b}));
    return is_whole ? &both : Replace(inst, op, {rest, &both});
  }
  return nullptr;
}

// clang-format off: a table.
constexpr Rule kFolding[] = {
    {"M.ar.1", Opcode::kAllReduce, FoldTwo, Preserves::kReassociates, "all-reduce(all-reduce(x)) => all-reduce(x), over the combined groups"},
};
constexpr Rule kReassociation[] = {
    {"M.ar.2", {Opcode::kAdd, Opcode::kMultiply}, CombineOperands<Opcode::kAllReduce>, Preserves::kReassociates, "all-reduce(a) + all-reduce(b) => all-reduce(a + b)"},
    {"M.ar.3", {Opcode::kMaximum, Opcode::kMinimum}, CombineOperands<Opcode::kAllReduce>, Preserves::kExact, "max(all-reduce(a), all-reduce(b)) => all-reduce(max(a, b))"},
    {"M.ar.4", {Opcode::kAnd, Opcode::kOr}, CombineOperands<Opcode::kAllReduce>, Preserves::kExact, "and(all-reduce(a), all-reduce(b)) => all-reduce(and(a, b))"},
};
constexpr Rule kScatterReassociation[] = {
    {"M.rs.2", {Opcode::kAdd, Opcode::kMultiply}, CombineOperands<Opcode::kReduceScatter>, Preserves::kReassociates, "reduce-scatter(a) + reduce-scatter(b) => reduce-scatter(a + b)"},
    {"M.rs.3", {Opcode::kMaximum, Opcode::kMinimum}, CombineOperands<Opcode::kReduceScatter>, Preserves::kExact, "max(reduce-scatter(a), reduce-scatter(b)) => reduce-scatter(max(a, b))"},
    {"M.rs.4", {Opcode::kAnd, Opcode::kOr}, CombineOperands<Opcode::kReduceScatter>, Preserves::kExact, "and(reduce-scatter(a), reduce-scatter(b)) => reduce-scatter(and(a, b))"},
};
// clang-format on

}  // namespace

std::span<const Rule> AllReduceFolderRules() { return kFolding; }
std::span<const Rule> AllReduceReassociateRules() { return kReassociation; }
std::span<const Rule> ReduceScatterReassociateRules() { return kScatterReassociation; }

Result<bool> FoldAllReduces(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kFolding);
}

Result<bool> ReassociateAllReduces(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kReassociation);
}

Result<bool> ReassociateReduceScatters(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kScatterReassociation);
}

}  // namespace hlo
