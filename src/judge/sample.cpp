#include "judge/sample.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/text.h"
#include "judge/loop_states.h"
#include "judge/sample_cones.h"
#include "judge/slice_comparison.h"
#include "judge/value_numbers.h"

namespace hlo {
namespace {

using shadow::Cone;

// A result of the entry, or a kept value with a changed operation or operands.
struct Change {
  Place before, after;
  int number = -1;  // Value number of `before`, or -1 if unknown.
};

const std::vector<int>* ElementsOfRoot(const ValueNumbers& numbers, const Module& module) {
  return numbers.ElementsOf(numbers.Of(module.entry().root()));
}

class Comparer {
 public:
  Comparer(const Module& before, const Module& after, std::span<const Literal> args, OriginsOf origins,
           Preserves promise, const SampleOptions& options)
      : before_(before),
        after_(after),
        options_(options),
        promise_(promise),
        origins_(before, origins),
        cones_(before, after, args, options, numbers_),
        counterparts_(cones_.loops_before(), cones_.loops_after(), origins_) {}

  Result<SampleResult> Compare() {
    // Without an id in the input, an instruction is identified by a negative number made from its own id, which is
    // equal in both modules.
    const auto identity = [](int input_id, const Instruction& inst) {
      return input_id >= 0 ? input_id : -2 - inst.id();
    };
    numbers_.Add(before_, {.choose = nullptr,
                           .identity = [&](const Instruction& inst) { return identity(origins_.InputId(inst), inst); },
                           .counterpart = nullptr});
    cones_.GiveLeft(before_, origins_);
    numbers_.Add(after_, {.choose = [&](const Instruction& inst, int number) { return Choose(inst, number); },
                          .identity = [&](const Instruction& inst) { return identity(inst.origin(), inst); },
                          .counterpart = [&](const Instruction& loop,
                                             int64_t element) { return counterparts_.Of(loop, element); }});
    CompareResults();
    result_.changed = std::ssize(changes_);
    int64_t left = options_.work_limit, reserve = options_.reserve;
    for (size_t i = 0; i < changes_.size(); ++i) {
      const int64_t share = std::max<int64_t>(1, left / static_cast<int64_t>(changes_.size() - i));
      const int64_t most = std::max({kShares * share, left / kShares, reserve});
      const int64_t spent = TRY(CompareOnStates(changes_[i], share, most));
      reserve = std::max<int64_t>(0, reserve - std::max<int64_t>(0, spent - kShares * share));
      left = std::max<int64_t>(0, left - spent);
      result_.steps += spent;
      if (result_.verdict == Verdict::kMismatch) return std::move(result_);
    }
    if (kFewestCompared * result_.compared() < result_.changed) {
      result_.verdict = Verdict::kInconclusive;
      result_.reason = std::move(why_not_);
    }
    return std::move(result_);
  }

 private:
  static constexpr int64_t kShares = 8;
  // At least one in this many changed values must be compared.
  static constexpr int64_t kFewestCompared = 4;

  // ---- Changed values ----

  int Choose(const Instruction& inst, int number) {
    if (!inst.shape().IsArray() || inst.Is(Opcode::kParameter)) return number;
    const Instruction* kept = nullptr;
    for (const Instruction* origin : origins_.Of(inst)) {
      const int other = numbers_.Of(*origin);
      if (other == ValueNumbers::kNone || !Compatible(origin->shape(), inst.shape())) continue;
      if (other == number) {
        ++result_.unchanged;
        return number;
      }
      if (kept == nullptr) kept = origin;
    }
    if (kept == nullptr) return number;
    if (numbers_.StateOf(number) != nullptr) return number;
    changes_.push_back({{kept}, {&inst}, numbers_.Of(*kept)});
    return changes_.back().number;
  }

  void CompareResults() {
    const Instruction &x = before_.entry().root(), &y = after_.entry().root();
    const int of_x = numbers_.Of(x), of_y = numbers_.Of(y);
    if (of_x == of_y) return;
    if (x.shape().IsArray()) return changes_.push_back({{&x}, {&y}, of_x});
    const auto element_of = [](const Instruction& root, int64_t i) {
      return root.Is(Opcode::kTuple) ? Place{&root.operand(i)} : Place{&root, i};
    };
    const std::vector<int>*elements_x = ElementsOfRoot(numbers_, before_),
          *elements_y = ElementsOfRoot(numbers_, after_);
    for (int64_t i = 0; i < std::ssize(x.shape().elements()); ++i) {
      const bool is_known = elements_x != nullptr && elements_y != nullptr;
      if (is_known && (*elements_x)[i] == (*elements_y)[i]) continue;
      changes_.push_back({element_of(x, i), element_of(y, i), is_known ? (*elements_x)[i] : -1});
    }
  }

  // ---- Loops ----

