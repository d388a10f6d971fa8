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
#include "interp/compare/loop_pairs.h"
#include "interp/compare/widened.h"
#include "interp/shadow/known_values.h"
#include "interp/shadow/shadow.h"
#include "interp/shadow/slice.h"
#include "ir/literal.h"
#include "ir/module.h"

namespace hlo {

// A value without bounds, or what a run left, which stays in its own type.
struct KeptValue {
  ShadowValue value;
  std::shared_ptr<const Literal> left;

  shadow::ConeArgument Argument() const {
    return left != nullptr ? shadow::ConeArgument{.literal = left.get()} : shadow::ConeArgument{.value = value};
  }
};

// A computation of the input and what became of it, run on the same arguments; or of a loop whose state passes
// changed, on that and `own_args`.
struct PairOfComputations {
  const Computation* before;
  std::vector<shadow::ConeArgument> args;
  const LoopPair* changed = nullptr;
  std::vector<shadow::ConeArgument> own_args = {};
  std::vector<shadow::ConeArgument>& args_after() { return changed == nullptr ? args : own_args; }
  std::unordered_map<const Instruction*, KeptValue> given_before, given_after;
  // Of the input, whose kept value evaluating them again need not give: left by a run, or of rounded operands.
  std::unordered_set<const Instruction*> given_for_good;
  struct CalleeArgs {
    std::vector<shadow::ConeArgument> args;
    std::vector<std::shared_ptr<const Literal>> left;  // What they point to.
  };
  std::unordered_map<const Computation*, CalleeArgs> callee_args;
  // What loops of either side without a counterpart ended with, in f64: whatever reads another element of one does
  // not run it again.
  std::unordered_map<const Instruction*, ShadowValue> ran;
  int64_t ran_bytes = 0;
  // The values were replaced. Values that follow from constants are then computed from the new values.
  bool is_made_up = false;
};

// What `start` is computed from in its own computation: itself, then the nearest first; nothing behind what is cut.
using IsCut = std::function<bool(const Instruction&)>;
std::vector<const Instruction*> Upstream(const Instruction& start, const IsCut& is_cut);
// ... and all that is in the computations which these call, whole.
std::vector<const Instruction*> UpstreamAndInside(const Instruction& start, const IsCut& is_cut);

// Of the arguments those that `inst` is computed from, in f64. Only small ones stay so.
std::vector<ShadowValue> Needed(std::vector<shadow::ConeArgument>& args, const Instruction& inst,
                                const shadow::Given& cuts);

class BothSides {
 public:
  // All outlive it.
  BothSides(const Module& input, const Module& optimized, const WidenedOptions& options);
  BothSides(const BothSides&) = delete;  // What is known refers to it.

  const Correspondence& pairs() const { return pairs_; }
  // What constants alone tell: of the input, and of the optimized module as far as the input has those constants.
  const KnownValues& known_before() const { return *known_before_; }
  const KnownValues& known_after() const { return known_after_ ? *known_after_ : *known_alike_; }
  // What a pass took apart (a batch-norm-grad of which one result follows from constants alone) may be known after it
  // and not before: then neither side is rounded as declared, nor is what follows, since a decision (tanh(4) as u8,
  // which bf16 rounds to 1; a sum of 3830 ones that seeds random bits) would differ although the meaning is the same.
  std::optional<ShadowValue> KnownAfter(const Instruction& inst) const;

  // What evaluating stops at on either side: kept values and known ones.
  shadow::Given CutsBefore(const PairOfComputations& pair) const {
    return Cuts(pair.given_before, pair.is_made_up ? nullptr : &*known_before_);
  }
  shadow::Given CutsAfter(const PairOfComputations& pair) const {
    return Cuts(pair.given_after, pair.is_made_up ? nullptr : &*known_alike_);
  }
  // In f64, with these.
  ShadowOptions Options(const shadow::Given& cuts) const;

  // Of `computation` of the input, which `pair` has or calls.
  Result<std::vector<shadow::ConeArgument>*> ArgsOf(PairOfComputations& pair, const Computation* computation) const;

  // `as_declared`: with bounds for what the declared types round.
  Result<ShadowValue> ValueBefore(PairOfComputations& pair, const Instruction& inst, bool as_declared = false) const;
  Result<ShadowValue> ValueAfter(PairOfComputations& pair, const Instruction& inst, bool as_declared = false) const;
  // What the interpreter makes of `inst`, from the arguments alone: whatever a pass knows of it, to the bit. Nothing
  // where that is too much work or cannot be run.
  std::optional<Literal> InterpretedBefore(PairOfComputations& pair, const Instruction& inst) const;

  // The interpreter's value of `inst`, an instruction of the optimized module, from the kept values of its operands in
  // their declared types. `operation`: the instruction that is evaluated in its place, if given. Nothing if an operand
  // was not kept, or if it cannot be run.
  std::optional<Literal> EvaluatedAfter(PairOfComputations& pair, const Instruction& inst,
                                        const Instruction* operation = nullptr) const;

  // What a run left is given in the input, to its twins too, and a kernel that computes it again, or a twin, does not
  // round it: for as long as that is compared, the input computes it too.
  class ComputedInside {
   public:
    ComputedInside(BothSides& sides, const PairOfComputations& pair, const Instruction& compared_with,
                   const Instruction& inst);
    ~ComputedInside() { computed_.clear(); }
    ComputedInside(const ComputedInside&) = delete;

   private:
    std::unordered_set<const Instruction*>& computed_;
  };

 private:
  shadow::Given Cuts(const std::unordered_map<const Instruction*, KeptValue>& given, const KnownValues* known) const;
  Result<void> RunLoops(PairOfComputations& pair, const Instruction& inst, std::vector<shadow::ConeArgument>& args,
                        const ShadowOptions& options, const shadow::Given& cuts) const;

  const WidenedOptions& options_;
  const std::unique_ptr<WorkMeter> meter_;  // Shared by all evaluations; null: no limit.
  const Correspondence pairs_;
  std::unordered_set<uint64_t> constants_;  // Of the input, and what follows from them without a rounding.
  std::optional<KnownValues> known_before_;
  std::optional<KnownValues> known_alike_;                  // Of the optimized module, what is known in the input, too;
  std::optional<KnownValues> known_after_;                  // and all of it, where that is more.
  std::unordered_set<const Instruction*> computed_inside_;  // Of the input, at the moment: see ComputedInside.
};

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_BOTH_SIDES_H_
