#include "driver/run/verdict.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "driver/bundle.h"
#include "driver/command_line.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "driver/load.h"
#include "driver/run/oracles.h"
#include "driver/run/pass_check.h"
#include "driver/run/run_check.h"
#include "driver/run/value_text.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Why nothing is decided, and the flag or the command that may decide it.
struct Doubt {
  std::string reason, flag, does, command;
};
constexpr const char* kOnIntegers = "on small integers, which no operation rounds";
constexpr const char* kTripByTrip = "compiles each loop as a kernel of its own, which is judged trip by trip";
constexpr const char* kPassByPass = "judges each pass by itself";
constexpr const char* kByRoundings = "decides whether roundings explain the outputs";
constexpr const char* kWhateverItTakes = "judges everything without a limit of work";
constexpr const char* kByOutputs = "compares the outputs with the interpreter's";
constexpr std::string_view kNoCulprit = "nobody: ";
constexpr std::string_view kExplained = ": rounding explains the difference, not a fault";

// The doubt that `local` and `passes` leave. Integers without rounding decide most outputs whose bounds are too wide.
std::optional<Doubt> DoubtOf(const RunReport& report) {
  if (!report.look_at_passes.empty())
    return Doubt{"some values are determined before the passes, but not after them", "", kPassByPass,
                 report.look_at_passes};
  if (report.passes_beyond_work)
    return Doubt{"judging the passes takes more than --work_limit", "--work_limit=0", kWhateverItTakes};
  if (report.widened_verdict != Verdict::kMatch)
    return Doubt{"the passes could not be judged", "--compare_mode=tolerance", kByOutputs};
  if (!report.local) return std::nullopt;
  const LocalSummary& local = *report.local;
  if (local.beyond_work)
    return Doubt{"judging the kernels takes more than --work_limit", "--work_limit=0", kWhateverItTakes};
  if (!local.unchecked.empty())
    return Doubt{Str("no error bounds for ", local.unchecked.front()), "--compare_mode=tolerance", kByOutputs};
  // The tolerance judges outputs with too wide bounds, and the ensemble judges outputs beyond the tolerance. Neither
  // shows which side of a decision is right.
  const bool is_explained = report.ensemble && report.ensemble->unsupported.empty() && !report.ensemble->suspect;
  const bool within = report.outputs && (report.outputs->bad() == 0 || is_explained);
  const auto open = std::ranges::find_if(
      local.open, [&](const LocalSummary::OpenStep& step) { return !within || !step.only_vacuous; });
  if (open == local.open.end()) return std::nullopt;
  std::string reason = Str("an output of '", open->name, "' is open: ", open->why);
  if (local.undecided_loop) return Doubt{std::move(reason), "--xla_disable_hlo_passes=block-fusion", kTripByTrip};
  return Doubt{std::move(reason), "--compare_mode=exact", kOnIntegers};
}

// The doubt if results are NaN or infinite where the reference is finite, and the bounds permit that.
std::optional<Doubt> DoubtOfNumbers(const RunReport& report) {
  if (!report.outputs) return std::nullopt;
  int64_t nan = 0, infinite = 0;
  for (const TensorComparison& output : report.outputs->outputs) {
    nan += output.nan_for_finite;
    infinite += output.inf_for_finite;
  }
  if (nan + infinite == 0) return std::nullopt;
  const auto are = [](int64_t count, std::string_view what) {
    return Str(Counted(count, "element"), count == 1 ? " is " : " are ", what);
  };
  std::string what = nan > 0 ? are(nan, "NaN") : "";
  if (infinite > 0) what += Str(nan > 0 ? " and " : "", are(infinite, "infinite"));
  const std::string whose = report.reference_file.empty() ? "the interpreter's" : "the reference's";
  return Doubt{Str(what, " where ", whose, " are finite", report.local ? ", and no bound excludes that" : ""),
               "--compare_mode=tolerance", kByOutputs};
}

