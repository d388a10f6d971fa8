#include "judge/sample.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/text.h"
#include "interp/nan_bits.h"
#include "ir/analysis/trip_count.h"
#include "ir/module.h"
#include "judge/bounds/slice.h"
#include "judge/compare/joined.h"
#include "judge/compare/made_constants.h"
#include "judge/compare/same_operation.h"
#include "judge/loop_states.h"
#include "judge/residues/residues.h"
#include "judge/value_numbers.h"

namespace hlo {
namespace {

using shadow::Cone;
using shadow::ConeArgument;
using shadow::SlicesOfTwo;

struct Place {
  const Instruction* inst = nullptr;
  int64_t element = -1;  // -1: the instruction itself.
};

// A result of the entry, or a kept value with a changed operation or operands.
struct Change {
  Place before, after;
  int number = -1;  // Value number of `before`, or -1 if unknown.
};

// ---- Values that are given -----------------------------------------------------------------------------------------

const std::vector<int>* ElementsOfRoot(const ValueNumbers& numbers, const Module& module) {
  return numbers.ElementsOf(numbers.Of(module.entry().root()));
}

bool CannotBeRepeated(const Instruction& inst) { return !IsRepeatable(inst) || !CanInterpret(inst); }

// Steps of all iterations of the loops in a cone. Cone::steps counts only one iteration of each.
double StepsOfLoops(const Computation& computation) {
  constexpr double kIterations = 1000;  // Assumed if the number is unknown.
  double steps = 0;
  for (const Instruction* inst : computation.instructions()) {
    double times = 1;
    if (inst->Is(Opcode::kWhile)) {
      const auto trips = TripCount(*inst);
      times = trips ? static_cast<double>(*trips) : kIterations;
    }
    for (const Computation* called : CalledComputations(*inst)) {
      if (!inst->Is(Opcode::kWhile) && !inst->Is(Opcode::kConditional) && !inst->Is(Opcode::kCall)) continue;
      steps += times * (static_cast<double>(shadow::StepsOf(*called)) + StepsOfLoops(*called));
    }
  }
  return steps;
}

// ---- The comparison ------------------------------------------------------------------------------------------------

class Comparer {
 public:
  Comparer(const Module& before, const Module& after, std::span<const Literal> args, OriginsOf origins,
           Preserves promise, const SampleOptions& options)
      : before_(before),
        after_(after),
        args_(args),
        options_(options),
        promise_(promise),
        origins_(before, origins),
        loops_before_(LoopsOf(before)),
        loops_after_(LoopsOf(after)),
        counterparts_(loops_before_, loops_after_, origins_) {}

