#include "driver/run/exact_check.h"

#include <set>

#include "base/text.h"
#include "driver/run/run_check.h"
#include "driver/run/step_alone.h"
#include "interp/shadow/exact_plan.h"
#include "ir/module.h"

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

Result<RunArguments> PrepareExact(const Module& module, const RunOptions& options, const InterpretOptions& interpreter,
                                  ExactSummary* summary) {
  RunOptions own = options;
  if (own.input_profile == "normal") own.input_profile = "exact";
  const bool made = own.args.empty() && own.input_profile == "exact";
  while (true) {
    ExactPlan plan({.allow_tf32 = options.allow_tf32});
    RunArguments arguments = TRY(PrepareArguments(module, own, true, Watching(interpreter, plan)));
    *summary = {.bound = made ? own.exact_bound : 0,
                .instructions = plan.instructions(),
                .zeros_have_signs = plan.zeros_have_signs(),
                .reason = plan.reason()};
    if (made) arguments.description += Str(", up to ", own.exact_bound);
    if (plan.exact() || !made || own.exact_bound <= 1) return arguments;
    own.exact_bound /= 2;
  }
}

Status JudgeExact(const Module* optimized, const RunArguments& arguments, const Literal& expected,
                  const Literal& outputs, const RunOptions& options, RunReport* report) {
  ExactSummary& summary = *report->exact;
  // Passes may write the same value another way, through larger numbers.
  std::optional<Literal> after;
  if (optimized != nullptr && summary.reason.empty()) {
    ExactPlan plan({.allow_tf32 = options.allow_tf32});
    after = TRY(Interpret(*optimized, arguments.values, Watching(InterpreterOptions(options), plan)));
    if (!plan.exact()) summary.reason = "after the passes, " + plan.reason();
    summary.zeros_have_signs = summary.zeros_have_signs && plan.zeros_have_signs();
  }
  Comparison comparison = CompareExact(expected, outputs, summary, options.compare);
  if (summary.reason.empty()) summary.verdict = comparison.verdict;
  else summary.verdict = Verdict::kInconclusive;
  if (summary.verdict == Verdict::kMismatch && report->culprit.kind == Culprit::Kind::kNone) {
    Culprit& culprit = report->culprit;
    const bool pass = after && CompareExact(expected, *after, summary, options.compare).verdict == Verdict::kMismatch;
    culprit.kind = pass ? Culprit::Kind::kPass : Culprit::Kind::kKernel;
    culprit.name = pass ? "a pass" : "code that ran";
    culprit.text = pass ? "a pass: the interpreter gives other results for the optimized module"
                        : "a kernel, library call or the run time: for what the passes made, the interpreter gives the "
                          "right results";
    culprit.text += Str("\n                look:  --compare_mode=", pass ? "widened" : "local", " names it");
    culprit.comparison = comparison;
  }
  if (options.compare_mode == "exact") report->ends = std::move(comparison);
  return {};
}

Status JudgeExactSteps(const gpu::Executable& executable, gpu::Device& device, const RunOptions& options,
                       Progress& progress, RunReport* report) {
  ExactSummary& all = *report->exact;
  RunOptions own = options;
  own.args.clear();
  own.arg.clear();
  own.input_profile = "exact";
  std::set<uint64_t> seen;
  for (const gpu::StepInfo& step : executable.steps()) {
    if (step.kind == gpu::StepKind::kCopy || step.kind == gpu::StepKind::kFill || step.kind == gpu::StepKind::kHostCall)
      continue;
    const std::unique_ptr<Module> module = ExtractStep(*step.instruction);
    if (!seen.insert(Fingerprint(*module)).second) continue;
    progress.Step(++all.steps, std::ssize(executable.steps()), "kernel on integers");
    ExactSummary summary;
    const auto arguments = PrepareExact(*module, own, InterpreterOptions(options), &summary);
    if (!arguments || !summary.reason.empty()) continue;
    const std::unique_ptr<gpu::Executable> alone = CompileAlone(*module, device, options);
    if (alone == nullptr) continue;
    const Literal output = TRY(alone->Run(arguments->values));
    ++all.exact_steps;
    Comparison comparison = CompareExact(*arguments->reference, output, summary, options.compare);
    if (comparison.verdict != Verdict::kMismatch) continue;
    all.verdict = Verdict::kMismatch;
    if (report->culprit.kind != Culprit::Kind::kNone) continue;
    report->culprit = CulpritOf(step, {}, std::move(comparison));
    report->culprit.text += Str(", on integers up to ", summary.bound);
  }
  return {};
}

Status RunExact(const Module& module, const Module& optimized, gpu::Executable& executable, gpu::Device& device,
                const RunOptions& options, const InterpretOptions& interpreter, Progress& progress, RunReport* report) {
  const RunArguments arguments = TRY(PrepareExact(module, options, interpreter, &report->exact.emplace()));
  TRY(executable.Bind(arguments.values));
  TRY(executable.Execute());
  TRY(JudgeExact(&optimized, arguments, *arguments.reference, TRY(executable.Output()), options, report));
  return report->exact->reason.empty() ? Status() : JudgeExactSteps(executable, device, options, progress, report);
}

}  // namespace hlo