std::optional<Doubt> DoubtOfRoundings(const RunReport& report) {
  if (!report.ensemble) return std::nullopt;
  const EnsembleResult& ensemble = *report.ensemble;
  const int64_t bad = report.outputs ? report.outputs->bad() : 0;
  const std::string what =
      bad == 0 ? "" : Str(Counted(bad, "element"), bad == 1 ? " is" : " are", " beyond the tolerance, and ");
  if (ensemble.suspect)
    return Doubt{
        what.empty() ? "roundings do not explain the results" : Str(what, "roundings do not explain the difference"),
        "--compare_mode=all", "looks for what else may be wrong"};
  if (ensemble.unsupported.empty() || bad == 0) return std::nullopt;
  return Doubt{Str(what, "whether roundings explain the difference is not known: ", ensemble.unsupported),
               "--compare_mode=exact", kOnIntegers};
}

std::string Again(const RunOptions& options, const RunReport& report, std::string_view flags, std::string_view does) {
  std::vector<std::string> given = options.flags;
  // --tolerance=exact together with another --compare_mode is an error.
  if (flags.contains("--compare_mode=")) std::erase(given, "--tolerance=exact");
  return Str(RunAgain(given, flags, report.path), "   ", does);
}

// Makes hlo-opt plan for the device of this run.
std::string TargetFlag(const RunOptions& options) {
  const std::string& target = options.reproducer.target;
  return target.empty() ? "" : Str("--target=", ShellWord(target), " ");
}

// Suggests a command. The text of a wrong pass already has one.
std::string NextOf(const Culprit& culprit, const RunOptions& options, const RunReport& report) {
  switch (culprit.kind) {
    case Culprit::Kind::kKernel:
      return Str("hlo-opt ", TargetFlag(options), "--stage=", report.platform == "cpu" ? "host-llvm" : "llvm",
                 " --kernel=", ShellWord(culprit.name), " ", ShellWord(report.path), "   shows its code");
    case Culprit::Kind::kLibrary: return Again(options, report, "--nolibraries", "runs a kernel of hlokit instead");
    case Culprit::Kind::kRuntime:
      return Str("hlo-opt --stage=hlo-backend ", ShellWord(report.path), "   shows the steps in their order");
    case Culprit::Kind::kReference:
      if (options.reference_file.empty())
        return Again(options, report, "--platform=cpu --reference_platform=interpreter", "judges the run on cpu");
      return Again(
          options, report, "--platform=interpreter --trace_values=. --reference=",
          "prints the value of each op here: look for the first one that the reference's program does not have");
    case Culprit::Kind::kRounding:
      return "give an --abs_error_bound or --rel_error_bound above the 'smallest passing bounds'; without a tolerance "
             "of your own, roundings are allowed for";
    case Culprit::Kind::kUnknown:
      if (options.reference_file.empty()) return Again(options, report, "--compare_mode=all", "runs all oracles");
      return Again(options, report, "--reference= --compare_mode=all", "judges the run without the file");
    case Culprit::Kind::kStub:
      return report.filled_constants > 0
                 ? "dump the module with its constants: XLA_FLAGS=--xla_dump_large_constants, or as "
                   "a protocol buffer ('hlo help guides/jax')"
                 : Str("--custom_call=", ShellWord(report.stubs.front().target),
                       "=FILE.hlo gives the meaning of the call");
    default: return "";
  }
}

// Removes the flags that --isolate does not accept.
std::vector<std::string> WithoutComparing(std::vector<std::string> flags) {
  std::erase_if(flags, [](std::string_view flag) {
    constexpr std::string_view kOfComparing[] = {
        "--compare_mode=", "--abs_error_bound=", "--rel_error_bound=", "--max_ulp=", "--tolerance=", "--reference="};
    return std::ranges::any_of(kOfComparing, [&](std::string_view name) { return flag.starts_with(name); });
  });
  return flags;
}

