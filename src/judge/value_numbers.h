// Numbers of the values of two modules. Values with the same number are equal for all arguments. Two instructions have
// the same number if their operations and the numbers of their operands are the same. A copy has the number of its
// operand, and a call or fusion the number of its result. Layouts do not matter.
//
// So instructions that a pass merely moved, copied, inlined, fused or merged keep their numbers.
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

  // An element of the state of a loop, at the beginning of an iteration.
  struct StateElement {
    const Instruction* loop = nullptr;
    int64_t element = 0;
  };
  // Decisions of the caller about a module.
  struct Hooks {
    // Called for each instruction of the entry or of a loop's body or condition, operands first, with its number.
    // Returns the number that users of the instruction see. It is another one if the caller considers two values as
    // equal. If null, each instruction keeps its number.
    std::function<int(const Instruction&, int number)> choose;
    // Distinguishes values that two executions of one operation would not have in common. Instructions of both modules
    // with the same number here have the same value.
    std::function<int64_t(const Instruction&)> identity;
    // The element of a loop of an earlier module that corresponds to an element of this loop. If it is null or returns
    // nullopt, there is none.
    std::function<std::optional<StateElement>(const Instruction& loop, int64_t element)> counterpart;
  };

  // Numbers the instructions that results of the entry depend on.
  void Add(const Module& module, const Hooks& hooks);

  // kNone in these cases: the module was not added, no result depends on the instruction, or it belongs to a branch or
  // reducer. Also if its computation is called with several lists of operands.
  int Of(const Instruction& inst) const;
  // The numbers of a tuple's elements, or null if they are not known.
  const std::vector<int>* ElementsOf(int number) const;
  // The element whose value has this number in all iterations. Null if there is none.
  const StateElement* StateOf(int number) const;
  // Numbers of the elements of a loop's state at the beginning of an iteration. Null if the state is not a tuple.
  const std::vector<int>* StateOf(const Instruction& loop) const;

 private:
  struct Node {
    const Instruction* operation;
    std::vector<int> operands;
    int64_t distinction;  // Operations with different distinctions are different.
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
  std::unordered_map<int, std::vector<int>> elements_;  // Numbers of the elements of tuples.
  std::map<std::vector<int>, int> tuples_;              // Key: numbers of the elements.
  std::map<std::pair<int, int64_t>, int> element_of_;   // Elements of tuples whose elements are not known.
  std::unordered_map<const Instruction*, int> numbers_;
  std::map<std::pair<const Computation*, std::vector<int>>, int> roots_;  // Results of called computations.
  std::map<std::vector<int>, int> loop_results_, conditionals_;      // Keys: the numbers that determine the results.
  std::unordered_map<const Instruction*, std::vector<int>> states_;  // States of loops.
  std::unordered_map<int, StateElement> state_of_;                   // Key: number.
};

}  // namespace hlo

#endif  // HLO_JUDGE_VALUE_NUMBERS_H_
