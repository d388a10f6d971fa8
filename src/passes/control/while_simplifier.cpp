// simplify-while-loops: removes loops of at most one trip, and state that does not change or is not needed.
//
//   trips      A loop without a trip becomes its initial state, a loop of one trip its body.
//   nested     A tuple in the state becomes its elements.
//   invariant  The initial value replaces an invariant element outside the loop, and inside if it is a constant.
//   ranges     Ranges of counters simplify the body (loop_ranges.cpp).
//   counters   Counters that move together become one (loop_counters.cpp).
//   known      After a known number of trips, the last value of an element replaces it outside, if the element is a
//              counter or if its next value is a constant or an invariant.
//   same       Elements with the same initial and next value become one.
//   dead       Elements on which no result, condition or side effect depends are removed.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "interp/count_trips.h"
#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "ir/id_span.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "passes/control/call_sites.h"
#include "passes/control/loop.h"
#include "passes/pass.h"

namespace hlo {
namespace {

bool IsRead(const Instruction& element) { return !element.removed() && !element.IsDead(); }

// Limit of instructions copied from bodies.
constexpr int64_t kMostInlined = 1'000'000;

// Callers come first, so that a body is copied directly to its final computation.
class ShortLoops {
 public:
  ShortLoops(Module& module, CallSites& calls) : module_(module), calls_(calls) {}

  bool Remove(const PassContext& context) {
    bool changed = false;
    std::unordered_set<const Computation*> reached = {&module_.entry()};
    const std::vector<Computation*> order = SequentialComputations(module_);
    for (size_t i = order.size(); i-- > 0;) {
      if (!reached.contains(order[i])) continue;
      if (!HasControlEdges(*order[i])) {
        std::vector<Instruction*> worklist = order[i]->PostOrder();
        for (size_t k = 0; k < worklist.size(); ++k) {
          if (worklist[k]->Is(Opcode::kWhile) && !worklist[k]->IsDead())
            changed |= Remove(*worklist[k], &worklist, context);
        }
      }
      for (const Instruction* inst : order[i]->instructions()) {
        for (const Computation* called : CalledComputations(*inst)) reached.insert(called);
      }
    }
    return changed;
  }

 private:
  bool Remove(Instruction& loop, std::vector<Instruction*>* added, const PassContext& context) {
    const auto trips = CountTrips(loop, 1);
    if (!trips || *trips > 1 || HasSideEffect(loop)) return false;
    const Computation& body = *loop.attrs<WhileAttrs>().body;
    if (*trips == 1 && body.InstructionCount() > left_) return false;
    if (!context.ConsumeFuel()) return false;
    Instruction* result = &loop.operand(0);
    if (*trips == 1) {
      left_ -= body.InstructionCount();
      result = &calls_.Inline(loop.computation(), body, {&result, 1}, added);
    }
    loop.ReplaceAllUses(*result);
    loop.computation().Remove(loop);
    return true;
  }