void SetInconclusive(RunReport* report, const RunOptions& options, const Doubt& doubt) {
  SetVerdict(report, Verdict::kInconclusive, doubt.reason);
  if (!doubt.command.empty()) report->next = Str(doubt.command, "   ", doubt.does);
  // The mode `all` includes the suggested mode.
  else if (options.compare_mode == CompareMode::kAll && doubt.flag.starts_with("--compare_mode="))
    report->next =
        Str(RunAgain(WithoutComparing(options.flags), "--isolate", report->path), "   judges each kernel alone");
  else report->next = Again(options, *report, doubt.flag, doubt.does);
}

std::optional<Doubt> DoubtOfPartition(const RunReport& report) {
  if (!report.partition || report.partition->verdict != Verdict::kInconclusive) return std::nullopt;
  return Doubt{Str("the partitioned program: ", report.partition->text), "--input_profile=exact", kOnIntegers};
}

Result<bool> HasBitsOfReference(Experiment& experiment) {
  const Literal& expected = TRY(experiment.Reference())->outputs;
  return CompareBitwise(expected, TRY(experiment.Results())->outputs).verdict == Verdict::kMatch;
}

// Results with the bits of the reference are right, even if bounds are open.
Result<std::optional<Doubt>> FindDoubt(Experiment& experiment, const RunReport& report) {
  const RunOptions& options = experiment.options();
  if (options.compare_mode == CompareMode::kEnsemble) {
    if (!report.ensemble->unsupported.empty())
      return Doubt{Str("the ensemble did not run: ", report.ensemble->unsupported), "--compare_mode=auto",
                   "judges each kernel and the passes"};
    return DoubtOfRoundings(report);
  }
  std::optional<Doubt> doubt = DoubtOf(report);
  if (!doubt) doubt = DoubtOfNumbers(report);
  if (!doubt) doubt = DoubtOfRoundings(report);
  if (!doubt || !report.outputs) return doubt;
  return TRY(HasBitsOfReference(experiment)) ? std::nullopt : doubt;
}

// "; {0} is f32[2,4] at run time, expected f32[2,3]" for the first output of another size.
std::string SizesText(const RunReport& report) {
  if (!report.outputs) return "";
  for (const TensorComparison& output : report.outputs->outputs) {
    if (output.verdict == Verdict::kMismatch && !output.reason.empty())
      return Str("; {", Join(output.output, ","), "} is ", output.reason);
  }
  return "";
}

Status Judge(Experiment& experiment, int64_t outputs, int64_t elements, RunReport* report) {
  const RunOptions& options = experiment.options();
  report->detail = Str(outputs, outputs == 1 ? " output" : " outputs");
  report->detail += Str(", ", elements, elements == 1 ? " element" : " elements");
  report->detail += SizesText(*report);
  if (!report->reference_skipped.empty()) report->detail += "; kernels and passes decide";
  if (!report->rounded.empty()) report->detail += "; rounding explains the difference";
  if (report->fallback.Everything()) report->detail += "; no kernel ran: all steps ran in the interpreter";
  if (report->culprit.kind != Culprit::Kind::kNone) {
    SetVerdict(report, Verdict::kMismatch, "");
    report->next = NextOf(report->culprit, options, *report);
    if (report->culprit.kind == Culprit::Kind::kRounding) report->detail += "; rounding explains the difference";
    else if (report->culprit.kind == Culprit::Kind::kReference) report->detail += "; only the reference differs";
    else if (report->culprit.kind == Culprit::Kind::kStub) report->detail += "; part of the program is made up";
    else if (report->culprit.kind == Culprit::Kind::kRuntime) report->detail += "; wrong: run time";
    else if (report->culprit.kind != Culprit::Kind::kUnknown) report->detail += Str("; wrong: ", report->culprit.name);
    return {};
  }
  if (report->outputs_decide) return {};
  std::optional<Doubt> doubt = TRY(FindDoubt(experiment, *report));
  if (!doubt) doubt = DoubtOfPartition(*report);
  if (doubt) {
    SetInconclusive(report, options, *doubt);
    return {};
  }
  if (report->outputs && report->outputs->bad() > 0)
    report->detail += Str("; ", report->outputs->bad(), " beyond the tolerance, which roundings explain");
  if (report->ensemble && report->ensemble->unsupported.empty())
    report->detail += Format("; ensemble r %.2g", report->ensemble->worst());
  SetVerdict(report, Verdict::kMatch, "");
  return {};
}

