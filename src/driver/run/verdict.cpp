#include "driver/run/verdict.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "driver/bundle.h"
#include "driver/command_line.h"
#include "driver/inspect/text.h"
#include "driver/load.h"
#include "driver/run/oracles.h"
#include "driver/run/pass_check.h"
#include "driver/run/run_check.h"

namespace hlo {
namespace {

// Why nothing is decided, and the flag that may decide it, because of what it does; or another command.
struct Doubt {
  std::string reason, flag, does, command;
};
constexpr const char* kOnIntegers = "on small integers, which nothing rounds";
constexpr const char* kTripByTrip = "makes loops kernels of their own, which are judged trip by trip";
constexpr const char* kPassByPass = "judges each pass by itself";
constexpr const char* kByRoundings = "asks whether roundings account for the outputs";
constexpr const char* kByOutputs = "compares the outputs with the interpreter's";
constexpr std::string_view kNobody = "nobody: ";
constexpr std::string_view kExplained = ": rounding explains it, not a fault";

// From what `local` and `widened` found; none: it is decided. Integers that nothing rounds decide most of what bounds
// leave open.
std::optional<Doubt> DoubtOf(const RunReport& report) {
  if (!report.look_at_passes.empty())
    return Doubt{"passes left open what the input determines", "", kPassByPass, report.look_at_passes};
  if (report.widened_verdict != Verdict::kMatch)
    return Doubt{"the passes could not be judged", "--compare_mode=tolerance", kByOutputs};
  if (!report.local) return std::nullopt;
  const LocalSummary& local = *report.local;
  const OpenShares open = SharesOpen(local);
  if (!local.unchecked.empty())
    return Doubt{Str("no error bounds for ", local.unchecked.front()), "--compare_mode=tolerance", kByOutputs};
  std::string reason;
  if (open.undetermined > kMostUndetermined) reason = "too many undetermined elements";
  else if (open.vacuous > kMostVacuous) reason = "too many vacuous bounds";
  else if (!local.open.empty() && report.ends && report.ends->bad() > 0)
    reason = Str("a result of '", local.open.front(), "' is open as a whole, and outputs differ");
  else return std::nullopt;
  if (local.undecided_loop) return Doubt{std::move(reason), "--xla_disable_hlo_passes=block-fusion", kTripByTrip};
  return Doubt{std::move(reason), "--compare_mode=exact", kOnIntegers};
}

// What to type next, and what that does.
std::string Again(const RunOptions& options, const RunReport& report, std::string_view flags, std::string_view does) {
  return Str(RunAgain(options.flags, flags, report.path), "   ", does);
}

// Where something is wrong, the command that shows more of it. A pass says so itself.
std::string NextOf(const Culprit& culprit, const RunOptions& options, const RunReport& report) {
  switch (culprit.kind) {
    case Culprit::Kind::kKernel:
      return Str("hlo-opt ", report.platform == "cpu" ? "--target=host " : "",
                 "--stage=llvm --kernel=", ShellWord(culprit.name), " ", ShellWord(report.path), "   shows its code");
    case Culprit::Kind::kLibrary: return Again(options, report, "--nolibraries", "runs our own kernel instead");
    case Culprit::Kind::kRuntime:
      return Str("hlo-opt --stage=hlo-backend ", ShellWord(report.path), "   shows the steps in their order");
    case Culprit::Kind::kReference:
      return Again(options, report, report.platform == "interpreter" ? "--platform=cpu --reference=" : "--reference=",
                   "compares with the interpreter instead");
    case Culprit::Kind::kRounding:
      return "--abs_error_bound or --rel_error_bound, beyond the 'smallest passing bounds' above; without a tolerance "
             "of "
             "your own roundings are allowed for";
    case Culprit::Kind::kUnknown:
      if (options.reference_file.empty()) return Again(options, report, "--compare_mode=all", "asks all who judge");
      return Again(options, report, "--reference= --compare_mode=all", "judges the run without the file");
    case Culprit::Kind::kStub:
      return report.stubs.empty() ? "print the module with its constants (--xla_dump_large_constants; JAX: "
                                    "as_hlo_text(print_large_constants=True))"
                                  : Str("--custom_call=", ShellWord(report.stubs.front().target),
                                        "=FILE.hlo puts what the call means in its place");
    default: return "";
  }
}

// What --isolate does not take is left out.
std::vector<std::string> WithoutComparing(std::vector<std::string> flags) {
  std::erase_if(flags, [](std::string_view flag) {
    constexpr std::string_view kOfComparing[] = {
        "--compare_mode=", "--abs_error_bound=", "--rel_error_bound=", "--max_ulp=", "--reference="};
    return std::ranges::any_of(kOfComparing, [&](std::string_view name) { return flag.starts_with(name); });
  });
  return flags;
}

void SetInconclusive(RunReport* report, const RunOptions& options, const Doubt& doubt) {
  SetVerdict(report, Verdict::kInconclusive, doubt.reason);
  if (!doubt.command.empty()) report->next = Str(doubt.command, "   ", doubt.does);
  else if (options.compare_mode == "all" && doubt.flag.starts_with("--compare_mode="))  // It is one of all.
    report->next =
        Str(RunAgain(WithoutComparing(options.flags), "--isolate", report->path), "   judges each kernel alone");
  else report->next = Again(options, *report, doubt.flag, doubt.does);
}

// The verdict from what `local` and `widened` found; the ensemble has a say where it is asked alone.
void Judge(RunReport* report, const RunOptions& options, int64_t outputs, int64_t elements) {
  const bool only_ensemble = options.compare_mode == "ensemble";
  report->detail = Str(outputs, outputs == 1 ? " output" : " outputs");
  report->detail += Str(", ", elements, elements == 1 ? " element" : " elements");
  if (!report->reference_skipped.empty()) report->detail += "; kernels and passes decide";
  if (!report->rounded.empty()) report->detail += "; rounding explains the difference";
  if (report->fallback.Everything()) report->detail += "; no kernel ran: all steps by the interpreter";
  if (report->culprit.kind != Culprit::Kind::kNone) {
    SetVerdict(report, Verdict::kMismatch, "");
    report->next = NextOf(report->culprit, options, *report);
    if (report->culprit.kind == Culprit::Kind::kRounding) report->detail += "; rounding explains it";
    else if (report->culprit.kind == Culprit::Kind::kReference) report->detail += "; not by us";
    else if (report->culprit.kind == Culprit::Kind::kStub) report->detail += "; part of the program is made up";
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
  if (report->ends && report->ends->bad() > 0)
    report->detail += Str("; ", report->ends->bad(), " beyond the tolerance, which does not decide");
  SetVerdict(report, Verdict::kMatch, "");
}

// Those that judge parts of the run, whatever the mode asks for.
Status JudgeParts(Experiment& experiment, RunReport* report) {
  if (experiment.IsInterpreted()) return {};
  for (const Oracle& oracle : AllOracles()) {
    if (oracle.need == Need::kCode) TRY(oracle.judge(experiment, report));
  }
  return {};
}

// What the outputs are compared with, for people.
std::string ReferenceName(const RunOptions& options) {
  if (!options.reference_file.empty()) return Str("'", options.reference_file, "'");
  return options.reference_platform == "cpu" ? "the run on cpu" : "the interpreter";
}

// What of the program is not what whoever made the reference ran; "": nothing.
std::string MadeUpText(const RunReport& report) {
  std::vector<std::string> parts;
  for (const CustomCallStub& stub : report.stubs)
    parts.push_back(
        Str("custom call \"", Escaped(stub.target), "\" = ", stub.policy, " in ", Counted(stub.calls, "call")));
  if (report.filled_constants > 0) parts.push_back(Counted(report.filled_constants, "elided constant"));
  return Join(parts, ", ");
}

// Whether what came out is what roundings make of the other program, where the reference is a bundle that has it; null:
// no, or that is not known.
Result<std::optional<EnsembleResult>> RoundingsOfOther(Experiment& experiment, const EnsembleOptions& ensemble) {
  const std::string& folder = experiment.options().reference_file;
  if (!IsBundle(folder)) return std::nullopt;
  const auto other = LoadModule(folder, experiment.options().load);
  const std::vector<Literal>& arguments = TRY(experiment.Arguments())->values;
  if (!other || (*other)->entry().parameters().size() != arguments.size()) return std::nullopt;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!Compatible((*other)->entry().parameter(static_cast<int64_t>(i)).shape(), arguments[i].shape()))
      return std::nullopt;
  }
  auto roundings = CompareEnsemble(**other, arguments, TRY(experiment.Results())->outputs, ensemble);
  const bool explains = roundings && roundings->unsupported.empty() && !roundings->suspect;
  return explains ? std::optional(std::move(*roundings)) : std::nullopt;
}

// Whether roundings account for what the reference has, who is not `culprit` yet. `right`: why we are.
Status BlameRoundings(Experiment& experiment, double interpretation_ms, std::string_view right, RunReport* report) {
  // The ensemble only explains, so it is run where it fits in half a minute.
  constexpr double kMostMs = 30'000;
  Culprit& culprit = report->culprit;
  const std::string reference = ReferenceName(experiment.options());
  const EnsembleOptions ensemble = {.seed = static_cast<uint64_t>(experiment.options().seed),
                                    .interpret = TRY(experiment.Interpreter()),
                                    .most_seconds = kMostMs / 1000};
  if (interpretation_ms * (ensemble.runs + 1) > kMostMs) {
    culprit.text = Str("not known: ", right, ", so it is ", reference, " or roundings; telling which takes ",
                       ensemble.runs + 1, " interpretations");
    return {};
  }
  experiment.progress().Stage("interpreting with other roundings");
  const Module& module = *TRY(experiment.Input())->module;
  const EnsembleResult roundings =
      TRY(CompareEnsemble(module, TRY(experiment.Arguments())->values, TRY(experiment.Reference())->outputs, ensemble));
  const auto of_other =
      roundings.suspect ? TRY(RoundingsOfOther(experiment, ensemble)) : std::optional<EnsembleResult>();
  if (of_other) {
    culprit.kind = Culprit::Kind::kRounding;
    culprit.text = Str(kNobody, right, kExplained, " (of the program in ", reference, ": ", ToString(*of_other), ")");
  } else if (!roundings.unsupported.empty()) {
    culprit.text =
        Str("not known: ", right, ", so it is ", reference, " or roundings (no ensemble: ", roundings.unsupported, ")");
  } else if (const std::string made_up = MadeUpText(*report); roundings.suspect && !made_up.empty()) {
    culprit.kind = Culprit::Kind::kStub;
    culprit.name = "a stub";
    culprit.text = Str("what is made up in the program: ", made_up, ". ", reference, " has results of the real one; ",
                       right, ", and roundings do not explain it (", ToString(roundings), ")");
  } else if (roundings.suspect) {
    culprit.kind = Culprit::Kind::kReference;
    culprit.name = Str("reference ", reference);
    culprit.text = Str("not us: ", right, ". ", culprit.name,
                       " was made from other arguments or in another precision, or roundings decide more than ",
                       "the ensemble met (", ToString(roundings), ")");
  } else {
    culprit.kind = Culprit::Kind::kRounding;
    culprit.text = Str(kNobody, right, kExplained, " (", ToString(roundings), ")");
  }
  return {};
}

// Results that are not those of the reference: is it us, is it nothing but roundings, or is it the reference?
Status BlameForReference(Experiment& experiment, RunReport* report) {
  const RunOptions& options = experiment.options();
  if (!TRY(experiment.Arguments())->by_device.empty()) return {};
  TRY(JudgeParts(experiment, report));
  Culprit& culprit = report->culprit;
  if (culprit.kind != Culprit::Kind::kNone) return {};
  culprit.kind = Culprit::Kind::kUnknown;
  if (const auto doubt = DoubtOf(*report)) {
    culprit.text = Str("not known: ", doubt->reason);
    return {};
  }
  const std::string_view right =
      experiment.IsInterpreted() ? "the interpreter is the ground truth" : "every kernel is within its rounding bounds";
  if (options.reference_file.empty() && options.wants_interpreter()) {
    culprit.kind = Culprit::Kind::kRounding;
    culprit.text = Str(kNobody, right, ", and so are the passes", kExplained);
    return {};
  }
  const Interpretation& interpretation = *TRY(experiment.Interpreted());
  const Literal& expected = TRY(experiment.Reference())->outputs;
  const Comparison truth = options.compare_mode == "bitwise"
                               ? CompareBitwise(expected, interpretation.outputs, options.compare)
                               : CompareTolerance(expected, interpretation.outputs, options.tolerance, options.compare);
  if (truth.verdict != Verdict::kMatch) return BlameRoundings(experiment, interpretation.ms, right, report);
  culprit.kind = Culprit::Kind::kRounding;
  culprit.text = Str(kNobody, right, ", and the interpreter's results are those of the reference", kExplained);
  return {};
}

// A tolerance that nobody asked for is a rule of thumb: what is beyond it, and nothing but roundings, is no mismatch.
void AllowForRoundings(const RunOptions& options, RunReport* report) {
  if (report->culprit.kind != Culprit::Kind::kRounding || options.tolerance_given) return;
  report->rounded = Str(report->ends->bad(), " of ", Counted(report->ends->elements(), "element"),
                        " beyond the tolerance by type; ", report->culprit.text.substr(kNobody.size()));
  report->culprit = {};
  SetVerdict(report, Verdict::kMatch, "");
}

// Tolerances beside which the outputs are small say nothing, whatever the file has: then the parts decide.
Status DecideByParts(Experiment& experiment, RunReport* report) {
  if (experiment.IsInterpreted()) return {};
  TRY(JudgeParts(experiment, report));
  if (report->culprit.kind != Culprit::Kind::kNone || DoubtOf(*report)) return {};
  report->notes.push_back(Str("the outputs are too small for the tolerances of the comparison with '",
                              report->reference_file, "' (", report->ends->reason,
                              "); the kernels and passes decide (--abs_error_bound sets another)"));
  SetVerdict(report, Verdict::kMatch, "");
  return {};
}

// The verdict of the outputs, where they have it.
Status DecideByOutputs(Experiment& experiment, bool replicas_differ, RunReport* report) {
  if (report->exact) {
    const std::string& why = report->exact->reason;
    if (!replicas_differ) SetVerdict(report, report->exact->verdict, why.empty() ? "" : "exact: " + why);
    if (report->exit == ExitCode::kInconclusive)
      report->next = Again(experiment.options(), *report, "--compare_mode=ensemble", kByRoundings);
    return {};
  }
  if (!replicas_differ) SetVerdict(report, report->ends->verdict, report->ends->reason);
  if (report->ends->verdict == Verdict::kMismatch) {
    TRY(BlameForReference(experiment, report));
    if (!replicas_differ) AllowForRoundings(experiment.options(), report);
  }
  if (report->reference_file.empty()) return {};
  if (report->ends->verdict == Verdict::kInconclusive && !replicas_differ) TRY(DecideByParts(experiment, report));
  return {};
}

// How many outputs, and elements of them, a verdict is on.
std::pair<int64_t, int64_t> SizeOf(const RunReport& report, const Literal& results) {
  if (report.ends) return {std::ssize(report.ends->outputs), report.ends->elements()};
  int64_t outputs = 0, elements = 0;
  ForEachLeaf(results.shape(), [&](const ShapeIndex&, const Shape& leaf) {
    if (!leaf.IsArray()) return;
    ++outputs;
    elements += leaf.NumElements();
  });
  return {outputs, elements};
}

}  // namespace

