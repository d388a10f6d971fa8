#include "judge/value_numbers.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <set>
#include <unordered_set>

#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "judge/compare/same_operation.h"
#include "judge/kept_values.h"

namespace hlo {
namespace {

bool IsCall(const Instruction& inst) { return inst.Is(Opcode::kCall) || inst.Is(Opcode::kFusion); }

// Whether the instruction returns operand 0, perhaps with another layout.
bool IsIdentity(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kCopy:
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency: return true;
    case Opcode::kReshape: return Compatible(inst.shape(), inst.operand(0).shape());
    case Opcode::kBitcast:
      return Compatible(inst.shape(), inst.operand(0).shape()) &&
             (inst.shape() == inst.operand(0).shape() || inst.shape().rank() <= 1);
    default: return false;
  }
}

bool IsOwnValue(const Instruction& inst) {
  return !IsRepeatable(inst) || inst.Is(Opcode::kCustomCall) || inst.Is(Opcode::kElidedConstant);
}

std::unordered_set<const Instruction*> NeededOf(const Computation& computation,
                                                const std::vector<Instruction*>& post_order) {
  std::unordered_set<const Instruction*> needed{&computation.root()};
  for (const Instruction* inst : post_order | std::views::reverse) {
    if (needed.contains(inst)) needed.insert(inst->operands().begin(), inst->operands().end());
  }
  return needed;
}

ValueNumbers::Hooks WithoutChoice(ValueNumbers::Hooks hooks) {
  hooks.choose = nullptr;
  return hooks;
}

}  // namespace

bool IsRepeatable(const Instruction& inst) {
  return !inst.Is(kSideEffect) && !inst.Is(kCollective) && !inst.Is(Opcode::kRng) &&
         !inst.Is(Opcode::kRngGetAndUpdateState);
}

void ValueNumbers::Add(const Module& module, const Hooks& hooks) {
  std::vector<int> parameters;
  for (const Instruction* parameter : module.entry().parameters()) parameters.push_back(Intern(*parameter, {}, hooks));
  Walk(module.entry(), parameters, hooks);
}

int ValueNumbers::Of(const Instruction& inst) const {
  const auto found = numbers_.find(&inst);
  return found == numbers_.end() ? kNone : found->second;
}

const std::vector<int>* ValueNumbers::ElementsOf(int number) const {
  const auto found = elements_.find(number);
  return found == elements_.end() ? nullptr : &found->second;
}

const ValueNumbers::StateElement* ValueNumbers::StateOf(int number) const {
  const auto found = state_of_.find(number);
  return found == state_of_.end() ? nullptr : &found->second;
}

const std::vector<int>* ValueNumbers::StateOf(const Instruction& loop) const {
  const auto found = states_.find(&loop);
  return found == states_.end() ? nullptr : &found->second;
}

int ValueNumbers::Walk(const Computation& computation, const std::vector<int>& parameters, const Hooks& hooks) {
  const std::vector<Instruction*> order = computation.PostOrder();
  const std::unordered_set<const Instruction*> needed = NeededOf(computation, order);
  std::unordered_map<const Instruction*, int> own;
  for (const Instruction* inst : order) {
    if (!needed.contains(inst)) continue;
    std::vector<int> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(own.at(operand));
    int number = inst->Is(Opcode::kParameter) ? parameters[inst->parameter_number()] : NumberOf(*inst, operands, hooks);
    if (hooks.choose) number = hooks.choose(*inst, number);
    own[inst] = number;
    const auto [at, is_new] = numbers_.try_emplace(inst, number);
    if (!is_new && at->second != number) at->second = kNone;
  }
  return own.at(&computation.root());
}

int ValueNumbers::NumberOf(const Instruction& inst, const std::vector<int>& operands, const Hooks& hooks) {
  if (IsCall(inst)) {
    const Computation& called = *CalledComputations(inst).front();
    const auto known = roots_.find({&called, operands});
    if (known != roots_.end()) return known->second;
    const int root = Walk(called, operands, WithoutChoice(hooks));
    roots_[{&called, operands}] = root;
    return root;
  }
  if (IsIdentity(inst)) return operands[0];
  switch (inst.opcode()) {
    case Opcode::kTuple: return TupleOf(inst, operands);
    case Opcode::kGetTupleElement: return ElementOf(inst.operand(0), operands[0], inst.tuple_index());
    case Opcode::kWhile: return NumberOfLoop(inst, operands[0], hooks);
    case Opcode::kConditional: return NumberOfConditional(inst, operands, hooks);
    default: return Intern(inst, operands, hooks);
  }
}

