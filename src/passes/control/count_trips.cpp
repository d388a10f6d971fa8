#include "passes/control/count_trips.h"

#include <map>

#include "interp/interpreter.h"
#include "ir/module.h"
#include "ir/trip_count.h"

namespace hlo {
namespace {

// More than this makes no counter.
constexpr size_t kMostScalars = 64;

using State = std::map<int64_t, Literal>;  // By element.

std::optional<int64_t> ElementOfParameter(const Instruction& inst) {
  if (!inst.Is(Opcode::kGetTupleElement) || !inst.operand(0).Is(Opcode::kParameter)) return std::nullopt;
  return inst.tuple_index();
}

// The scalars that some values of a computation are made of.
class Scalars {
 public:
  // False when a value is made of something else than elements of the state and constants, or of too much.
  bool Add(const Instruction& value) {
    std::vector<const Instruction*> worklist = {&value};
    while (!worklist.empty()) {
      const Instruction& inst = *worklist.back();
      worklist.pop_back();
      if (!values_.emplace(&inst, Literal()).second) continue;
      const bool computes = inst.Is(kElementwise) || inst.Is(Opcode::kReshape) || inst.Is(Opcode::kConstant);
      if (!inst.shape().IsScalar() || values_.size() > kMostScalars) return false;
      if (const auto element = ElementOfParameter(inst)) {
        elements_.push_back(*element);
        continue;
      }
      if (!computes || !inst.control_predecessors().empty()) return false;
      worklist.insert(worklist.end(), inst.operands().begin(), inst.operands().end());
    }
    return true;
  }
  const std::vector<int64_t>& elements() const { return elements_; }

  // Operands first; once all values are added.
  void Order(const Computation& computation) {
    for (const Instruction* inst : computation.PostOrder()) {
      if (values_.contains(inst)) order_.push_back(inst);
    }
  }
  // False when the interpreter refuses.
  bool Evaluate(const State& state) {
    for (const Instruction* inst : order_) {
      Literal& value = values_.at(inst);
      if (const auto element = ElementOfParameter(*inst)) {
        value = state.at(*element);
      } else if (inst->Is(Opcode::kConstant)) {
        value = inst->literal();
      } else {
        std::vector<Literal> operands;
        for (const Instruction* operand : inst->operands()) operands.push_back(values_.at(operand));
        auto result = hlo::Evaluate(*inst, operands);
        if (!result) return false;
        value = std::move(*result);
      }
    }
    return true;
  }
  const Literal& Value(const Instruction& inst) const { return values_.at(&inst); }

 private:
  std::map<const Instruction*, Literal> values_;  // Looked up only.
  std::vector<int64_t> elements_;
  std::vector<const Instruction*> order_;
};

std::optional<int64_t> Interpreted(const Instruction& loop, int64_t most) {
  const auto& attrs = loop.attrs<WhileAttrs>();
  const Instruction &init = loop.operand(0), &next = attrs.body->root();
  if (!init.Is(Opcode::kTuple) || !next.Is(Opcode::kTuple)) return std::nullopt;
  Scalars condition, body;
  if (!condition.Add(attrs.condition->root())) return std::nullopt;
  State state;
  std::vector<int64_t> worklist = condition.elements();
  while (!worklist.empty()) {
    const int64_t i = worklist.back();
    worklist.pop_back();
    if (state.contains(i)) continue;
    if (!init.operand(i).Is(Opcode::kConstant) || !body.Add(next.operand(i))) return std::nullopt;
    state[i] = init.operand(i).literal();
    worklist.insert(worklist.end(), body.elements().begin(), body.elements().end());
  }
  condition.Order(*attrs.condition);
  body.Order(*attrs.body);
  for (int64_t trips = 0; trips <= most; ++trips) {
    if (!condition.Evaluate(state)) return std::nullopt;
    if (condition.Value(attrs.condition->root()).GetInt(0) == 0) return trips;
    if (trips == most || !body.Evaluate(state)) return std::nullopt;
    for (auto& [i, value] : state) value = body.Value(next.operand(i));
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> CountTrips(const Instruction& loop, int64_t most) {
  const auto derived = DerivedTripCount(loop);
  return derived ? derived : Interpreted(loop, most);
}

}  // namespace hlo
