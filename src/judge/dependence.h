// Which values of a module depend on the arguments of its entry, or on anything else that differs from run to run.
// A value that does not is the same in every run, so a decision about it always falls the same way.
#ifndef HLO_JUDGE_DEPENDENCE_H_
#define HLO_JUDGE_DEPENDENCE_H_

#include <cstdint>
#include <vector>

namespace hlo {

class Instruction;
class Module;

class Dependence {
 public:
  explicit Dependence(const Module& module);

  // Whether leaf `leaf` of the value depends on arguments. Values that the entry does not reach do not.
  bool OfLeaf(const Instruction& inst, int64_t leaf) const;
  bool OfAny(const Instruction& inst) const;

 private:
  std::vector<std::vector<bool>> leaves_;  // Indexed by id of the instruction and leaf.
};

}  // namespace hlo

#endif  // HLO_JUDGE_DEPENDENCE_H_
