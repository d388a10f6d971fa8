#include "passes/fusion/regions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "ir/analysis/region.h"
#include "ir/attrs.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/side_effects.h"

namespace hlo {
namespace {

// The loop that `tuple` initializes, or null if it has other uses.
Instruction* LoopOf(const Instruction& tuple) {
  if (!tuple.Is(Opcode::kTuple) || tuple.IsRoot() || tuple.UseCount() != 1) return nullptr;
  Instruction* user = *tuple.users().begin();
  return user->Is(Opcode::kWhile) ? user : nullptr;
}

bool IsPartOrBitcast(const Instruction& inst) { return inst.Is(Opcode::kGetTupleElement) || inst.Is(Opcode::kBitcast); }

class Outliner {
 public:
  Outliner(Computation& computation, std::string_view kind)
      : computation_(computation), held_(computation.module().AddComputation(Str("region_", kind))), kind_(kind) {}

  // `members` are launches with operands before users.
  void Run(const std::vector<Instruction*>& members) {
    inside_.insert(members.begin(), members.end());
    for (Instruction* member : members) CopyIn(*member);
    const std::vector<Instruction*> results = Results(members);
    std::vector<Instruction*> values;
    for (Instruction* result : results) values.push_back(copies_.at(result));
    held_.SetRoot(values.size() == 1 ? *values.front() : held_.AddTuple(values));
    Instruction& region =
        computation_.Add(Opcode::kFusion, held_.root().shape(), operands_,
                         FusionAttrs{.kind = FusionKind::kCustom, .calls = &held_}, Str(kind_, "_region"));
    region.SetRange(members.front()->range());
    SetConfigValue(region, "region", kind_);
    for (size_t i = 0; i < results.size(); ++i) {
      Instruction& value =
          results.size() == 1 ? region : computation_.AddGetTupleElement(region, static_cast<int64_t>(i));
      value.SetOrigin(results[i]->origin());
      results[i]->ReplaceAllUses(value);
    }
    for (size_t i = members.size(); i-- > 0;) RemoveUnused(*members[i]);
  }

 private:
  // Values from outside become parameters of the region.
  Instruction* ValueOf(Instruction& value) {
    if (const auto found = copies_.find(&value); found != copies_.end()) return found->second;
    Instruction*& copy = copies_[&value];
    const Instruction* launch = LaunchOf(value);
    const bool named_inside = IsPartOrBitcast(value) && launch != nullptr && inside_.contains(launch);
    const bool begins_loop = LoopOf(value) != nullptr && inside_.contains(LoopOf(value));
    if (named_inside || begins_loop || (value.Is(Opcode::kConstant) && value.shape().IsScalar()))
      return copy = CopyOf(value);
    copy = &held_.AddParameter(static_cast<int64_t>(operands_.size()), value.shape());
    operands_.push_back(&value);
    return copy;
  }

  Instruction* CopyOf(Instruction& inst) {
    std::vector<Instruction*> operands;
    for (Instruction* operand : inst.operands()) operands.push_back(ValueOf(*operand));
    const bool stays = inst.Is(Opcode::kConstant) || (inst.Is(Opcode::kBitcast) && IsReadOutside(inst));
    return stays ? &held_.AddClone(inst, operands) : &AddInPlaceOf(held_, inst, operands);
  }

  void CopyIn(Instruction& member) {
    Instruction* copy = CopyOf(member);
    copies_[&member] = copy;
  }

  // Arrays and tuple elements with users outside.
  std::vector<Instruction*> Results(const std::vector<Instruction*>& members) {
    std::vector<Instruction*> results;
    for (Instruction* member : members) {
      if (IsReadOutside(*member)) results.push_back(member);
      if (!member->shape().IsTuple()) continue;
      for (Instruction* user : member->users()) {
        if (!user->Is(Opcode::kGetTupleElement) || !IsReadOutside(*user)) continue;
        results.push_back(user);
        ValueOf(*user);
      }
    }
    return results;
  }

  // Whether instructions outside read the value or its bitcasts. Elements of a tuple are separate results.
  bool IsReadOutside(const Instruction& value) {
    std::vector<const Instruction*> names = {&value};
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i]->IsRoot()) return true;
      for (const Instruction* user : names[i]->users()) {
        if (user->Is(Opcode::kBitcast)) names.push_back(user);
        const Instruction* loop = LoopOf(*user);
        const bool stays =
            inside_.contains(user) || (loop != nullptr && inside_.contains(loop)) || IsPartOrBitcast(*user);
        if (!stays) return true;
      }
    }
    return false;
  }

  // Removes an unused member with its bitcasts and elements, and a loop's initial tuple.
  void RemoveUnused(Instruction& member) {
    std::vector<Instruction*> names = {&member};
    for (size_t i = 0; i < names.size(); ++i) {
      for (Instruction* user : names[i]->users()) {
        if (IsPartOrBitcast(*user)) names.push_back(user);
      }
    }
    for (size_t i = names.size(); i-- > 0;) {
      if (names[i]->removed() || !names[i]->IsDead()) continue;
      Instruction* tuple = LoopOf(names[i]->operand_count() > 0 ? names[i]->operand(0) : *names[i]) == nullptr
                               ? nullptr
                               : &names[i]->operand(0);
      computation_.Remove(*names[i]);
      if (tuple != nullptr) computation_.Remove(*tuple);
    }
  }

  Computation& computation_;
  Computation& held_;
  const std::string kind_;
  std::unordered_set<const Instruction*> inside_;
  std::unordered_map<const Instruction*, Instruction*> copies_;
  std::vector<Instruction*> operands_;
};

}  // namespace

