#include "passes/control/loop.h"

#include <algorithm>
#include <utility>

#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/control/call_sites.h"

namespace hlo {
namespace {

// nullopt if `tuple` is the root or has other users.
std::optional<std::vector<Instruction*>> ElementsOf(const Instruction& tuple) {
  std::vector<Instruction*> elements;
  if (tuple.IsRoot()) return std::nullopt;
  for (Instruction* user : tuple.users()) {
    if (!user->Is(Opcode::kGetTupleElement)) return std::nullopt;
    elements.push_back(user);
  }
  return elements;
}

// The value first + step * trip.
struct Line {
  int64_t first, step;

  int64_t At(int64_t trip) const { return first + step * trip; }
};

// Reads sums and differences of counters and constants. nullopt for other values, and if a value may wrap.
std::optional<Line> LineOf(const Loop& loop, const Instruction& value, int64_t trips, int depth = 0) {
  constexpr int kDeepest = 8;
  constexpr int64_t kMost = int64_t{1} << 30;
  const PrimitiveType type = value.shape().IsScalar() ? value.shape().type() : PrimitiveType::kPred;
  if (depth > kDeepest || !IsInteger(type) || trips >= kMost) return std::nullopt;
  std::optional<Line> line;
  if (const auto element = loop.ElementInBody(value)) {
    if (const auto counter = InductionOf(*loop.loop, *element)) line = Line{counter->first, counter->step};
  } else if (value.Is(Opcode::kConstant)) {
    line = Line{value.literal().GetInt(0), 0};
  } else if (value.Is(Opcode::kAdd) || value.Is(Opcode::kSubtract)) {
    const auto a = LineOf(loop, value.operand(0), trips, depth + 1),
               b = LineOf(loop, value.operand(1), trips, depth + 1);
    const int64_t sign = value.Is(Opcode::kAdd) ? 1 : -1;
    if (a && b) line = Line{a->first + sign * b->first, a->step + sign * b->step};
  }
  if (!line || std::abs(line->first) >= kMost || std::abs(line->step) >= kMost) return std::nullopt;
  const int bits = std::min(BitWidth(type) - (IsSigned(type) ? 1 : 0), 62);
  const int64_t most = (int64_t{1} << bits) - 1, least = IsSigned(type) ? -most - 1 : 0;
  const auto fits = [&](int64_t x) { return least <= x && x <= most; };
  return fits(line->At(0)) && fits(line->At(trips - 1)) ? line : std::nullopt;
}

}  // namespace

Instruction& Loop::Next(int64_t i) const { return body->root().operand(i); }

bool Loop::IsInvariant(int64_t i) const { return ElementInBody(Next(i)) == i; }

std::optional<int64_t> Loop::ElementInBody(const Instruction& value) const {
  if (!value.Is(Opcode::kGetTupleElement) || &value.operand(0) != &body->parameter(0)) return std::nullopt;
  return value.tuple_index();
}

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

bool ForEachOwnLoop(Module& module, const PassContext& context, bool (*change)(Loop&, const PassContext&)) {
  const CallSites calls(module);
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->PostOrder()) {
      if (inst->IsDead()) continue;
      auto loop = ReadLoop(*inst);
      if (!loop || calls.Count(*loop->body) != 1 || calls.Count(*loop->condition) != 1 || HasControlEdges(*loop->body))
        continue;
      changed |= change(*loop, context);
    }
  }
  return changed;
}

Instruction& AddInvariantElement(Loop& loop, Instruction& value) {
  std::vector<Instruction*> first(loop.init->operands().begin(), loop.init->operands().end());
  Instruction& root = loop.body->root();
  std::vector<Instruction*> next(root.operands().begin(), root.operands().end());
  first.push_back(&value);
  Instruction& old_init = *std::exchange(loop.init, &loop.loop->computation().AddTuple(first));
  for (Instruction* state : {&loop.body->parameter(0), &loop.condition->parameter(0), loop.loop})
    state->SetShape(loop.init->shape());
  loop.loop->SetOperand(0, *loop.init);
  if (old_init.IsDead()) loop.loop->computation().Remove(old_init);
  Instruction& inside = loop.body->AddGetTupleElement(loop.body->parameter(0), std::ssize(first) - 1);
  inside.SetOrigin(-1);
  loop.in_body.push_back(&inside);
  next.push_back(&inside);
  loop.body->SetRoot(loop.body->AddTuple(next));
  loop.body->Remove(root);
  return inside;
}

bool TakesEachOnce(const Loop& loop, const Instruction& index, int64_t trips) {
  const auto line = LineOf(loop, index, trips);
  return line && ((line->first == 0 && line->step == 1) || (line->first == trips - 1 && line->step == -1));
}

}  // namespace hlo
