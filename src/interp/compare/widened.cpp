#include "interp/compare/widened.h"

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
#include "interp/compare/both_sides.h"
#include "interp/compare/correspondence.h"
#include "interp/compare/joined.h"
#include "interp/compare/limits.h"
#include "interp/compare/loop_runs.h"
#include "interp/compare/same_operation.h"
#include "interp/shadow/known_values.h"
#include "interp/shadow/rules.h"
#include "interp/shadow/shadow.h"
#include "interp/shadow/slice.h"
#include "interp/shadow/terms.h"
#include "ir/module.h"

namespace hlo {
namespace {

bool HasComplex(const Shape& shape) {
  bool complex = false;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { complex = complex || IsComplex(leaf.type()); });
  return complex;
}

// Largest share of elements with bounds that say nothing, in a value that made-up arguments decide.
constexpr double kMostVacuousToDecide = 0.1;

class Comparer {
  using Pair = PairOfComputations;

 public:
  Comparer(const Module& input, const Module& optimized, const WidenedOptions& options)
      : input_(input),
        optimized_(optimized),
        options_(options),
        sides_(input, optimized, options),
        pairs_(sides_.pairs()),
        known_before_(sides_.known_before()),
        known_after_(sides_.known_after()),
        loop_runs_(options.seed, options.loop_iterations) {}

  std::vector<const Instruction*> LargeValues() {
    std::vector<const Instruction*> large;
    for (const Instruction* inst : pairs_.OrderOf(input_.entry(), optimized_.entry())) {
      // In the input the others of a kernel's results may be computed from one that here is only returned.
      const bool is_read = !OnlyReturned(*inst) || IsOneOfSeveral(*inst);
      if (pairs_.IsLarge(*inst) && is_read) large.push_back(inst);
    }
    return large;
  }

  Result<WidenedResult> Run(std::span<const Literal> args) {
    std::vector<shadow::ConeArgument> values;
    for (const Literal& arg : args) values.push_back({.literal = &arg});
    const auto compared = ComparePair({.before = &input_.entry(), .args = std::move(values)}, optimized_.entry(), "");
    if (!compared && !IsBeyondWork(compared.error())) FAIL(compared.error());
    if (!result_.finding) DecideByValues();
    if (!compared) {
      result_.verdict = Verdict::kInconclusive;
      result_.beyond_work = true;
      result_.reason = compared.error().message();
    }
    return std::move(result_);
  }

 private:
  // Compares a sample of the elements, of a value that nothing else is computed from or that a run left. False: it is
  // not worth it, or cannot be done.
  Result<bool> CompareSampled(Pair& pair, const Instruction& origin, const Instruction& inst,
                              const std::string& where) {
    const ShadowOptions options_before = sides_.Options(sides_.CutsBefore(pair)),
                        options_after = sides_.Options(sides_.CutsAfter(pair));
    const bool is_needed = !OnlyReturned(inst) || !OnlyReturned(origin);
    if (is_needed && !options_.left) return false;
    if (LeftBefore(pair, origin, inst) != nullptr) return false;
    if (HasComplex(inst.shape())) return false;
    if (known_before_.Rounded(origin) || known_after_.Rounded(inst)) return false;
    const shadow::Cone after = shadow::ConeOf(inst, pair.args_after(), nullptr, sides_.CutsAfter(pair));
    const auto has_parts = [](const shadow::ConeArgument& arg) {
      return arg.literal != nullptr ? HasComplex(arg.literal->shape()) : HasParts(arg.value);
    };
    if (2 * after.steps <= pairs_.limit() || std::ranges::any_of(after.args, has_parts)) return false;
    const shadow::Cone before =
        shadow::ConeOf(origin, *TRY(sides_.ArgsOf(pair, &origin.computation())), nullptr, sides_.CutsBefore(pair));
    if (std::ranges::any_of(before.args, has_parts)) return false;
    const auto sliced_after = TRY(shadow::SliceOf(after, pairs_.limit() / 2, options_.seed));
    if (!sliced_after) return false;
    const auto sliced_before = TRY(shadow::SliceAt(before, sliced_after->points));
    if (!sliced_before) return false;
    std::optional<Literal> left;
    if (is_needed && !(left = TRY(options_.left(inst)))) return false;
    const auto evaluate = [](const shadow::Slice& slice, ShadowOptions options) -> Result<ShadowValue> {
      options.wanted = &slice.wanted;
      return TRY(EvaluateShadow(slice.module->entry(), std::span<const ShadowValue>(slice.args), options)).value;
    };
    const auto expected = evaluate(*sliced_before, options_before), actual = evaluate(*sliced_after, options_after);
    if (!expected || !actual) return false;  // The whole says why.
    int64_t by_bits = 0;
    const ShadowValue joined = Joined(*expected, *actual, &by_bits);
    Comparison comparison =
        CompareSample(joined, AsLiteral(*actual), inst.shape(), sliced_after->points, options_.compare);
    if (comparison.bad() > 0 && WasExpanded(pair, origin)) return false;  // The whole is compared as declared.
    ++result_.instructions;
    ++result_.sampled;
    result_.elements += comparison.checked();
    result_.sampled_checked += comparison.checked();
    result_.sampled_elements += comparison.elements();
    Record(inst, comparison, by_bits, CountOpened(*expected, joined));
    if (comparison.bad() > 0) Found(origin, inst, where, std::move(comparison));
    if (!left) return true;
    Keep(pair, origin, inst, {.value = {}, .left = std::make_shared<const Literal>(std::move(*left))});
    pair.given_for_good.insert(&origin);
    return true;
  }