Status AskForRoundings(Experiment& experiment, RunReport* report) {
  const bool is_open = report->outputs && report->outputs->bad() > 0 && report->culprit.kind == Culprit::Kind::kNone;
  if (!is_open || report->outputs_decide || report->ensemble || !experiment.options().asks_for_roundings) return {};
  experiment.progress().Stage("interpreting with other roundings");
  EnsembleOptions options = TRY(experiment.Ensemble());
  options.most_seconds = kUnaskedSeconds;  // --compare_mode=ensemble has no limit.
  auto ensemble = CompareEnsemble(*TRY(experiment.Input())->module, TRY(experiment.Arguments())->values,
                                  TRY(experiment.Results())->outputs, options);
  report->ensemble = ensemble ? std::move(*ensemble) : EnsembleResult{.unsupported = ensemble.error().message()};
  std::vector<EnsembleOutput> in_question;
  for (size_t i = 0; i < report->ensemble->outputs.size(); ++i) {
    if (report->outputs->outputs[i].bad() > 0) in_question.push_back(std::move(report->ensemble->outputs[i]));
  }
  report->ensemble->outputs = std::move(in_question);
  report->ensemble->suspect = std::ranges::any_of(report->ensemble->outputs, &EnsembleOutput::IsSuspect);
  return {};
}

Status JudgeParts(Experiment& experiment, RunReport* report) {
  if (experiment.IsInterpreted()) return {};
  for (const Oracle& oracle : AllOracles()) {
    if (oracle.need == Need::kCode) TRY(oracle.judge(experiment, report));
  }
  return {};
}

std::string ReferenceName(const RunOptions& options) {
  if (!options.reference_file.empty()) return Str("'", options.reference_file, "'");
  return options.reference_platform == ReferencePlatform::kCpu ? "the run on cpu" : "the interpreter";
}

// The reference's program does not share the made-up values.
std::string MadeUpText(const RunReport& report) {
  std::vector<std::string> parts;
  const int64_t constants = report.filled_constants;
  if (constants > 0)
    parts.push_back(Str(Counted(constants, "constant"), constants == 1 ? " was" : " were", " printed as {...} and ",
                        constants == 1 ? "is" : "are", " made up"));
  for (const CustomCallStub& stub : report.stubs) {
    const std::string calls = Str(Counted(stub.calls, "call"), " of \"", Escaped(stub.target), "\"");
    parts.push_back(Str(calls, stub.calls == 1 ? " was" : " were", " replaced (", stub.policy, ")"));
  }
  if (parts.empty()) return "";
  return Str(Join(parts, ", "), ", so a reference from elsewhere ", constants > 0 ? "cannot" : "need not", " match");
}

// The ensemble of a reference bundle's module, if that explains our results.
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

bool HasFloats(const Shape& shape) {
  if (shape.IsTuple()) return std::ranges::any_of(shape.elements(), HasFloats);
  return shape.IsArray() && (IsFloat(shape.type()) || IsComplex(shape.type()));
}

// Whether implementations of the op may give different bits. They give the same for a conversion, which rounds once.
// Called computations are examined on their own.
bool RoundsFreely(const Instruction& inst) {
  if (!HasFloats(inst.shape()) || inst.Is(Opcode::kConvert) || inst.Is(Opcode::kReducePrecision)) return false;
  if (inst.Is(kElementwise)) return RowOf(inst.opcode()).ulps > 0;
  for (const OpTrait exact : {kMoves, kHandsOn, kChooses, kNoKernel, kHoldsLiteral}) {
    if (inst.Is(exact)) return false;
  }
  return inst.Is(Opcode::kCustomCall) || CalledComputations(inst).empty();
}

