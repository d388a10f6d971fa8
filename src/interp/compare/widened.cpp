#include "interp/compare/widened.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "interp/compare/callers.h"
#include "interp/compare/joined.h"
#include "interp/compare/limits.h"
#include "interp/compare/loop_runs.h"
#include "interp/compare/twins.h"
#include "interp/shadow/known_values.h"
#include "interp/shadow/rules.h"
#include "interp/shadow/shadow.h"
#include "interp/shadow/slice.h"
#include "ir/module.h"

namespace hlo {
namespace {

// The number behind a splat, else the whole literal.
uint64_t ConstantKey(const Literal& literal) {
  if (literal.IsSplat()) return Literal::Scalar(literal.shape().type(), literal.GetDouble(0)).Hash();
  return literal.Hash();
}

bool HasComplex(const Shape& shape) {
  bool complex = false;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { complex = complex || IsComplex(leaf.type()); });
  return complex;
}

bool OnlyReturned(const Instruction& inst) {
  return std::ranges::all_of(inst.users(),
                             [](const Instruction* user) { return user->IsRoot() && user->Is(Opcode::kTuple); });
}

class Comparer {
 public:
  Comparer(const Module& input, const Module& optimized, const WidenedOptions& options)
      : input_(input),
        optimized_(optimized),
        options_(options),
        callers_(input),
        limit_(LimitOfComparing(optimized, options.work_limit, options.loop_iterations)),
        loop_runs_(options.seed, options.loop_iterations) {
    for (const Computation* computation : input.Computations()) {
      for (const Instruction* inst : computation->Instructions()) {
        by_id_[inst->id()] = inst;
        if (inst->Is(Opcode::kConstant) && inst->shape().IsArray()) constants_.insert(ConstantKey(inst->literal()));
      }
    }
    const auto always = [](const Literal&) { return true; };
    const auto written = [this](const Literal& literal) { return constants_.contains(ConstantKey(literal)); };
    known_before_.emplace(input, always);
    known_before_->ForEachExact([this](const Literal& literal) { constants_.insert(ConstantKey(literal)); });
    known_after_.emplace(optimized, written);
    if (limit_ < std::numeric_limits<int64_t>::max()) twins_.emplace(input, optimized);
  }

  std::vector<const Instruction*> LargeValues() {
    std::vector<const Instruction*> large;
    for (const Instruction* inst : OrderOf(input_.entry(), optimized_.entry())) {
      // In the input the others of a kernel's results may be computed from one that here is only returned.
      const bool is_read = !OnlyReturned(*inst) || IsOneOfSeveral(*inst);
      if (IsLarge(*inst) && is_read) large.push_back(inst);
    }
    return large;
  }

  Result<WidenedResult> Run(std::span<const Literal> args) {
    std::vector<shadow::ConeArgument> values;
    for (const Literal& arg : args) values.push_back({.literal = &arg});
    TRY(ComparePair(input_.entry(), optimized_.entry(), std::move(values), ""));
    if (!result_.finding && result_.elements > 0 && result_.undetermined * 100 > result_.elements) {
      result_.verdict = Verdict::kInconclusive;
      result_.reason = Str(result_.undetermined, " of ", result_.elements, " elements undetermined, first of ",
                           first_undetermined_->opcode(), " '", first_undetermined_->name(), "'");
    } else if (!result_.finding && static_cast<double>(result_.vacuous) > kMostVacuous * result_.elements) {
      result_.verdict = Verdict::kInconclusive;
      result_.reason = Str(result_.vacuous, " of ", result_.elements, " bounds vacuous, first of ",
                           first_vacuous_->opcode(), " '", first_vacuous_->name(), "'");
    }
    // What passes made of a value that was not compared is not known.
    if (!result_.finding && !result_.notes.empty()) {
      result_.verdict = Verdict::kInconclusive;
      result_.reason = result_.notes.front();
      if (result_.notes.size() > 1) result_.reason += Str("; ", result_.notes.size() - 1, " more");
    }
    return std::move(result_);
  }

