#include "interp/count_trips.h"

#include <map>

#include "interp/interpreter.h"
#include "ir/analysis/trip_count.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Counters that depend on more scalars are not interpreted.
constexpr size_t kMostScalars = 64;

using State = std::map<int64_t, Literal>;

// Finds and evaluates the scalars that given values depend on.
class Scalars {
 public:
  // Returns false if the value depends on more than constants and elements of the state, or on too many scalars.
  bool Add(const Instruction& value) {
    std::vector<const Instruction*> worklist = {&value};
    while (!worklist.empty()) {
      const Instruction& inst = *worklist.back();
      worklist.pop_back();
      if (!values_.emplace(&inst, Literal()).second) continue;
      const bool computes = inst.Is(kElementwise) || inst.Is(Opcode::kReshape) || inst.Is(Opcode::kConstant);
      if (!inst.shape().IsScalar() || values_.size() > kMostScalars) return false;
      if (const auto element = ElementOfState(inst)) {
        elements_.push_back(*element);
        continue;
      }
      if (!computes || !inst.control_predecessors().empty()) return false;
      worklist.insert(worklist.end(), inst.operands().begin(), inst.operands().end());
    }
    return true;
  }
  const std::vector<int64_t>& elements() const { return elements_; }

  // Sorts operands before users.
  void Order(const Computation& computation) {
    for (const Instruction* inst : computation.PostOrder()) {
      if (values_.contains(inst)) order_.push_back(inst);
    }
  }
  bool Evaluate(const State& state) {
    for (const Instruction* inst : order_) {
      Literal& value = values_.at(inst);
      if (const auto element = ElementOfState(*inst)) {
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
  std::map<const Instruction*, Literal> values_;
  std::vector<int64_t> elements_;
  std::vector<const Instruction*> order_;
};

// Evaluates scalars of a loop's state trip by trip.
class Counter {
 public:
  // Returns nullopt unless the elements depend only on constants and on scalars with constant initial values.
  static std::optional<Counter> Make(const Instruction& loop, std::vector<int64_t> elements) {
    const Instruction &init = loop.operand(0), &next = loop.attrs<WhileAttrs>().body->root();
    if (!init.Is(Opcode::kTuple) || !next.Is(Opcode::kTuple)) return std::nullopt;
    Counter counter(next);
    while (!elements.empty()) {
      const int64_t i = elements.back();
      elements.pop_back();
      if (counter.state_.contains(i)) continue;
      const Instruction& first = init.operand(i);
      if (!first.Is(Opcode::kConstant) || !counter.body_.Add(next.operand(i))) return std::nullopt;
      counter.state_[i] = first.literal();
      elements.insert(elements.end(), counter.body_.elements().begin(), counter.body_.elements().end());
    }
    counter.body_.Order(next.computation());
    return counter;
  }

  const State& state() const { return state_; }
  bool Advance() {
    if (!body_.Evaluate(state_)) return false;
    for (auto& [i, value] : state_) value = body_.Value(next_->operand(i));
    return true;
  }

 private:
  explicit Counter(const Instruction& next) : next_(&next) {}

  const Instruction* next_;
  Scalars body_;
  State state_;
};

std::optional<int64_t> Interpreted(const Instruction& loop, int64_t most) {
  const Instruction& again = loop.attrs<WhileAttrs>().condition->root();
  Scalars condition;
  if (!condition.Add(again)) return std::nullopt;
  condition.Order(again.computation());
  auto counter = Counter::Make(loop, condition.elements());
  if (!counter) return std::nullopt;
  for (int64_t trips = 0; trips <= most; ++trips) {
    if (!condition.Evaluate(counter->state())) return std::nullopt;
    if (condition.Value(again).GetInt(0) == 0) return trips;
    if (trips == most || !counter->Advance()) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> CountTrips(const Instruction& loop, int64_t most) {
  const auto derived = DerivedTripCount(loop);
  return derived ? derived : Interpreted(loop, most);
}

std::optional<Literal> ScalarAfter(const Instruction& loop, int64_t i, int64_t trips) {
  if (!loop.shape().IsTuple() || !loop.shape().element(i).IsScalar()) return std::nullopt;
  if (const auto induction = InductionOf(loop, i)) {
    const uint64_t last =
        static_cast<uint64_t>(induction->first) + static_cast<uint64_t>(induction->step) * static_cast<uint64_t>(trips);
    return Literal::Scalar(loop.shape().element(i).type(), static_cast<int64_t>(last));
  }
  auto counter = trips <= kMostInterpretedTrips ? Counter::Make(loop, {i}) : std::nullopt;
  for (int64_t trip = 0; counter && trip < trips; ++trip) {
    if (!counter->Advance()) counter.reset();
  }
  return counter ? std::optional(counter->state().at(i)) : std::nullopt;
}

}  // namespace hlo
