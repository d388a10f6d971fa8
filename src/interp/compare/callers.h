// Who calls the computations of a module. Internal to interp/compare.
#ifndef HLO_INTERP_COMPARE_CALLERS_H_
#define HLO_INTERP_COMPARE_CALLERS_H_

#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace hlo {

class Callers {
 public:
  explicit Callers(const Module& module);

  // The first, of a computation that something calls.
  const Instruction& Of(const Computation& computation) const { return *callers_.at(&computation).front(); }
  // Null: none, or several.
  const Instruction* OnlyOneOf(const Computation& computation) const;
  // Is `computation` reached from `top` through calls and fusions that are the only ones of what they call? A
  // computation is from itself.
  bool RunsOnceIn(const Computation& computation, const Computation& top) const;

 private:
  std::unordered_map<const Computation*, std::vector<const Instruction*>> callers_;
  mutable std::unordered_map<const Computation*, std::unordered_map<const Computation*, bool>> runs_once_;  // By top.
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_CALLERS_H_