 private:
  // A value without bounds, or what a run left, which stays in its own type.
  struct Kept {
    ShadowValue value;
    std::shared_ptr<const Literal> left;

    shadow::ConeArgument Argument() const {
      return left != nullptr ? shadow::ConeArgument{.literal = left.get()} : shadow::ConeArgument{.value = value};
    }
  };

  // A computation of the input and what became of it, run on the same arguments.
  struct Pair {
    const Computation* before;
    std::vector<shadow::ConeArgument> args;
    std::unordered_map<const Instruction*, Kept> given_before, given_after;
    // Of the input, whose kept value evaluating them again need not give: left by a run, or of rounded operands.
    std::unordered_set<const Instruction*> given_for_good;
    struct CalleeArgs {
      std::vector<shadow::ConeArgument> args;
      std::vector<std::shared_ptr<const Literal>> left;  // What they point to.
    };
    std::unordered_map<const Computation*, CalleeArgs> callee_args;
  };

  // Compares a sample of the elements, of a value that nothing else is computed from or that a run left. False: it is
  // not worth it, or cannot be done.
  Result<bool> CompareSampled(Pair& pair, const Instruction& origin, const Instruction& inst,
                              const std::string& where) {
    const ShadowOptions options_before = Options(pair.given_before, *known_before_),
                        options_after = Options(pair.given_after, *known_after_);
    const bool is_needed = !OnlyReturned(inst) || !OnlyReturned(origin);
    if (is_needed && !options_.left) return false;
    if (HasComplex(inst.shape())) return false;
    if (known_before_->Rounded(origin) || known_after_->Rounded(inst)) return false;
    const shadow::Cone after = shadow::ConeOf(inst, pair.args, nullptr, Cuts(pair.given_after, *known_after_));
    const auto has_parts = [](const shadow::ConeArgument& arg) {
      return arg.literal != nullptr ? HasComplex(arg.literal->shape()) : HasParts(arg.value);
    };
    if (2 * after.steps <= limit_ || std::ranges::any_of(after.args, has_parts)) return false;
    const shadow::Cone before = shadow::ConeOf(origin, *TRY(ArgsOf(pair, &origin.computation())), nullptr,
                                               Cuts(pair.given_before, *known_before_));
    if (std::ranges::any_of(before.args, has_parts)) return false;
    const auto sliced_after = TRY(shadow::SliceOf(after, limit_ / 2, options_.seed));
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
    Comparison comparison = CompareSample(Joined(*expected, *actual, &result_.by_bits), AsLiteral(*actual),
                                          inst.shape(), sliced_after->points, options_.compare);
    if (comparison.bad() > 0 && TookApart(pair, origin)) return false;  // The whole is compared as declared.
    ++result_.instructions;
    ++result_.sampled;
    result_.elements += comparison.checked();
    result_.sampled_checked += comparison.checked();
    result_.sampled_elements += comparison.elements();
    Note(inst, comparison);
    if (comparison.bad() > 0) Found(origin, inst, where, std::move(comparison));
    if (!left) return true;
    Keep(pair, origin, inst, {.value = {}, .left = std::make_shared<const Literal>(std::move(*left))});
    pair.given_for_good.insert(&origin);
    return true;
  }

  void Note(const Instruction& inst, const Comparison& comparison) {
    result_.undetermined += comparison.Count(ElementClass::kUndetermined);
    result_.vacuous += comparison.Count(ElementClass::kVacuous);
    if (first_undetermined_ == nullptr && result_.undetermined > 0) first_undetermined_ = &inst;
    if (first_vacuous_ == nullptr && result_.vacuous > 0) first_vacuous_ = &inst;
  }

  void Found(const Instruction& origin, const Instruction& inst, const std::string& where, Comparison comparison) {
    result_.verdict = Verdict::kMismatch;
    result_.reason = "a pass changed the meaning";
    result_.finding = {&inst, &origin, where, std::move(comparison)};
  }

  // The one whose kept value it has, too.
  const Instruction* Twin(const Instruction& inst) const { return twins_ ? &twins_->Of(inst) : &inst; }

