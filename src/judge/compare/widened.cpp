#include "judge/compare/widened.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "ir/module.h"
#include "judge/bounds/rules.h"
#include "judge/bounds/shadow.h"
#include "judge/bounds/slice.h"
#include "judge/bounds/terms.h"
#include "judge/compare/both_sides.h"
#include "judge/compare/correspondence.h"
#include "judge/compare/joined.h"
#include "judge/compare/loop_runs.h"
#include "judge/compare/made_up_operands.h"
#include "judge/compare/same_operation.h"
#include "judge/compare/widened_values.h"

namespace hlo {
namespace {

class Comparer {
  using Pair = PairOfComputations;

 public:
  Comparer(const Module& input, const Module& optimized, const WidenedOptions& options)
      : input_(input),
        optimized_(optimized),
        options_(options),
        sides_(input, options),
        pairs_(sides_.pairs()),
        loop_runs_(options.seed, options.loop_iterations) {}

  Result<WidenedResult> Run(std::span<const Literal> args) {
    std::vector<shadow::ConeArgument> values;
    for (const Literal& arg : args) values.push_back({.literal = &arg});
    const auto compared = ComparePair({.before = &input_.entry(), .args = std::move(values)}, optimized_.entry(), "");
    if (!compared && !IsBeyondWork(compared.error())) FAIL(compared.error());
    if (!result_.finding) DecideByValues(result_);
    if (!compared) {
      result_.verdict = Verdict::kInconclusive;
      result_.beyond_work = true;
      result_.reason = compared.error().message();
    }
    return std::move(result_);
  }

 private:
  WidenedValue& ValueOf(const Instruction& inst, const ShapeIndex& leaf) {
    const auto [at, is_new] = value_at_.try_emplace({inst.id(), leaf}, result_.values.size());
    if (is_new) result_.values.push_back({.instruction = inst.id(), .leaf = leaf, .open = {}});
    return result_.values[at->second];
  }

  void Record(const Instruction& inst, const Comparison& comparison, int64_t by_bits, int64_t opened) {
    result_.undetermined += comparison.Count(ElementClass::kUndetermined);
    result_.vacuous += comparison.Count(ElementClass::kVacuous);
    result_.by_bits += by_bits;
    for (const TensorComparison& tensor : comparison.outputs)
      Classify(inst, tensor, comparison.checked(), by_bits, opened, ValueOf(inst, tensor.output));
  }

  // Records a value that is right although its bounds did not decide it.
  void RecordRight(const Instruction& inst) { ValueOf(inst, {}).is_silent = false; }

  void Found(const Instruction& origin, const Instruction& inst, const std::string& where, Comparison comparison) {
    result_.verdict = Verdict::kMismatch;
    result_.reason = "a pass changed the meaning of the module";
    result_.finding = {&inst, &origin, where, std::move(comparison)};
  }

  Result<void> ComparePair(Pair pair, const Computation& after, const std::string& where) {
    const Computation& before = *pair.before;
    const std::vector<Instruction*> order = pairs_.OrderOf(before, after);
    const Lifetimes lifetimes = pairs_.LifetimesOf(before, after, order);
    for (size_t i = 0; i < order.size(); ++i) {
      const Instruction& inst = *order[i];
      if (const Instruction* origin = pairs_.ComparedWith(inst, before)) {
        TRY(CompareInstruction(pair, *origin, inst, where));
        if (result_.finding) return {};
      }
      for (const Instruction* done : lifetimes.after[i]) {
        Forget(pair, *done);
        const Instruction* origin = pairs_.ComparedWith(*done, before);
        if (!pair.given_for_good.contains(origin)) pair.given_before.erase(origin);
      }
      for (const Instruction* done : lifetimes.before[i]) pair.given_before.erase(done);
      for (const Computation* done : lifetimes.callees[i]) pair.callee_args.erase(done);
    }
    // The order of the root tuple's elements is still to be compared.
    if (!after.root().Is(Opcode::kTuple)) return {};
    return CompareInstruction(pair, before.root(), after.root(), where);
  }

  Result<void> CompareElements(Pair& pair, const Instruction& origin, const Instruction& inst,
                               const std::string& where) {
    for (const auto [before, after] : pairs_.ElementsToCompare(origin, inst)) {
      TRY(CompareInstruction(pair, *before, *after, where));
      if (result_.finding) return {};
    }
    return {};
  }

  struct Compared {
    ShadowValue before, after;
    Comparison comparison;
    int64_t by_bits = 0, opened = 0;
  };

  Compared Compare(ShadowValue before, ShadowValue after) const {
    Compared compared{.before = std::move(before), .after = std::move(after), .comparison = {}};
    const ShadowValue joined = Joined(compared.before, compared.after, &compared.by_bits);
    compared.opened = CountOpened(compared.before, joined);
    compared.comparison = CompareWithBounds(joined, AsLiteral(compared.after), options_.compare);
    return compared;
  }