// Explains a differing reference when our side has no known fault. `known` describes our side.
Status BlameNobody(Experiment& experiment, std::string_view known, std::string_view more, RunReport* report) {
  Culprit& culprit = report->culprit;
  culprit.kind = Culprit::Kind::kReference;
  if (experiment.options().reference_file.empty()) {
    culprit.text = Str("not known: ", known, ", and the difference from ", ReferenceName(experiment.options()),
                       " is beyond the tolerance");
    return {};
  }
  culprit.text =
      Str("not known: ", known, "; the reference has other arguments", more,
          ", or hlokit gives an op another meaning than the maker of the reference, or the other program is wrong",
          report->outputs ? FirstBadOutput(*TRY(experiment.Input())->module, *report->outputs) : "");
  return {};
}

// `right` tells why our side has no known fault.
Status BlameRoundings(Experiment& experiment, std::string_view right, RunReport* report) {
  constexpr std::string_view kOrRoundings = " or another precision, or roundings explain the difference";
  const Module& module = *TRY(experiment.Input())->module;
  if (NothingRounds(module)) {
    const std::string_view agree =
        experiment.IsInterpreted() ? "the interpreter ran the module" : "our kernels agree with our interpreter";
    return BlameNobody(experiment, Str(agree, ", and roundings cannot explain the difference"), "", report);
  }
  EnsembleOptions ensemble = TRY(experiment.Ensemble());
  ensemble.most_seconds = kUnaskedSeconds;
  experiment.progress().Stage("interpreting with other roundings");
  const EnsembleResult roundings =
      TRY(CompareEnsemble(module, TRY(experiment.Arguments())->values, TRY(experiment.Reference())->outputs, ensemble));
  const auto of_other =
      roundings.suspect ? TRY(RoundingsOfOther(experiment, ensemble)) : std::optional<EnsembleResult>();
  if (!roundings.unsupported.empty() && !of_other)
    return BlameNobody(experiment, Str(right, " (the ensemble did not run: ", roundings.unsupported, ")"), kOrRoundings,
                       report);
  // The example at the end need not be a bad element.
  const std::string words = ToString(roundings);
  const std::string ensemble_text = words.substr(0, words.find('\n'));
  if (roundings.suspect && !of_other) {
    const std::string known = Str(right, ", and roundings do not explain the difference (", ensemble_text, ")");
    return BlameNobody(experiment, known, " or another precision", report);
  }
  const std::string reference = ReferenceName(experiment.options());
  report->culprit.kind = Culprit::Kind::kRounding;
  report->culprit.text =
      Str(kNoCulprit, right, kExplained, " (",
          of_other ? Str("of the program in ", reference, ": ", ToString(*of_other)) : ensemble_text, ")");
  return {};
}

bool IsNanInOne(const Comparison& comparison) {
  return std::ranges::any_of(comparison.outputs,
                             [](const TensorComparison& tensor) { return tensor.nan_actual != tensor.nan_expected; });
}