  // What evaluating stops at: kept values and known ones.
  shadow::Given Cuts(const std::unordered_map<const Instruction*, Kept>& given, const KnownValues& known) const {
    return [this, &given, &known](const Instruction& inst) -> std::optional<shadow::ConeArgument> {
      const auto kept = given.find(Twin(inst));
      if (kept != given.end()) return kept->second.Argument();
      auto value = &known == &*known_after_ ? KnownAfter(inst) : known.Rounded(inst);
      if (!value) return std::nullopt;
      return shadow::ConeArgument{.value = std::move(*value)};
    };
  }

  ShadowOptions Options(const std::unordered_map<const Instruction*, Kept>& given, const KnownValues& known) const {
    ShadowOptions options;
    options.widened = true;
    options.max_loop_iterations = options_.max_loop_iterations;
    options.given = [cuts = Cuts(given, known)](const Instruction& inst) -> std::optional<ShadowValue> {
      const auto cut = cuts(inst);
      if (!cut) return std::nullopt;
      ShadowValue value = cut->All();
      value.shape = inst.shape();
      return value;
    };
    return options;
  }

  // What a pass took apart (a batch-norm-grad of which one result follows from constants alone) may be known after it
  // and not before: then neither side is rounded as declared, since a decision (tanh(4) as u8, which bf16 rounds to 1)
  // would differ although the meaning is the same.
  std::optional<ShadowValue> KnownAfter(const Instruction& inst) const {
    const auto origin = by_id_.find(inst.origin());
    if (origin != by_id_.end() && !inst.Is(Opcode::kConstant) && !known_before_->Rounded(*origin->second)) return {};
    return known_after_->Rounded(inst);
  }

  Result<std::vector<shadow::ConeArgument>*> ArgsOf(Pair& pair, const Computation* computation) {
    if (computation == pair.before) return &pair.args;
    const auto known = pair.callee_args.find(computation);
    if (known != pair.callee_args.end()) return &known->second.args;
    Pair::CalleeArgs args;
    for (const Instruction* operand : callers_.Of(*computation).operands()) {
      const auto given = pair.given_before.find(Twin(*operand));
      const Kept kept = given != pair.given_before.end() ? given->second : Kept{TRY(ValueBefore(pair, *operand)), {}};
      args.args.push_back(kept.Argument());
      args.left.push_back(kept.left);
    }
    return &(pair.callee_args[computation] = std::move(args)).args;
  }

  // Of the arguments those that `inst` is computed from, in f64. Only small ones stay so.
  static std::vector<ShadowValue> Needed(std::vector<shadow::ConeArgument>& args, const Instruction& inst,
                                         const shadow::Given& cuts) {
    constexpr int64_t kSmallBytes = 1 << 20;
    std::vector<ShadowValue> values(args.size());
    std::vector<const Instruction*> pending{&inst};
    std::unordered_set<const Instruction*> seen;
    while (!pending.empty()) {
      const Instruction& next = *pending.back();
      pending.pop_back();
      if (!seen.insert(&next).second || (&next != &inst && cuts(next))) continue;
      pending.insert(pending.end(), next.operands().begin(), next.operands().end());
      if (!next.Is(Opcode::kParameter)) continue;
      shadow::ConeArgument& argument = args[next.parameter_number()];
      const bool is_small = next.shape().IsArray() && next.shape().ByteSize() <= kSmallBytes;
      if (argument.literal != nullptr && is_small) argument = {.value = argument.All()};
      values[next.parameter_number()] = argument.All();
    }
    return values;
  }

  // `as_declared`: with bounds for what the declared types round.
  Result<ShadowValue> ValueBefore(Pair& pair, const Instruction& inst, bool as_declared = false) {
    if (auto rounded = known_before_->Rounded(inst)) return std::move(*rounded);
    ShadowOptions options = Options(pair.given_before, *known_before_);
    options.widened = !as_declared;
    const auto args = Needed(*TRY(ArgsOf(pair, &inst.computation())), inst, Cuts(pair.given_before, *known_before_));
    return EvaluateShadowOf(inst, args, options);
  }

