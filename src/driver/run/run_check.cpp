#include "driver/run/run_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/text.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "driver/run/dataflow_check.h"
#include "driver/run/divergence.h"
#include "driver/run/further_arguments.h"
#include "driver/run/step_alone.h"
#include "driver/run/trip_check.h"
#include "interp/arguments/arguments.h"
#include "ir/fusion.h"
#include "ir/instruction.h"
#include "ir/module.h"
#include "judge/bounds/rules.h"
#include "judge/bounds/slice.h"
#include "judge/bounds/terms.h"

namespace hlo {
namespace {

constexpr int64_t kSeededIterations = 8;

// The judged iterations. A condition has only one element, so it is also judged when it ends the loop, and in all
// iterations of a short loop.
class ChosenIterations {
 public:
  ChosenIterations(const std::map<int, int64_t>& last_by_loop, uint64_t seed) {
    for (const auto& [loop, last] : last_by_loop)
      of_[loop] = {TripsToJudge(last + 1, kSeededIterations, seed ^ (static_cast<uint64_t>(loop) << 32)), last + 1};
  }

  bool Has(const Instruction& inst, std::span<const gpu::LoopStep> loops) const {
    return std::all_of(loops.begin(), loops.end(), [&](const gpu::LoopStep& step) {
      const auto of = of_.find(step.loop->id());
      if (of == of_.end()) return true;  // The condition of a loop without trips.
      if (of->second.chosen.contains(step.iteration)) return true;
      constexpr int64_t kFewTrips = 256;
      const int64_t trips = of->second.trips;
      return IsInCondition(inst, step) && (trips <= kFewTrips || step.iteration == trips);
    });
  }

