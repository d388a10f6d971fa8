// Corresponding elements of loop states in two modules, and samples of states that a run reaches.
#ifndef HLO_JUDGE_LOOP_STATES_H_
#define HLO_JUDGE_LOOP_STATES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/literal.h"
#include "ir/module.h"
#include "judge/kept_values.h"
#include "judge/value_numbers.h"

namespace hlo {

using LoopOfComputation = std::unordered_map<const Computation*, const Instruction*>;
LoopOfComputation LoopsOf(const Module& module);

// Maps elements of loop states after passes to those before, if a kept get-tuple-element reads them, in the loop or
// after it.
class Counterparts {
 public:
  using Element = ValueNumbers::StateElement;

  Counterparts(const LoopOfComputation& before, const LoopOfComputation& after, const Origins& origins);

  std::optional<Element> Of(const Instruction& loop_after, int64_t element) const;
  // Null if no element has a counterpart.
  const Instruction* LoopOf(const Instruction& loop_after) const;

 private:
  std::map<std::pair<const Instruction*, int64_t>, Element> of_;
};

// The first state, and a seeded sample of the later states with which iterations begin.
class LoopStates {
 public:
  struct State {
    int64_t iteration = 0;
    Literal value;
  };
  static constexpr size_t kStates = 5;

  explicit LoopStates(uint64_t seed) : seed_(seed) {}

  void Add(int64_t iteration, const Literal& state);
  // The state with which the loop ended. Only the condition is evaluated with it.
  void End(const Literal& state) { end_ = State{latest_ + 1, state}; }
  std::vector<State> Of(bool of_condition) const;

 private:
  const uint64_t seed_;
  int64_t seen_ = 0, latest_ = -1;
  std::optional<State> end_;
  std::vector<State> states_;
};

}  // namespace hlo

#endif  // HLO_JUDGE_LOOP_STATES_H_