void SetVerdict(RunReport* report, Verdict verdict, std::string_view reason) {
  report->verdict = VerdictText(verdict, reason);
  const bool made_up = !report->stubs.empty() || report->filled_constants > 0;
  if (verdict == Verdict::kMatch && made_up) report->verdict += "(with stubs)";
  report->exit = ExitCodeOf(verdict);
}

Status JudgeRun(Experiment& experiment, RunReport* report) {
  const bool has_reference = TRY(experiment.Reference()) != nullptr;
  if (!has_reference && report->reference_skipped.empty()) return {};  // Nothing was asked for.
  const CompareMode& mode = ModeOf(experiment.options());
  const bool replicas_differ = report->exit == ExitCode::kNo;
  for (const Oracle& oracle : AllOracles()) {
    const bool can = oracle.need == Need::kCode ? !experiment.IsInterpreted() : has_reference;
    if (can && mode.Has(oracle)) TRY(oracle.judge(experiment, report));
  }
  report->ends_decide = mode.outputs_decide;
  if (mode.outputs_decide) TRY(DecideByOutputs(experiment, replicas_differ, report));
  if (replicas_differ) return {};
  const auto [outputs, elements] = SizeOf(*report, TRY(experiment.Results())->outputs);
  Judge(report, experiment.options(), outputs, elements);
  return {};
}