 private:
  struct OfLoop {
    std::set<int64_t> chosen;
    int64_t trips = 0;
  };
  std::map<int, OfLoop> of_;
};

std::unique_ptr<Module> Alone(const Instruction& inst) {
  auto module = std::make_unique<Module>(std::string(inst.name()));
  Computation& computation = module->AddComputation(inst.name());
  std::vector<Instruction*> parameters;
  for (const Instruction* operand : inst.operands()) {
    const auto number = static_cast<int64_t>(parameters.size());
    parameters.push_back(&computation.AddParameter(number, operand->shape(), Str("param_", number)));
  }
  computation.SetRoot(computation.AddClone(inst, parameters));
  return module;
}

bool HoldsLoop(const Instruction& inst) {
  const auto is_loop = [](const Instruction* inside) { return inside->Is(Opcode::kWhile); };
  return inst.Is(Opcode::kFusion) && std::ranges::any_of(FusedComputation(inst).Instructions(), is_loop);
}

// Whether the kernel calls a computation such as an argmax, whose result depends on the order of operations for NaN.
bool CallsOther(const Instruction& inst) {
  const auto is_other = [](const Instruction* inside) {
    return std::ranges::any_of(CalledComputations(*inside), [](const Computation* called) {
      return shadow::CombinerOf(*called) == shadow::Combiner::kOther;
    });
  };
  return inst.Is(Opcode::kFusion) && std::ranges::any_of(FusedComputation(inst).Instructions(), is_other);
}

struct StepAlone {
  std::unique_ptr<Module> module;
  std::unique_ptr<gpu::Executable> executable;
  std::string name;
};

// Nothing if the step cannot run on generated arguments.
Result<std::optional<Comparison>> CompareMadeUp(const StepAlone& alone, LocalOptions local,
                                                const ArgumentOptions& made) {
  if (alone.executable == nullptr) return std::nullopt;
  const auto arguments = MakeArguments(*alone.module, made);
  if (!arguments) return std::nullopt;
  const std::optional<Literal> output = TRY(UnlessOfDevice(RunAlone(*alone.executable, *arguments)));
  alone.executable->Unbind();  // The program is kept, but must not hold memory.
  if (!output) return std::nullopt;
  for (const gpu::StepInfo& step : alone.executable->steps()) {
    if (step.instruction->name() != alone.name) continue;
    std::vector<Literal> inputs;
    for (const Instruction* operand : step.instruction->operands()) {
      if (operand->Is(Opcode::kParameter)) inputs.push_back((*arguments)[operand->attrs<ParameterAttrs>().number]);
      else if (operand->Is(Opcode::kConstant)) inputs.push_back(operand->literal());
      else return std::nullopt;
    }
    const Instruction& inst = *step.instruction;
    const bool fusion = inst.Is(Opcode::kFusion);
    if (fusion) local.plan = &step.precision;
    const std::unique_ptr<Module> single = fusion ? nullptr : Alone(inst);
    const Computation& body = fusion ? *inst.attrs<FusionAttrs>().calls : *single->Computations().front();
    auto comparison = CompareLocal(body, inputs, *output, local);
    if (comparison && comparison->verdict != Verdict::kUnsupported) return std::move(*comparison);
  }
  return std::nullopt;
}

// Whether the likely error of a sum and its rounding may hide a missing term, about 1 / n of the sum.
bool HidesATerm(const gpu::StepInfo& step) {
  const Instruction& inst = *step.instruction;
  const auto hides = [&](const Instruction& sum, const PrecisionPlan* plan) {
    const PrimitiveType type = sum.shape().IsArray() ? sum.shape().type() : PrimitiveType::kPred;
    const double terms = IsFloat(type) ? shadow::TermsOf(sum) : 1;
    if (terms < 2) return false;
    const InstructionPlan* const promise = plan == nullptr ? nullptr : plan->Find(sum.id());
    const SumPlan rule = promise != nullptr && promise->sum ? *promise->sum : DefaultSum(sum.opcode(), type);
    const double chain = rule.longest_chain == 0 ? terms - 1 : std::min(terms - 1, double(rule.longest_chain));
    const double likely = 6 * std::sqrt(chain) * shadow::RoundingTo(rule.accumulator, false).relative;
    return terms * (likely + shadow::RoundingTo(type, false).relative) > 1;
  };
  if (!inst.Is(Opcode::kFusion)) return hides(inst, nullptr);
  return std::ranges::any_of(FusedComputation(inst).Instructions(),
                             [&](const Instruction* sum) { return hides(*sum, &step.precision); });
}

// Counts of one output, over all executions.
struct OfOutput {
  int64_t checked = 0, undetermined = 0, vacuous = 0;
  int64_t silent = 0;  // Floats whose expected value is zero, infinite or NaN.

  void Add(const TensorComparison& output) {
    checked += output.checked;
    if (IsFloat(output.shape.type())) silent += output.zero_expected + output.inf_expected + output.nan_expected;
    undetermined += output.Count(ElementClass::kUndetermined);
    vacuous += output.Count(ElementClass::kVacuous);
  }
  // "" if the output as a whole is decided.
  std::string WhyOpen() const {
    const auto all = static_cast<double>(checked);
    const auto of = [&](int64_t count, std::string_view what) {
      return Str(count, " of ", Counted(checked, "element"), " ", what);
    };
    if (IsUndetermined()) return of(undetermined, "undetermined");
    if (static_cast<double>(vacuous) > kMostVacuous * all) return of(vacuous, "vacuous");
    return "";
  }
  bool IsUndetermined() const {
    return static_cast<double>(undetermined) > kMostUndetermined * static_cast<double>(checked);
  }
  // Whether most wrong kernels would return the same values.
  bool SaysNothing() const { return checked > 1 && silent == checked; }
};

int64_t LimitOfEach(std::span<const gpu::StepInfo> steps, std::span<const int64_t> runs, int64_t limit) {
  if (limit == 0) return 0;
  std::vector<shadow::Work> work;
  for (size_t i = 0; i < steps.size(); ++i)
    work.push_back({JudgingSteps(*steps[i].instruction), std::min(runs[i], kSeededIterations + 2)});
  return shadow::LimitOfEach(std::move(work), limit);
}

std::string Share(int64_t part, int64_t whole) {
  if (part == 0) return "0";
  return Format("%lld (%.3g%%)", static_cast<long long>(part),
                100.0 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole)));
}