  Result<int64_t> CompareOnStates(const Change& change, int64_t limit, int64_t most) {
    cones_.SetState({});
    iteration_ = -1;
    const Instruction* const loop = cones_.LoopAround(*change.before.inst);
    if (loop == nullptr) return CompareChange(change, limit, most);
    TRY(FindStates());
    const auto found = states_.find(loop);
    const bool of_condition = &change.before.inst->computation() == loop->attrs<WhileAttrs>().condition;
    std::vector<LoopStates::State> states;
    if (found != states_.end()) states = found->second.Of(of_condition);
    if (states.empty()) {
      SetWhyNot(Str("'", change.after.inst->name(), "' is in a loop whose states are not known"));
      return 0;
    }
    const std::vector<int>& numbers = *numbers_.StateOf(*loop);
    const SampleResult until_now = result_;
    int64_t spent = 0;
    for (const LoopStates::State& state : states) {
      SampleCones::State values;
      for (size_t i = 0; i < numbers.size(); ++i)
        values[numbers[i]] = std::make_shared<const Literal>(state.value.elements()[i]);
      cones_.SetState(std::move(values));
      iteration_ = state.iteration;
      const int64_t compared = result_.compared();
      spent += TRY(CompareChange(change, limit / std::ssize(states), most / std::ssize(states)));
      if (result_.verdict == Verdict::kMismatch || result_.compared() == compared) return spent;
      if (&state == &states.back()) break;
      const int64_t elements = result_.elements;
      result_ = until_now;
      result_.elements = elements;
    }
    return spent;
  }

  // Interprets the loops in the entry of the module before, within a part of the work limit, to record their states.
  Status FindStates() {
    if (found_states_) return {};
    found_states_ = true;
    std::vector<const Instruction*> loops;
    for (const Instruction* inst : before_.entry().PostOrder()) {
      if (inst->Is(Opcode::kWhile) && numbers_.StateOf(*inst) != nullptr) loops.push_back(inst);
    }
    for (const Instruction* loop : loops) {
      const auto cone = TRY(cones_.Of({loop}, {}));
      if (!cone) continue;
      const Computation& body = *loop->attrs<WhileAttrs>().body;
      // StepsOf counts the work of computing bounds. The interpreter takes about a fifth of it.
      constexpr double kFaster = 5;
      const double each = (static_cast<double>(shadow::StepsOf(body)) + StepsOfLoops(body)) / kFaster;
      const double room = static_cast<double>(options_.work_limit) / kShares / static_cast<double>(loops.size());
      const auto iterations = static_cast<int64_t>(std::max(1.0, room / std::max(1.0, each)));
      InterpretOptions observing = options_.interpret;
      if (observing.max_loop_iterations == 0 || observing.max_loop_iterations > iterations)
        observing.max_loop_iterations = iterations;
      const Instruction& copy = cone->module->entry().root();
      observing.on_iteration = [&](const Instruction& at, int64_t iteration, const Literal& state) {
        states_.try_emplace(&at == &copy ? loop : &at, options_.seed).first->second.Add(iteration, state);
      };
      const auto ran = Interpret(*cone->module, ArgumentsOf(*cone), observing);
      if (!ran && ran.error().exit == ExitCode::kInterrupted) FAIL(ran.error());
      if (ran) states_.try_emplace(loop, options_.seed).first->second.End(*ran);
    }
    return {};
  }

  // ---- Cones and slices ----

  static std::set<int> KeysOf(const Cone& cone) {
    std::set<int> keys;
    for (const Instruction* parameter : cone.module->entry().parameters()) {
      if (parameter->IsRoot() || !parameter->users().empty()) keys.insert(cone.args[parameter->parameter_number()].key);
    }
    return keys;
  }

