// simplify-while-loops: loop state that does not change, or that nobody needs.
//
//   invariant  element i of the state is what the body was given: outside, the loop's result i is the initial value
//   dead       element i is read by nothing but next values of dead elements: it leaves the state
#include <algorithm>
#include <unordered_map>

#include "ir/fusion.h"
#include "ir/id_span.h"
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

// By element of the state: is it read outside, by the condition, by a side effect, or by the next value of one that is?
std::vector<bool> LiveElements(const Loop& loop) {
  std::vector<bool> live(loop.init->operand_count(), false);
  std::vector<const Instruction*> worklist;
  const Instruction& root = loop.body->root();
  const auto mark = [&](int64_t i) {
    if (live[i]) return;
    live[i] = true;
    worklist.push_back(&root.operand(i));
  };
  for (const auto* elements : {&loop.outside, &loop.in_condition}) {
    for (const Instruction* element : *elements) {
      if (!element->IsDead()) mark(element->tuple_index());
    }
  }
  const std::vector<Instruction*> order = loop.body->PostOrder();
  const IdSpan ids(order);
  for (const Instruction* inst : order) {
    if (HasSideEffect(*inst)) worklist.push_back(inst);
  }
  std::vector<bool> seen(ids.size(), false);
  while (!worklist.empty()) {
    const Instruction& inst = *worklist.back();
    worklist.pop_back();
    if (&inst == &root || seen[ids.Of(inst)]) continue;
    seen[ids.Of(inst)] = true;
    if (inst.Is(Opcode::kGetTupleElement) && &inst.operand(0) == &loop.body->parameter(0)) mark(inst.tuple_index());
    worklist.insert(worklist.end(), inst.operands().begin(), inst.operands().end());
  }
  if (std::ranges::find(live, true) == live.end()) live[0] = true;  // A state has an element.
  return live;
}

// The same computation on the elements that are left: those that read them are renumbered; the others have no users.
void ShrinkParameter(Computation& computation, const std::vector<Instruction*>& elements,
                     const std::vector<int64_t>& position, const Shape& state) {
  for (Instruction* element : elements) {
    if (element->removed()) continue;
    const int64_t i = element->tuple_index();
    if (position[i] >= 0) {
      element->mutable_attrs<IndexAttrs>().index = position[i];
    } else {
      computation.Remove(*element);
    }
  }
  computation.parameter(0).SetShape(state);
}

Instruction& LiveOperands(Instruction& tuple, const std::vector<bool>& live) {
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < tuple.operand_count(); ++i) {
    if (live[i]) operands.push_back(&tuple.operand(i));
  }
  return tuple.computation().AddTuple(operands);
}

// What only dead elements need is dead itself; users go before what they use.
void RemoveUnneeded(Computation& body) {
  const std::vector<Instruction*> order = body.PostOrder();
  for (size_t i = order.size(); i-- > 0;) {
    Instruction& inst = *order[i];
    if (inst.IsDead() && !inst.Is(Opcode::kParameter) && !HasSideEffect(inst)) body.Remove(inst);
  }
}

void KeepElements(const Loop& loop, const std::vector<bool>& live) {
  std::vector<int64_t> position(live.size(), -1);
  int64_t count = 0;
  for (size_t i = 0; i < live.size(); ++i) {
    if (live[i]) position[i] = count++;
  }
  Computation& caller = loop.loop->computation();
  Instruction& init = LiveOperands(*loop.init, live);
  Instruction& old_root = loop.body->root();
  loop.body->SetRoot(LiveOperands(old_root, live));
  loop.body->Remove(old_root);
  RemoveUnneeded(*loop.body);
  ShrinkParameter(*loop.body, loop.in_body, position, init.shape());
  ShrinkParameter(*loop.condition, loop.in_condition, position, init.shape());

  Instruction& smaller = caller.AddClone(*loop.loop, init.shape(), {&init});
  for (Instruction* element : loop.outside) {
    const int64_t i = position[element->tuple_index()];
    if (i >= 0) element->ReplaceAllUses(caller.AddGetTupleElement(smaller, i));
  }
  // The old loop cannot wait for dce: its state is not that of its body any more.
  for (Instruction* element : loop.outside) caller.Remove(*element);
  caller.Remove(*loop.loop);
}

// How often each computation is called. One that another loop uses as well cannot be changed for one.
std::unordered_map<const Computation*, int> CountCalls(const Module& module) {
  std::unordered_map<const Computation*, int> calls;
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      for (const Computation* called : CalledComputations(*inst)) ++calls[called];
    }
  }
  return calls;
}

// Somebody waits for somebody: nobody may go.
bool HasWaits(const Computation& computation) {
  for (const Instruction* inst : computation.instructions()) {
    if (!inst->control_predecessors().empty()) return true;
  }
  return false;
}

}  // namespace

Result<bool> SimplifyLoops(Module& module, const PassContext& context) {
  const std::unordered_map<const Computation*, int> calls = CountCalls(module);
  bool changed = false;
  // A loop that has lost elements may be what kept those of the loop around it, or the other way round.
  for (bool again = true; again;) {
    again = false;
    for (Computation* computation : SequentialComputations(module)) {
      const bool waits = HasWaits(*computation);
      for (Instruction* inst : computation->PostOrder()) {
        if (inst->removed() || inst->IsDead()) continue;
        const auto loop = ReadLoop(*inst);
        if (!loop) continue;
        changed |= UseInvariants(*loop);
        if (calls.at(loop->body) != 1 || calls.at(loop->condition) != 1) continue;
        if (waits || HasWaits(*loop->body) || HasWaits(*loop->condition)) continue;
        const std::vector<bool> live = LiveElements(*loop);
        if (std::ranges::find(live, false) == live.end() || !context.ConsumeFuel()) continue;
        KeepElements(*loop, live);
        changed = again = true;
      }
    }
  }
  return changed;
}

}  // namespace hlo