class LocalCheck {
 public:
  // `interpreted`: the interpreter's results of the whole program, or null.
  LocalCheck(gpu::Executable& executable, gpu::Device& device, const FollowedRun& followed, const Literal* interpreted,
             const RunOptions& options, Progress& progress, Divergence* divergence, RunReport* report)
      : executable_(executable),
        device_(device),
        steps_(executable.steps()),
        interpreted_(interpreted),
        options_(options),
        progress_(progress),
        divergence_(divergence),
        iterations_(followed.last_iterations, static_cast<uint64_t>(options.seed)),
        summary_(report->local.emplace()),
        culprit_(report->culprit) {
    for (size_t i = 0; i < steps_.size(); ++i) step_by_id_[steps_[i].instruction->id()] = i;
    summary_.interpreted = std::ranges::count(steps_, gpu::StepKind::kHostCall, &gpu::StepInfo::kind);
    summary_.steps = std::ssize(steps_) - summary_.interpreted;
    local_.work_limit = LimitOfEach(steps_, followed.runs, options.work_limit);
    meter_ = {.limit = options.work_limit, .left = std::max(options.work_limit, WorkMeter::kLeast), .on_trip = nullptr};
    if (options.work_limit > 0) local_.meter = &meter_;
    local_.max_loop_iterations = options.max_loop_iterations;
    local_.seed = static_cast<uint64_t>(options.seed);
    local_.interpret = true;
    static_cast<CompareOptions&>(local_) = options.compare;
  }

  Status Run() {
    TRY(LookAtSteps());
    TRY(DecideDoubtful());
    TRY(DecideOpen());
    summary_.checked = static_cast<int64_t>(seen_.size());
    summary_.sampled = static_cast<int64_t>(sampled_.size());
    summary_.unchecked.assign(unchecked_.begin(), unchecked_.end());
    summary_.beyond_work = local_.meter != nullptr && meter_.left < 0;
    if (culprit_.kind != Culprit::Kind::kNone || summary_.beyond_work) return {};
    return CheckAtEdges();
  }

  // Judges a run on further arguments, which must be bound. They are extreme, so only faults count. If the results have
  // the bits of `interpreted`, no step is judged.
  Status RunOnFurther(std::span<const Literal> arguments, const Literal& interpreted) {
    on_further_ = true;
    divergence_ = nullptr;
    interpreted_ = &interpreted;
    std::set<size_t> ran;
    const gpu::Observer note = {.wants = [&](const Instruction& inst, std::span<const gpu::LoopStep>) {
      const size_t step = step_by_id_.at(inst.id());
      if (IsJudged(step)) ran.insert(step);
      return false;
    }};
    const Status done = executable_.Execute({.observer = &note});
    if (!done && !MayComeOfWrongValues(done.error())) FAIL(done.error());
    if (done && CompareBitwise(interpreted, TRY(executable_.Output()), options_.compare).verdict == Verdict::kMatch) {
      seen_.merge(ran);
    } else {
      const FollowedRun followed = TRY(Follow(executable_, arguments, /*unfinished=*/true));
      if (!followed.fault.empty()) {
        culprit_ = {.kind = Culprit::Kind::kRuntime,
                    .name = followed.culprit,
                    .text = Str("run time: ", followed.fault, kOnFurther)};
        return {};
      }
      iterations_ = ChosenIterations(followed.last_iterations, static_cast<uint64_t>(options_.seed));
      TRY(LookAtSteps());
    }
    summary_.checked = static_cast<int64_t>(seen_.size());
    return {};
  }

 private:
  bool IsJudged(size_t step) const { return steps_[step].kind != gpu::StepKind::kHostCall; }