  Result<ShadowValue> ValueAfter(Pair& pair, const Instruction& inst, bool as_declared = false) {
    ShadowOptions options = Options(pair.given_after, *known_after_);
    options.widened = !as_declared;
    const shadow::Given cuts = Cuts(pair.given_after, *known_after_);
    if (!IsOneOfSeveral(inst)) return EvaluateShadowOf(inst, Needed(pair.args, inst, cuts), options);
    // Of a kernel with several results just what this one needs.
    const shadow::Cone cone = shadow::ConeOf(inst, pair.args, nullptr, cuts);
    std::vector<ShadowValue> args(cone.args.size());
    for (const Instruction* parameter : cone.module->entry().parameters()) {
      const int64_t i = parameter->parameter_number();
      if (parameter->IsRoot() || !parameter->users().empty()) args[i] = cone.args[i].All();
    }
    return TRY(EvaluateShadow(cone.module->entry(), std::span<const ShadowValue>(args), options)).value;
  }

  Result<void> ComparePair(const Computation& before, const Computation& after, std::vector<shadow::ConeArgument> args,
                           const std::string& where) {
    Pair pair{.before = &before, .args = std::move(args)};
    const std::vector<Instruction*> order = OrderOf(before, after);
    const Lifetimes lifetimes = LifetimesOf(before, after, order);
    for (size_t i = 0; i < order.size(); ++i) {
      const Instruction& inst = *order[i];
      if (const Instruction* origin = ComparedWith(inst, before)) {
        TRY(CompareInstruction(pair, *origin, inst, where));
        if (result_.finding) return {};
      }
      for (const Instruction* done : lifetimes.after[i]) {
        Forget(pair, *done);
        const Instruction* origin = ComparedWith(*done, before);
        if (!pair.given_for_good.contains(origin)) pair.given_before.erase(origin);
      }
      for (const Instruction* done : lifetimes.before[i]) pair.given_before.erase(done);
      for (const Computation* done : lifetimes.callees[i]) pair.callee_args.erase(done);
    }
    // A root tuple: what its elements are was compared; which element is which is left.
    const Instruction& root = after.root();
    if (!root.Is(Opcode::kTuple)) return {};
    if (!RootsCompareByElement(before)) return CompareInstruction(pair, before.root(), root, where);
    return CompareElements(pair, before.root(), root, where);
  }

  // What was compared by a sample was not kept.
  bool RootsCompareByElement(const Computation& before) const {
    return before.root().Is(Opcode::kTuple) && limit_ < std::numeric_limits<int64_t>::max();
  }

  // Of two tuples, what does not stand where the value that it was compared with does.
  std::vector<int64_t> ElementsToCompare(const Instruction& origin, const Instruction& inst) {
    std::vector<int64_t> elements;
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      const Instruction& element = inst.operand(i);
      const bool is_there = OriginOf(element, origin.computation()) == &origin.operand(i);
      if (!is_there || element.Is(Opcode::kTuple)) elements.push_back(i);
    }
    return elements;
  }

  Result<void> CompareElements(Pair& pair, const Instruction& origin, const Instruction& inst,
                               const std::string& where) {
    for (const int64_t i : ElementsToCompare(origin, inst)) {
      TRY(CompareInstruction(pair, origin.operand(i), inst.operand(i), where));
      if (result_.finding) return {};
    }
    return {};
  }

  // Whose value it should have; null: it is not compared. A parameter is where it is what the root became.
  const Instruction* ComparedWith(const Instruction& inst, const Computation& before) {
    const Instruction* origin = inst.IsRoot() ? &before.root() : OriginOf(inst, before);
    if (origin == nullptr || inst.Is(Opcode::kTuple) || (inst.Is(Opcode::kParameter) && !inst.IsRoot())) return nullptr;
    return Compatible(origin->shape(), inst.shape()) && !inst.shape().IsToken() ? origin : nullptr;
  }

