// Finds the values that depend on arguments, or differ between runs for another reason. All other values, and decisions
// on them, are the same in every run.
#ifndef HLO_JUDGE_REACH_DEPENDENCE_H_
#define HLO_JUDGE_REACH_DEPENDENCE_H_

#include <cstdint>
#include <vector>

namespace hlo {

class Instruction;
class Module;

class Dependence {
 public:
  explicit Dependence(const Module& module);

  // False for values that the entry does not reach.
  bool OfLeaf(const Instruction& inst, int64_t leaf) const;
  bool OfAny(const Instruction& inst) const;

 private:
  std::vector<std::vector<bool>> leaves_;  // Indexed by id and leaf.
};

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_DEPENDENCE_H_
