#include "passes/sharding/value_classes.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <set>

#include "base/text.h"
#include "ir/callees.h"
#include "ir/frontend_attributes.h"
#include "ir/markers.h"
#include "ir/mesh/parts.h"
#include "ir/mesh/shardy_text.h"

namespace hlo {
namespace {

// The number in {xla.sdy.sharding_group_id="3 : i64"}.
std::optional<int64_t> ShardyGroupOf(const Instruction& inst) {
  if (!IsShardingGroup(inst) || inst.operand_count() != 1) return std::nullopt;
  const auto text = FrontendAttribute(inst, kShardyGroupId);
  int64_t id = 0;
  if (!text || !ParseInt(Trim(std::string_view(*text).substr(0, text->find(':'))), &id)) return std::nullopt;
  return id;
}

}  // namespace

bool IsShardingGroup(const Instruction& inst) {
  return MarkerOf(inst) == Marker::kNotice && inst.attrs<CustomCallAttrs>().target == "xla.sdy.ShardingGroup";
}

ValueClasses::ValueClasses(const Module& module) : first_leaf_(module.id_limit(), 0) {
  int leaves = 0;
  const std::vector<Computation*> computations = module.Computations();
  for (const Computation* computation : computations) {
    for (const Instruction* inst : computation->instructions()) {
      first_leaf_[inst->id()] = leaves;
      leaves += static_cast<int>(inst->shape().LeafCount());
    }
  }
  class_of_.resize(leaves);
  std::iota(class_of_.begin(), class_of_.end(), 0);
  for (const Computation* computation : computations) {
    for (const Instruction* inst : computation->instructions()) {
      TieInstruction(*inst);
      TieGroups(*inst);
    }
  }
  // Numbers the classes in the order of their first leaves.
  std::vector<int> number(leaves, -1);
  std::vector<int> class_of(leaves);
  for (int leaf = 0; leaf < leaves; ++leaf) {
    int& own = number[Root(leaf)];
    if (own < 0) own = count_++;
    class_of[leaf] = own;
  }
  class_of_ = std::move(class_of);
}

std::vector<Computation*> ComputationsOnArrays(const Module& module) {
  std::set<const Computation*> on_arrays = {&module.entry()};
  const std::vector<Computation*> order = module.PostOrder();
  for (const Computation* computation : order | std::views::reverse) {
    if (!on_arrays.contains(computation)) continue;
    for (const Instruction* inst : computation->instructions()) {
      if (!inst->Is(Opcode::kWhile) && !inst->Is(Opcode::kConditional) && !inst->Is(Opcode::kCall) &&
          !inst->Is(Opcode::kFusion))
        continue;
      for (const Computation* called : CalledComputations(*inst)) on_arrays.insert(called);
    }
  }
  std::vector<Computation*> computations;
  std::ranges::copy_if(order, std::back_inserter(computations),
                       [&](const Computation* computation) { return on_arrays.contains(computation); });
  return computations;
}

bool ValueClasses::TiesAll(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kOptimizationBarrier:
    case Opcode::kWhile:
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kConditional:
    case Opcode::kParameter: return true;
    default: return false;
  }
}

int ValueClasses::Root(int node) {
  while (class_of_[node] != node) node = class_of_[node] = class_of_[class_of_[node]];
  return node;
}

void ValueClasses::Tie(const Instruction& a, int64_t first_a, const Instruction& b, int64_t first_b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const int left = Root(static_cast<int>(first_leaf_[a.id()] + first_a + i));
    const int right = Root(static_cast<int>(first_leaf_[b.id()] + first_b + i));
    class_of_[std::max(left, right)] = std::min(left, right);
  }
}

void ValueClasses::TieAll(const Instruction& a, const Instruction& b) {
  Tie(a, 0, b, 0, std::min(a.shape().LeafCount(), b.shape().LeafCount()));
}

void ValueClasses::TieParameters(const Instruction& caller, int64_t first_operand, const Computation& computation) {
  for (const Instruction* parameter : computation.parameters())
    TieAll(caller.operand(first_operand + parameter->parameter_number()), *parameter);
}

void ValueClasses::TieInstruction(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kTuple:
      for (int64_t i = 0; i < inst.operand_count(); ++i)
        Tie(inst, inst.shape().FirstLeaf(i), inst.operand(i), 0, inst.operand(i).shape().LeafCount());
      return;
    case Opcode::kGetTupleElement:
      Tie(inst, 0, inst.operand(0), inst.operand(0).shape().FirstLeaf(inst.tuple_index()), inst.shape().LeafCount());
      return;
    case Opcode::kOptimizationBarrier: return TieAll(inst, inst.operand(0));
    case Opcode::kWhile: {
      const auto& attrs = inst.attrs<WhileAttrs>();
      for (const Computation* computation : {attrs.condition, attrs.body}) TieParameters(inst, 0, *computation);
      TieAll(inst, inst.operand(0));
      return TieAll(inst, attrs.body->root());
    }
    case Opcode::kConditional: {
      const std::vector<Computation*> branches = inst.attrs<ConditionalAttrs>().branches();
      for (size_t i = 0; i < branches.size(); ++i) {
        TieParameters(inst, 1 + static_cast<int64_t>(i), *branches[i]);
        TieAll(inst, branches[i]->root());
      }
      return;
    }
    case Opcode::kCall:
    case Opcode::kFusion: {
      const Computation& callee = *CalledComputations(inst).front();
      TieParameters(inst, 0, callee);
      return TieAll(inst, callee.root());
    }
    default: return;
  }
}

void ValueClasses::TieGroups(const Instruction& inst) {
  if (const auto id = ShardyGroupOf(inst))
    AddToGroup({GroupedBy::kShardy, *id}, {&inst.operand(0), 0, &inst.operand(0).shape()});
  if (!inst.HasCommon() || inst.common().sharding.empty()) return;
  int64_t leaf = 0;
  ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& shape) {
    const Member member = {&inst, leaf++, &shape};
    const Sharding* sharding = ShardingOfLeaf(inst, member.leaf);
    if (sharding == nullptr || sharding->group == Sharding::Group::kNone) return;
    const bool is_as = sharding->group == Sharding::Group::kAs;
    AddToGroup({is_as ? GroupedBy::kAs : GroupedBy::kLike, sharding->group_id}, member);
  });
}

// Members of one group have the same sizes. Leaves out others.
void ValueClasses::AddToGroup(const GroupKey& group, const Member& member) {
  if (!member.shape->IsArray()) return;
  const Member& first = groups_.try_emplace(group, member).first->second;
  if (std::ranges::equal(member.shape->dims(), first.shape->dims()))
    Tie(*first.inst, first.leaf, *member.inst, member.leaf, 1);
}

}  // namespace hlo