  Status LookAtSteps() {
    const gpu::Observer look = {
        .wants =
            [&](const Instruction& inst, std::span<const gpu::LoopStep> loops) {
              return IsJudged(step_by_id_.at(inst.id())) && iterations_.Has(inst, loops);
            },
        .observe = [&](const Instruction& inst, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
                       const Literal& output) { return Look(step_by_id_.at(inst.id()), loops, inputs, output); }};
    const Status ran = executable_.Execute({.observer = &look});
    // Wrong values may end the run early. Follow finds their cause.
    if (!ran && !MayComeOfWrongValues(ran.error())) FAIL(ran.error());
    return {};
  }

  Result<Comparison> Compare(const gpu::StepInfo& step, std::span<const Literal> read, const Literal& output) const {
    const Instruction& inst = *step.instruction;
    if (inst.Is(Opcode::kCopy)) return CompareBitwise(read[0], output, options_.compare);
    std::vector<Literal> inputs;
    for (const Literal& literal : read) inputs.push_back(literal.WithBools());
    LocalOptions local = local_;
    if (inst.Is(Opcode::kFusion)) {
      local.plan = &step.precision;
      return CompareLocal(*inst.attrs<FusionAttrs>().calls, inputs, output, local);
    }
    const auto alone = Alone(inst);  // The plan has the ids of the original instruction, so it does not apply.
    return CompareLocal(*alone->Computations().front(), inputs, output, local);
  }

  Status Look(size_t i, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs, const Literal& output) {
    const gpu::StepInfo& step = steps_[i];
    progress_.Step(static_cast<int64_t>(seen_.size()) + 1, summary_.steps, "kernel");
    if (TripCheck* const trips = TRY(TripsOf(i))) {
      std::vector<Literal> read;
      for (const Literal& input : inputs) read.push_back(input.WithBools());
      return trips->Run(read, output, kSeededIterations, local_,
                        [&](const Comparison& comparison, std::span<const gpu::LoopStep> trip) {
                          std::vector<gpu::LoopStep> all(loops.begin(), loops.end());
                          all.insert(all.end(), trip.begin(), trip.end());
                          if (divergence_ != nullptr) divergence_->Look(step, all, inputs, output, comparison);
                          return Take(i, all, comparison);
                        });
    }
    if (const std::optional<Comparison> whole = WholeProgram(loops, output)) return Take(i, loops, *whole);
    if (TRY(TakeByParts(i, loops, inputs, output))) return {};
    Comparison own = TRY(Compare(step, inputs, output));
    if (divergence_ != nullptr) divergence_->Look(step, loops, inputs, output, own);
    return Take(i, loops, std::move(own));
  }

  Result<const StepAlone*> AloneOf(size_t i) {
    const Instruction& inst = *steps_[i].instruction;
    std::unique_ptr<Module> module = ExtractStep(inst);
    const auto [at, is_new] = alone_.try_emplace(Fingerprint(*module));
    if (!is_new) return &at->second;
    StepAlone& alone = at->second;
    alone = {.module = std::move(module), .executable = nullptr, .name = std::string(inst.name())};
    alone.executable = TRY(CompileAlone(*alone.module, device_, options_));
    return &alone;
  }

  // The only step of a program is right if it has the interpreter's bits. The oracle `passes` judges its meaning.
  std::optional<Comparison> WholeProgram(std::span<const gpu::LoopStep> loops, const Literal& output) const {
    if (interpreted_ == nullptr || divergence_ != nullptr) return std::nullopt;
    if (steps_.size() != 1 || !loops.empty()) return std::nullopt;
    if (!Compatible(interpreted_->shape(), output.shape())) return std::nullopt;
    Comparison comparison = CompareBitwise(*interpreted_, output, options_.compare);
    return comparison.verdict == Verdict::kMatch ? std::optional(std::move(comparison)) : std::nullopt;
  }

