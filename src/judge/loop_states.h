// Loops of two modules: which elements of their states correspond, and states that the loops of one module reach.
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

// The loop whose body or condition a computation is.
using LoopOfComputation = std::unordered_map<const Computation*, const Instruction*>;
LoopOfComputation LoopsOf(const Module& module);

// Elements of the states of loops after passes. A kept get-tuple-element of a state, in the loop or behind it, leads to
// the element that it read before the passes.
class Counterparts {
 public:
  using Element = ValueNumbers::StateElement;

  Counterparts(const LoopOfComputation& before, const LoopOfComputation& after, const Origins& origins);

  // Returns nullopt if there is none or nothing reads the element.
  std::optional<Element> Of(const Instruction& loop_after, int64_t element) const;
  // Returns null if there is none.
  const Instruction* LoopOf(const Instruction& loop_after) const;

 private:
  std::map<std::pair<const Instruction*, int64_t>, Element> of_;
};

// A sample of the states with which iterations of one loop begin: the first one and some seeded ones.
class LoopStates {
 public:
  struct State {
    int64_t iteration = 0;
    Literal value;
  };
  static constexpr size_t kStates = 5;

  explicit LoopStates(uint64_t seed) : seed_(seed) {}

  void Add(int64_t iteration, const Literal& state);
  // The state with which the loop ended. No iteration begins with it, but the condition is evaluated.
  void End(const Literal& state) { end_ = State{latest_ + 1, state}; }
  // `of_condition`: states in which the condition is evaluated.
  std::vector<State> Of(bool of_condition) const;

 private:
  const uint64_t seed_;
  int64_t seen_ = 0, latest_ = -1;
  std::optional<State> end_;
  std::vector<State> states_;
};

}  // namespace hlo

#endif  // HLO_JUDGE_LOOP_STATES_H_
