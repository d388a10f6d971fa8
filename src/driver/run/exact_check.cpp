#include "driver/run/exact_check.h"

#include <set>
#include <utility>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/run/run_check.h"
#include "driver/run/step_alone.h"
#include "ir/module.h"
#include "judge/bounds/exact_plan.h"

namespace hlo {
namespace {

InterpretOptions Watching(const InterpretOptions& interpreter, ExactPlan& plan) {
  InterpretOptions watched = interpreter;
  watched.on_value = [&plan](const Instruction& inst, const Literal& value) { plan.Saw(inst, value); };
  return watched;
}

Comparison CompareExact(const Literal& expected, const Literal& actual, const ExactSummary& summary,
                        const CompareOptions& options) {
  return summary.zeros_have_signs ? CompareBitwise(expected, actual, options)
                                  : CompareTolerance(expected, actual, Tolerance{}, options);
}

}  // namespace

Result<RunArguments> PrepareExact(const Module& module, const RunOptions& options,
                                  const InterpretOptions& interpreter) {
  RunOptions own = options;
  if (own.input_profile == InputProfile::kNormal) own.input_profile = InputProfile::kExact;
  const bool made = own.args.empty() && own.input_profile == InputProfile::kExact;
  while (true) {
    ExactPlan plan({.allow_tf32 = options.allow_tf32});
    RunArguments arguments = TRY(PrepareArguments(module, own, true, Watching(interpreter, plan)));
    arguments.exact = {.bound = made ? own.exact_bound : 0,
                       .instructions = plan.instructions(),
                       .zeros_have_signs = plan.zeros_have_signs(),
                       .reason = plan.reason()};
    if (made) arguments.description += Str(", up to ", own.exact_bound);
    if (plan.exact() || !made || own.exact_bound <= 1) return arguments;
    own.exact_bound /= 2;
  }
}

namespace {

// `after` has the interpreter's results for the optimized module.
Culprit BlameExact(const Literal& expected, const std::optional<Literal>& after, const ExactSummary& summary,
                   const Comparison& comparison, const RunOptions& options) {
  const bool pass = after && CompareExact(expected, *after, summary, options.compare).verdict == Verdict::kMismatch;
  Culprit culprit{.kind = pass ? Culprit::Kind::kPass : Culprit::Kind::kKernel,
                  .name = pass ? "a pass" : "code that ran"};
  culprit.text = pass ? "a pass: the interpreter gives other results for the optimized module"
                      : "a kernel, library call or the run time: the interpreter gives the right results for the "
                        "optimized module";
  culprit.text += Str("\n                look:  --compare_mode=", pass ? "passes" : "local", " names it");
  culprit.comparison = comparison;
  return culprit;
}

Result<Comparison> JudgeOutputs(Experiment& experiment, RunReport* report) {
  const RunOptions& options = experiment.options();
  const RunArguments& arguments = *TRY(experiment.Arguments());
  const Literal& expected = TRY(experiment.Reference())->outputs;
  ExactSummary& summary = report->exact.emplace(*arguments.exact);
  // Passes may compute a value through larger numbers, which round.
  std::optional<Literal> after;
  if (!experiment.IsInterpreted() && summary.reason.empty()) {
    ExactPlan plan({.allow_tf32 = options.allow_tf32});
    const Module& optimized = *TRY(experiment.Optimized())->module;
    after = TRY(Interpret(optimized, arguments.values, Watching(InterpreterOptions(options), plan)));
    if (!plan.exact()) summary.reason = "after the passes, " + plan.reason();
    summary.zeros_have_signs = summary.zeros_have_signs && plan.zeros_have_signs();
  }
  const Literal& outputs = TRY(experiment.Results())->outputs;
  Comparison comparison = CompareExact(expected, outputs, summary, options.compare);
  summary.verdict = summary.reason.empty() ? comparison.verdict : Verdict::kInconclusive;
  if (summary.verdict != Verdict::kMismatch || report->culprit.kind != Culprit::Kind::kNone) return comparison;
  // The interpreter decides whether our code is wrong, because a file may come from another program.
  const bool is_file = !options.reference_file.empty();
  const Literal& right = is_file ? TRY(experiment.Interpreted())->outputs : expected;
  if (!is_file || CompareExact(right, outputs, summary, options.compare).verdict == Verdict::kMismatch)
    report->culprit = BlameExact(right, after, summary, comparison, options);
  return comparison;
}

// Judges steps that do not round, alone and on their own integers.
Status JudgeSteps(Experiment& experiment, RunReport* report) {
  const RunOptions& options = experiment.options();
  const Code& code = *TRY(experiment.Compiled());
  ExactSummary& all = *report->exact;
  RunOptions own = options;
  own.args.clear();
  own.arg.clear();
  own.input_profile = InputProfile::kExact;
  std::set<uint64_t> seen;
  for (const gpu::StepInfo& step : code.executable->steps()) {
    if (step.kind == gpu::StepKind::kCopy || step.kind == gpu::StepKind::kFill || step.kind == gpu::StepKind::kHostCall)
      continue;
    const std::unique_ptr<Module> module = ExtractStep(*step.instruction);
    if (!seen.insert(Fingerprint(*module)).second) continue;
    experiment.progress().Step(++all.steps, std::ssize(code.executable->steps()), "kernel on integers");
    const auto arguments = PrepareExact(*module, own, InterpreterOptions(options));
    if (!arguments || !arguments->exact->reason.empty()) continue;
    const std::unique_ptr<gpu::Executable> alone = TRY(CompileAlone(*module, *code.device, options));
    if (alone == nullptr) continue;
    const Literal output = TRY(alone->Run(arguments->values));
    ++all.exact_steps;
    Comparison comparison = CompareExact(*arguments->reference, output, *arguments->exact, options.compare);
    if (comparison.verdict != Verdict::kMismatch) continue;
    all.verdict = Verdict::kMismatch;
    if (report->culprit.kind != Culprit::Kind::kNone) continue;
    report->culprit = CulpritOf(step, {}, std::move(comparison));
    report->culprit.text += Str(", on integers up to ", arguments->exact->bound);
  }
  return {};
}

}  // namespace

Status JudgeExact(Experiment& experiment, RunReport* report) {
  const bool alone = experiment.options().compare_mode == CompareMode::kExact;
  experiment.progress().Stage(alone ? "checking" : "checking on exact numbers");
  Experiment exact = experiment.With([&](RunOptions& options) {
    if (alone) return;
    options.compare_mode = CompareMode::kExact;
    options.reference_file.clear();
    options.bench = false;
    options.profile = {};
    options.num_repeats = 1;
  });
  TRY(exact.ResolvedPlatform());
  Comparison outputs = TRY(JudgeOutputs(exact, report));
  if (alone) report->outputs = std::move(outputs);
  if (exact.IsInterpreted() || report->exact->reason.empty()) return {};
  return JudgeSteps(exact, report);
}

std::string ToString(const ExactSummary& exact) {
  std::string out = Str(exact.verdict == Verdict::kMatch      ? "MATCH"
                        : exact.verdict == Verdict::kMismatch ? "MISMATCH"
                                                              : "INCONCLUSIVE",
                        "  ");
  if (exact.bound > 0) out += Str("on integers up to ", exact.bound, ": ");
  if (!exact.reason.empty()) {
    out += exact.reason;
    if (exact.exact_steps > 0) {
      out += Str("; ", exact.exact_steps, " of ", exact.steps,
                 " different kernels and calls round nothing if they run alone",
                 exact.verdict == Verdict::kMismatch ? ", and not all of these are right" : ", and are right");
    }
    return out;
  }
  out += Str(Counted(exact.instructions, "instruction"), exact.instructions == 1 ? " rounds" : " round",
             " nothing, so the results must be equal");
  return out + (exact.zeros_have_signs ? "" : ", signs of zeros aside");
}

}  // namespace hlo
