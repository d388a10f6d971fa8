// Numbers the values of two modules: docs/comparison.md#samples. Values with equal numbers are equal for all arguments,
// perhaps with other layouts.
#ifndef HLO_JUDGE_VALUE_NUMBERS_H_
#define HLO_JUDGE_VALUE_NUMBERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace hlo {

// Whether every execution with the same operands gives the same value.
bool IsRepeatable(const Instruction& inst);

class ValueNumbers {
 public:
  static constexpr int kNone = -1;

  struct StateElement {
    const Instruction* loop = nullptr;
    int64_t element = 0;
  };
  struct Hooks {
    // Called with the number of each instruction of the entry or of a loop's body or condition, operands first. Returns
    // this number, or another one that replaces it for users, if the caller considers two values equal. May be null.
    std::function<int(const Instruction&, int number)> choose;
    // Called for instructions such as rng, whose executions differ. Equal identities in both modules mean equal values.
    std::function<int64_t(const Instruction&)> identity;
    // A state element's counterpart in an earlier module. May be null or return nullopt.
    std::function<std::optional<StateElement>(const Instruction& loop, int64_t element)> counterpart;
  };

  void Add(const Module& module, const Hooks& hooks);

  // kNone if the instruction is unused, in a reducer or in a module that was not added, or if calls of its computation
  // give it different numbers.
  int Of(const Instruction& inst) const;
  const std::vector<int>* ElementsOf(int number) const;
  // The element of a loop's state that has this number in every iteration, or null.
  const StateElement* StateOf(int number) const;
  // Numbers of the state at the beginning of an iteration. Null if the state or the body's root is not a tuple.
  const std::vector<int>* StateOf(const Instruction& loop) const;

 private:
  struct Node {
    const Instruction* operation;
    std::vector<int> operands;
    int64_t distinction;
  };

  int Walk(const Computation& computation, const std::vector<int>& parameters, const Hooks& hooks);
  int NumberOf(const Instruction& inst, const std::vector<int>& operands, const Hooks& hooks);
  int NumberOfLoop(const Instruction& loop, int start, const Hooks& hooks);
  int NumberOfConditional(const Instruction& conditional, const std::vector<int>& operands, const Hooks& hooks);
  int Intern(const Instruction& inst, const std::vector<int>& operands, const Hooks& hooks);
  int NewNumber(const Instruction& inst, const std::vector<int>& operands, int64_t distinction);
  int ElementOf(const Instruction& tuple, int number, int64_t element);
  int TupleOf(const Instruction& inst, const std::vector<int>& elements);
  static bool IsSame(const Node& node, const Instruction& inst, const std::vector<int>& operands, int64_t distinction);

  std::vector<Node> nodes_;
  std::unordered_multimap<uint64_t, int> by_hash_;
  std::unordered_map<int, std::vector<int>> elements_;
  std::map<std::vector<int>, int> tuples_;
  std::map<std::pair<int, int64_t>, int> element_of_;
  std::unordered_map<const Instruction*, int> numbers_;
  std::map<std::pair<const Computation*, std::vector<int>>, int> roots_;
  std::map<std::vector<int>, int> loop_results_, conditionals_;
  std::unordered_map<const Instruction*, std::vector<int>> states_;
  std::unordered_map<int, StateElement> state_of_;
};

}  // namespace hlo

#endif  // HLO_JUDGE_VALUE_NUMBERS_H_