  // Judges a kernel with a loop and other instructions as several kernels with the same bits, planned individually, or
  // else with the whole kernel's plan.
  Result<bool> TakeByParts(size_t i, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
                           const Literal& output) {
    for (const bool same_plan : {false, true}) {
      const auto [at, is_new] = parts_.try_emplace({i, same_plan});
      if (is_new) at->second = TRY(CompileAroundLoop(steps_[i], device_, options_, same_plan));
      if (at->second != nullptr && TRY(TakeParts(*at->second, i, loops, inputs, output))) return true;
    }
    return false;
  }

  Result<bool> TakeParts(gpu::Executable& parts, size_t i, std::span<const gpu::LoopStep> loops,
                         std::span<const Literal> inputs, const Literal& output) {
    struct Judged {
      Comparison comparison;
      std::vector<gpu::LoopStep> loops;
    };
    std::vector<Judged> all;
    const auto judge = [&](const Comparison& comparison, std::span<const gpu::LoopStep> trip) -> Status {
      all.push_back({comparison, {loops.begin(), loops.end()}});
      all.back().loops.insert(all.back().loops.end(), trip.begin(), trip.end());
      return {};
    };
    const gpu::Observer look = {.observe = [&](const Instruction& inst, std::span<const gpu::LoopStep>,
                                               std::span<const Literal> read, const Literal& made) -> Status {
      const auto part = std::ranges::find(parts.steps(), &inst, &gpu::StepInfo::instruction);
      if (const auto trips = TRY(TripCheck::Of(*part, device_, options_)))
        return trips->Run(KeptInputs(read), made, kSeededIterations, local_, judge);
      return judge(TRY(Compare(*part, read, made)), {});
    }};
    const auto made = parts.Run(ArgumentsOf(parts.module(), *steps_[i].instruction, inputs), {.observer = &look});
    if (!made && made.error().exit == ExitCode::kDevice) FAIL(made.error());
    if (!made || CompareBitwise(*made, output, options_.compare).verdict != Verdict::kMatch) return false;
    for (Judged& judged : all) {
      if (divergence_ != nullptr) divergence_->Look(steps_[i], judged.loops, inputs, output, judged.comparison);
      TRY(Take(i, judged.loops, std::move(judged.comparison)));
    }
    return true;
  }

  // Null unless the step is a loop that is one kernel.
  Result<TripCheck*> TripsOf(size_t i) {
    const auto [at, is_new] = trips_.try_emplace(i);
    if (is_new) at->second = TRY(TripCheck::Of(steps_[i], device_, options_));
    return at->second.get();
  }

  Status Take(size_t i, std::span<const gpu::LoopStep> loops, Comparison comparison) {
    const gpu::StepInfo& step = steps_[i];
    const std::string_view name = step.instruction->name();
    if (on_further_) {
      if (comparison.verdict != Verdict::kUnsupported) seen_.insert(i);
      if (comparison.verdict == Verdict::kMismatch) IsWrong(step, loops, std::move(comparison), kOnFurther);
      return {};
    }
    if (comparison.verdict == Verdict::kUnsupported) {
      unchecked_.insert(Str("'", name, "': ", comparison.reason));
      return {};
    }
    Count(i, comparison);
    if (comparison.worst_ratio() > summary_.worst_ratio) {
      summary_.worst_ratio = comparison.worst_ratio();
      summary_.worst_step = name;
    }
    const bool is_loop = TRY(TripsOf(i)) != nullptr;
    const bool has_other_bits = comparison.Count(ElementClass::kExact) < comparison.checked();
    const bool is_whole = comparison.checked() == comparison.elements();
    const bool is_doubtful =
        comparison.Count(ElementClass::kSuspicious) > 0 || (has_other_bits && is_whole && HidesATerm(step));
    if (step.instruction->Is(Opcode::kFusion) && !is_loop && is_doubtful) doubtful_.insert(i);
    if (comparison.verdict == Verdict::kMismatch) IsWrong(step, loops, std::move(comparison), "");
    return {};
  }