  const Instruction* OriginOf(const Instruction& inst, const Computation& before) {
    const auto it = by_id_.find(inst.origin());
    if (it == by_id_.end() || !callers_.RunsOnceIn(it->second->computation(), before)) return nullptr;
    return it->second;
  }

  // Operands first, and of what could be next, what is so in the input: a value is compared after those it is computed
  // from there, although another instruction here gives it beside them.
  std::vector<Instruction*> OrderOf(const Computation& before, const Computation& after) {
    std::unordered_map<const Instruction*, size_t> rank;
    for (const Instruction* inst : before.PostOrder()) rank.emplace(inst, rank.size());
    using Next = std::pair<size_t, size_t>;  // Rank of the origin, or of the operands'; position.
    const std::vector<Instruction*> given = after.PostOrder();
    std::unordered_map<const Instruction*, size_t> position, waits_for;
    std::vector<size_t> ranks(given.size());
    std::priority_queue<Next, std::vector<Next>, std::greater<>> ready;
    for (size_t i = 0; i < given.size(); ++i) {
      const Instruction& inst = *given[i];
      position[&inst] = i;
      const Instruction* origin = OriginOf(inst, before);
      const auto known = origin == nullptr ? rank.end() : rank.find(origin);
      if (known != rank.end()) ranks[i] = known->second;
      for (const Instruction* operand : inst.operands()) {
        if (known == rank.end()) ranks[i] = std::max(ranks[i], ranks[position[operand]]);
      }
      waits_for[&inst] = std::unordered_set<const Instruction*>(inst.operands().begin(), inst.operands().end()).size();
      if (inst.operands().empty()) ready.emplace(ranks[i], i);
    }
    std::vector<Instruction*> order;
    while (!ready.empty()) {
      Instruction& inst = *given[ready.top().second];
      ready.pop();
      order.push_back(&inst);
      for (const Instruction* user : inst.users()) {
        if (--waits_for[user] == 0) ready.emplace(ranks[position[user]], position[user]);
      }
    }
    return order;
  }

  bool IsLarge(const Instruction& inst) const { return StepsOfComparing(inst) > limit_; }

  // By position in the order of `after`: what nothing reads any more afterwards. An instruction that is compared reads
  // its operands then, on both sides, and hands on its kept value; another whenever one of its users is evaluated.
  //
  // On the input's side a value goes with the one that it was compared with, and what still reads it there computes it
  // again, with bounds: it may be that the other side has no such value any more. For good, until nothing reads it
  // either, directly or through what is computed again, stay those of which that cannot be had, and large ones.
  struct Lifetimes {
    explicit Lifetimes(size_t positions) : after(positions), before(positions), callees(positions) {}
    std::vector<std::vector<const Instruction*>> after, before;
    std::vector<std::vector<const Computation*>> callees;
  };
  struct Reading {
    size_t at = 0;
    bool hands_on = false;  // The kept value stays as long as anything reads it.
  };
  using Readings = std::unordered_map<const Instruction*, Reading>;