// Explains a differing reference: a fault of ours, roundings, or unknown.
Status BlameByParts(Experiment& experiment, RunReport* report) {
  const RunOptions& options = experiment.options();
  if (!TRY(experiment.Arguments())->by_device.empty())
    return BlameRoundings(experiment, "the interpreter ran the module on all devices", report);
  TRY(JudgeParts(experiment, report));
  Culprit& culprit = report->culprit;
  if (culprit.kind != Culprit::Kind::kNone) return {};
  culprit.kind = Culprit::Kind::kUnknown;
  if (const auto doubt = DoubtOf(*report)) {
    culprit.text = Str("not known: ", doubt->reason);
    return {};
  }
  const std::string_view right =
      experiment.IsInterpreted() ? "the interpreter ran the module" : "every kernel is within its rounding bounds";
  if (options.reference_file.empty() && options.wants_interpreter()) {
    culprit.kind = Culprit::Kind::kRounding;
    culprit.text = Str(kNoCulprit, right, ", and so are the passes", kExplained);
    return {};
  }
  const Interpretation& interpretation = *TRY(experiment.Interpreted());
  const Literal& expected = TRY(experiment.Reference())->outputs;
  const Comparison own =
      CompareTolerance(interpretation.outputs, TRY(experiment.Results())->outputs, options.tolerance);
  if (IsNanInOne(own)) {
    // Every kernel is within bounds, so the bounds allow NaN and show nothing.
    const std::string reason = "kernels and interpreter disagree about NaN, and the bounds are too wide to decide";
    culprit.text = Str("not known: ", reason);
    if (options.tolerance_given) return {};
    culprit = {};
    SetInconclusive(report, options, {reason, "--detect_nan=warn", "names the op that makes it"});
    return {};
  }
  const bool by_bits = options.compare_mode == CompareMode::kBitwise || options.compare_mode == CompareMode::kExact;
  const Comparison truth = by_bits
                               ? CompareBitwise(expected, interpretation.outputs, options.compare)
                               : CompareTolerance(expected, interpretation.outputs, options.tolerance, options.compare);
  if (truth.verdict != Verdict::kMatch) {
    TRY(BlameRoundings(experiment, right, report));
    if (own.verdict == Verdict::kMatch || culprit.kind != Culprit::Kind::kReference) return {};
    culprit.kind = Culprit::Kind::kUnknown;
    culprit.text += ". Kernels and interpreter differ, too";
    return {};
  }
  culprit.kind = Culprit::Kind::kRounding;
  culprit.text = Str(kNoCulprit, right, ", and the interpreter's results are those of the reference", kExplained);
  return {};
}

// Without another explanation, stubs and made-up constants explain the difference.
Status BlameForReference(Experiment& experiment, RunReport* report) {
  TRY(BlameByParts(experiment, report));
  Culprit& culprit = report->culprit;
  const bool is_open = culprit.kind == Culprit::Kind::kNone || culprit.kind == Culprit::Kind::kUnknown ||
                       culprit.kind == Culprit::Kind::kReference;
  const std::string made_up = MadeUpText(*report);
  if (!is_open || made_up.empty() || experiment.options().reference_file.empty()) return {};
  culprit.kind = Culprit::Kind::kStub;
  culprit.name = "a stub";
  culprit.text = made_up;
  return {};
}

// The default tolerance is a rule of thumb: roundings alone are not a mismatch.
void AllowForRoundings(const RunOptions& options, RunReport* report) {
  if (report->culprit.kind != Culprit::Kind::kRounding || options.tolerance_given) return;
  report->rounded = Str(report->outputs->bad(), " of ", Counted(report->outputs->elements(), "element"),
                        " beyond the tolerance of the element type; ", report->culprit.text.substr(kNoCulprit.size()));
  report->culprit = {};
  SetVerdict(report, Verdict::kMatch, "");
}

// If the outputs are too small for the tolerance of the comparison, kernels and passes decide.
Status DecideByParts(Experiment& experiment, RunReport* report) {
  if (experiment.IsInterpreted()) return {};
  TRY(JudgeParts(experiment, report));
  if (report->culprit.kind != Culprit::Kind::kNone || DoubtOf(*report)) return {};
  report->notes.push_back(Str("the outputs are too small for the tolerances of the comparison with '",
                              report->reference_file, "' (", report->outputs->reason,
                              "); the kernels and passes decide (--abs_error_bound sets another tolerance)"));
  SetVerdict(report, Verdict::kMatch, "");
  return {};
}

// NaN equals NaN, so a match of only NaN shows little.
std::string AllNanText(const RunOptions& options, const ValueStats& outputs) {
  if (outputs.nans == 0 || outputs.nans < outputs.elements) return "";
  const bool made_up = options.args.empty() && options.arg.empty();
  return Str(outputs.elements == 1 ? "the element is NaN" : Str("all ", outputs.elements, " elements are NaN"),
             made_up ? "; try --args, --arg_range=1,2 or --input_profile=exact"
                     : "; --detect_nan=warn names the first op that makes one");
}