  void Count(size_t i, const Comparison& comparison) {
    seen_.insert(i);
    ++summary_.runs_checked;
    summary_.elements += comparison.elements();
    summary_.elements_checked += comparison.checked();
    if (comparison.checked() < comparison.elements()) {
      sampled_.insert(i);
      summary_.sampled_elements += comparison.elements();
      summary_.sampled_checked += comparison.checked();
    }
    for (int c = 0; c < kElementClasses; ++c) summary_.counts[c] += comparison.Count(static_cast<ElementClass>(c));
    for (const TensorComparison& output : comparison.outputs) {
      summary_.disproved += output.disproved;
      outputs_[i][output.output].Add(output);
    }
  }

  void IsWrong(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison,
               std::string_view where) {
    summary_.wrong.emplace(step.instruction->name());
    if (culprit_.kind != Culprit::Kind::kNone) return;
    culprit_ = CulpritOf(step, loops, std::move(comparison));
    culprit_.text += where;
  }
  bool IsKnownWrong(size_t i) const { return summary_.wrong.contains(std::string(steps_[i].instruction->name())); }

  // Runs kernels on small integers if their errors are improbably large, or if their bits differ from the interpreter's
  // and bounds of long sums could hide a missing term.
  Status DecideDoubtful() {
    std::set<const StepAlone*> done;
    for (const size_t i : doubtful_) {
      if (IsKnownWrong(i)) continue;
      progress_.Stage("checking on integers");
      const StepAlone& alone = *TRY(AloneOf(i));
      if (!done.insert(&alone).second) continue;
      std::optional<Comparison> comparison =
          TRY(CompareMadeUp(alone, local_, {.seed = local_.seed, .profile = InputProfile::kExact}));
      if (comparison && comparison->verdict == Verdict::kMismatch)
        IsWrong(steps_[i], {}, std::move(*comparison), ", on small integers");
    }
    return {};
  }

  // Runs kernels on made-up arguments if an output is open or its expected values say nothing (OfOutput).
  Status DecideOpen() {
    for (const auto& [i, outputs] : outputs_) {
      std::string why;
      bool only_vacuous = true;
      std::set<ShapeIndex> open;
      for (const auto& [index, output] : outputs) {
        const std::string of_output = output.WhyOpen();
        if (!of_output.empty() || output.SaysNothing()) open.insert(index);
        if (why.empty()) why = of_output;
        only_vacuous &= !output.IsUndetermined();
      }
      const Instruction& inst = *steps_[i].instruction;
      // Loops may run long on other arguments, so only open outputs are worth the time.
      if (open.empty() || IsKnownWrong(i) || (why.empty() && HoldsLoop(inst))) continue;
      progress_.Stage("checking on made-up arguments");
      TripCheck* const trips = TRY(TripsOf(i));
      const auto alone = [&](const ArgumentOptions& made_up,
                             const LocalOptions& local) -> Result<std::optional<Comparison>> {
        return CompareMadeUp(*TRY(AloneOf(i)), local, made_up);
      };
      std::optional<Comparison> comparison =
          TRY(trips != nullptr ? trips->WithRandomArguments(local_, open) : CompareWhereDecided(local_, open, alone));
      if (!comparison) {
        if (why.empty()) continue;
        summary_.undecided_loop |= trips == nullptr && HoldsLoop(inst);
        summary_.open.push_back({std::string(inst.name()), std::move(why), only_vacuous});
      } else if (comparison->verdict == Verdict::kMismatch) {
        IsWrong(steps_[i], {}, std::move(*comparison), ", on made-up arguments");
      } else if (!why.empty()) {
        ++summary_.decided;
      }
    }
    return {};
  }

