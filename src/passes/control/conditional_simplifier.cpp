// simplify-conditional: removes conditionals and shrinks their operands and results.
//
//   known       If the selector is constant, or there is only one branch, the taken branch replaces the conditional.
//   cheap       Selects choose between the results of two cheap branches.
//   duplicates  Two result elements become one if each branch returns one value for both.
//   unread      Result elements without users are not computed. Unread operand elements are removed.
#include <algorithm>
#include <map>

#include "ir/analysis/taken_branch.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/opcode_set.h"
#include "ir/side_effects.h"
#include "passes/control/call_sites.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// The used get-tuple-elements. nullopt if `tuple` is the root or has other users.
std::optional<std::vector<Instruction*>> ReadElements(const Instruction& tuple) {
  if (tuple.IsRoot() || !tuple.shape().IsTuple()) return std::nullopt;
  std::vector<Instruction*> elements;
  for (Instruction* user : tuple.users()) {
    if (!user->Is(Opcode::kGetTupleElement)) return std::nullopt;
    if (!user->IsDead()) elements.push_back(user);
  }
  return elements;
}

// `numbers` has the new number of each tuple element, or -1 without readers.
struct Numbering {
  std::vector<int64_t> numbers;
  std::vector<int64_t> read;  // Old numbers of elements with readers, ascending.

  Numbering(const Instruction& tuple, std::span<Instruction* const> elements)
      : numbers(tuple.shape().elements().size(), -1) {
    for (const Instruction* element : elements) numbers[element->tuple_index()] = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0) continue;
      numbers[i] = static_cast<int64_t>(read.size());
      read.push_back(static_cast<int64_t>(i));
    }
  }
  bool ReadsAll() const { return read.size() == numbers.size(); }
};

Instruction& TupleOf(Instruction& whole, std::span<const int64_t> elements) {
  std::vector<Instruction*> operands;
  for (const int64_t i : elements) operands.push_back(&ElementOf(whole, i));
  return whole.computation().AddTuple(operands);
}

void Renumber(Instruction& tuple, const Numbering& numbering) {
  std::vector<Shape> shapes;
  for (const int64_t i : numbering.read) shapes.push_back(tuple.shape().element(i));
  const std::vector<Instruction*> users(tuple.users().begin(), tuple.users().end());
  for (Instruction* user : users) {
    const int64_t number = numbering.numbers[user->tuple_index()];
    if (number >= 0) {
      user->mutable_attrs<IndexAttrs>().index = number;
    } else {
      tuple.computation().Remove(*user);
    }
  }
  tuple.SetShape(Shape::Tuple(std::move(shapes)));
}

bool MergeDuplicates(Instruction& conditional) {
  const auto elements = ReadElements(conditional);
  const auto branches = conditional.attrs<ConditionalAttrs>().branches();
  if (!elements) return false;
  for (const Computation* branch : branches) {
    if (!branch->root().Is(Opcode::kTuple)) return false;
  }
  // Only for look-ups, because the map's order varies between runs.
  std::map<std::vector<const Instruction*>, int64_t> first;
  std::vector<int64_t> same(conditional.shape().elements().size());
  for (size_t i = 0; i < same.size(); ++i) {
    std::vector<const Instruction*> values;
    for (const Computation* branch : branches) values.push_back(&branch->root().operand(i));
    same[i] = first.emplace(std::move(values), i).first->second;
  }
  bool changed = false;
  for (Instruction* element : *elements) {
    const int64_t i = element->tuple_index();
    if (same[i] == i || conditional.shape().element(same[i]) != element->shape()) continue;
    element->mutable_attrs<IndexAttrs>().index = same[i];
    changed = true;
  }
  return changed;
}

bool DropUnreadResults(Instruction& conditional, CallSites& calls) {
  const auto elements = ReadElements(conditional);
  if (!elements) return false;
  const Numbering numbering(conditional, *elements);
  if (numbering.ReadsAll()) return false;
  ForEachCalled(conditional.attributes(), [&](Computation*& branch) {
    Computation& own = calls.Own(branch);
    own.SetRoot(TupleOf(own.root(), numbering.read));
  });
  Renumber(conditional, numbering);
  return true;
}

bool DropUnreadOperands(Instruction& conditional, CallSites& calls) {
  bool changed = false;
  int64_t number = 0;
  ForEachCalled(conditional.attributes(), [&](Computation*& branch) {
    ++number;  // Operand 0 is the selector.
    const auto elements = ReadElements(branch->parameter(0));
    if (!elements || Numbering(branch->parameter(0), *elements).ReadsAll()) return;
    Instruction& parameter = calls.Own(branch).parameter(0);
    const Numbering numbering(parameter, *ReadElements(parameter));
    conditional.SetOperand(number, TupleOf(conditional.operand(number), numbering.read));
    Renumber(parameter, numbering);
    changed = true;
  });
  return changed;
}

