#include "gpu/codegen/host/strips.h"

#include <algorithm>

namespace hlo::kernel {
namespace {

bool Varies(const Instruction& instruction, const std::vector<bool>& varying) {
  return std::ranges::any_of(instruction.operands, [&](int32_t operand) { return varying[operand]; });
}

bool HasCut(const HostFacts& facts, const std::vector<bool>& varying, const Region& region);

bool IsCut(const HostFacts& facts, const std::vector<bool>& varying, const Instruction& instruction) {
  if (Varies(instruction, varying)) return false;
  if (instruction.op == Op::kLoop) return !facts.IsWrittenOut(instruction);
  if (instruction.op != Op::kIf) return false;
  return std::ranges::any_of(instruction.regions, [&](const Region& branch) { return HasCut(facts, varying, branch); });
}

bool HasCut(const HostFacts& facts, const std::vector<bool>& varying, const Region& region) {
  return std::ranges::any_of(region.body,
                             [&](const Instruction& instruction) { return IsCut(facts, varying, instruction); });
}

class Planner {
 public:
  Planner(const HostFacts& facts, const SegmentPlan* segments, StripPlan& plan)
      : facts_(facts), segments_(segments), plan_(plan) {}

  void Plan(const Region& body) {
    plan_.varying.resize(facts_.kernel.values);
    if (!body.arguments.empty()) plan_.varying[body.arguments[0]] = true;
    FindVarying(body);
    plan_.needed = HasCut(facts_, plan_.varying, body);
    if (!plan_.needed) return;
    plan_.group_of.resize(facts_.kernel.values);
    plan_.definition.resize(facts_.kernel.values);
    variable_group_.resize(facts_.kernel.variables.size());
    is_kept_.resize(facts_.kernel.values);
    variable_is_kept_.resize(facts_.kernel.variables.size());
    FindGroups(body);
    FindKept(body);
  }

 private:
  void FindVarying(const Region& region) {
    for (const Instruction& instruction : region.body) {
      const Op op = instruction.op;
      bool varies = IsOwn(facts_.kernel, instruction) || Varies(instruction, plan_.varying);
      if (segments_ && segments_->IsFixed(instruction)) varies = false;
      for (int i = 0; i < Results(instruction); ++i) plan_.varying[instruction.result + i] = varies;
      if (op == Op::kLoop) plan_.varying[instruction.regions[0].arguments[0]] = varies;
      for (const Region& inner : instruction.regions) FindVarying(inner);
    }
  }

  void FindGroups(const Region& region) {
    WalkStrip(
        facts_, plan_, region,
        [&](const Instruction& instruction) { plan_.definition[instruction.result] = &instruction; },
        [&](const std::vector<const Instruction*>& members) {
          const int group = next_group_++;
          for (const Instruction* member : members) PlaceInGroup(*member, group, /*top=*/true);
        },
        [&](const Instruction& cut) {
          for (const Region& inner : cut.regions) FindGroups(inner);
        });
  }

  void PlaceInGroup(const Instruction& instruction, int group, bool top) {
    plan_.group_of_member[&instruction] = group;
    for (int i = 0; i < Results(instruction); ++i) {
      plan_.group_of[instruction.result + i] = group;
      plan_.definition[instruction.result + i] = &instruction;
    }
    const bool is_set = instruction.op == Op::kVariableSet;
    if ((is_set || instruction.op == Op::kVariableGet) &&
        facts_.kernel.variables[instruction.imm].level == Level::kThread)
      PlaceVariable(instruction.imm, group, top && is_set);
    for (const Region& inner : instruction.regions) {
      for (const Instruction& nested : inner.body) PlaceInGroup(nested, group, false);
      for (const int32_t argument : inner.arguments) plan_.group_of[argument] = group;
    }
  }

  // A variable that only one group accesses, and sets first, needs no array.
  void PlaceVariable(int64_t variable, int group, bool begins) {
    int& only = variable_group_[variable];
    if (only == 0 && begins) only = group;
    if (only == group || variable_is_kept_[variable]) return;
    variable_is_kept_[variable] = true;
    plan_.kept_variables.push_back(static_cast<int32_t>(variable));
  }

  // Whether other groups can compute the value again: values outside of groups, lane numbers, and index arithmetic on
  // them.
  bool CanRepeat(int32_t id) const {
    if (plan_.group_of[id] == 0) return true;
    const Instruction* const definition = plan_.definition[id];
    if (!definition) return false;
    const Op op = definition->op;
    if (op == Op::kLane || op == Op::kThread) return true;
    const bool pure = (op >= Op::kAdd && op <= Op::kXor) || (op >= Op::kEqual && op <= Op::kSelect);
    return pure && std::ranges::all_of(definition->operands, [&](int32_t operand) {
             const Type type = facts_.types[operand];
             return (type == Type::kIndex || type == Type::kPred) && CanRepeat(operand);
           });
  }

  void FindKept(const Region& region) {
    for (const Instruction& instruction : region.body) {
      const auto member = plan_.group_of_member.find(&instruction);
      const int own = member == plan_.group_of_member.end() ? 0 : member->second;
      for (const int32_t operand : instruction.operands) {
        if (plan_.group_of[operand] == 0 || plan_.group_of[operand] == own || is_kept_[operand] || CanRepeat(operand))
          continue;
        is_kept_[operand] = true;
        plan_.kept_values.push_back(operand);
      }
      for (const Region& inner : instruction.regions) FindKept(inner);
    }
  }

  const HostFacts& facts_;
  const SegmentPlan* segments_;
  StripPlan& plan_;
  int next_group_ = 1;
  std::vector<int> variable_group_;
  std::vector<bool> is_kept_, variable_is_kept_;
};

}  // namespace

StripPlan PlanStrips(const HostFacts& facts, const Region& body, const SegmentPlan* segments) {
  StripPlan plan;
  Planner(facts, segments, plan).Plan(body);
  return plan;
}

StripPart PartOf(const HostFacts& facts, const StripPlan& plan, const Instruction& instruction) {
  if (IsCut(facts, plan.varying, instruction)) return StripPart::kCut;
  if (instruction.result < 0 || !instruction.regions.empty()) return StripPart::kMember;
  return plan.varying[instruction.result] ? StripPart::kMember : StripPart::kUniform;
}

}  // namespace hlo::kernel
