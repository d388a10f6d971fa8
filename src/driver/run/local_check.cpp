#include "driver/run/local_check.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/run/further_arguments.h"
#include "driver/run/run_check.h"
#include "driver/run/step_alone.h"
#include "ir/fusion.h"
#include "judge/bounds/rules.h"
#include "judge/bounds/slice.h"
#include "judge/bounds/terms.h"

namespace hlo {

ChosenIterations::ChosenIterations(const std::map<int, int64_t>& last_by_loop, uint64_t seed) {
  for (const auto& [loop, last] : last_by_loop)
    of_[loop] = {TripsToJudge(last + 1, kSeededIterations, seed ^ (static_cast<uint64_t>(loop) << 32)), last + 1};
}

bool ChosenIterations::Has(const Instruction& inst, std::span<const gpu::LoopStep> loops) const {
  return std::all_of(loops.begin(), loops.end(), [&](const gpu::LoopStep& step) {
    const auto of = of_.find(step.loop->id());
    if (of == of_.end()) return true;  // The condition of a loop without trips.
    if (of->second.chosen.contains(step.iteration)) return true;
    constexpr int64_t kFewTrips = 256;
    const int64_t trips = of->second.trips;
    return IsInCondition(inst, step) && (trips <= kFewTrips || step.iteration == trips);
  });
}

void OfOutput::Add(const TensorComparison& output) {
  checked += output.checked;
  if (IsFloat(output.shape.type())) silent += output.zero_expected + output.inf_expected + output.nan_expected;
  undetermined += output.Count(ElementClass::kUndetermined);
  vacuous += output.Count(ElementClass::kVacuous);
}

std::string OfOutput::WhyOpen() const {
  const auto all = static_cast<double>(checked);
  const auto of = [&](int64_t count, std::string_view what) {
    return Str(count, " of ", Counted(checked, "element"), " ", what);
  };
  if (IsUndetermined()) return of(undetermined, "undetermined");
  if (static_cast<double>(vacuous) > kMostVacuous * all) return of(vacuous, "vacuous");
  return "";
}

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

namespace {

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

int64_t LimitOfEach(std::span<const gpu::StepInfo> steps, std::span<const int64_t> runs, int64_t limit) {
  if (limit == 0) return 0;
  std::vector<shadow::Work> work;
  for (size_t i = 0; i < steps.size(); ++i)
    work.push_back({JudgingSteps(*steps[i].instruction), std::min(runs[i], kSeededIterations + 2)});
  return shadow::LimitOfEach(std::move(work), limit);
}

}  // namespace

LocalCheck::LocalCheck(gpu::Executable& runs, gpu::Device& on, const FollowedRun& followed, const Literal* expected,
                       const RunOptions& judging, Progress& shows, Divergence* inside, RunReport* report)
    : executable(runs),
      device(on),
      steps(runs.steps()),
      interpreted(expected),
      options(judging),
      progress(shows),
      divergence(inside),
      iterations(followed.last_iterations, static_cast<uint64_t>(judging.seed)),
      summary(report->local.emplace()),
      culprit(report->culprit) {
  for (size_t i = 0; i < steps.size(); ++i) step_by_id[steps[i].instruction->id()] = i;
  summary.interpreted = std::ranges::count(steps, gpu::StepKind::kHostCall, &gpu::StepInfo::kind);
  summary.steps = std::ssize(steps) - summary.interpreted;
  local.work_limit = LimitOfEach(steps, followed.runs, options.work_limit);
  meter = {.limit = options.work_limit, .left = std::max(options.work_limit, WorkMeter::kLeast), .on_trip = nullptr};
  if (options.work_limit > 0) local.meter = &meter;
  local.max_loop_iterations = options.max_loop_iterations;
  local.seed = static_cast<uint64_t>(options.seed);
  local.interpret = true;
  static_cast<CompareOptions&>(local) = options.compare;
}

Result<TripCheck*> TripsOf(LocalCheck& s, size_t i) {
  const auto [at, is_new] = s.trips.try_emplace(i);
  if (is_new) at->second = TRY(TripCheck::Of(s.steps[i], s.device, s.options));
  return at->second.get();
}

void IsWrong(LocalCheck& s, const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, Comparison comparison,
             std::string_view where) {
  s.summary.wrong.emplace(step.instruction->name());
  if (s.culprit.kind != Culprit::Kind::kNone) return;
  s.culprit = CulpritOf(step, loops, std::move(comparison));
  s.culprit.text += where;
}

namespace {

bool IsJudged(const LocalCheck& s, size_t step) { return s.steps[step].kind != gpu::StepKind::kHostCall; }

Result<Comparison> Compare(const LocalCheck& s, const gpu::StepInfo& step, std::span<const Literal> read,
                           const Literal& output) {
  const Instruction& inst = *step.instruction;
  if (inst.Is(Opcode::kCopy)) return CompareBitwise(read[0], output, s.options.compare);
  std::vector<Literal> inputs;
  for (const Literal& literal : read) inputs.push_back(literal.WithBools());
  LocalOptions local = s.local;
  if (inst.Is(Opcode::kFusion)) {
    local.plan = &step.precision;
    return CompareLocal(*inst.attrs<FusionAttrs>().calls, inputs, output, local);
  }
  const auto alone = Alone(inst);  // The plan has the ids of the original instruction, so it does not apply.
  return CompareLocal(*alone->Computations().front(), inputs, output, local);
}

void Count(LocalCheck& s, size_t i, const Comparison& comparison) {
  s.seen.insert(i);
  ++s.summary.runs_checked;
  s.summary.elements += comparison.elements();
  s.summary.elements_checked += comparison.checked();
  if (comparison.checked() < comparison.elements()) {
    s.sampled.insert(i);
    s.summary.sampled_elements += comparison.elements();
    s.summary.sampled_checked += comparison.checked();
  }
  for (int c = 0; c < kElementClasses; ++c) s.summary.counts[c] += comparison.Count(static_cast<ElementClass>(c));
  for (const TensorComparison& output : comparison.outputs) {
    s.summary.disproved += output.disproved;
    s.outputs[i][output.output].Add(output);
  }
}

Status Take(LocalCheck& s, size_t i, std::span<const gpu::LoopStep> loops, Comparison comparison) {
  const gpu::StepInfo& step = s.steps[i];
  const std::string_view name = step.instruction->name();
  if (s.on_further) {
    if (comparison.verdict != Verdict::kUnsupported) s.seen.insert(i);
    if (comparison.verdict == Verdict::kMismatch) IsWrong(s, step, loops, std::move(comparison), kOnFurther);
    return {};
  }
  if (comparison.verdict == Verdict::kUnsupported) {
    s.unchecked.insert(Str("'", name, "': ", comparison.reason));
    return {};
  }
  Count(s, i, comparison);
  if (comparison.worst_ratio() > s.summary.worst_ratio) {
    s.summary.worst_ratio = comparison.worst_ratio();
    s.summary.worst_step = name;
  }
  const bool is_loop = TRY(TripsOf(s, i)) != nullptr;
  const bool has_other_bits = comparison.Count(ElementClass::kExact) < comparison.checked();
  const bool is_whole = comparison.checked() == comparison.elements();
  const bool is_doubtful =
      comparison.Count(ElementClass::kSuspicious) > 0 || (has_other_bits && is_whole && HidesATerm(step));
  if (step.instruction->Is(Opcode::kFusion) && !is_loop && is_doubtful) s.doubtful.insert(i);
  if (comparison.verdict == Verdict::kMismatch) IsWrong(s, step, loops, std::move(comparison), "");
  return {};
}

// The only step of a program is right if it has the interpreter's bits. The oracle `passes` judges its meaning.
std::optional<Comparison> WholeProgram(const LocalCheck& s, std::span<const gpu::LoopStep> loops,
                                       const Literal& output) {
  if (s.interpreted == nullptr || s.divergence != nullptr) return std::nullopt;
  if (s.steps.size() != 1 || !loops.empty()) return std::nullopt;
  if (!Compatible(s.interpreted->shape(), output.shape())) return std::nullopt;
  Comparison comparison = CompareBitwise(*s.interpreted, output, s.options.compare);
  return comparison.verdict == Verdict::kMatch ? std::optional(std::move(comparison)) : std::nullopt;
}

Result<bool> TakeParts(LocalCheck& s, gpu::Executable& parts, size_t i, std::span<const gpu::LoopStep> loops,
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
    if (const auto trips = TRY(TripCheck::Of(*part, s.device, s.options)))
      return trips->Run(KeptInputs(read), made, kSeededIterations, s.local, judge);
    return judge(TRY(Compare(s, *part, read, made)), {});
  }};
  const auto made = parts.Run(ArgumentsOf(parts.module(), *s.steps[i].instruction, inputs), {.observer = &look});
  if (!made && made.error().exit == ExitCode::kDevice) FAIL(made.error());
  if (!made || CompareBitwise(*made, output, s.options.compare).verdict != Verdict::kMatch) return false;
  for (Judged& judged : all) {
    if (s.divergence != nullptr) s.divergence->Look(s.steps[i], judged.loops, inputs, output, judged.comparison);
    TRY(Take(s, i, judged.loops, std::move(judged.comparison)));
  }
  return true;
}