bool IsCheap(const Instruction& inst) {
  constexpr OpcodeSet kCheap = {
      Opcode::kBroadcast,       Opcode::kConcatenate, Opcode::kConstant,  Opcode::kDynamicSlice,
      Opcode::kGetTupleElement, Opcode::kPad,         Opcode::kParameter, Opcode::kReduce,
      Opcode::kReshape,         Opcode::kSlice,       Opcode::kTuple};
  return inst.Is(kElementwise) || kCheap.Has(inst.opcode());
}

// Whether the branch computes nothing, so that the conditional is faster than selects.
bool ComputesNothing(const Computation& branch) {
  return std::ranges::all_of(branch.Instructions(), [](const Instruction* inst) {
    return inst->Is(Opcode::kParameter) || inst->Is(Opcode::kTuple) || inst->Is(Opcode::kGetTupleElement);
  });
}

bool IsStaticArrays(const Shape& shape) {
  bool all = true;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { all &= leaf.IsArray() && !leaf.HasDynamicDims(); });
  return all;
}

Instruction& Select(Instruction& conditional, Instruction& pred, Instruction& on_true, Instruction& on_false) {
  Computation& computation = conditional.computation();
  const Shape& shape = on_true.shape();
  if (!shape.IsTuple()) {
    Instruction* mask = &pred;
    if (!shape.IsScalar())
      mask = &computation.AddLike(conditional, Opcode::kBroadcast, shape.WithType(PrimitiveType::kPred), {&pred},
                                  DimensionsAttrs{});
    return computation.AddLike(conditional, Opcode::kSelect, shape, {mask, &on_true, &on_false});
  }
  std::vector<Instruction*> elements;
  for (size_t i = 0; i < shape.elements().size(); ++i)
    elements.push_back(&Select(conditional, pred, ElementOf(on_true, i), ElementOf(on_false, i)));
  return computation.AddTuple(elements);
}

Instruction& InlineBranch(Instruction& conditional, int64_t branch, CallSites& calls) {
  Instruction* const argument = &conditional.operand(branch + 1);
  return calls.Inline(conditional.computation(), *conditional.attrs<ConditionalAttrs>().branches()[branch],
                      {&argument, 1});
}

std::optional<int64_t> AlwaysTaken(const Instruction& conditional) {
  const int64_t branches = conditional.operand_count() - 1;
  if (branches == 1) return 0;
  const Instruction& selector = conditional.operand(0);
  if (!selector.Is(Opcode::kConstant)) return std::nullopt;
  return TakenBranch(selector.literal(), branches);
}

bool MaySelect(const Instruction& conditional) {
  if (!conditional.operand(0).shape().IsScalarOf(PrimitiveType::kPred) || !IsStaticArrays(conditional.shape()))
    return false;
  const auto branches = conditional.attrs<ConditionalAttrs>().branches();
  return std::ranges::all_of(branches, [](const Computation* branch) {
    return std::ranges::all_of(branch->Instructions(), [](const Instruction* inst) { return IsCheap(*inst); }) &&
           !ComputesNothing(*branch);
  });
}

bool RemoveConditional(Instruction& conditional, CallSites& calls) {
  Instruction* value = nullptr;
  if (const auto taken = AlwaysTaken(conditional)) {
    value = &InlineBranch(conditional, *taken, calls);
  } else if (MaySelect(conditional)) {
    Instruction &on_true = InlineBranch(conditional, 0, calls), &on_false = InlineBranch(conditional, 1, calls);
    value = &Select(conditional, conditional.operand(0), on_true, on_false);
  } else {
    return false;
  }
  conditional.ReplaceAllUses(*value);
  conditional.computation().Remove(conditional);
  return true;
}

}  // namespace

Result<bool> SimplifyConditionals(Module& module, const PassContext& context) {
  CallSites calls(module);
  bool changed = false;
  // Callees come first, so that branches are simplified before they are copied.
  for (Computation* computation : SequentialComputations(module)) {
    const bool waits = HasControlEdges(*computation);
    for (Instruction* inst : computation->PostOrder()) {
      if (!inst->Is(Opcode::kConditional) || (inst->IsDead() && !HasSideEffect(*inst))) continue;
      if (!context.ConsumeFuel()) continue;
      changed |= MergeDuplicates(*inst);
      changed |= DropUnreadResults(*inst, calls);
      changed |= DropUnreadOperands(*inst, calls);
      if (!waits) changed |= RemoveConditional(*inst, calls);
    }
  }
  module.RemoveUnreachable();
  return changed;
}

}  // namespace hlo