  // What a run left as the value of `origin`, which `inst`, a copy of it (in another layout, say), is computed from;
  // null: nothing.
  const Literal* LeftBefore(const Pair& pair, const Instruction& origin, const Instruction& inst) const {
    const auto kept = pair.given_before.find(pairs_.Twin(origin));
    if (kept == pair.given_before.end() || kept->second.left == nullptr) return nullptr;
    const Literal* left = kept->second.left.get();
    const auto is_kept = [&](const Instruction& next) { return pair.given_after.contains(&next); };
    const auto is_left = [&](const Instruction* operand) {
      const auto given = pair.given_after.find(operand);
      return given != pair.given_after.end() && given->second.left.get() == left;
    };
    const auto reads_left = [&](const Instruction* next) { return std::ranges::any_of(next->operands(), is_left); };
    return std::ranges::any_of(Upstream(inst, is_kept), reads_left) ? left : nullptr;
  }

  // The first open value makes the comparison inconclusive, of those that passes opened if there are any.
  void DecideByValues() {
    const auto opened = std::ranges::find_if(result_.values, &WidenedValue::opened);
    const auto open = opened != result_.values.end()
                          ? opened
                          : std::ranges::find_if(result_.values, [](const WidenedValue& v) { return !v.open.empty(); });
    if (open == result_.values.end()) {
      const bool is_vague = static_cast<double>(result_.vacuous) > kMostVacuous * static_cast<double>(result_.elements);
      if (options_.is_one_instance || !is_vague) return;
      result_.verdict = Verdict::kInconclusive;
      result_.reason = Str(result_.vacuous, " of ", result_.elements, " elements within bounds that say nothing");
      return;
    }
    result_.verdict = Verdict::kInconclusive;
    result_.opened = open->opened;
    result_.reason = open->open;
    const auto count = std::ranges::count_if(result_.values, [](const WidenedValue& v) { return !v.open.empty(); });
    if (count > 1) result_.reason += Str("; ", count - 1, " more");
  }

  WidenedValue& ValueOf(const Instruction& inst, const ShapeIndex& leaf) {
    const auto [at, is_new] = value_at_.try_emplace({inst.id(), leaf}, result_.values.size());
    if (is_new) result_.values.push_back({.instruction = inst.id(), .leaf = leaf, .open = {}});
    return result_.values[at->second];
  }

  // `by_bits`, `opened`: elements of all arrays of the value.
  void Record(const Instruction& inst, const Comparison& comparison, int64_t by_bits, int64_t opened) {
    result_.undetermined += comparison.Count(ElementClass::kUndetermined);
    result_.vacuous += comparison.Count(ElementClass::kVacuous);
    result_.by_bits += by_bits;
    for (const TensorComparison& tensor : comparison.outputs)
      Classify(inst, tensor, comparison.checked(), by_bits, opened, &ValueOf(inst, tensor.output));
  }

