// Of instructions of the input that do the same to the same operands passes leave one: the others have its value, to
// the bit, also where that is what a run left, which is rounded. Internal to interp/compare.
#ifndef HLO_INTERP_COMPARE_TWINS_H_
#define HLO_INTERP_COMPARE_TWINS_H_

#include <unordered_map>
#include <unordered_set>

#include "ir/module.h"

namespace hlo {

class Twins {
 public:
  Twins(const Module& input, const Module& optimized);

  // Of an instruction of the input that became nothing of its own the twin that did; else itself.
  const Instruction& Of(const Instruction& inst) const {
    const auto twin = twin_of_.find(&inst);
    return twin == twin_of_.end() ? inst : *twin->second;
  }

 private:
  void FindIn(const Computation& computation, const std::unordered_set<int>& origins);

  std::unordered_map<const Instruction*, const Instruction*> twin_of_;
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_TWINS_H_