bool IsLaunch(const Instruction& inst) {
  return inst.Is(Opcode::kFusion) || inst.Is(Opcode::kCopy) || inst.Is(Opcode::kWhile);
}

Instruction* LaunchOf(Instruction& value) {
  constexpr int kMostNames = 16;
  Instruction* inst = &value;
  for (int i = 0; i < kMostNames && IsPartOrBitcast(*inst); ++i) inst = &inst->operand(0);
  if (Instruction* loop = LoopOf(*inst)) return loop;
  return IsLaunch(*inst) ? inst : nullptr;
}

bool IsReadByOthers(const Instruction& value, const std::vector<const Instruction*>& launches) {
  std::vector<const Instruction*> names = {&value};
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i]->IsRoot()) return true;
    for (const Instruction* user : names[i]->users()) {
      if (IsPartOrBitcast(*user)) names.push_back(user);
      else if (std::ranges::find(launches, user) == launches.end()) return true;
    }
  }
  return false;
}

RegionGraph::RegionGraph(Computation& computation)
    : computation_(computation),
      order_(computation.PostOrder()),
      waits_(order_),
      part_of_(computation.place_limit(), -1),
      members_(computation.place_limit()),
      counted_(computation.place_limit()) {
  std::vector<bool> awaited(computation.place_limit());
  for (const Instruction* inst : order_) {
    for (const Instruction* before : inst->control_predecessors()) awaited[before->place()] = true;
  }
  for (Instruction* inst : order_) {
    if (!inst->control_predecessors().empty()) continue;
    if (IsLaunch(*inst)) {
      part_of_[inst->place()] = inst->place();
      members_[inst->place()] = {inst};
      if (!awaited[inst->place()] && !HasSideEffect(*inst) && IsReadByOthers(*inst, {})) launches_.push_back(inst);
    } else if (inst->Is(Opcode::kBitcast) && LaunchOf(*inst) != nullptr) {
      waits_.Join(*LaunchOf(*inst), *inst);
    } else if (Instruction* loop = LoopOf(*inst)) {
      waits_.Join(*loop, *inst);
    }
  }
}

int RegionGraph::GroupOf(const Instruction& inst) {
  int at = inst.place();
  while (part_of_[at] != at) at = part_of_[at] = part_of_[part_of_[at]];
  return at;
}

std::vector<Instruction*> RegionGraph::Producers(const Instruction& launch) {
  std::vector<Instruction*> values;
  for (const Instruction* member : LaunchesOf(launch)) {
    for (Instruction* operand : member->operands()) {
      if (LoopOf(*operand) != member) values.push_back(operand);
      else values.insert(values.end(), operand->operands().begin(), operand->operands().end());
    }
  }
  std::vector<Instruction*> found;
  for (Instruction* value : values) {
    Instruction* producer = LaunchOf(*value);
    if (producer == nullptr || part_of_[producer->place()] < 0 || AreOne(*producer, launch)) continue;
    const bool known = std::ranges::any_of(found, [&](const Instruction* other) { return AreOne(*other, *producer); });
    if (!known) found.push_back(producer);
  }
  return found;
}

void RegionGraph::Join(const Instruction& a, const Instruction& b) {
  int into = GroupOf(a), from = GroupOf(b);
  waits_.Join(a, b);
  if (members_[into].size() < members_[from].size()) std::swap(into, from);
  part_of_[from] = into;
  members_[into].insert(members_[into].end(), members_[from].begin(), members_[from].end());
  members_[from].clear();
}

int64_t RegionGraph::PointerCount(const Instruction& launch) {
  ++count_;
  int64_t values = 0;
  const auto see = [&](const Instruction& value) {
    values += counted_[value.place()] == count_ ? 0 : 1;
    counted_[value.place()] = count_;
  };
  for (const Instruction* member : LaunchesOf(launch)) {
    for (const Instruction* operand : member->operands()) see(*operand);
    see(*member);
  }
  return values;
}

bool RegionGraph::Build(std::string_view kind, const std::function<bool(const std::vector<Instruction*>&)>& is_one) {
  std::vector<int> position(computation_.place_limit());
  for (size_t i = 0; i < order_.size(); ++i) position[order_[i]->place()] = static_cast<int>(i);
  bool changed = false;
  std::vector<std::vector<Instruction*>> groups;
  for (const Instruction* inst : order_) {
    if (part_of_[inst->place()] != inst->place()) continue;
    std::vector<Instruction*> group = members_[inst->place()];
    std::ranges::sort(group, {}, [&](const Instruction* member) { return position[member->place()]; });
    if (is_one(group)) groups.push_back(std::move(group));
  }
  for (const std::vector<Instruction*>& group : groups) {
    Outliner(computation_, kind).Run(group);
    changed = true;
  }
  return changed;
}

}  // namespace hlo