  // Adds the findings of one comparison of an array. `by_bits`, `opened`: of `checked` elements of all arrays.
  void Classify(const Instruction& inst, const TensorComparison& tensor, int64_t checked, int64_t by_bits,
                int64_t opened, WidenedValue* value) const {
    const auto is_much = [](int64_t count, double share, int64_t of) {
      return static_cast<double>(count) > share * static_cast<double>(of);
    };
    const int64_t undetermined = tensor.Count(ElementClass::kUndetermined),
                  vacuous = tensor.Count(ElementClass::kVacuous),
                  silent = tensor.zero_expected + tensor.inf_expected + tensor.nan_expected;
    const bool is_open = options_.is_one_instance || is_much(undetermined, kMostUndetermined, tensor.checked);
    if (tensor.verdict == Verdict::kInconclusive && is_open) {
      const bool by_passes = is_much(opened, kMostUndetermined, checked),
                 is_undetermined = is_much(undetermined, kMostUndetermined, tensor.checked);
      if (value->open.empty() || (by_passes && !value->opened))
        value->open = by_passes ? Str(opened, " of ", checked, " elements of '", inst.name(),
                                      "' determined before the passes, and not after them")
                                : Str(is_undetermined ? undetermined : vacuous, " of ", tensor.checked, " elements of ",
                                      inst.opcode(), " '", inst.name(), "' ",
                                      is_undetermined ? "undetermined" : "within bounds that say nothing");
      value->opened |= by_passes;
    }
    value->by_bits |= is_much(by_bits, kMostUndetermined, checked);
    value->is_partial |= undetermined + by_bits > 0;
    value->is_vague |= is_much(vacuous, kMostVacuousToDecide, tensor.checked);
    value->is_silent &= tensor.checked > 1 && silent == tensor.checked;
  }

  // Records a value that is right because of its operation.
  void RecordRight(const Instruction& inst) { ValueOf(inst, {}).is_silent = false; }

  void Found(const Instruction& origin, const Instruction& inst, const std::string& where, Comparison comparison) {
    result_.verdict = Verdict::kMismatch;
    result_.reason = "a pass changed the meaning";
    result_.finding = {&inst, &origin, where, std::move(comparison)};
  }

  Result<void> ComparePair(Pair pair, const Computation& after, const std::string& where) {
    const Computation& before = *pair.before;
    const std::vector<Instruction*> order = pairs_.OrderOf(before, after);
    const Lifetimes lifetimes = pairs_.LifetimesOf(before, after, order, pair.changed);
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
    // A root tuple: what its elements are was compared; which element is which is left.
    const Instruction& root = after.root();
    if (!root.Is(Opcode::kTuple)) return {};
    if (!pairs_.RootsCompareByElement(before, pair.changed))
      return CompareInstruction(pair, before.root(), root, where);
    return CompareElements(pair, before.root(), root, where, pair.changed);
  }

