// Evaluates a computation of the input and its optimized counterpart, starting at the nearest kept values. widened.cpp
// decides which values are compared and kept.
#ifndef HLO_JUDGE_COMPARE_BOTH_SIDES_H_
#define HLO_JUDGE_COMPARE_BOTH_SIDES_H_

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "ir/literal.h"
#include "ir/module.h"
#include "judge/bounds/shadow.h"
#include "judge/bounds/slice.h"
#include "judge/compare/correspondence.h"
#include "judge/compare/made_constants.h"
#include "judge/compare/widened.h"

namespace hlo {

// A computation of the input, with arguments and kept values of both modules.
struct PairOfComputations {
  const Computation* before;
  std::vector<shadow::ConeArgument> args;
  std::unordered_map<const Instruction*, ShadowValue> given_before, given_after;  // Without bounds.
  // Instructions of the input whose kept values stay, because computing them again would give other values.
  std::unordered_set<const Instruction*> given_for_good;
  std::unordered_map<const Computation*, std::vector<shadow::ConeArgument>> callee_args;
  // Results of loops without a kept value. Each loop runs once, not once for each value.
  std::unordered_map<const Instruction*, ShadowValue> ran;
  int64_t ran_bytes = 0;
};

// Lists `start` and the instructions on which it depends in its computation, nearest first. Stops before cut
// instructions.
using IsCut = std::function<bool(const Instruction&)>;
std::vector<const Instruction*> Upstream(const Instruction& start, const IsCut& is_cut);
// Values of `args` that `inst` needs, in f64. Others are empty. Small arrays become f64 in `args` too, so that they are
// converted once.
std::vector<ShadowValue> Needed(std::vector<shadow::ConeArgument>& args, const Instruction& inst,
                                const shadow::Given& cuts);

class BothSides {
 public:
  // The parameters must outlive the object.
  BothSides(const Module& input, const WidenedOptions& options);
  const Correspondence& pairs() const { return pairs_; }

  // Values at which an evaluation stops: kept values, and constants that the pass made.
  shadow::Given CutsBefore(const PairOfComputations& pair) const;
  shadow::Given CutsAfter(const PairOfComputations& pair) const;
  ShadowOptions Options(const shadow::Given& cuts) const;

  // The arguments of `computation`, which is `pair.before` or is called by it.
  Result<std::vector<shadow::ConeArgument>*> ArgsOf(PairOfComputations& pair, const Computation* computation) const;

  Result<ShadowValue> ValueBefore(PairOfComputations& pair, const Instruction& inst) const;
  Result<ShadowValue> ValueAfter(PairOfComputations& pair, const Instruction& inst) const;

  // The interpreter's value, in declared types, of the optimized instruction `inst`, or of `operation` on the operands
  // of `inst`. Nullopt if an operand was not kept or the evaluation fails.
  std::optional<Literal> EvaluatedAfter(PairOfComputations& pair, const Instruction& inst,
                                        const Instruction* operation = nullptr) const;

 private:
  Result<void> RunLoops(PairOfComputations& pair, const Instruction& inst, std::vector<shadow::ConeArgument>& args,
                        const ShadowOptions& options, const shadow::Given& cuts) const;

  const WidenedOptions& options_;
  const std::unique_ptr<WorkMeter> meter_;  // Shared by all evaluations. Null means no limit.
  const Correspondence pairs_;
  const MadeConstants made_;
};

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_BOTH_SIDES_H_