  Lifetimes LifetimesOf(const Computation& before, const Computation& after, const std::vector<Instruction*>& order) {
    const size_t end = order.size();
    const Instruction &root = after.root(), &root_before = before.root();
    Readings compared, compared_before;                    // Of an origin the last time.
    std::unordered_map<const Computation*, size_t> inner;  // The last time of any of its own.
    for (size_t i = 0; i < end; ++i) {
      const Instruction* origin = ComparedWith(*order[i], before);
      if (origin == nullptr) continue;
      compared[order[i]] = {i, !OnlyReturned(*order[i])};  // What is returned and was sampled is not kept.
      compared_before[origin] = {i, IsLarge(*order[i]) && !OnlyReturned(*origin)};
      for (const Computation* at = &origin->computation(); at != &before; at = &callers_.Of(*at).computation())
        inner[at] = i;
    }
    // Read at the end: what of the root is compared again.
    std::unordered_map<const Instruction*, size_t> read, read_before;
    if (root.Is(Opcode::kTuple) && !RootsCompareByElement(before)) {
      read[&root] = end;
      read_before[&root_before] = end;
    } else if (root.Is(Opcode::kTuple)) {
      for (const int64_t i : ElementsToCompare(root_before, root)) {
        read[&root.operand(i)] = end;
        read_before[&root_before.operand(i)] = end;
      }
    }
    Lifetimes lifetimes(end + 1);
    for (size_t i = end; i-- > 0;) {
      const Instruction& inst = *order[i];
      size_t last = std::max(i, LastRead(inst, compared, read));
      if (!compared.contains(&inst)) continue;
      if (IsOneOfSeveral(inst)) last = std::max(last, LastOf(inst.operand(0).users(), compared));
      lifetimes.after[last].push_back(&inst);
    }
    std::unordered_map<const Instruction*, size_t> ends;  // Of the input's.
    std::vector<const Computation*> inside{&before};      // Callers first.
    for (size_t i = 0; i < inside.size(); ++i) {
      if (const auto it = inner.find(inside[i]); it != inner.end()) lifetimes.callees[it->second].push_back(inside[i]);
      const std::vector<Instruction*> instructions = inside[i]->PostOrder();
      for (const Instruction* inst : instructions | std::views::reverse) {
        if (inst->IsRoot() && inside[i] != &before) {
          size_t& last = read_before[inst];
          last = std::max(last, read_before[&callers_.Of(*inside[i])]);
        }
        const size_t last = LastRead(*inst, compared_before, read_before, &inner);
        size_t& end_of_twin = ends[Twin(*inst)];
        end_of_twin = std::max(end_of_twin, last);
        for (const Computation* callee : CalledComputations(*inst)) {
          if (inner.contains(callee)) inside.push_back(callee);
        }
      }
    }
    for (const auto& [inst, last] : ends) {
      const auto it = compared_before.find(inst);
      if (it != compared_before.end()) lifetimes.before[std::max(last, it->second.at)].push_back(inst);
    }
    return lifetimes;
  }

  static size_t LastOf(Users results, const Readings& compared) {
    size_t last = 0;
    for (const Instruction* result : results) {
      if (const auto at = compared.find(result); at != compared.end()) last = std::max(last, at->second.at);
    }
    return last;
  }

  // Puts it into `read`, which has that of its users and what is read besides. `inner`: what is called reads its
  // arguments when what is inside is compared.
  static size_t LastRead(const Instruction& inst, const Readings& compared,
                         std::unordered_map<const Instruction*, size_t>& read,
                         const std::unordered_map<const Computation*, size_t>* inner = nullptr) {
    size_t last = 0;
    if (const auto it = read.find(&inst); it != read.end()) last = it->second;
    for (const Instruction* user : inst.users()) {
      const auto at = compared.find(user);
      const auto through = read.find(user);
      if (at != compared.end()) last = std::max(last, at->second.at);
      if ((at == compared.end() || !at->second.hands_on) && through != read.end())
        last = std::max(last, through->second);
      if (inner == nullptr) continue;
      for (const Computation* callee : CalledComputations(*user)) {
        if (const auto it = inner->find(callee); it != inner->end()) last = std::max(last, it->second);
      }
    }
    return read[&inst] = last;
  }

  struct Compared {
    ShadowValue before, after;
    Comparison comparison;
    int64_t by_bits = 0;
  };

  Compared Compare(ShadowValue before, ShadowValue after) const {
    Compared compared{.before = std::move(before), .after = std::move(after), .comparison = {}};
    compared.comparison = CompareWithBounds(Joined(compared.before, compared.after, &compared.by_bits),
                                            AsLiteral(compared.after), options_.compare);
    return compared;
  }