  Result<void> CompareElements(Pair& pair, const Instruction& origin, const Instruction& inst, const std::string& where,
                               const LoopPair* changed = nullptr) {
    for (const auto [before, after] : pairs_.ElementsToCompare(origin, inst, changed)) {
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

  static int64_t NotEqual(const Comparison& comparison) {
    return comparison.bad() + comparison.Count(ElementClass::kVacuous) + comparison.Count(ElementClass::kUndetermined);
  }

  // Passes may know what the input's constants alone do not tell: a loop makes it, an update covers what was there, or
  // algebra does (x ^ x). It is folded as the declared types round it: right within bounds for these, or where it is
  // what the interpreter makes of it, and it goes on as it is on both sides.
  Result<std::optional<Compared>> CompareFolded(Pair& pair, const Instruction& origin, const Instruction& inst) {
    auto folded = known_after_.Value(inst);
    if (!folded || known_before_.Value(origin) || HasComplex(inst.shape())) return std::nullopt;
    std::optional<Compared> compared;
    if (auto before = sides_.ValueBefore(pair, origin, true)) compared = Compare(std::move(*before), *folded);
    if (!compared || NotEqual(compared->comparison) > 0) {
      const auto interpreted = sides_.InterpretedBefore(pair, origin);
      if (interpreted) {
        Compared exact = Compare(ToShadow(*interpreted), DropBounds(*folded));
        if (exact.comparison.bad() == 0) compared = std::move(exact);
      }
    }
    if (!compared || compared->comparison.bad() > 0) return std::nullopt;
    compared->before = std::move(*folded);
    return compared;
  }

  // What passes folded so and fused into a kernel, it begins with: for as long as that is compared, the values that
  // these come from in the input.
  class FoldedInside {
   public:
    FoldedInside(Comparer& comparer, Pair& pair, const Instruction& compared_with, const Instruction& inst)
        : pair_(pair) {
      constexpr int64_t kMostElements = 1 << 16;
      const Instruction& kernel = IsOneOfSeveral(inst) ? inst.operand(0) : inst;
      if (!kernel.Is(Opcode::kFusion)) return;
      for (const Instruction* inside : kernel.attrs<FusionAttrs>().calls->Instructions()) {
        if (!inside->shape().IsArray() || inside->shape().NumElements() > kMostElements) continue;
        const Instruction* origin = comparer.pairs_.OriginIn(*inside, *pair.before);
        if (origin == nullptr || origin == &compared_with || !Compatible(origin->shape(), inside->shape())) continue;
        if (comparer.known_before_.Value(*origin) || pair.given_before.contains(origin)) continue;
        if (!comparer.sides_.KnownAfter(*inside)) continue;
        auto folded = comparer.CompareFolded(pair, *origin, *inside);
        if (!folded || !*folded) continue;
        comparer.Record(*inside, (*folded)->comparison, 0, 0);
        pair.given_before[origin] = {.value = KeptOf((*folded)->before, (*folded)->before), .left = nullptr};
        given_.push_back(origin);
      }
    }
    ~FoldedInside() {
      for (const Instruction* origin : given_) pair_.given_before.erase(origin);
    }

   private:
    Pair& pair_;
    std::vector<const Instruction*> given_;
  };

  // What passes folded may stand in the input as a value of which they left no instruction (the padding of a pad that
  // took the place of an update is an element of what was updated; of a factor 1 or a term 0 nothing is left at all).
  // A value of the input that is such a constant, or such a scalar everywhere, within what the declared types round or
  // as the interpreter makes it (that alone, where passes converted it on to another type), is it here, in what it
  // calls, too.
  Result<std::optional<Compared>> CompareFoldedConstants(Pair& pair, const Instruction& origin,
                                                         const Instruction& inst) {
    constexpr int64_t kMostElements = 1 << 16;
    constexpr size_t kMostValues = 256, kMostTries = 32;
    std::vector<ShadowValue> constants;
    const auto is_kept_after = [&](const Instruction& next) { return pair.given_after.contains(&next); };
    for (const Instruction* next : UpstreamAndInside(inst, is_kept_after)) {
      const bool is_array = next->Is(Opcode::kConstant) && next->shape().IsArray() && !IsComplex(next->shape().type());
      if (!is_array || next->shape().NumElements() > kMostElements) continue;
      if (auto folded = known_after_.Value(*next)) constants.push_back(DropBounds(std::move(*folded)));
    }
    const auto is_kept = [&](const Instruction& next) { return pair.given_before.contains(pairs_.Twin(next)); };
    std::vector<const Instruction*> upstream = UpstreamAndInside(origin, is_kept);
    const auto runs_again = [&](const Instruction* next) {
      return !pairs_.RunsOnceIn(next->computation(), *pair.before);
    };
    std::erase_if(upstream, runs_again);
    upstream.resize(std::min(upstream.size(), kMostValues));
    std::set<PrimitiveType> types;
    for (const Instruction* next : upstream) {
      if (next->shape().IsArray() && IsFloat(next->shape().type())) types.insert(next->shape().type());
    }
    for (const PrimitiveType type : types) {
      for (const double neutral : {0.0, 1.0}) constants.push_back(ToShadow(Literal::Scalar(type, neutral)));
    }

    std::vector<std::pair<const Instruction*, ShadowValue>> given;
    for (const Instruction* next : upstream) {
      if (next == &origin || !next->shape().IsArray() || next->shape().NumElements() > kMostElements) continue;
      if (known_before_.Value(*next)) continue;
      std::vector<ShadowValue> candidates, converted;
      for (const ShadowValue& constant : constants) {
        const bool is_same = constant.shape.type() == next->shape().type();
        if (!is_same && !(constant.IsFloat() && IsFloat(next->shape().type()))) continue;
        std::vector<ShadowValue>& into = is_same ? candidates : converted;
        if (constant.shape.IsScalar()) into.push_back(Splat(constant, next->shape()));
        else if (constant.shape.dims() == next->shape().dims()) into.push_back(constant);
        else continue;
        into.back().shape = next->shape();
      }
      const auto like = [&](const ShadowValue& value, const std::vector<ShadowValue>& of) -> const ShadowValue* {
        const auto found = std::ranges::find_if(
            of, [&](const ShadowValue& candidate) { return NotEqual(Compare(value, candidate).comparison) == 0; });
        return found == of.end() ? nullptr : &*found;
      };
      const ShadowValue* folded = nullptr;
      if (!candidates.empty()) {
        if (const auto declared = sides_.ValueBefore(pair, *next, true)) folded = like(*declared, candidates);
      }
      if (folded == nullptr && (!candidates.empty() || !converted.empty())) {
        if (const auto interpreted = sides_.InterpretedBefore(pair, *next)) {
          const ShadowValue exact = ToShadow(*interpreted);
          folded = like(exact, candidates);
          if (folded == nullptr) folded = like(exact, converted);
        }
      }
      if (folded != nullptr) given.emplace_back(pairs_.Twin(*next), *folded);
    }
    if (given.empty()) return std::nullopt;
    // The nearest may look folded by chance, and be computed on the other side: tanh(2^-12) is 2^-12 in f32. So those
    // that are further away are taken alone, too.
    const ShadowValue after = TRY(sides_.ValueAfter(pair, inst));
    const auto compare_from = [&](size_t first) -> Result<std::optional<Compared>> {
      for (size_t i = first; i < given.size(); ++i)
        pair.given_before[given[i].first] = {.value = given[i].second, .left = nullptr};
      auto before = sides_.ValueBefore(pair, origin);
      for (size_t i = first; i < given.size(); ++i) pair.given_before.erase(given[i].first);
      Compared compared = Compare(TRY(std::move(before)), after);
      if (compared.comparison.bad() > 0) return std::nullopt;
      return compared;
    };
    for (size_t first = 0; first < std::min(given.size(), kMostTries); ++first) {
      if (auto same = TRY(compare_from(first))) return same;
    }
    return std::nullopt;
  }

  // Does `origin` follow from what passes take apart, or is it one of several branches? What they fold inside it stands
  // for nothing that is compared.
  bool WasExpanded(const Pair& pair, const Instruction& origin) const {
    if (origin.Is(Opcode::kConditional)) return true;
    const auto is_kept = [&](const Instruction& next) { return pair.given_before.contains(pairs_.Twin(next)); };
    return std::ranges::any_of(UpstreamAndInside(origin, is_kept), [](const Instruction* next) {
      return next->Is(Opcode::kBatchNormTraining) || next->Is(Opcode::kBatchNormInference) ||
             next->Is(Opcode::kBatchNormGrad);
    });
  }

  // Within bounds for the declared types on both sides, and both go on from the same. Unsupported where there are none.
  Result<std::optional<Compared>> CompareAsDeclared(Pair& pair, const Instruction& origin, const Instruction& inst) {
    ShadowValue before = TRY(sides_.ValueBefore(pair, origin, true));
    Compared compared = Compare(std::move(before), TRY(sides_.ValueAfter(pair, inst, true)));
    if (compared.comparison.bad() > 0) return std::nullopt;
    compared.before = compared.after;
    pair.given_for_good.insert(&origin);
    return compared;
  }

  // A value that cannot be evaluated in f64 is right if passes kept its operation. Both sides then continue from the
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
        const ShadowValue kept = ToShadow(*value);
        Keep(pair, origin, inst, {.value = kept, .left = nullptr});
        pair.given_for_good.insert(&origin);
      }
      return {};
    }
    return NotCompared(inst, error);
  }