  // Without an f64 evaluation, a value is right if passes kept its operation. Both sides continue from the
  // interpreter's value.
  Result<void> NotCompared(Pair& pair, const Instruction& origin, const Instruction& inst, const std::string& where,
                           const Error& error) {
    if (error.exit != ExitCode::kUnsupported) FAIL(error);
    Settled settled = Settle(pair, origin, inst);
    if (settled.is_wrong) {
      Found(origin, inst, where, std::move(settled.comparison));
      return {};
    }
    if (settled.is_right) {
      RecordRight(inst);
      ++result_.instructions;
      if (auto value = sides_.EvaluatedAfter(pair, inst)) {
        Keep(pair, origin, inst, ToShadow(*value));
        pair.given_for_good.insert(&origin);
      }
      return {};
    }
    return NotCompared(inst, error);
  }

  Result<void> NotCompared(const Instruction& inst, const Error& error) {
    if (error.exit != ExitCode::kUnsupported) FAIL(error);
    WidenedValue& value = ValueOf(inst, {});
    value.open = Str(inst.Is(Opcode::kWhile) ? "loop '" : "'", inst.name(), "' is not compared: ", error.message());
    return {};
  }

  // A decision by the operation, if bounds leave a value open.
  struct Settled {
    bool is_right = false, is_wrong = false;
    Comparison comparison;
  };

  // The same operation on compared operands gives the same value. If only attributes changed, both operations must give
  // the same bits. This excludes sums, whose attributes may determine the order, and calls, whose computations may have
  // changed.
  Settled Settle(Pair& pair, const Instruction& origin, const Instruction& inst) const {
    if (origin.opcode() != inst.opcode() || origin.operand_count() != inst.operand_count()) return {};
    if (HasDynamicSize(inst) || HasDynamicSize(origin)) return {};
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      if (!IsSameOperand(pair, origin.operand(i), inst.operand(i))) return {};
    }
    if (SameOperationAndCalls(origin, inst)) return {.is_right = true, .comparison = {}};
    if (!options_.keeps_precision || shadow::TermsOf(inst) > 1 || !CalledComputations(inst).empty()) return {};
    const auto expected = sides_.EvaluatedAfter(pair, inst, &origin), actual = sides_.EvaluatedAfter(pair, inst);
    if (!expected || !actual || expected->shape().dims() != actual->shape().dims()) return {};
    Settled settled{.comparison = CompareBitwise(*expected, *actual, options_.compare)};
    settled.is_wrong = settled.comparison.bad() > 0;
    return settled;
  }

  // Whether uninformative bounds, and not undetermined elements, leave the comparison open.
  static bool IsVague(const Comparison& comparison) {
    return comparison.verdict == Verdict::kInconclusive &&
           std::ranges::all_of(comparison.outputs, [](const TensorComparison& tensor) {
             const auto undetermined = static_cast<double>(tensor.Count(ElementClass::kUndetermined));
             return undetermined <= kMostUndetermined * static_cast<double>(tensor.checked);
           });
  }

  // With some operands bounds are uninformative, as for the variance of equal numbers. Random operands can prove
  // agreement. A difference decides nothing, because the program may never compute such operands.
  bool IsRightWithRandomOperands(const Pair& pair, const Instruction& origin, const Instruction& inst) const {
    for (const double least : {0.5, -2.0}) {
      std::optional<Pair> made_up = WithMadeUpOperands(pair, pairs_, least, options_.seed);
      if (!made_up) return false;
      auto before = sides_.ValueBefore(*made_up, origin);
      if (!before) return false;
      auto after = sides_.ValueAfter(*made_up, inst);
      if (!after) return false;
      const Compared compared = Compare(std::move(*before), std::move(*after));
      if (compared.comparison.bad() > 0) continue;  // A variance below 0, for example.
      WidenedValue value;
      for (const TensorComparison& tensor : compared.comparison.outputs)
        Classify(inst, tensor, compared.comparison.checked(), compared.by_bits, compared.opened, value);
      if (value.IsDecidedByBounds()) return true;
    }
    return false;
  }

  bool IsSameOperand(const Pair& pair, const Instruction& before, const Instruction& after) const {
    if (before.Is(Opcode::kParameter) && after.Is(Opcode::kParameter) && &before.computation() == pair.before)
      return before.parameter_number() == after.parameter_number();
    if (before.Is(Opcode::kConstant) && after.Is(Opcode::kConstant)) return SameOperation(before, after);
    return pairs_.ComparedWith(after, *pair.before) == &before;
  }