  // Passes may know what the input's constants alone do not tell: a loop makes it, or an update covers what was there.
  // It is folded as the declared types round it: right within bounds for these, and it goes on as it is on both sides.
  Result<std::optional<Compared>> CompareFolded(Pair& pair, const Instruction& origin, const Instruction& inst) {
    auto folded = known_after_->Value(inst);
    if (!folded || known_before_->Value(origin) || HasComplex(inst.shape())) return std::nullopt;
    auto before = ValueBefore(pair, origin, true);
    if (!before) return std::nullopt;
    Compared compared = Compare(std::move(*before), *folded);
    if (compared.comparison.bad() > 0) return std::nullopt;
    compared.before = std::move(*folded);
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
        const Instruction* origin = comparer.OriginOf(*inside, *pair.before);
        if (origin == nullptr || origin == &compared_with || !Compatible(origin->shape(), inside->shape())) continue;
        if (comparer.known_before_->Value(*origin) || pair.given_before.contains(origin)) continue;
        if (!comparer.known_after_->Rounded(*inside)) continue;
        auto folded = comparer.CompareFolded(pair, *origin, *inside);
        if (!folded || !*folded) continue;
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

  // Does `origin` follow from what passes take apart? What they fold inside it stands for nothing in the input.
  bool TookApart(const Pair& pair, const Instruction& origin) const {
    std::vector<const Instruction*> pending{&origin};
    std::unordered_set<const Instruction*> seen;
    while (!pending.empty()) {
      const Instruction& next = *pending.back();
      pending.pop_back();
      if (!seen.insert(&next).second || (&next != &origin && pair.given_before.contains(Twin(next)))) continue;
      if (next.Is(Opcode::kBatchNormTraining) || next.Is(Opcode::kBatchNormInference) ||
          next.Is(Opcode::kBatchNormGrad))
        return true;
      pending.insert(pending.end(), next.operands().begin(), next.operands().end());
      for (const Computation* callee : CalledComputations(next)) pending.push_back(&callee->root());
    }
    return false;
  }

  // Within bounds for the declared types on both sides, and both go on from the same. Unsupported where there are none.
  Result<std::optional<Compared>> CompareAsDeclared(Pair& pair, const Instruction& origin, const Instruction& inst) {
    ShadowValue before = TRY(ValueBefore(pair, origin, true));
    Compared compared = Compare(std::move(before), TRY(ValueAfter(pair, inst, true)));
    if (compared.comparison.bad() > 0) return std::nullopt;
    compared.before = compared.after;
    pair.given_for_good.insert(&origin);
    return compared;
  }

  Result<void> NotCompared(const Instruction& inst, const Error& error) {
    if (error.exit != ExitCode::kUnsupported) FAIL(error);
    result_.notes.push_back(
        Str(inst.Is(Opcode::kWhile) ? "loop '" : "'", inst.name(), "' not compared: ", error.message()));
    return {};
  }

  Result<void> CompareInstruction(Pair& pair, const Instruction& origin, const Instruction& inst,
                                  const std::string& where) {
    const bool loops = inst.Is(Opcode::kWhile) && origin.Is(Opcode::kWhile);
    if (loops) return CompareLoops(pair, origin, inst, where);
    const FoldedInside folded_inside(*this, pair, origin, inst);
    if (limit_ < std::numeric_limits<int64_t>::max() && TRY(CompareSampled(pair, origin, inst, where))) return {};
    auto before = ValueBefore(pair, origin);
    const auto rounded = KnownAfter(inst);
    const auto evaluate = [&]() -> Result<ShadowValue> {
      if (rounded) return *rounded;
      return ValueAfter(pair, inst);
    };
    auto after = before ? evaluate() : std::unexpected(before.error());
    if (!after) return NotCompared(inst, after.error());
    Compared compared = Compare(std::move(*before), std::move(*after));
    if (compared.comparison.bad() > 0 && inst.Is(Opcode::kTuple) && origin.Is(Opcode::kTuple))
      return CompareElements(pair, origin, inst, where);
    if (compared.comparison.bad() > 0) {
      auto folded = TRY(CompareFolded(pair, origin, inst));
      if (!folded && TookApart(pair, origin)) {
        auto declared = CompareAsDeclared(pair, origin, inst);
        if (!declared) return NotCompared(inst, declared.error());
        folded = std::move(*declared);
      }
      if (folded) compared = std::move(*folded);
    }
    Comparison& comparison = compared.comparison;
    result_.by_bits += compared.by_bits;
    ++result_.instructions;
    result_.elements += comparison.elements();
    Note(inst, comparison);
    if (comparison.bad() > 0) {
      Found(origin, inst, where, std::move(comparison));
      return {};
    }
    const bool is_open = compared.by_bits > 0 || comparison.Count(ElementClass::kUndetermined) > 0;
    if (is_open || IsLarge(inst)) pair.given_for_good.insert(&origin);
    // What passes folded was rounded by that, and what they fold of it begins there.
    if (rounded && !known_before_->Value(origin)) compared.before = compared.after;
    Keep(pair, origin, inst, {.value = KeptOf(std::move(compared.before), compared.after), .left = nullptr});
    return {};
  }

  static const Instruction* InsideOf(const Instruction& inst) {
    return IsOneOfSeveral(inst) ? InsideKernel(inst) : nullptr;
  }

  // Where a kernel has several results, one may be computed from another, which in the input is kept, too.
  static void Keep(Pair& pair, const Instruction& origin, const Instruction& inst, Kept kept) {
    if (const Instruction* inside = InsideOf(inst)) pair.given_after[inside] = kept;
    pair.given_before[&origin] = pair.given_after[&inst] = std::move(kept);
  }

  static void Forget(Pair& pair, const Instruction& inst) {
    if (const Instruction* inside = InsideOf(inst)) pair.given_after.erase(inside);
    pair.given_after.erase(&inst);
  }

  // Bodies and conditions on the same states: of the first, the last and some seeded iterations of the input's loop;
  // and conditions on the state it ends with, on which the other loop has to end too.
  Result<void> CompareLoops(Pair& pair, const Instruction& origin, const Instruction& inst, const std::string& where) {
    auto start = ValueBefore(pair, origin.operand(0));
    auto run = start ? loop_runs_.Noted(origin, *start) : std::nullopt;
    if (!run) {
      const auto args =
          Needed(*TRY(ArgsOf(pair, &origin.computation())), origin, Cuts(pair.given_before, *known_before_));
      auto fresh = loop_runs_.Run(origin, args, Options(pair.given_before, *known_before_));
      if (!fresh) return NotCompared(inst, fresh.error());
      run = std::move(*fresh);
    }
    // The states that both loops start from must agree too.
    const ShadowValue start_before = TRY(std::move(start));
    const ShadowValue start_after = TRY(ValueAfter(pair, inst.operand(0)));
    Comparison starts = CompareWithBounds(Joined(start_before, start_after, &result_.by_bits), AsLiteral(start_after),
                                          options_.compare);
    if (starts.bad() > 0) {
      Found(origin.operand(0), inst.operand(0), where, std::move(starts));
      return {};
    }
    const WhileAttrs &before = origin.attrs<WhileAttrs>(), &after = inst.attrs<WhileAttrs>();
    for (const LoopState& state : run->states) {
      const std::string place =
          Str(where.empty() ? "" : where + ", ", "iteration ", state.iteration, " of '", inst.name(), "'");
      TRY(ComparePair(*before.condition, *after.condition, {{.value = state.value}}, place));
      if (!result_.finding && !state.ends) TRY(ComparePair(*before.body, *after.body, {{.value = state.value}}, place));
      if (result_.finding) return {};
    }
    Keep(pair, origin, inst, {.value = KeptOf(run->result, run->result), .left = nullptr});
    return {};
  }

  const Module& input_;
  const Module& optimized_;
  const WidenedOptions& options_;
  std::unordered_map<int, const Instruction*> by_id_;
  Callers callers_;                         // In the input.
  std::unordered_set<uint64_t> constants_;  // Of the input, and what follows from them without a rounding.
  std::optional<Twins> twins_;              // Where values are left by runs, which round them.
  const int64_t limit_;                     // Of one instruction.
  LoopRuns loop_runs_;                      // Of the input.
  std::optional<KnownValues> known_before_, known_after_;
  const Instruction *first_undetermined_ = nullptr, *first_vacuous_ = nullptr;
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