  Result<void> NotCompared(const Instruction& inst, const Error& error) {
    if (error.exit != ExitCode::kUnsupported) FAIL(error);
    WidenedValue& value = ValueOf(inst, {});
    value.open = Str(inst.Is(Opcode::kWhile) ? "loop '" : "'", inst.name(), "' not compared: ", error.message());
    return {};
  }

  // Decision about a value that bounds leave open, by the operation of its instruction.
  struct Settled {
    bool is_right = false, is_wrong = false;
    Comparison comparison;  // If it is wrong.
  };

  // The same operation on both sides gives the same value, if all operands are compared, too. If only the attributes
  // changed, both operations on the same operands must have the same bits. Sums are left out, because their attributes
  // may give the order of additions. So are instructions that call, because passes may have changed the computations.
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

  // Whether the comparison is open because bounds say nothing, and not because elements are undetermined.
  static bool IsVague(const Comparison& comparison) {
    return comparison.verdict == Verdict::kInconclusive &&
           std::ranges::all_of(comparison.outputs, [](const TensorComparison& tensor) {
             const auto undetermined = static_cast<double>(tensor.Count(ElementClass::kUndetermined));
             return undetermined <= kMostUndetermined * static_cast<double>(tensor.checked);
           });
  }

  // Whether both sides agree on other operands, where bounds say something: the variance of equal numbers is 0 within
  // any bound, and the variance of other numbers is not. A difference decides nothing, because the program may never
  // reach such operands.
  bool IsRightWithRandomOperands(const Pair& pair, const Instruction& origin, const Instruction& inst) const {
    for (const double least : {0.5, -2.0}) {
      std::optional<Pair> made_up = WithMadeUpOperands(pair, least);
      if (!made_up) return false;
      auto before = sides_.ValueBefore(*made_up, origin);
      if (!before) return false;
      auto after = sides_.ValueAfter(*made_up, inst);
      if (!after) return false;
      const Compared compared = Compare(std::move(*before), std::move(*after));
      if (compared.comparison.bad() > 0) continue;  // A variance below 0, for example.
      WidenedValue value;
      for (const TensorComparison& tensor : compared.comparison.outputs)
        Classify(inst, tensor, compared.comparison.checked(), compared.by_bits, compared.opened, &value);
      if (value.IsDecidedByBounds()) return true;
    }
    return false;
  }

