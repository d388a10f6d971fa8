// A computation of the input and what passes made of it, evaluated on the same arguments: each value from the nearest
// ones that are given to both sides alike. What is compared with what, and what is given, others decide (widened.cpp).
#ifndef HLO_INTERP_COMPARE_BOTH_SIDES_H_
#define HLO_INTERP_COMPARE_BOTH_SIDES_H_

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "interp/compare/correspondence.h"
#include "interp/compare/made_constants.h"
#include "interp/compare/widened.h"
#include "interp/shadow/shadow.h"
#include "interp/shadow/slice.h"
#include "ir/literal.h"
#include "ir/module.h"

namespace hlo {

// A computation of the input and what became of it, run on the same arguments.
struct PairOfComputations {
  const Computation* before;
  std::vector<shadow::ConeArgument> args;
  std::unordered_map<const Instruction*, ShadowValue> given_before, given_after;  // Values without bounds.
  // Instructions of the input that would get other values if they were evaluated again. Their kept values stay.
  std::unordered_set<const Instruction*> given_for_good;
  std::unordered_map<const Computation*, std::vector<shadow::ConeArgument>> callee_args;
  // Results of loops on either side that have no counterpart. Such a loop runs once, not once for each element.
  std::unordered_map<const Instruction*, ShadowValue> ran;
  int64_t ran_bytes = 0;
};

// What `start` is computed from in its own computation: itself, then the nearest first; nothing behind what is cut.
using IsCut = std::function<bool(const Instruction&)>;
std::vector<const Instruction*> Upstream(const Instruction& start, const IsCut& is_cut);
// Of the arguments those that `inst` is computed from, in f64. Only small ones stay so.
std::vector<ShadowValue> Needed(std::vector<shadow::ConeArgument>& args, const Instruction& inst,
                                const shadow::Given& cuts);

class BothSides {
 public:
  // All outlive it.
  BothSides(const Module& input, const WidenedOptions& options);
  const Correspondence& pairs() const { return pairs_; }

  // Evaluation of either side stops at kept values, and in the module after the pass at the constants that it made.
  shadow::Given CutsBefore(const PairOfComputations& pair) const;
  shadow::Given CutsAfter(const PairOfComputations& pair) const;
  // In f64, with these.
  ShadowOptions Options(const shadow::Given& cuts) const;

  // Of `computation` of the input, which `pair` has or calls.
  Result<std::vector<shadow::ConeArgument>*> ArgsOf(PairOfComputations& pair, const Computation* computation) const;

  Result<ShadowValue> ValueBefore(PairOfComputations& pair, const Instruction& inst) const;
  Result<ShadowValue> ValueAfter(PairOfComputations& pair, const Instruction& inst) const;

  // The interpreter's value of `inst`, an instruction of the optimized module, from the kept values of its operands in
  // their declared types. `operation`: the instruction that is evaluated in its place, if given. Nothing if an operand
  // was not kept, or if it cannot be run.
  std::optional<Literal> EvaluatedAfter(PairOfComputations& pair, const Instruction& inst,
                                        const Instruction* operation = nullptr) const;

 private:
  Result<void> RunLoops(PairOfComputations& pair, const Instruction& inst, std::vector<shadow::ConeArgument>& args,
                        const ShadowOptions& options, const shadow::Given& cuts) const;

  const WidenedOptions& options_;
  const std::unique_ptr<WorkMeter> meter_;  // Shared by all evaluations; null: no limit.
  const Correspondence pairs_;
  const MadeConstants made_;
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_BOTH_SIDES_H_