  Module& module_;
  CallSites& calls_;
  int64_t left_ = kMostInlined;
};

bool HoldsTuple(const Shape& state) {
  return std::ranges::any_of(state.elements(), [](const Shape& element) { return element.IsTuple(); });
}

void CollectLeaves(Instruction& value, std::vector<Instruction*>* leaves) {
  if (!value.shape().IsTuple()) return leaves->push_back(&value);
  for (size_t i = 0; i < value.shape().elements().size(); ++i) CollectLeaves(ElementOf(value, i), leaves);
}
Instruction& Flat(Instruction& value) {
  std::vector<Instruction*> leaves;
  CollectLeaves(value, &leaves);
  return value.computation().AddTuple(leaves);
}
// A value of `shape` from elements of `flat`, starting with number `*leaf`.
Instruction& Nested(Instruction& flat, const Shape& shape, int64_t* leaf) {
  if (!shape.IsTuple()) return flat.computation().AddGetTupleElement(flat, (*leaf)++);
  std::vector<Instruction*> elements;
  for (const Shape& element : shape.elements()) elements.push_back(&Nested(flat, element, leaf));
  return flat.computation().AddTuple(elements);
}

// Gives `state`, the loop or a parameter, the shape `flat`. Its users get a tuple of the old shape.
void Flatten(Instruction& state, const Shape& flat) {
  const Shape nested = state.shape();
  const int origin = state.origin();
  const std::vector<Instruction*> users(state.users().begin(), state.users().end());
  state.SetShape(flat);
  int64_t leaf = 0;
  Instruction& whole = Nested(state, nested, &leaf);
  whole.SetOrigin(origin);
  for (Instruction* user : users) {
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (&user->operand(i) == &state) user->SetOperand(i, whole);
    }
  }
  if (state.IsRoot()) state.computation().SetRoot(whole);
}

bool FlattenState(Instruction& loop) {
  if (!loop.shape().IsTuple() || !HoldsTuple(loop.shape()) || loop.shape().LeafCount() == 0) return false;
  const auto& attrs = loop.attrs<WhileAttrs>();
  Instruction& init = Flat(loop.operand(0));
  Flatten(attrs.body->parameter(0), init.shape());
  Flatten(attrs.condition->parameter(0), init.shape());
  attrs.body->SetRoot(Flat(attrs.body->root()));
  Flatten(loop, init.shape());
  loop.SetOperand(0, init);
  return true;
}

bool UseInvariants(const Loop& loop) {
  bool changed = false;
  for (Instruction* element : loop.outside) {
    const int64_t i = element->tuple_index();
    if (!loop.IsInvariant(i) || !IsRead(*element)) continue;
    element->ReplaceAllUses(loop.init->operand(i));
    changed = true;
  }
  return changed;
}

// The value of element i after `trips` >= 1 trips, or null if it is unknown.
Instruction* LastValue(const Loop& loop, int64_t i, int64_t trips) {
  Computation& caller = loop.loop->computation();
  const Instruction& next = loop.Next(i);
  if (const auto source = loop.ElementInBody(next); source && *source != i && loop.IsInvariant(*source))
    return &loop.init->operand(*source);
  if (next.Is(Opcode::kConstant)) {
    Instruction& constant = caller.AddClone(next, {});
    constant.SetOrigin(-1);
    return &constant;
  }
  const auto induction = next.shape().IsScalar() ? InductionOf(*loop.loop, i) : std::nullopt;
  if (!induction || induction->step == 0) return nullptr;
  return &caller.AddConstant(*ScalarAfter(*loop.loop, i, trips));
}

bool UseLastValues(const Loop& loop) {
  if (std::ranges::none_of(loop.outside, [](const Instruction* element) { return IsRead(*element); })) return false;
  const auto trips = DerivedTripCount(*loop.loop);
  if (!trips || *trips == 0) return false;
  bool changed = false;
  for (Instruction* element : loop.outside) {
    if (!IsRead(*element)) continue;
    Instruction* const last = LastValue(loop, element->tuple_index(), *trips);
    if (last == nullptr) continue;
    element->ReplaceAllUses(*last);
    changed = true;
  }
  return changed;
}

bool MergeSame(const Loop& loop) {
  // Only for look-ups, because the map's order varies between runs.
  std::map<std::pair<const Instruction*, const Instruction*>, int64_t> first;
  std::vector<int64_t> same(loop.Size());
  bool any = false;
  for (int64_t i = 0; i < loop.Size(); ++i) {
    const Instruction* const next = loop.IsInvariant(i) ? nullptr : &loop.Next(i);
    same[i] = first.emplace(std::pair(&loop.init->operand(i), next), i).first->second;
    any |= same[i] != i;
  }
  if (!any) return false;
  bool changed = false;
  for (const auto* elements : {&loop.in_body, &loop.in_condition, &loop.outside}) {
    for (Instruction* element : *elements) {
      const int64_t i = element->tuple_index();
      if (same[i] == i || !IsRead(*element)) continue;
      // An element that is only its own next value stays, because IsInvariant() looks for it.
      if (element->users().size() == 1 && element->UseCount() == 1 && element == &loop.Next(i)) continue;
      Instruction& kept = element->computation().AddGetTupleElement(element->operand(0), same[i]);
      element->ReplaceAllUses(kept);
      changed = true;
    }
  }
  return changed;
}

// By element: needed outside, by the condition, a side effect, or a live element's next value.
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
  const auto mark_what_is_read = [&] {
    while (!worklist.empty()) {
      const Instruction& inst = *worklist.back();
      worklist.pop_back();
      if (&inst == &root || seen[ids.IndexOf(inst)]) continue;
      seen[ids.IndexOf(inst)] = true;
      if (inst.Is(Opcode::kGetTupleElement) && &inst.operand(0) == &loop.body->parameter(0)) mark(inst.tuple_index());
      worklist.insert(worklist.end(), inst.operands().begin(), inst.operands().end());
    }
  };
  mark_what_is_read();
  if (std::ranges::find(live, true) == live.end()) {  // A state must have an element.
    mark(0);
    mark_what_is_read();
  }
  return live;
}

// Moves element i to position[i], or removes it if negative.
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
  // dce cannot remove the old loop, whose state no longer matches its body.
  for (Instruction* element : loop.outside) caller.Remove(*element);
  caller.Remove(*loop.loop);
}

struct Simplified {
  bool changed = false;
  bool smaller = false;  // Loops around and inside of it may become smaller, too.
};

Simplified SimplifyLoop(Instruction& inst, CallSites& calls, bool waits, const PassContext& context) {
  const auto& attrs = inst.attrs<WhileAttrs>();
  const bool owns = !waits && calls.Count(*attrs.body) == 1 && calls.Count(*attrs.condition) == 1 &&
                    !HasControlEdges(*attrs.body) && !HasControlEdges(*attrs.condition);
  Simplified result;
  if (owns && inst.shape().IsTuple() && HoldsTuple(inst.shape()) && context.ConsumeFuel())
    result.changed |= FlattenState(inst);
  auto loop = ReadLoop(inst);
  if (!loop) return result;
  result.changed |= UseInvariants(*loop);
  result.changed |= UseLastValues(*loop);
  if (!owns) return result;
  result.changed |= SinkConstants(*loop);
  result.changed |= UseRanges(*loop, context);
  if (MergeCounters(*loop, context)) {
    result.changed = true;
    loop = ReadLoop(inst);
  }
  if (MergeSame(*loop)) {
    result.changed = true;
    loop = ReadLoop(inst);
  }
  const std::vector<bool> live = LiveElements(*loop);
  if (std::ranges::find(live, false) == live.end() || !context.ConsumeFuel()) return result;
  KeepElements(*loop, live);
  return {true, true};
}

}  // namespace

Result<bool> SimplifyLoops(Module& module, const PassContext& context) {
  CallSites calls(module);
  bool changed = ShortLoops(module, calls).Remove(context);
  for (bool again = true; again;) {
    again = false;
    for (Computation* computation : SequentialComputations(module)) {
      const bool waits = HasControlEdges(*computation);
      for (Instruction* inst : computation->PostOrder()) {
        if (inst->removed() || inst->IsDead() || !inst->Is(Opcode::kWhile)) continue;
        const Simplified result = SimplifyLoop(*inst, calls, waits, context);
        changed |= result.changed;
        again |= result.smaller;
      }
    }
  }
  module.RemoveUnreachable();
  return changed;
}

}  // namespace hlo