  // The pair with seeded numbers between `least` and 2 in the place of all kept floats. Nothing for a loop whose state
  // passes changed, or if there are many numbers.
  std::optional<Pair> WithMadeUpOperands(const Pair& pair, double least) const {
    constexpr int64_t kMostBytes = 1 << 24;
    int64_t bytes = 0;
    for (const auto& [key, kept] : pair.given_before) bytes += key->shape().ByteSize();
    if (pair.changed != nullptr || bytes > kMostBytes) return std::nullopt;
    Pair made_up = pair;
    made_up.is_made_up = true;
    made_up.callee_args.clear();
    made_up.ran.clear();
    std::map<int, ShadowValue> values;  // Key: id in the input.
    const auto value_of = [&](const Instruction& key, const shadow::ConeArgument& now) {
      const auto [at, is_new] = values.try_emplace(key.id());
      if (is_new) at->second = MadeUp(now.All(), least, Mix(options_.seed) + static_cast<uint64_t>(key.id()));
      return at->second;
    };
    for (auto& [key, kept] : made_up.given_before)
      kept = {.value = value_of(*pairs_.Twin(*key), kept.Argument()), .left = nullptr};
    for (auto& [key, kept] : made_up.given_after) {
      const Instruction* compared = pairs_.ComparedWith(*key, *pair.before);
      if (compared != nullptr) kept = {.value = value_of(*pairs_.Twin(*compared), kept.Argument()), .left = nullptr};
    }
    for (const Instruction* parameter : pair.before->parameters()) {
      shadow::ConeArgument& argument = made_up.args[parameter->parameter_number()];
      argument = {.value = value_of(*parameter, argument)};
    }
    return made_up;
  }

  // Other numbers of the same shape; integers stay, because they may be indices.
  static ShadowValue MadeUp(ShadowValue value, double least, uint64_t seed) {
    for (ShadowValue& element : value.elements) element = MadeUp(std::move(element), least, ++seed);
    if (!value.shape.IsArray() || !value.IsFloat()) return DropBounds(std::move(value));
    Literal numbers(value.shape);
    for (int64_t i = 0; i < value.shape.NumElements(); ++i) {
      const auto random = static_cast<double>(Mix(Mix(seed) + static_cast<uint64_t>(i)) >> 11) * 0x1p-53;
      numbers.SetDouble(i, least + (2 - least) * random);
    }
    return ToShadow(numbers);
  }

  bool IsSameOperand(const Pair& pair, const Instruction& before, const Instruction& after) const {
    if (before.Is(Opcode::kParameter) && after.Is(Opcode::kParameter) && &before.computation() == pair.before)
      return pair.changed == nullptr && before.parameter_number() == after.parameter_number();
    if (before.Is(Opcode::kConstant) && after.Is(Opcode::kConstant)) return SameOperation(before, after);
    return pairs_.ComparedWith(after, *pair.before) == &before;
  }