  Result<SampleResult> Compare() {
    // Without an id in the input, an instruction is identified by a negative number made from its own id, which is
    // equal in both modules.
    const auto identity = [](int input_id, const Instruction& inst) {
      return input_id >= 0 ? input_id : -2 - inst.id();
    };
    numbers_.Add(before_, {.choose = nullptr,
                           .identity = [&](const Instruction& inst) { return identity(origins_.InputId(inst), inst); },
                           .counterpart = nullptr});
    FindLeft();
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
  static constexpr int64_t kMostStepsOfStart = 100'000'000;

  // Numbers of values in memory that slices compute again. `all` means all of them.
  struct Cut {
    std::set<int> computed;
    bool all = false;
  };

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

  // ---- Given values ----

  void FindLeft() {
    for (const Computation* computation : before_.PostOrder()) {
      for (const Instruction* inst : computation->instructions()) {
        const int number = numbers_.Of(*inst);
        const int id = origins_.InputId(*inst);
        if (number == ValueNumbers::kNone || !inst->shape().IsArray() || inst->Is(Opcode::kConstant)) continue;
        if (options_.left.has && options_.left.has(id)) left_.try_emplace(number, id);
      }
    }
  }

  Result<std::shared_ptr<const Literal>> Given(const Instruction& inst, int number, const Cut& cut) {
    if (inst.Is(Opcode::kGetTupleElement) && inst.operand(0).Is(Opcode::kParameter)) {
      if (const Instruction* loop = LoopAround(inst)) return ElementOf(*loop, inst.tuple_index(), number);
    }
    const auto left = left_.find(number);
    if (left == left_.end() || cut.all || cut.computed.contains(number)) return nullptr;
    return options_.left.take(left->second);
  }

  const Instruction* LoopAround(const Instruction& inst) const {
    for (const LoopOfComputation* loops : {&loops_before_, &loops_after_}) {
      const auto loop = loops->find(&inst.computation());
      if (loop != loops->end()) return loop->second;
    }
    return nullptr;
  }

  // An element's value in the judged state, or its initial value if the body does not change it.
  Result<std::shared_ptr<const Literal>> ElementOf(const Instruction& loop, int64_t element, int number) {
    if (const auto now = state_.find(number); now != state_.end()) return now->second;
    const auto known = starts_.find(number);
    if (known != starts_.end()) return known->second;
    starts_[number] = nullptr;
    const std::vector<int>* state = numbers_.StateOf(loop);
    if (state == nullptr || (*state)[element] != number || numbers_.StateOf(number) != nullptr) return nullptr;
    const Instruction& operand = loop.operand(0);
    const Place place = operand.Is(Opcode::kTuple) ? Place{&operand.operand(element)} : Place{&operand, element};
    const auto cone = TRY(ConeOfPlace(place, {}));
    if (!cone || cone->steps > kMostStepsOfStart) return nullptr;
    if (auto value = Interpret(*cone->module, ArgumentsOf(*cone), options_.interpret))
      starts_[number] = std::make_shared<const Literal>(std::move(*value));
    return starts_[number];
  }

  static std::vector<Literal> ArgumentsOf(const Cone& cone) {
    std::vector<Literal> args;
    for (const ConeArgument& argument : cone.args)
      args.push_back(argument.literal != nullptr ? *argument.literal : Literal());
    return args;
  }

  // ---- Loops ----

  Result<int64_t> CompareOnStates(const Change& change, int64_t limit, int64_t most) {
    state_.clear();
    iteration_ = -1;
    const Instruction* const loop = LoopAround(*change.before.inst);
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
      for (size_t i = 0; i < numbers.size(); ++i)
        state_[numbers[i]] = std::make_shared<const Literal>(state.value.elements()[i]);
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
      const auto cone = TRY(ConeOfPlace({loop}, {}));
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

  // Returns nullopt if an argument of a loop's body is missing, or a value has a dynamic size or cannot be computed
  // again.
  Result<std::optional<Cone>> ConeOfPlace(const Place& place, const Cut& cut) {
    const Computation& computation = place.inst->computation();
    std::vector<ConeArgument> args(computation.parameters().size());
    const bool is_entry = computation.IsEntry();
    for (size_t i = 0; is_entry && i < args.size(); ++i)
      args[i] = {.literal = &args_[i], .value = {}, .key = numbers_.Of(*computation.parameters()[i])};
    Status status;
    const shadow::Given given = [&](const Instruction& inst) -> std::optional<ConeArgument> {
      const int number = numbers_.Of(inst);
      if (number == ValueNumbers::kNone || !inst.shape().IsArray() || inst.Is(Opcode::kParameter)) return std::nullopt;
      auto value = Given(inst, number, cut);
      if (!value) status = std::unexpected(value.error());
      if (!value || *value == nullptr || !Compatible((*value)->shape(), inst.shape())) return std::nullopt;
      held_.push_back(*value);
      return ConeArgument{.literal = value->get(), .value = {}, .key = number};
    };
    Cone cone = shadow::ConeOf(*place.inst, args, nullptr, given);
    TRY(std::move(status));
    if (place.element >= 0) {
      Computation& entry = cone.module->entry();
      Instruction& root = entry.root();
      entry.SetRoot(root.Is(Opcode::kTuple) ? root.operand(place.element)
                                            : entry.AddGetTupleElement(root, place.element));
      if (root.IsDead()) entry.RemoveDeadTree(root);
    }
    for (const Instruction* inst : cone.module->entry().PostOrder()) {
      if (CannotBeRepeated(*inst) || HasDynamicSize(*inst)) return std::nullopt;
      const bool is_read = inst->Is(Opcode::kParameter) && (inst->IsRoot() || !inst->users().empty());
      if (is_read && cone.args[inst->parameter_number()].literal == nullptr) return std::nullopt;
    }
    const double steps = static_cast<double>(cone.steps) + StepsOfLoops(cone.module->entry());
    cone.steps = static_cast<int64_t>(std::min(steps, 0x1p60));
    return cone;
  }

  static std::set<int> KeysOf(const Cone& cone) {
    std::set<int> keys;
    for (const Instruction* parameter : cone.module->entry().parameters()) {
      if (parameter->IsRoot() || !parameter->users().empty()) keys.insert(cone.args[parameter->parameter_number()].key);
    }
    return keys;
  }

  enum class Outcome : uint8_t { kEqual, kDiffers, kOpen };

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
      held_.clear();
      auto before = TRY(ConeOfPlace(change.before, cut)), after = TRY(ConeOfPlace(change.after, cut));
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
      Comparison comparison;
      const Outcome outcome = TRY(CompareSlices(change, *slices, &comparison));
      if (outcome != Outcome::kDiffers) return spent;
      difference = std::move(comparison);
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
      if (left_.empty() || !IsWorth(change, {.computed = {}, .all = true}, most)) break;
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
    std::erase_if(keys, [&](int key) { return !left_.contains(key); });
    cut.computed.insert(keys.begin(), keys.end());
    return !keys.empty();
  }

  // Whether each of both slices takes at most `most` steps.
  bool IsWorth(const Change& change, const Cut& cut, int64_t most) {
    return std::ranges::all_of(std::array{&change.before, &change.after}, [&](const Place* place) {
      const auto cone = ConeOfPlace(*place, cut);
      return cone && *cone && (*cone)->steps <= most;
    });
  }

  void SetWhyNot(std::string why) {
    if (why_not_.empty()) why_not_ = std::move(why);
  }

  void Found(const Change& change, Comparison comparison) {
    result_.verdict = Verdict::kMismatch;
    result_.reason =
        Str("'", change.after.inst->name(), "' differs from '", change.before.inst->name(), "' before the passes in ",
            comparison.bad(), " of ", Counted(comparison.checked(), "compared element"));
    result_.finding = BitsFinding{
        .after = change.after.inst,
        .before = change.before.inst,
        .loop =
            iteration_ < 0 ? "" : Str("iteration ", iteration_, " of '", LoopAround(*change.after.inst)->name(), "'"),
        .comparison = std::move(comparison)};
  }

  // ---- Two slices ----

  Result<Outcome> CompareSlices(const Change& change, const SlicesOfTwo& slices, Comparison* comparison) {
    const int64_t elements = std::ssize(slices.points);
    const auto expected = InterpretSide(slices.before, slices.args), actual = InterpretSide(slices.after, slices.args);
    for (const auto* side : {&expected, &actual}) {
      if (*side) continue;
      if (side->error().exit == ExitCode::kInterrupted || side->error().exit == ExitCode::kInternal)
        FAIL(side->error());
      SetWhyNot(Str("'", change.after.inst->name(), "' cannot be computed: ", side->error().message()));
      return Outcome::kOpen;
    }
    const std::vector<int64_t> differ = TRY(DifferentOf(slices, *expected, *actual));
    if (differ.empty()) {
      ++result_.by_bits;
      result_.elements += elements;
      return Outcome::kEqual;
    }
    if (promise_ == Preserves::kExact) {
      *comparison = Shown(change, slices, *expected, *actual, differ);
      return Outcome::kDiffers;
    }
    if (slices.before.wanted.empty() && slices.after.wanted.empty()) {
      BitsResult residues = TRY(CompareByResidues(*slices.before.module, *slices.after.module, slices.args,
                                                  {.interpret = options_.interpret, .compare = options_.compare}));
      if (residues.verdict == Verdict::kMatch) {
        ++result_.by_residues;
        result_.elements += elements;
        return Outcome::kEqual;
      }
      if (residues.verdict == Verdict::kMismatch && promise_ == Preserves::kReassociates) {
        *comparison = Shown(change, slices, *expected, *actual, differ);
        return Outcome::kDiffers;
      }
    }
    return CompareInF64(change, slices, comparison);
  }

  Result<Literal> InterpretSide(const SlicesOfTwo::Side& side, std::span<const Literal> args,
                                NanBits nan_bits = NanBits::kOwn) const {
    InterpretOptions options = options_.interpret;
    options.nan_bits = nan_bits;
    return shadow::InterpretSlice(*side.module, side.wanted, args, options);
  }

  // The differing elements, except those that depend on the bits of NaNs.
  Result<std::vector<int64_t>> DifferentOf(const SlicesOfTwo& slices, const Literal& expected, const Literal& actual) {
    std::vector<int64_t> differ = DifferentElements(expected, actual);
    if (differ.empty() || (!ReadsNanBits(*slices.before.module) && !ReadsNanBits(*slices.after.module))) return differ;
    for (const NanBits bits : {NanBits::kPositive, NanBits::kNegative}) {
      for (const bool of_after : {false, true}) {
        const Literal other = TRY(InterpretSide(of_after ? slices.after : slices.before, slices.args, bits));
        const std::vector<int64_t> depend = DifferentElements(of_after ? actual : expected, other);
        std::erase_if(differ, [&](int64_t element) { return std::ranges::binary_search(depend, element); });
      }
    }
    return differ;
  }

  Comparison Shown(const Change& change, const SlicesOfTwo& slices, const Literal& expected, const Literal& actual,
                   const std::vector<int64_t>& differ) const {
    Literal shown = expected;
    const int64_t width = ByteWidth(expected.shape().type());
    for (const int64_t i : differ)
      std::memcpy(shown.mutable_raw() + i * width, actual.raw() + i * width, static_cast<size_t>(width));
    return CompareSample(ToShadow(expected), shown, ShapeOf(change.after), {{slices.points}}, options_.compare);
  }

  static const Shape& ShapeOf(const Place& place) {
    return place.element < 0 ? place.inst->shape() : place.inst->shape().element(place.element);
  }

  Result<Outcome> CompareInF64(const Change& change, const SlicesOfTwo& slices, Comparison* comparison) {
    const Shape& whole = ShapeOf(change.after);
    Shape shape = whole;
    std::vector<int64_t> points = slices.points;
    if (IsComplex(whole.type())) {
      std::vector<int64_t> dims = whole.dims();
      dims.push_back(2);
      shape = Shape(whole.type() == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64, dims);
      points.clear();
      for (const int64_t point : slices.points) points.insert(points.end(), {2 * point, 2 * point + 1});
    }
    std::vector<ShadowValue> args;
    for (const Literal& arg : slices.args) args.push_back(ToShadow(arg));
    MadeConstants made(before_);
    made.AddBefore(*slices.before.module);
    const auto evaluate = [&](const SlicesOfTwo::Side& side, const MadeConstants* rounded) -> Result<ShadowValue> {
      ShadowOptions options;
      options.widened = true;
      options.max_loop_iterations = options_.interpret.max_loop_iterations;
      options.wanted = &side.wanted;
      if (rounded != nullptr) options.given = [rounded](const Instruction& inst) { return rounded->Of(inst); };
      return TRY(EvaluateShadow(side.module->entry(), std::span<const ShadowValue>(args), options)).value;
    };
    const auto expected = evaluate(slices.before, nullptr), actual = evaluate(slices.after, &made);
    if (!expected || !actual) {
      SetWhyNot((!expected ? expected : actual).error().message());
      return Outcome::kOpen;
    }
    int64_t by_bits = 0;
    const ShadowValue joined = Joined(*expected, *actual, &by_bits);
    *comparison = CompareSample(joined, AsLiteral(*actual), shape, {{points}}, options_.compare);
    if (comparison->bad() > 0) return Outcome::kDiffers;
    if (comparison->verdict != Verdict::kMatch) {
      SetWhyNot(Str("'", change.after.inst->name(), "': ", comparison->reason));
      return Outcome::kOpen;
    }
    ++result_.in_f64;
    result_.elements += std::ssize(slices.points);
    return Outcome::kEqual;
  }

  const Module& before_;
  const Module& after_;
  const std::span<const Literal> args_;
  const SampleOptions& options_;
  const Preserves promise_;
  const Origins origins_;
  const LoopOfComputation loops_before_, loops_after_;
  const Counterparts counterparts_;
  ValueNumbers numbers_;
  std::vector<Change> changes_;
  std::unordered_map<int, int> left_;  // Key: value number. Value: id in the input of a value in memory.
  // Key: value number. state_: elements of the judged state. starts_: elements that no iteration changes.
  std::unordered_map<int, std::shared_ptr<const Literal>> state_, starts_;
  int64_t iteration_ = -1;
  bool found_states_ = false;
  std::unordered_map<const Instruction*, LoopStates> states_;  // Key: a loop of the module before.
  std::vector<std::shared_ptr<const Literal>> held_;           // Given values to which the current cones refer.
  std::string why_not_;
  SampleResult result_;
};

}  // namespace

Result<SampleResult> CompareBySample(const Module& before, const Module& after, std::span<const Literal> args,
                                     OriginsOf origins, Preserves promise, const SampleOptions& options) {
  return Comparer(before, after, args, origins, promise, options).Compare();
}

}  // namespace hlo