Status JudgeByParts(Experiment& experiment, RunReport* report) {
  const CompareMode& mode = ModeOf(experiment.options());
  for (const Oracle& oracle : AllOracles()) {
    if (oracle.need == Need::kCode && mode.Has(oracle)) TRY(oracle.judge(experiment, report));
  }
  Judge(report, experiment.options(), 0, report->local ? report->local->elements : 0);
  return {};
}

Status JudgeUnfinished(Experiment& experiment, Error error, RunReport* report) {
  const bool is_loop = error.exit == ExitCode::kLimit && error.diagnostics.front().flag == "max_loop_iterations";
  const bool judged = experiment.options().wants_interpreter() || !experiment.options().reference_file.empty();
  if (!is_loop || !judged || experiment.IsInterpreted()) FAIL(std::move(error));
  experiment.progress().Stage("checking");
  const auto followed = Follow(*TRY(experiment.Placed()), TRY(experiment.Arguments())->values, true);
  if (!followed) FAIL(std::move(error));
  report->dataflow = followed->summary;
  Culprit& culprit = report->culprit;
  if (!followed->fault.empty())
    culprit = {.kind = Culprit::Kind::kRuntime, .name = followed->guilty, .text = "run time: " + followed->fault};
  if (culprit.kind == Culprit::Kind::kNone) TRY(JudgeKernels(experiment, *followed, report));
  // The input's loops end, since the interpreter came to an end with them.
  const bool ends = TRY(experiment.Arguments())->reference.has_value();
  if (culprit.kind == Culprit::Kind::kNone && ends) TRY(JudgePasses(experiment, report));
  if (culprit.kind == Culprit::Kind::kNone) FAIL(std::move(error));
  report->notes.push_back(Str("the run did not end: ", error.message()));
  SetVerdict(report, Verdict::kMismatch, "");
  report->next = NextOf(culprit, experiment.options(), *report);
  report->detail = Str("no outputs; wrong: ", culprit.kind == Culprit::Kind::kRuntime ? "run time" : culprit.name);
  report->memory.reset();  // Nothing came of the plan.
  return {};
}

}  // namespace hlo