  Result<void> CompareInstruction(Pair& pair, const Instruction& origin, const Instruction& inst,
                                  const std::string& where) {
    const bool loops = inst.Is(Opcode::kWhile) && origin.Is(Opcode::kWhile);
    const LoopPair* changed = loops ? pairs_.ChangedLoopOf(inst) : nullptr;
    if (loops) return CompareLoops(pair, origin, inst, changed, where);
    const FoldedInside folded_inside(*this, pair, origin, inst);
    const BothSides::ComputedInside computed_inside(sides_, pair, origin, inst);
    if (pairs_.HasLimit() && TRY(CompareSampled(pair, origin, inst, where))) return {};
    const Literal* const left = LeftBefore(pair, origin, inst);
    auto before = left != nullptr ? Result<ShadowValue>(ToShadow(*left)) : sides_.ValueBefore(pair, origin);
    const auto rounded = sides_.KnownAfter(inst);
    const auto evaluate = [&]() -> Result<ShadowValue> {
      if (rounded) return *rounded;
      // Compared before, with another value of the input, whose users go on from what was kept of it.
      if (const auto kept = pair.given_after.find(&inst); kept != pair.given_after.end())
        return kept->second.Argument().All();
      return sides_.ValueAfter(pair, inst);
    };
    auto after = before ? evaluate() : std::unexpected(before.error());
    if (!after) return NotCompared(pair, origin, inst, where, after.error());
    Compared compared = Compare(std::move(*before), std::move(*after));
    if (compared.comparison.bad() > 0 && inst.Is(Opcode::kTuple) && origin.Is(Opcode::kTuple))
      return CompareElements(pair, origin, inst, where);
    if (compared.comparison.bad() > 0) {
      auto folded = TRY(CompareFolded(pair, origin, inst));
      if (!folded) folded = TRY(CompareFoldedConstants(pair, origin, inst));
      if (!folded && WasExpanded(pair, origin)) {
        auto declared = CompareAsDeclared(pair, origin, inst);
        if (!declared) return NotCompared(inst, declared.error());
        folded = std::move(*declared);
      }
      if (folded) compared = std::move(*folded);
    }
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
    if (left != nullptr) {  // It stays as it is.
      KeepAfter(pair, inst, {.value = KeptOf(std::move(compared.before), compared.after), .left = nullptr});
      return {};
    }
    const bool is_open = compared.by_bits > 0 || comparison.Count(ElementClass::kUndetermined) > 0;
    if (is_open || pairs_.IsLarge(inst)) pair.given_for_good.insert(&origin);
    // What passes folded was rounded by that, and what they fold of it begins there.
    if (rounded && !known_before_.Value(origin)) compared.before = compared.after;
    Keep(pair, origin, inst, {.value = KeptOf(std::move(compared.before), compared.after), .left = nullptr});
    return {};
  }

  static const Instruction* InsideOf(const Instruction& inst) {
    return IsOneOfSeveral(inst) ? InsideKernel(inst) : nullptr;
  }

  // Where a kernel has several results, one may be computed from another, which in the input is kept, too.
  static void Keep(Pair& pair, const Instruction& origin, const Instruction& inst, KeptValue kept) {
    KeepAfter(pair, inst, kept);
    pair.given_before[&origin] = std::move(kept);
  }

  static void KeepAfter(Pair& pair, const Instruction& inst, KeptValue kept) {
    if (const Instruction* inside = InsideOf(inst)) pair.given_after[inside] = kept;
    pair.given_after[&inst] = std::move(kept);
  }

  static void Forget(Pair& pair, const Instruction& inst) {
    if (const Instruction* inside = InsideOf(inst)) pair.given_after.erase(inside);
    pair.given_after.erase(&inst);
  }

  // The elements of a state that two such loops have both.
  static ShadowValue InBoth(const ShadowValue& state, const std::vector<int64_t>& elements) {
    ShadowValue both;
    std::vector<Shape> shapes;
    for (const int64_t i : elements) {
      both.elements.push_back(state.elements[i]);
      shapes.push_back(state.elements[i].shape);
    }
    both.shape = Shape::Tuple(std::move(shapes));
    return both;
  }