// Elements that the body does not change have the number of their initial value.
int ValueNumbers::NumberOfLoop(const Instruction& loop, int start, const Hooks& hooks) {
  const WhileAttrs& attrs = loop.attrs<WhileAttrs>();
  const Instruction& root = attrs.body->root();
  if (!loop.shape().IsTuple() || !root.Is(Opcode::kTuple)) return Intern(loop, {start}, hooks);
  const auto count = static_cast<int64_t>(loop.shape().elements().size());
  std::vector<int> state;
  std::vector<bool> is_constant;
  for (int64_t i = 0; i < count; ++i) {
    is_constant.push_back(ElementOfState(root.operand(i)) == i);
    if (is_constant.back()) {
      state.push_back(ElementOf(loop.operand(0), start, i));
      continue;
    }
    std::optional<StateElement> element;
    if (hooks.counterpart) element = hooks.counterpart(loop, i);
    const std::vector<int>* other = element ? StateOf(*element->loop) : nullptr;
    if (other != nullptr && StateOf((*other)[element->element]) != nullptr) {
      state.push_back((*other)[element->element]);
      continue;
    }
    const int number = NewNumber(loop, {}, -1);
    state_of_[number] = {&loop, i};
    state.push_back(number);
  }
  states_[&loop] = state;
  const int parameter = TupleOf(loop, state);
  const int condition = Walk(*attrs.condition, {parameter}, hooks), next = Walk(*attrs.body, {parameter}, hooks);
  // A result's number is made of those of the condition, and of initial and next values of the elements on which it
  // depends.
  std::map<int, std::array<int, 2>> starts_and_nexts;
  for (int64_t i = 0; i < count; ++i) {
    if (!is_constant[i]) starts_and_nexts[state[i]] = {ElementOf(loop.operand(0), start, i), ElementOf(root, next, i)};
  }
  std::vector<int> results;
  for (int64_t i = 0; i < count; ++i) {
    if (is_constant[i]) {
      results.push_back(state[i]);
      continue;
    }
    std::set<int> needed{state[i]}, reached;
    std::vector<int> pending{condition, starts_and_nexts.at(state[i])[1]};
    while (!pending.empty()) {
      const int number = pending.back();
      pending.pop_back();
      if (!reached.insert(number).second) continue;
      pending.insert(pending.end(), nodes_[number].operands.begin(), nodes_[number].operands.end());
      const auto element = starts_and_nexts.find(number);
      if (element == starts_and_nexts.end()) continue;
      needed.insert(number);
      pending.push_back(element->second[1]);
    }
    std::vector<int> operands{state[i], condition};
    for (const int number : needed) {
      operands.push_back(number);
      operands.insert(operands.end(), starts_and_nexts.at(number).begin(), starts_and_nexts.at(number).end());
    }
    const auto [at, is_new] = loop_results_.try_emplace(operands, 0);
    if (is_new) at->second = NewNumber(loop, operands, -1);
    results.push_back(at->second);
  }
  return TupleOf(loop, results);
}

int ValueNumbers::NumberOfConditional(const Instruction& conditional, const std::vector<int>& operands,
                                      const Hooks& hooks) {
  std::vector<int> all{operands[0]};
  const std::vector<Computation*> branches = CalledComputations(conditional);
  for (size_t i = 0; i < branches.size(); ++i)
    all.push_back(Walk(*branches[i], {operands[i + 1]}, WithoutChoice(hooks)));
  const auto [at, is_new] = conditionals_.try_emplace(all, 0);
  if (is_new) at->second = NewNumber(conditional, all, -1);
  return at->second;
}

int ValueNumbers::ElementOf(const Instruction& tuple, int number, int64_t element) {
  if (const std::vector<int>* elements = ElementsOf(number)) return (*elements)[element];
  const auto [at, is_new] = element_of_.try_emplace({number, element}, 0);
  if (is_new) at->second = NewNumber(tuple, {number}, element);
  return at->second;
}

int ValueNumbers::TupleOf(const Instruction& inst, const std::vector<int>& elements) {
  const auto [at, is_new] = tuples_.try_emplace(elements, 0);
  if (is_new) {
    at->second = NewNumber(inst, elements, -1);
    elements_[at->second] = elements;
  }
  return at->second;
}

int ValueNumbers::NewNumber(const Instruction& inst, const std::vector<int>& operands, int64_t distinction) {
  nodes_.push_back({&inst, operands, distinction});
  return static_cast<int>(nodes_.size()) - 1;
}

int ValueNumbers::Intern(const Instruction& inst, const std::vector<int>& operands, const Hooks& hooks) {
  const int64_t distinction = IsOwnValue(inst) ? hooks.identity(inst) : -1;
  uint64_t hash = Mixed(static_cast<uint64_t>(inst.opcode()), static_cast<uint64_t>(distinction));
  for (const int operand : operands) hash = Mixed(hash, static_cast<uint64_t>(operand));
  if (inst.Is(Opcode::kConstant)) hash = Mixed(hash, inst.literal().KeptHash());
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (IsSame(nodes_[at->second], inst, operands, distinction)) return at->second;
  }
  const int number = NewNumber(inst, operands, distinction);
  by_hash_.emplace(hash, number);
  return number;
}

bool ValueNumbers::IsSame(const Node& node, const Instruction& inst, const std::vector<int>& operands,
                          int64_t distinction) {
  const Instruction& other = *node.operation;
  if (node.distinction != distinction || node.operands != operands) return false;
  if (!Compatible(other.shape(), inst.shape()) || !SameAttributesAndCalls(other, inst)) return false;
  return !inst.Is(Opcode::kBitcast) ||
         (other.shape() == inst.shape() && other.operand(0).shape() == inst.operand(0).shape());
}

}  // namespace hlo
