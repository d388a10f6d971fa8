#include "driver/run/verdict.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "driver/command_line.h"
#include "driver/run/exact_check.h"
#include "driver/run/pass_check.h"
#include "driver/run/run_check.h"

namespace hlo {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Why nothing is decided, and the flag that may decide it, because of what it does.
struct Doubt {
  std::string reason, flag, does;
};
constexpr const char* kOnIntegers = "on small integers, which nothing rounds";
constexpr const char* kByOutputs = "compares the outputs with the interpreter's";

// From what `local` and `widened` found; none: it is decided. Integers that nothing rounds decide most of what bounds
// leave open.
std::optional<Doubt> DoubtOf(const RunReport& report) {
  if (report.widened_verdict != Verdict::kMatch)
    return Doubt{"the passes could not be judged", "--compare_mode=tolerance", kByOutputs};
  if (!report.local) return std::nullopt;
  const LocalSummary& local = *report.local;
  const OpenShares open = SharesOpen(local);
  if (!local.unchecked.empty())
    return Doubt{Str("no error bounds for ", local.unchecked.front()), "--compare_mode=tolerance", kByOutputs};
  if (open.undetermined > kMostUndetermined)
    return Doubt{"too many undetermined elements", "--compare_mode=exact", kOnIntegers};
  if (open.vacuous > kMostVacuous) return Doubt{"too many vacuous bounds", "--compare_mode=exact", kOnIntegers};
  return std::nullopt;
}

// What to type next, and what that does.
std::string Again(const RunOptions& options, const RunReport& report, std::string_view flags, std::string_view does) {
  return Str(RunAgain(options.flags, flags, report.path), "   ", does);
}

// Where something is wrong, the command that shows more of it. A pass says so itself.
std::string NextOf(const Culprit& culprit, const RunOptions& options, const RunReport& report) {
  switch (culprit.kind) {
    case Culprit::Kind::kKernel:
      return Str("hlo-opt --stage=llvm --kernel=", ShellWord(culprit.name), " ", ShellWord(report.path),
                 "   shows its code");
    case Culprit::Kind::kLibrary: return Again(options, report, "--nolibraries", "runs our own kernel instead");
    case Culprit::Kind::kReference:
      return Again(options, report, report.platform == "interpreter" ? "--platform=cpu --reference=" : "--reference=",
                   "compares with the interpreter instead");
    case Culprit::Kind::kRounding:
      return "--abs_error_bound or --rel_error_bound, beyond the 'smallest passing bounds' above";
    case Culprit::Kind::kUnknown:
      return Again(options, report, "--reference= --compare_mode=all", "judges the run without the file");
    default: return "";
  }
}

void SetInconclusive(RunReport* report, const RunOptions& options, const Doubt& doubt) {
  SetVerdict(report, Verdict::kInconclusive, doubt.reason);
  report->next = Again(options, *report, doubt.flag, doubt.does);
}

// The verdict from what `local` and `widened` found; the ensemble has a say where it is asked alone.
void Judge(RunReport* report, const RunOptions& options, int64_t outputs, int64_t elements) {
  const bool only_ensemble = options.compare_mode == "ensemble";
  report->detail = Str(outputs, outputs == 1 ? " output" : " outputs");
  report->detail += Str(", ", elements, elements == 1 ? " element" : " elements");
  if (!report->reference_skipped.empty()) report->detail += "; kernels and passes decide";
  if (report->fallback.Everything()) report->detail += "; no kernel ran: all steps by the interpreter";
  if (report->culprit.kind != Culprit::Kind::kNone) {
    SetVerdict(report, Verdict::kMismatch, "");
    report->next = NextOf(report->culprit, options, *report);
    if (report->culprit.kind == Culprit::Kind::kRounding) report->detail += "; rounding explains it";
    else if (report->culprit.kind == Culprit::Kind::kReference) report->detail += "; not by us";
    else if (report->culprit.kind == Culprit::Kind::kRuntime) report->detail += "; wrong: run time";
    else if (report->culprit.kind != Culprit::Kind::kUnknown) report->detail += Str("; wrong: ", report->culprit.name);
    return;
  }
  if (report->ends_decide) return;
  if (report->ensemble && report->ensemble->unsupported.empty())
    report->detail += Format("; ensemble r %.2g", report->ensemble->worst());
  if (only_ensemble && !report->ensemble->unsupported.empty())
    return SetInconclusive(report, options,
                           {Str("no ensemble: ", report->ensemble->unsupported), "--compare_mode=auto",
                            "judges each kernel and the passes"});
  if (only_ensemble && report->ensemble->suspect)
    return SetInconclusive(report, options,
                           {"suspect: roundings do not account for the results", "--compare_mode=all",
                            "looks for what else may be wrong"});
  if (const auto doubt = DoubtOf(*report)) return SetInconclusive(report, options, *doubt);
  SetVerdict(report, Verdict::kMatch, "");
}

// The work limit as it was given. Without one, what 10 seconds of judging are, or 20 runs of the program if these take
// longer.
int64_t WorkLimitOf(const RunOptions& options, double run_ms) {
  constexpr double kTenSeconds = 10'000, kRuns = 20;
  if (options.work_limit != RunOptions().work_limit) return options.work_limit;
  return options.work_limit * std::max<int64_t>(1, static_cast<int64_t>(kRuns * run_ms / kTenSeconds));
}

// Kernels and what goes on between them, then the passes. A wrong kernel says nothing of the passes, so both are looked
// at; the first wrong thing in the order of work is named.
Status CheckParts(const Compiled& compiled, std::span<const Literal> arguments, bool kernels, bool passes,
                  RunOptions options, Progress& progress, RunReport* report) {
  if (compiled.executable == nullptr) return {};
  options.work_limit = WorkLimitOf(options, report->times.run);
  if (kernels) {
    progress.Stage("checking");
    TRY(CheckRun(*compiled.executable, *compiled.device, arguments, options, progress, report));
  }
  if (!passes) return {};
  progress.Stage("checking the passes");
  return CheckPasses(compiled.module, *compiled.optimized, arguments, *compiled.executable, options, progress,
                     &report->widened, &report->widened_verdict, &report->culprit);
}

// Results that are not those of a file: is it us, is it nothing but roundings, or is it the file?
Status BlameForReference(const Compiled& compiled, const RunArguments& arguments, const Literal& expected,
                         std::optional<Literal> interpreted, const Literal& outputs, const InterpretOptions& interpret,
                         const RunOptions& options, Progress& progress, RunReport* report) {
  if (!arguments.by_device.empty()) return {};
  TRY(CheckParts(compiled, arguments.values, true, true, options, progress, report));
  Culprit& culprit = report->culprit;
  if (culprit.kind != Culprit::Kind::kNone) return {};
  culprit.kind = Culprit::Kind::kUnknown;
  if (const auto doubt = DoubtOf(*report)) {
    culprit.text = Str("not known: ", doubt->reason);
    return {};
  }
  double interpretation_ms = compiled.executable == nullptr ? report->times.run : report->times.reference;
  if (compiled.executable == nullptr) {
    interpreted = outputs;
  } else if (!interpreted) {
    progress.Stage("interpreting: is it the reference?");
    const auto begin = Clock::now();
    interpreted = TRY(Interpret(compiled.module, arguments.values, interpret));
    interpretation_ms = MillisecondsSince(begin);
  }
  const std::string_view right = compiled.executable == nullptr ? "the interpreter is the ground truth"
                                                                : "every kernel is within its rounding bounds";
  constexpr std::string_view kRounding = ": rounding explains it, not a fault";
  const Comparison truth = options.compare_mode == "bitwise"
                               ? CompareBitwise(expected, *interpreted, options.compare)
                               : CompareTolerance(expected, *interpreted, options.tolerance, options.compare);
  if (truth.verdict == Verdict::kMatch) {
    culprit.kind = Culprit::Kind::kRounding;
    culprit.text = Str("nobody: ", right, ", and the interpreter's results are those of the reference", kRounding);
    return {};
  }
  // The ensemble only explains, so it is run where it fits in half a minute.
  constexpr double kMostMs = 30'000;
  EnsembleOptions ensemble = {.seed = static_cast<uint64_t>(options.seed), .interpret = interpret};
  if (interpretation_ms * (ensemble.runs + 1) > kMostMs) {
    culprit.text = Str("not known: ", right, ", so it is '", report->reference_file,
                       "' or roundings; telling which takes ", ensemble.runs + 1, " interpretations");
    return {};
  }
  progress.Stage("interpreting with other roundings");
  const EnsembleResult roundings = TRY(CompareEnsemble(compiled.module, arguments.values, expected, ensemble));
  if (!roundings.unsupported.empty()) {
    culprit.text = Str("not known: ", right, ", so it is '", report->reference_file,
                       "' or roundings (no ensemble: ", roundings.unsupported, ")");
  } else if (roundings.suspect) {
    culprit.kind = Culprit::Kind::kReference;
    culprit.name = Str("reference '", report->reference_file, "'");
    culprit.text = Str("not us: ", right, ". ", culprit.name,
                       " was made from other arguments or in another precision, or roundings decide more than ",
                       "the ensemble met (", ToString(roundings), ")");
  } else {
    culprit.kind = Culprit::Kind::kRounding;
    culprit.text = Str("nobody: ", right, kRounding, " (", ToString(roundings), ")");
  }
  return {};
}

}  // namespace