  Result<void> CompareInstruction(Pair& pair, const Instruction& origin, const Instruction& inst,
                                  const std::string& where) {
    if (inst.Is(Opcode::kWhile) && origin.Is(Opcode::kWhile)) return CompareLoops(pair, origin, inst, where);
    auto before = sides_.ValueBefore(pair, origin);
    const auto evaluate = [&]() -> Result<ShadowValue> {
      // `inst` was compared before, with another value of the input. Users continue from the kept value.
      if (const auto kept = pair.given_after.find(&inst); kept != pair.given_after.end()) return kept->second;
      return sides_.ValueAfter(pair, inst);
    };
    auto after = before ? evaluate() : std::unexpected(before.error());
    if (!after) return NotCompared(pair, origin, inst, where, after.error());
    Compared compared = Compare(std::move(*before), std::move(*after));
    if (compared.comparison.bad() > 0 && inst.Is(Opcode::kTuple) && origin.Is(Opcode::kTuple))
      return CompareElements(pair, origin, inst, where);
    Comparison& comparison = compared.comparison;
    ++result_.instructions;
    result_.elements += comparison.elements();
    Settled settled;
    const bool in_question = comparison.verdict == Verdict::kInconclusive || compared.by_bits > 0;
    if (in_question) settled = Settle(pair, origin, inst);
    if (!settled.is_wrong && !settled.is_right && IsVague(comparison))
      settled.is_right = IsRightWithRandomOperands(pair, origin, inst);
    if (settled.is_wrong) comparison = std::move(settled.comparison);
    if (settled.is_right) RecordRight(inst);
    else Record(inst, comparison, compared.by_bits, compared.opened);
    if (comparison.bad() > 0) {
      Found(origin, inst, where, std::move(comparison));
      return {};
    }
    const bool is_open = compared.by_bits > 0 || comparison.Count(ElementClass::kUndetermined) > 0;
    if (is_open) pair.given_for_good.insert(&origin);
    Keep(pair, origin, inst, KeptOf(std::move(compared.before), compared.after));
    return {};
  }

  static const Instruction* InsideOf(const Instruction& inst) {
    return IsOneOfSeveral(inst) ? InsideKernel(inst) : nullptr;
  }

  // Also keeps the value for the instruction inside a kernel, which may compute another result from it.
  static void Keep(Pair& pair, const Instruction& origin, const Instruction& inst, ShadowValue kept) {
    if (const Instruction* inside = InsideOf(inst)) pair.given_after[inside] = kept;
    pair.given_after[&inst] = kept;
    pair.given_before[&origin] = std::move(kept);
  }

  static void Forget(Pair& pair, const Instruction& inst) {
    if (const Instruction* inside = InsideOf(inst)) pair.given_after.erase(inside);
    pair.given_after.erase(&inst);
  }

  // Compares bodies and conditions on states that the input's loop reaches: the first, the last, and seeded ones. Both
  // conditions must end the loops at the last state.
  Result<void> CompareLoops(Pair& pair, const Instruction& origin, const Instruction& inst, const std::string& where) {
    const auto start_before = sides_.ValueBefore(pair, origin.operand(0));
    if (!start_before) return NotCompared(inst, start_before.error());
    const ShadowValue start_after = TRY(sides_.ValueAfter(pair, inst.operand(0)));
    auto run = loop_runs_.Noted(origin, *start_before);
    if (!run) {
      const auto args = Needed(*TRY(sides_.ArgsOf(pair, &origin.computation())), origin, sides_.CutsBefore(pair));
      auto fresh = loop_runs_.Run(origin, args, sides_.Options(sides_.CutsBefore(pair)));
      if (!fresh) return NotCompared(inst, fresh.error());
      run = std::move(*fresh);
    }
    Comparison starts = CompareWithBounds(Joined(*start_before, start_after, &result_.by_bits), AsLiteral(start_after),
                                          options_.compare);
    if (starts.bad() > 0) {
      Found(origin.operand(0), inst.operand(0), where, std::move(starts));
      return {};
    }
    const WhileAttrs &before = origin.attrs<WhileAttrs>(), &after = inst.attrs<WhileAttrs>();
    for (const LoopState& state : run->states) {
      const std::string place =
          Str(where.empty() ? "" : where + ", ", "iteration ", state.iteration, " of '", inst.name(), "'");
      const auto pair_of = [&](const Computation& of) { return Pair{.before = &of, .args = {{.value = state.value}}}; };
      TRY(ComparePair(pair_of(*before.condition), *after.condition, place));
      if (!result_.finding && !state.ends) TRY(ComparePair(pair_of(*before.body), *after.body, place));
      if (result_.finding) return {};
    }
    RecordRight(inst);
    Keep(pair, origin, inst, KeptOf(run->result, run->result));
    return {};
  }

  const Module& input_;
  const Module& optimized_;
  const WidenedOptions& options_;
  BothSides sides_;
  const Correspondence& pairs_;
  LoopRuns loop_runs_;
  std::map<std::pair<int, ShapeIndex>, size_t> value_at_;
  WidenedResult result_;
};

}  // namespace

Result<WidenedResult> CompareWidened(const Module& input, const Module& optimized, std::span<const Literal> args,
                                     const WidenedOptions& options) {
  return Comparer(input, optimized, options).Run(args);
}

}  // namespace hlo