// Judges a kernel with a loop and other instructions as several kernels with the same bits, planned individually, or
// else with the whole kernel's plan.
Result<bool> TakeByParts(LocalCheck& s, size_t i, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
                         const Literal& output) {
  for (const bool same_plan : {false, true}) {
    const auto [at, is_new] = s.parts.try_emplace({i, same_plan});
    if (is_new) at->second = TRY(CompileAroundLoop(s.steps[i], s.device, s.options, same_plan));
    if (at->second != nullptr && TRY(TakeParts(s, *at->second, i, loops, inputs, output))) return true;
  }
  return false;
}

Status Look(LocalCheck& s, size_t i, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
            const Literal& output) {
  const gpu::StepInfo& step = s.steps[i];
  s.progress.Step(static_cast<int64_t>(s.seen.size()) + 1, s.summary.steps, "kernel");
  if (TripCheck* const trips = TRY(TripsOf(s, i))) {
    std::vector<Literal> read;
    for (const Literal& input : inputs) read.push_back(input.WithBools());
    return trips->Run(read, output, kSeededIterations, s.local,
                      [&](const Comparison& comparison, std::span<const gpu::LoopStep> trip) {
                        std::vector<gpu::LoopStep> all(loops.begin(), loops.end());
                        all.insert(all.end(), trip.begin(), trip.end());
                        if (s.divergence != nullptr) s.divergence->Look(step, all, inputs, output, comparison);
                        return Take(s, i, all, comparison);
                      });
  }
  if (const std::optional<Comparison> whole = WholeProgram(s, loops, output)) return Take(s, i, loops, *whole);
  if (TRY(TakeByParts(s, i, loops, inputs, output))) return {};
  Comparison own = TRY(Compare(s, step, inputs, output));
  if (s.divergence != nullptr) s.divergence->Look(step, loops, inputs, output, own);
  return Take(s, i, loops, std::move(own));
}

}  // namespace

