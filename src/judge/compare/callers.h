// Internal to judge/compare.
#ifndef HLO_JUDGE_COMPARE_CALLERS_H_
#define HLO_JUDGE_COMPARE_CALLERS_H_

#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace hlo {

class Callers {
 public:
  explicit Callers(const Module& module);

  // The first caller, which must exist.
  const Instruction& Of(const Computation& computation) const { return *callers_.at(&computation).front(); }
  // Null unless there is exactly one caller.
  const Instruction* OnlyOneOf(const Computation& computation) const;
  // Whether each run of `top` runs `computation` once, through calls and fusions that are its only callers.
  bool RunsOnceIn(const Computation& computation, const Computation& top) const;

 private:
  std::unordered_map<const Computation*, std::vector<const Instruction*>> callers_;
  mutable std::unordered_map<const Computation*, std::unordered_map<const Computation*, bool>> runs_once_;
};

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_CALLERS_H_