  // Runs kernels alone on numbers that the program may never give them: large numbers, NaN and infinities, indices out
  // of range, any initial values. Only faults count. Only hosts have this check, because they reuse compiled kernels.
  Status CheckAtEdges() {
    // Skips kernels whose full check takes more than kMostSteps.
    constexpr int64_t kSteps = 1'000'000, kMostSteps = 100'000'000;
    if (!device_.IsHost()) return {};
    std::vector<ArgumentOptions> of_edges = {
        {.seed = local_.seed + 5, .profile = InputProfile::kEdge, .range = std::pair(-100.0, 100.0)}};
    for (uint64_t i = 0; i < 3; ++i)  // Small arrays have few special numbers.
      of_edges.push_back({.seed = local_.seed + 6 + i, .profile = InputProfile::kSpecial});
    LocalOptions local = local_;
    local.work_limit = local.work_limit == 0 ? kSteps : std::min(local.work_limit, kSteps);
    std::set<const StepAlone*> done;
    for (const size_t i : seen_) {
      const gpu::StepInfo& step = steps_[i];
      const int64_t steps = JudgingSteps(*step.instruction);
      if (step.kind != gpu::StepKind::kKernel || steps > kMostSteps || CallsOther(*step.instruction)) continue;
      progress_.Stage("checking on extreme numbers");
      const StepAlone& alone = *TRY(AloneOf(i));
      if (!done.insert(&alone).second) continue;
      const bool is_large = steps > kSteps;
      for (const ArgumentOptions& made_up : std::span(of_edges).first(is_large ? 2 : of_edges.size())) {
        meter_.left = kMostSteps;
        std::optional<Comparison> comparison = TRY(CompareMadeUp(alone, local, made_up));
        if (!comparison || comparison->verdict != Verdict::kMismatch) continue;
        IsWrong(step, {}, std::move(*comparison), Str(", on made-up arguments of profile ", ToString(made_up.profile)));
        break;
      }
    }
    return {};
  }

  gpu::Executable& executable_;
  gpu::Device& device_;
  const std::span<const gpu::StepInfo> steps_;
  const Literal* interpreted_;
  const RunOptions& options_;
  Progress& progress_;
  Divergence* divergence_;
  ChosenIterations iterations_;
  bool on_further_ = false;
  std::map<int, size_t> step_by_id_;
  WorkMeter meter_;
  LocalOptions local_;
  LocalSummary& summary_;
  Culprit& culprit_;
  std::map<uint64_t, StepAlone> alone_;  // Keyed by fingerprint.
  std::set<size_t> seen_, doubtful_, sampled_;
  std::map<size_t, std::unique_ptr<TripCheck>> trips_;  // Null if the step is not a single loop.
  // Keyed by step and same_plan. Null if the step cannot be split.
  std::map<std::pair<size_t, bool>, std::unique_ptr<gpu::Executable>> parts_;
  std::map<size_t, std::map<ShapeIndex, OfOutput>> outputs_;
  std::set<std::string> unchecked_;
};

}  // namespace

int64_t JudgingSteps(const Instruction& inst) {
  if (inst.Is(Opcode::kCopy)) return 0;
  if (inst.Is(Opcode::kFusion)) return shadow::StepsOf(*inst.attrs<FusionAttrs>().calls);
  return shadow::StepsOf(inst, inst.shape().IsArray() ? inst.shape().NumElements() : 0);
}

Culprit CulpritOf(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison) {
  Culprit culprit;
  const bool library = gpu::CallsLibrary(step.kind);
  culprit.kind = library ? Culprit::Kind::kLibrary : Culprit::Kind::kKernel;
  culprit.name = step.instruction->name();
  culprit.sort = step.kind == gpu::StepKind::kKernel && !step.plan.kernels.empty()
                     ? ToString(step.plan.kernels.front().kind)
                     : ToString(step.kind);
  culprit.made_by = step.instruction->module().MakerOf(*step.instruction);
  culprit.text = Str(library ? "library call '" : "kernel '", culprit.name, "' (", step.kind, ", ", step.how, ")",
                     culprit.made_by.empty() ? "" : ", made by ", culprit.made_by, LoopText(loops));
  culprit.text += SourceAtEnd(*step.instruction);
  culprit.comparison = std::move(comparison);
  return culprit;
}