Status LookAtSteps(LocalCheck& s) {
  const gpu::Observer look = {
      .wants =
          [&](const Instruction& inst, std::span<const gpu::LoopStep> loops) {
            return IsJudged(s, s.step_by_id.at(inst.id())) && s.iterations.Has(inst, loops);
          },
      .observe = [&](const Instruction& inst, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
                     const Literal& output) { return Look(s, s.step_by_id.at(inst.id()), loops, inputs, output); }};
  const Status ran = s.executable.Execute({.observer = &look});
  // Wrong values may end the run early. Follow finds their cause.
  if (!ran && !MayComeOfWrongValues(ran.error())) FAIL(ran.error());
  return {};
}

Status RunOnFurther(LocalCheck& s, std::span<const Literal> arguments, const Literal& interpreted) {
  s.on_further = true;
  s.divergence = nullptr;
  s.interpreted = &interpreted;
  std::set<size_t> ran;
  const gpu::Observer note = {.wants = [&](const Instruction& inst, std::span<const gpu::LoopStep>) {
    const size_t step = s.step_by_id.at(inst.id());
    if (IsJudged(s, step)) ran.insert(step);
    return false;
  }};
  const Status done = s.executable.Execute({.observer = &note});
  if (!done && !MayComeOfWrongValues(done.error())) FAIL(done.error());
  if (done && CompareBitwise(interpreted, TRY(s.executable.Output()), s.options.compare).verdict == Verdict::kMatch) {
    s.seen.merge(ran);
  } else {
    const FollowedRun followed = TRY(Follow(s.executable, arguments, /*unfinished=*/true));
    if (!followed.fault.empty()) {
      s.culprit = {.kind = Culprit::Kind::kRuntime,
                   .name = followed.culprit,
                   .text = Str("run time: ", followed.fault, kOnFurther)};
      return {};
    }
    s.iterations = ChosenIterations(followed.last_iterations, static_cast<uint64_t>(s.options.seed));
    TRY(LookAtSteps(s));
  }
  s.summary.checked = static_cast<int64_t>(s.seen.size());
  return {};
}

}  // namespace hlo