std::string SomeNanText(const RunReport& report, const ValueStats& outputs) {
  if (outputs.nans == 0) return "";
  const bool on_both =
      report.outputs && std::ranges::all_of(report.outputs->outputs, [](const TensorComparison& tensor) {
        return tensor.nan_actual == tensor.nan_expected;
      });
  return Str(outputs.nans, " of ", Counted(outputs.elements, "element"), outputs.nans == 1 ? " is NaN" : " are NaN",
             on_both ? " on both sides" : "");
}

ValueStats StatsOfNan(const Literal& outputs) {
  return FindFirst(outputs, Oddity::kNan) ? StatsOf(outputs) : ValueStats();
}

Status DecideByOutputs(Experiment& experiment, bool replicas_differ, RunReport* report) {
  if (report->exact) {
    const std::string& why = report->exact->reason;
    if (!replicas_differ) SetVerdict(report, report->exact->verdict, why.empty() ? "" : "exact: " + why);
    const bool is_explained = report->culprit.kind != Culprit::Kind::kNone;
    if (report->exact->verdict == Verdict::kMismatch && !is_explained) TRY(BlameForReference(experiment, report));
    if (report->exit == ExitCode::kInconclusive)
      report->next = Again(experiment.options(), *report, "--compare_mode=ensemble", kByRoundings);
    return {};
  }
  if (!replicas_differ) SetVerdict(report, report->outputs->verdict, report->outputs->reason);
  if (report->outputs->verdict == Verdict::kMismatch) {
    TRY(BlameForReference(experiment, report));
    if (!replicas_differ) AllowForRoundings(experiment.options(), report);
  }
  if (report->reference_file.empty()) return {};
  if (report->outputs->verdict != Verdict::kInconclusive || replicas_differ) return {};
  TRY(DecideByParts(experiment, report));
  const bool is_open = report->exit == ExitCode::kInconclusive && report->culprit.kind == Culprit::Kind::kNone;
  if (is_open && TRY(HasBitsOfReference(experiment))) SetVerdict(report, Verdict::kMatch, "");
  return {};
}

std::pair<int64_t, int64_t> SizeOf(const RunReport& report, const Literal& results) {
  if (report.outputs) return {std::ssize(report.outputs->outputs), report.outputs->elements()};
  int64_t outputs = 0, elements = 0;
  ForEachLeaf(results.shape(), [&](const ShapeIndex&, const Shape& leaf) {
    if (!leaf.IsArray()) return;
    ++outputs;
    elements += leaf.NumElements();
  });
  return {outputs, elements};
}

}  // namespace

bool NothingRounds(const Module& module) {
  for (const Computation* computation : module.Computations()) {
    if (std::ranges::any_of(computation->Instructions(), [](const Instruction* inst) { return RoundsFreely(*inst); }))
      return false;
  }
  return true;
}

std::string FirstBadOutput(const Module& module, const Comparison& outputs) {
  const auto bad =
      std::ranges::find_if(outputs.outputs, [](const TensorComparison& tensor) { return tensor.bad() > 0; });
  if (bad == outputs.outputs.end()) return "";
  const Instruction* inst = &module.entry().root();
  for (size_t depth = 0; depth < bad->output.size() && inst->Is(Opcode::kTuple); ++depth)
    inst = &inst->operand(bad->output[depth]);
  return Str(". The first output that differs, {", Join(bad->output, ","), "}, is ", NameWithSource(*inst, module));
}

void SetVerdict(RunReport* report, Verdict verdict, std::string_view reason) {
  report->verdict = VerdictText(verdict, reason);
  const bool made_up = !report->stubs.empty() || report->filled_constants > 0;
  if (verdict == Verdict::kMatch && made_up) report->verdict += "(with stubs)";
  report->exit = ExitCodeOf(verdict);
}

