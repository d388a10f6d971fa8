// simplify-while-loops: loop state that does not change, or that nobody needs.
//
//   invariant  element i of the state is what the body was given: outside, the loop's result i is the initial value
//   dead       element i is read by nothing but its own next value: it leaves the state
#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// The get-tuple-elements of `tuple`, or nothing when it is used in another way.
std::optional<std::vector<Instruction*>> ElementsOf(const Instruction& tuple) {
  std::vector<Instruction*> elements;
  if (tuple.IsRoot()) return std::nullopt;
  for (Instruction* user : tuple.users()) {
    if (!user->Is(Opcode::kGetTupleElement)) return std::nullopt;
    elements.push_back(user);
  }
  return elements;
}

struct Loop {
  Instruction* loop;
  Instruction* init;  // A tuple instruction.
  Computation *condition, *body;
  std::vector<Instruction*> in_body, in_condition, outside;  // get-tuple-elements of the state.
};

std::optional<Loop> ReadLoop(Instruction& inst) {
  if (!inst.Is(Opcode::kWhile) || !inst.operand(0).Is(Opcode::kTuple)) return std::nullopt;
  const auto& attrs = inst.attrs<WhileAttrs>();
  Loop loop{&inst, &inst.operand(0), attrs.condition, attrs.body, {}, {}, {}};
  if (!loop.body->root().Is(Opcode::kTuple)) return std::nullopt;
  const auto in_body = ElementsOf(loop.body->parameter(0)), in_condition = ElementsOf(loop.condition->parameter(0)),
             outside = ElementsOf(inst);
  if (!in_body || !in_condition || !outside) return std::nullopt;
  loop.in_body = *in_body;
  loop.in_condition = *in_condition;
  loop.outside = *outside;
  return loop;
}

bool IsInvariant(const Loop& loop, int64_t i) {
  const Instruction& next = loop.body->root().operand(i);
  return next.Is(Opcode::kGetTupleElement) && next.tuple_index() == i && &next.operand(0) == &loop.body->parameter(0);
}

bool UseInvariants(const Loop& loop) {
  bool changed = false;
  for (Instruction* element : loop.outside) {
    const int64_t i = element->tuple_index();
    if (!IsInvariant(loop, i) || (element->users().empty() && !element->IsRoot())) continue;
    element->ReplaceAllUses(loop.init->operand(i));
    changed = true;
  }
  return changed;
}

bool ReadsElement(const std::vector<Instruction*>& elements, int64_t i) {
  return std::any_of(elements.begin(), elements.end(),
                     [i](const Instruction* e) { return e->tuple_index() == i && !e->IsDead(); });
}

// Nothing but the next value of element i depends on element i.
bool IsDeadElement(const Loop& loop, int64_t i) {
  if (ReadsElement(loop.outside, i) || ReadsElement(loop.in_condition, i)) return false;
  std::vector<bool> depends(loop.body->module().id_limit(), false), reached = depends;
  for (const Instruction* inst : loop.body->PostOrder()) {
    reached[inst->id()] = true;
    if (inst == &loop.body->root()) continue;
    if (inst->Is(Opcode::kGetTupleElement) && &inst->operand(0) == &loop.body->parameter(0)) {
      depends[inst->id()] = inst->tuple_index() == i;
      continue;
    }
    for (const Instruction* operand : inst->operands()) {
      if (depends[operand->id()]) depends[inst->id()] = true;
    }
    if (depends[inst->id()] && (HasSideEffect(*inst) || inst->IsDead())) return false;  // dce first.
  }
  for (const Instruction* inst : loop.body->Instructions()) {
    if (reached[inst->id()]) continue;
    for (const Instruction* operand : inst->operands()) {
      if (depends[operand->id()]) return false;  // dce first.
    }
  }
  const Instruction& root = loop.body->root();
  for (int64_t k = 0; k < root.operand_count(); ++k) {
    if (k != i && depends[root.operand(k).id()]) return false;
  }
  return true;
}

// The same computation on a smaller state: elements of the parameter are renumbered, the dead one's is a value that
// nobody reads once the root does not, so it goes with it.
void DropFromParameter(Computation& computation, const std::vector<Instruction*>& elements, int64_t dead,
                       const Shape& state) {
  Instruction& parameter = computation.parameter(0);
  for (Instruction* element : elements) {
    if (element->tuple_index() == dead) {
      computation.Remove(*element);
    } else if (element->tuple_index() > dead) {
      --element->mutable_attrs<IndexAttrs>().index;
    }
  }
  parameter.SetShape(state);
}

Instruction& WithoutOperand(Instruction& tuple, int64_t dead) {
  std::vector<Instruction*> operands(tuple.operands().begin(), tuple.operands().end());
  operands.erase(operands.begin() + dead);
  return tuple.computation().AddTuple(operands);
}

void DropElement(const Loop& loop, int64_t dead) {
  Computation& caller = loop.loop->computation();
  Instruction& init = WithoutOperand(*loop.init, dead);
  // The body: its root first, then what has died with it.
  Instruction& old_root = loop.body->root();
  Instruction& root = WithoutOperand(old_root, dead);
  Instruction& old_value = old_root.operand(dead);
  loop.body->SetRoot(root);
  loop.body->Remove(old_root);
  const bool of_state = old_value.Is(Opcode::kGetTupleElement) && old_value.operand(0).Is(Opcode::kParameter);
  if (old_value.IsDead() && !of_state && !old_value.Is(Opcode::kParameter)) loop.body->RemoveDeadTree(old_value);
  const auto live = [](const std::vector<Instruction*>& elements) {
    std::vector<Instruction*> kept;
    for (Instruction* element : elements) {
      if (!element->removed()) kept.push_back(element);
    }
    return kept;
  };
  DropFromParameter(*loop.body, live(loop.in_body), dead, init.shape());
  DropFromParameter(*loop.condition, live(loop.in_condition), dead, init.shape());

  Instruction& smaller = caller.AddClone(*loop.loop, init.shape(), {&init});
  for (Instruction* element : loop.outside) {
    const int64_t i = element->tuple_index();
    if (i == dead) continue;
    element->ReplaceAllUses(caller.AddGetTupleElement(smaller, i > dead ? i - 1 : i));
  }
  // The old loop cannot wait for dce: its state is not that of its body any more.
  for (Instruction* element : loop.outside) caller.Remove(*element);
  caller.Remove(*loop.loop);
}

// A body or condition that another loop uses as well cannot be changed for one.
bool IsShared(const Module& module, const Loop& loop) {
  int uses = 0;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->Instructions()) {
      for (const Computation* called : CalledComputations(*inst))
        uses += called == loop.body || called == loop.condition;
    }
  }
  return uses != 2;
}

}  // namespace

Result<bool> SimplifyLoops(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->PostOrder()) {
      auto loop = ReadLoop(*inst);
      if (!loop || inst->IsDead()) continue;
      changed |= UseInvariants(*loop);
      if (IsShared(module, *loop)) continue;
      for (int64_t i = loop->init->operand_count() - 1; i >= 0 && loop->init->operand_count() > 1; --i) {
        if (!IsDeadElement(*loop, i) || !context.ConsumeFuel()) continue;
        DropElement(*loop, i);
        changed = true;
        break;  // The rest in the next round of the pipeline.
      }
    }
  }
  return changed;
}

}  // namespace hlo