  // Returns the steps that the slices took. A slice reads values that the run left in memory. If the results of the two
  // slices differ, the slices compute the values that only one of them read, and are compared again. If both read the
  // same values, one of them may also have computed such a value by itself, as a fusion does. So the slices also
  // compute these, if that takes at most the whole work limit or kToConfirm steps.
  Result<int64_t> CompareChange(const Change& change, int64_t limit, int64_t most) {
    constexpr int kMostRounds = 12;
    // About a tenth of a second, which an accusation is worth even with a smaller work limit.
    constexpr int64_t kToConfirm = 20'000'000;
    const int64_t to_confirm = std::max(options_.work_limit, kToConfirm);
    int64_t spent = 0;
    Cut cut;
    if (change.number >= 0) cut.computed.insert(change.number);
    std::optional<Comparison> difference;
    bool began_alike = false;  // Whether both slices read the same values in memory.
    for (int round = 0; round < kMostRounds; ++round) {
      cones_.DropGiven();
      auto before = TRY(cones_.Of(change.before, cut)), after = TRY(cones_.Of(change.after, cut));
      if (!before || !after) {
        SetWhyNot(Str("'", change.after.inst->name(), "' depends on values that a slice cannot compute"));
        return spent;
      }
      const std::set<int> keys_before = KeysOf(*before), keys_after = KeysOf(*after);
      const auto slices = TRY(shadow::SlicesOfBoth(*before, *after, limit, most, options_.seed));
      if (!slices) {
        result_.beyond_work = true;
        SetWhyNot(Str("computing '", change.after.inst->name(), "' takes more than ", std::max(limit, most),
                      " steps, the share of one value in --work_limit"));
        return spent;
      }
      spent += slices->before.steps + slices->after.steps;
      SliceOutcome outcome =
          TRY(CompareSlices(*slices, *change.after.inst, ShapeOf(change.after), before_, promise_, options_));
      if (outcome.kind != SliceOutcome::Kind::kDiffers) {
        Count(std::move(outcome), std::ssize(slices->points));
        return spent;
      }
      difference = std::move(outcome.comparison);
      if (cut.all) break;
      began_alike = !TakeLeft(keys_before, keys_after, std::ranges::set_symmetric_difference, cut);
      if (!began_alike) continue;
      Cut deeper = cut;
      const bool reads_memory = TakeLeft(keys_before, keys_after, std::ranges::set_intersection, deeper);
      most = std::max(most, to_confirm);
      if (reads_memory && IsWorth(change, deeper, most)) {
        cut = std::move(deeper);
        continue;
      }
      // The last comparison, if the work limit allows it, computes both slices from the arguments.
      cut.all = true;
      if (!cones_.HasLeft() || !IsWorth(change, {.computed = {}, .all = true}, most)) break;
    }
    if (!began_alike) {
      SetWhyNot(Str("'", change.after.inst->name(), "' depends on other values than before the passes"));
      return spent;
    }
    Found(change, std::move(*difference));
    return spent;
  }

  // Adds the values in memory among the keys that `choose` takes from both sets. Returns whether there are any.
  bool TakeLeft(const std::set<int>& before, const std::set<int>& after, const auto& choose, Cut& cut) const {
    std::vector<int> keys;
    choose(before, after, std::back_inserter(keys), {}, {}, {});
    std::erase_if(keys, [&](int key) { return !cones_.IsLeft(key); });
    cut.computed.insert(keys.begin(), keys.end());
    return !keys.empty();
  }

  // Whether each of both slices takes at most `most` steps.
  bool IsWorth(const Change& change, const Cut& cut, int64_t most) {
    return std::ranges::all_of(std::array{&change.before, &change.after}, [&](const Place* place) {
      const auto cone = cones_.Of(*place, cut);
      return cone && *cone && (*cone)->steps <= most;
    });
  }

  void Count(SliceOutcome outcome, int64_t elements) {
    using Kind = SliceOutcome::Kind;
    if (outcome.kind == Kind::kOpen) return SetWhyNot(std::move(outcome.why_open));
    result_.by_bits += outcome.kind == Kind::kEqualBits;
    result_.by_residues += outcome.kind == Kind::kEqualResidues;
    result_.in_f64 += outcome.kind == Kind::kEqualInF64;
    result_.elements += elements;
  }

  void SetWhyNot(std::string why) {
    if (why_not_.empty()) why_not_ = std::move(why);
  }

  void Found(const Change& change, Comparison comparison) {
    result_.verdict = Verdict::kMismatch;
    result_.reason =
        Str("'", change.after.inst->name(), "' differs from '", change.before.inst->name(), "' before the passes in ",
            comparison.bad(), " of ", Counted(comparison.checked(), "compared element"));
    result_.finding = BitsFinding{.after = change.after.inst,
                                  .before = change.before.inst,
                                  .loop = iteration_ < 0 ? ""
                                                         : Str("iteration ", iteration_, " of '",
                                                               cones_.LoopAround(*change.after.inst)->name(), "'"),
                                  .comparison = std::move(comparison)};
  }

  const Module& before_;
  const Module& after_;
  const SampleOptions& options_;
  const Preserves promise_;
  const Origins origins_;
  ValueNumbers numbers_;
  SampleCones cones_;
  const Counterparts counterparts_;
  std::vector<Change> changes_;
  int64_t iteration_ = -1;
  bool found_states_ = false;
  std::unordered_map<const Instruction*, LoopStates> states_;  // Key: a loop of the module before.
  std::string why_not_;
  SampleResult result_;
};

}  // namespace

Result<SampleResult> CompareBySample(const Module& before, const Module& after, std::span<const Literal> args,
                                     OriginsOf origins, Preserves promise, const SampleOptions& options) {
  return Comparer(before, after, args, origins, promise, options).Compare();
}

}  // namespace hlo