Status JudgeRun(Experiment& experiment, RunReport* report) {
  const bool has_reference = TRY(experiment.Reference()) != nullptr;
  const RunOptions& options = experiment.options();
  const bool is_judged = has_reference || !report->reference_skipped.empty();
  const CompareModeRow& mode = ModeOf(options);
  const bool replicas_differ = report->exit == ExitCode::kNo;
  for (const Oracle& oracle : AllOracles()) {
    const bool can = oracle.need == Need::kCode         ? is_judged && !experiment.IsInterpreted()
                     : oracle.need == Need::kPartitions ? options.wants_interpreter()
                                                        : has_reference;
    if (can && mode.Has(oracle)) TRY(oracle.judge(experiment, report));
  }
  const bool has_partition = report->partition && report->partition->verdict != Verdict::kUnsupported;
  if (!is_judged && !has_partition) {
    if (!options.bench && report->detail.empty())
      report->detail = AllNanText(options, StatsOfNan(TRY(experiment.Results())->outputs));
    return {};
  }
  report->outputs_decide = mode.outputs_decide;
  if (mode.outputs_decide) TRY(DecideByOutputs(experiment, replicas_differ, report));
  if (replicas_differ) return {};
  const Literal& results = TRY(experiment.Results())->outputs;
  const auto [outputs, elements] = SizeOf(*report, results);
  TRY(AskForRoundings(experiment, report));
  TRY(Judge(experiment, outputs, elements, report));
  if (report->exit == ExitCode::kNo) return {};  // A mismatch has a table of outputs, which counts NaN.
  const ValueStats stats = StatsOfNan(results);
  const std::string all = AllNanText(options, stats), nans = all.empty() ? SomeNanText(*report, stats) : all;
  if (!nans.empty()) report->detail += Str("; ", nans);
  return {};
}

Status JudgeByParts(Experiment& experiment, RunReport* report) {
  const CompareModeRow& mode = ModeOf(experiment.options());
  for (const Oracle& oracle : AllOracles()) {
    if (oracle.need == Need::kCode && mode.Has(oracle)) TRY(oracle.judge(experiment, report));
  }
  return Judge(experiment, 0, report->local ? report->local->elements : 0, report);
}

Status JudgeUnfinished(Experiment& experiment, Error error, RunReport* report) {
  const bool judged = experiment.options().wants_interpreter() || !experiment.options().reference_file.empty();
  if (!MayComeOfWrongValues(error) || !judged || experiment.IsInterpreted()) FAIL(std::move(error));
  experiment.progress().Stage("checking");
  const auto followed = Follow(*TRY(experiment.Placed()), TRY(experiment.Arguments())->values, true);
  if (!followed) FAIL(std::move(error));
  report->dataflow = followed->summary;
  Culprit& culprit = report->culprit;
  if (!followed->fault.empty())
    culprit = {.kind = Culprit::Kind::kRuntime, .name = followed->culprit, .text = "run time: " + followed->fault};
  if (culprit.kind == Culprit::Kind::kNone) TRY(JudgeKernels(experiment, *followed, report));
  // The interpreter finished, so the loops of the input end.
  const bool has_reference = TRY(experiment.Arguments())->reference.has_value();
  if (culprit.kind == Culprit::Kind::kNone && has_reference) TRY(JudgePasses(experiment, report));
  if (culprit.kind == Culprit::Kind::kNone && has_reference && error.exit != ExitCode::kLimit && !DoubtOf(*report))
    culprit = {.kind = Culprit::Kind::kRuntime,
               .name = "",
               .text = Str("run time: ", error.message(), ", and each step is right for the values that it reads")};
  if (culprit.kind == Culprit::Kind::kNone) FAIL(std::move(error));
  report->notes.push_back(Str("the run ended early: ", error.message()));
  SetVerdict(report, Verdict::kMismatch, "");
  report->next = NextOf(culprit, experiment.options(), *report);
  report->detail = Str("no outputs; wrong: ", culprit.kind == Culprit::Kind::kRuntime ? "run time" : culprit.name);
  report->memory.reset();  // The planned memory was not used to the end.
  return {};
}

}  // namespace hlo