  // The states that both loops start from must agree.
  Comparison CompareStarts(ShadowValue before, ShadowValue after, const LoopPair* changed) {
    if (changed != nullptr) {
      std::vector<int64_t> in_before, in_after;
      for (int64_t i = 0; i < std::ssize(changed->elements); ++i) {
        if (changed->elements[i] < 0) continue;
        in_before.push_back(changed->elements[i]);
        in_after.push_back(i);
      }
      before = InBoth(before, in_before);
      after = InBoth(after, in_after);
    }
    return CompareWithBounds(Joined(before, after, &result_.by_bits), AsLiteral(after), options_.compare);
  }

  // Bodies and conditions on the same states: of the first, the last and some seeded iterations of the input's loop;
  // and conditions on the state it ends with, on which the other loop has to end too.
  Result<void> CompareLoops(Pair& pair, const Instruction& origin, const Instruction& inst, const LoopPair* changed,
                            const std::string& where) {
    const auto start_before = sides_.ValueBefore(pair, origin.operand(0));
    if (!start_before) return NotCompared(inst, start_before.error());
    const ShadowValue start_after = TRY(sides_.ValueAfter(pair, inst.operand(0)));
    auto run = changed == nullptr ? loop_runs_.Noted(origin, *start_before) : std::nullopt;
    if (!run) {
      const auto args = Needed(*TRY(sides_.ArgsOf(pair, &origin.computation())), origin, sides_.CutsBefore(pair));
      std::optional<LoopBeside> beside;
      if (changed != nullptr) beside.emplace(inst, *changed, start_after, sides_.Options(sides_.CutsAfter(pair)));
      auto fresh = loop_runs_.Run(origin, args, sides_.Options(sides_.CutsBefore(pair)), beside ? &*beside : nullptr);
      if (!fresh) return NotCompared(inst, fresh.error());
      run = std::move(*fresh);
    }
    Comparison starts = CompareStarts(*start_before, start_after, changed);
    if (starts.bad() > 0) {
      Found(origin.operand(0), inst.operand(0), where, std::move(starts));
      return {};
    }
    const WhileAttrs &before = origin.attrs<WhileAttrs>(), &after = inst.attrs<WhileAttrs>();
    for (const LoopState& state : run->states) {
      const std::string place =
          Str(where.empty() ? "" : where + ", ", "iteration ", state.iteration, " of '", inst.name(), "'");
      const auto pair_of = [&](const Computation& of) {
        return Pair{
            .before = &of, .args = {{.value = state.value}}, .changed = changed, .own_args = {{.value = state.beside}}};
      };
      TRY(ComparePair(pair_of(*before.condition), *after.condition, place));
      if (!result_.finding && !state.ends) TRY(ComparePair(pair_of(*before.body), *after.body, place));
      if (result_.finding) return {};
    }
    RecordRight(inst);
    if (changed == nullptr) {
      Keep(pair, origin, inst, {.value = KeptOf(run->result, run->result), .left = nullptr});
      return {};
    }
    // What one of them alone has keeps what it may be off by.
    ShadowValue &ended_before = run->result, &ended_after = run->beside;
    for (int64_t i = 0; i < std::ssize(changed->elements); ++i) {
      if (changed->elements[i] < 0) continue;
      ShadowValue& element = ended_before.elements[changed->elements[i]];
      element = KeptOf(element, element);
      ended_after.elements[i] = element;
    }
    pair.given_before[&origin] = {.value = std::move(ended_before), .left = nullptr};
    pair.given_after[&inst] = {.value = std::move(ended_after), .left = nullptr};
    return {};
  }

  const Module& input_;
  const Module& optimized_;
  const WidenedOptions& options_;
  BothSides sides_;
  const Correspondence& pairs_;
  const KnownValues &known_before_, &known_after_;
  LoopRuns loop_runs_;                                     // Of the input.
  std::map<std::pair<int, ShapeIndex>, size_t> value_at_;  // In the result, by id and leaf.
  WidenedResult result_;
};

}  // namespace

Result<WidenedResult> CompareWidened(const Module& input, const Module& optimized, std::span<const Literal> args,
                                     const WidenedOptions& options) {
  return Comparer(input, optimized, options).Run(args);
}

std::vector<const Instruction*> LargeValues(const Module& input, const Module& optimized,
                                            const WidenedOptions& options) {
  const int64_t limit = LimitOfComparing(optimized, options.work_limit, options.loop_iterations);
  if (limit == std::numeric_limits<int64_t>::max()) return {};  // Of most modules, at once.
  return Comparer(input, optimized, options).LargeValues();
}

}  // namespace hlo