namespace {

Status JudgeOnFurther(Experiment& experiment, LocalCheck& check, RunReport* report) {
  const FurtherArguments& further = *TRY(experiment.Further());
  report->not_exercised = further.not_exercised;
  for (const ReachingSet& set : further.sets) {
    experiment.progress().Stage("checking on arguments that reach more decisions");
    Experiment on_set = experiment.With([](RunOptions&) {});
    RunArguments arguments = *TRY(experiment.Arguments());
    arguments.values = set.arguments;
    on_set.Take(arguments);
    TRY(on_set.Placed());
    TRY(check.RunOnFurther(set.arguments, set.result));
    if (report->culprit.kind != Culprit::Kind::kNone) return {};
  }
  return {};
}

}  // namespace

Status JudgeKernels(Experiment& experiment, const FollowedRun& followed, RunReport* report) {
  gpu::Executable& executable = *TRY(experiment.Placed());
  gpu::Device& device = *TRY(experiment.Compiled())->device;
  const RunOptions options = TRY(experiment.Judging());
  std::unique_ptr<Divergence> divergence;
  if (options.first_divergence) divergence = TRY(Divergence::Of(experiment));
  const std::optional<Literal>& reference = TRY(experiment.Arguments())->reference;
  const Literal* const interpreted = reference ? &*reference : nullptr;
  Progress& progress = experiment.progress();
  LocalCheck check(executable, device, followed, interpreted, options, progress, divergence.get(), report);
  TRY(check.Run());
  if (report->culprit.kind == Culprit::Kind::kNone && followed.fault.empty())
    TRY(JudgeOnFurther(experiment, check, report));
  if (divergence == nullptr) return {};
  experiment.progress().Stage("looking into the kernel");
  report->divergence = std::make_shared<DivergenceReport>(divergence->Finish(device, options));
  return {};
}

std::string ToString(const LocalSummary& local) {
  const auto count = [&](ElementClass c) { return local.counts[static_cast<int>(c)]; };
  const bool wrong = count(ElementClass::kViolation) > 0 || !local.wrong.empty();
  if (local.steps == 0 && local.interpreted > 0)
    return Str("nothing to check: ",
               local.interpreted == 1 ? "the one step ran" : Str("all ", local.interpreted, " steps ran"),
               " in the interpreter, which is the reference");
  std::string out =
      Str(wrong                     ? "MISMATCH  "
          : local.unchecked.empty() ? "MATCH  "
                                    : "",
          local.checked, " of ", local.steps, " kernels and calls checked, ", local.elements_checked, " elements");
  if (local.sampled > 0) {
    out += Str(", sampled ", local.sampled_checked, " of ", local.sampled_elements, " in ",
               Counted(local.sampled, "kernel"));
  }
  const std::pair<ElementClass, const char*> kClasses[] = {{ElementClass::kViolation, "BEYOND BOUND"},
                                                           {ElementClass::kUndetermined, "undetermined"},
                                                           {ElementClass::kVacuous, "vacuous"},
                                                           {ElementClass::kSuspicious, "suspicious"}};
  for (const auto& [element_class, word] : kClasses) {
    if (count(element_class) > 0) out += Str(", ", Share(count(element_class), local.elements_checked), " ", word);
  }
  if (local.decided > 0) out += Str("; ", Counted(local.decided, "kernel"), " decided on made-up arguments");
  if (!local.open.empty())
    out += Str("; ", Counted(std::ssize(local.open), "kernel"), " open on made-up arguments, too");
  if (local.disproved > 0)
    out +=
        Str("; ", local.disproved, " beyond a bound although they have the interpreter's bits, so the bound is wrong");
  if (local.worst_ratio > 0)
    out += Format("; worst err/bound %.2f", local.worst_ratio) + Str(" ('", local.worst_step, "')");
  return out;
}

}  // namespace hlo