void SetVerdict(RunReport* report, Verdict verdict, std::string_view reason) {
  report->verdict = VerdictText(verdict, reason);
  const bool made_up = !report->stubs.empty() || report->filled_constants > 0;
  if (verdict == Verdict::kMatch && made_up) report->verdict += "(with stubs)";
  report->exit = ExitCodeOf(verdict);
}

namespace {

// Tolerances beside which the outputs are small say nothing, whatever the file has: then the parts decide.
Status DecideByParts(const Compiled& compiled, std::span<const Literal> arguments, const RunOptions& options,
                     Progress& progress, RunReport* report) {
  if (compiled.executable == nullptr) return {};
  TRY(CheckParts(compiled, arguments, true, true, options, progress, report));
  if (report->culprit.kind != Culprit::Kind::kNone || DoubtOf(*report)) return {};
  report->notes.push_back(Str("the outputs are too small for the tolerances of the comparison with '",
                              report->reference_file, "' (", report->ends->reason,
                              "); the kernels and passes decide (--abs_error_bound sets another)"));
  SetVerdict(report, Verdict::kMatch, "");
  return {};
}

}  // namespace

Status CompareResults(const Compiled& compiled, const RunArguments& arguments, const Literal& expected,
                      std::optional<Literal> interpreted, const Literal& outputs, const InterpretOptions& interpret,
                      const RunOptions& options, Progress& progress, RunReport* report) {
  const std::string& mode = options.compare_mode;
  report->ends_decide = mode == "tolerance" || mode == "bitwise" || mode == "exact";
  progress.Stage("comparing the results");
  report->ends = mode == "bitwise" ? CompareBitwise(expected, outputs, options.compare)
                                   : CompareTolerance(expected, outputs, options.tolerance, options.compare);
  const bool replicas_differ = report->exit == ExitCode::kNo;
  if (mode == "exact") {
    progress.Stage("checking");
    TRY(JudgeExact(compiled.optimized, arguments, expected, outputs, options, report));
    const std::string& why = report->exact->reason;
    if (compiled.executable != nullptr && !why.empty())
      TRY(JudgeExactSteps(*compiled.executable, *compiled.device, options, progress, report));
    if (!replicas_differ) SetVerdict(report, report->exact->verdict, why.empty() ? "" : "exact: " + why);
    if (report->exit == ExitCode::kInconclusive)
      report->next = Again(options, *report, "--compare_mode=tolerance", kByOutputs);
  } else if (report->ends_decide) {
    if (!replicas_differ) SetVerdict(report, report->ends->verdict, report->ends->reason);
    if (!report->reference_file.empty() && report->ends->verdict == Verdict::kMismatch)
      TRY(BlameForReference(compiled, arguments, expected, std::move(interpreted), outputs, interpret, options,
                            progress, report));
    if (!report->reference_file.empty() && report->ends->verdict == Verdict::kInconclusive && !replicas_differ)
      TRY(DecideByParts(compiled, arguments.values, options, progress, report));
  }
  const bool all = mode == "auto" || mode == "all";
  TRY(CheckParts(compiled, arguments.values, all || mode == "local", all || mode == "widened", options, progress,
                 report));
  if (mode == "ensemble" || mode == "all") {
    progress.Stage("interpreting with other roundings");
    EnsembleOptions ensemble = {.seed = static_cast<uint64_t>(options.seed), .interpret = interpret};
    report->ensemble = TRY(CompareEnsemble(compiled.module, arguments.values, outputs, ensemble));
  }
  if (mode == "all" && compiled.executable != nullptr) {
    progress.Stage("checking on exact numbers");
    TRY(RunExact(compiled.module, *compiled.optimized, *compiled.executable, *compiled.device, options, interpret,
                 progress, report));
  }
  if (!replicas_differ) Judge(report, options, std::ssize(report->ends->outputs), report->ends->elements());
  return {};
}

Status JudgeParts(const Compiled& compiled, std::span<const Literal> arguments, const Shape& result,
                  const RunOptions& options, Progress& progress, RunReport* report) {
  const std::string& mode = options.compare_mode;
  TRY(CheckParts(compiled, arguments, mode != "widened", mode != "local", options, progress, report));
  int64_t outputs = 0, elements = 0;
  ForEachLeaf(result, [&](const ShapeIndex&, const Shape& leaf) {
    if (!leaf.IsArray()) return;
    ++outputs;
    elements += leaf.NumElements();
  });
  Judge(report, options, outputs, elements);
  return {};
}

}  // namespace hlo
