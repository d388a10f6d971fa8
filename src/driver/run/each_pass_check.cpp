#include "driver/run/each_pass_check.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "driver/command_line.h"
#include "driver/inspect/text.h"
#include "driver/run/arguments.h"
#include "driver/run/further_arguments.h"
#include "driver/run/oracles.h"
#include "driver/run/pass_check.h"
#include "driver/run/pass_segments.h"
#include "driver/run/reproducer.h"
#include "interp/interpreter.h"
#include "judge/bits.h"
#include "judge/compare/compare.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

// About a second for each pass instance, because pipelines have tens of instances.
constexpr int64_t kStepsOfAPass = 300'000'000;

RunOptions Judging(RunOptions options) {
  if (options.work_limit < 0) options.work_limit = kStepsOfAPass;
  return options;
}

std::string SummaryOf(const BitsFinding& finding) {
  std::string summary;
  for (const TensorComparison& tensor : finding.comparison.outputs) summary += tensor.bad() > 0 ? Details(tensor) : "";
  return summary;
}
std::string SummaryOf(const BitsResult& bits) { return bits.finding ? SummaryOf(*bits.finding) : ""; }

}  // namespace

EachPassCheck::EachPassCheck(const RunOptions& options, std::optional<Pattern> only, const DiffOptions& diff,
                             Progress& progress)
    : options_(Judging(options)),
      only_(std::move(only)),
      diff_(diff),
      progress_(progress),
      given_work_limit_(options.work_limit) {}

Status EachPassCheck::Begin(const Module& module) {
  progress_.Stage("making arguments");
  path_ = module.source->name();
  RunArguments arguments =
      TRY(PrepareArguments(module, options_, /*interpret=*/false, InterpreterOptions(options_), &progress_));
  arguments_ = std::move(arguments.values);
  inputs_ = std::move(arguments.description);
  progress_.Stage("making arguments that reach more decisions");
  if (IsTooLargeToInterpret(module, options_.work_limit)) TakeValues(module);
  further_ = TRY(FindFurtherArguments(module, arguments_, static_cast<uint64_t>(options_.seed),
                                      InterpreterOptions(options_), /*most_sets=*/8))
                 .sets;
  return {};
}

// Keeps values for samples, up to a sixth of the memory limit.
void EachPassCheck::TakeValues(const Module& module) {
  int64_t room = DefaultMemoryLimit() / 6;
  InterpretOptions taking = InterpreterOptions(options_);
  taking.on_value = [&](const Instruction& inst, const Literal& value) {
    if (&inst.computation() != &module.entry() || !inst.shape().IsArray() || value.byte_size() > room) return;
    room -= value.byte_size();
    values_[inst.id()] = std::make_shared<const Literal>(value);
  };
  std::ignore = Interpret(module, arguments_, taking);  // If the run fails, the values computed before remain.
}

Status EachPassCheck::Before(const PassRun& run, const Module& module) {
  before_ = !only_ || only_->FoundIn(NameOf(run)) ? module.Clone(/*as_input=*/true) : nullptr;
  input_ids_.assign(module.id_limit(), -1);
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) input_ids_[inst->id()] = inst->origin();
  }
  return {};
}

Status EachPassCheck::After(const PassRun& run, const Module&) {
  if (!run.changed || before_ == nullptr) return {};
  progress_.Stage(Str("judging ", NameOf(run)));
  return Judge(run);
}

Status EachPassCheck::Judge(const PassRun& run) {
  ++judged_;
  Line line{Str(run.number), NameOf(run), "ok", ""};
  const RepeatedPass after = TRY(RepeatPass(run, *before_, options_.pipeline));
  const Judged judged = TRY(JudgeModule(run, *after.module));
  line.detail = judged.detail;
  wrong_ = judged.verdict == Verdict::kMismatch;
  const bool is_open = !wrong_ && judged.verdict != Verdict::kMatch;
  open_ += is_open;
  if (wrong_ || is_open) line.verdict = wrong_ ? "WRONG" : "open";
  lines_.push_back(line);
  if (!wrong_) return {};
  blame_ = TRY(Blame(run, judged.summary));
  if (!options_.reproducer.directory.empty()) {
    progress_.Stage("writing the reproducer");
    RunOptions options = options_;
    options.work_limit = given_work_limit_;
    blame_ += Str(
        "repro: ",
        ReproduceWrongPass(*before_, run, judged.arguments != nullptr ? *judged.arguments : arguments_, options), "\n");
  }
  FAIL(Error(ExitCode::kNo, "", Finding()));  // The caller that checks `is_wrong` shows the report.
}

Result<EachPassCheck::Judged> EachPassCheck::JudgeModule(const PassRun& run, const Module& repeated) const {
  const std::unique_ptr<const Module> rounded = WithPromisedRoundings(run, *before_, repeated);
  const Module& after = rounded != nullptr ? *rounded : repeated;
  auto by_bits = TRY(JudgeByBits(run, after));
  Judged judged = by_bits ? std::move(*by_bits) : TRY(JudgeOtherwise(run, after));
  if (judged.verdict == Verdict::kMismatch) return judged;
  if (auto wrong = TRY(JudgeOnFurther(run, after))) return std::move(*wrong);
  return judged;
}

// Judges only exact passes. After other passes, different bits on further arguments prove nothing.
Result<std::optional<EachPassCheck::Judged>> EachPassCheck::JudgeOnFurther(const PassRun& run,
                                                                           const Module& after) const {
  if (PreservesOf(*run.pass, run.options) != Preserves::kExact) return std::nullopt;
  const BitsOptions bits_options = {.interpret = InterpreterOptions(options_), .compare = options_.compare};
  for (const auto& [arguments, result] : further_) {
    const BitsResult bits = TRY(CompareByBits(*before_, after, arguments, bits_options));
    if (bits.verdict != Verdict::kMismatch) continue;
    return Judged{.verdict = bits.verdict,
                  .detail = Str(bits.reason, kOnFurther),
                  .summary = SummaryOf(bits),
                  .arguments = &arguments};
  }
  return std::nullopt;
}

// If an inexact pass changes bits, residues decide. Returns nothing if they cannot, or if the interpreter cannot run
// the module or takes long.
Result<std::optional<EachPassCheck::Judged>> EachPassCheck::JudgeByBits(const PassRun& run, const Module& after) const {
  if (IsTooLargeToInterpret(*before_, options_.work_limit)) return std::nullopt;
  const BitsOptions bits_options = {.interpret = InterpreterOptions(options_), .compare = options_.compare};
  BitsResult bits = TRY(CompareByBits(*before_, after, arguments_, bits_options));
  std::string_view by = "bits";
  if (PreservesOf(*run.pass, run.options) != Preserves::kExact && bits.verdict != Verdict::kMatch) {
    auto decided = TRY(JudgeByResidues(run, *before_, after, arguments_, bits_options));
    if (!decided) return std::nullopt;
    bits = std::move(*decided);
    by = "residues";
  }
  if (bits.verdict == Verdict::kUnsupported) return std::nullopt;
  Judged judged{.verdict = bits.verdict, .detail = bits.reason, .summary = {}};
  if (bits.verdict == Verdict::kMatch)
    judged.detail = Str(Counted(bits.values, "value"), ", ", Counted(bits.elements, "element"), " by ", by,
                        bits.undetermined == 0 ? "" : Str(", ", bits.undetermined, " undetermined"));
  judged.summary = SummaryOf(bits);
  return judged;
}

Result<EachPassCheck::Judged> EachPassCheck::JudgeOtherwise(const PassRun& run, const Module& after) const {
  const bool is_large = IsTooLargeToInterpret(*before_, options_.work_limit);
  const bool is_exact = PreservesOf(*run.pass, run.options) == Preserves::kExact;
  return is_large || is_exact ? JudgeBySample(run, after) : JudgeInF64(run, after);
}

Result<EachPassCheck::Judged> EachPassCheck::JudgeBySample(const PassRun& run, const Module& after) const {
  const auto value_of = [&](int id) { return values_.find(input_ids_[id]); };
  const LeftValues left = {
      .has = [&](int id) { return value_of(id) != values_.end(); },
      .take = [&](int id) -> Result<std::shared_ptr<const Literal>> { return value_of(id)->second; }};
  const SampleOptions options = {.interpret = InterpreterOptions(options_),
                                 .compare = options_.compare,
                                 .left = left,
                                 .seed = static_cast<uint64_t>(options_.seed),
                                 .work_limit = options_.work_limit};
  const SampleResult sample = TRY(
      CompareBySample(*before_, after, arguments_, OriginsOf::kBefore, PreservesOf(*run.pass, run.options), options));
  Judged judged{.verdict = sample.verdict, .detail = sample.reason, .summary = {}};
  if (sample.finding) judged.summary = SummaryOf(*sample.finding);
  if (sample.verdict != Verdict::kMatch) return judged;
  judged.detail = Str(Counted(sample.unchanged, "unchanged value"));
  if (sample.changed > 0)
    judged.detail += Str(", ", sample.compared(), " of ", sample.changed, " others compared by samples, ",
                         Counted(sample.elements, "element"));
  return judged;
}

Result<EachPassCheck::Judged> EachPassCheck::JudgeInF64(const PassRun& run, const Module& after) const {
  Judged judged;
  std::vector<Literal> arguments = arguments_;
  const WidenedResult result = TRY(CompareAroundPasses(
      *before_, after, options_, {.keeps_precision = KeepsPrecision(run)}, &arguments, &judged.summary));
  judged.verdict = result.verdict;
  if (result.verdict == Verdict::kMismatch)
    judged.detail = Str("the value of '", result.finding->input->name(), "' changed",
                        result.finding->loop.empty() ? "" : Str(" (", result.finding->loop, ")"));
  else if (result.verdict != Verdict::kMatch) judged.detail = result.reason;
  else if (result.elements == 0) {
    judged.verdict = Verdict::kInconclusive;
    judged.detail = "nothing was compared";
  } else
    judged.detail = Str(Counted(result.elements, "element"), " in ", Counted(result.instructions, "instruction"),
                        " in f64", result.undetermined == 0 ? "" : Str(", ", result.undetermined, " undetermined"));
  return judged;
}

// Describes the wrong rewrite. The module is right after `good` rewrites and wrong after `bad`.
Result<std::string> EachPassCheck::Blame(const PassRun& run, const std::string& summary) const {
  const auto repeated = [&](int64_t fuel) { return RepeatPass(run, *before_, options_.pipeline, fuel); };
  const auto is_wrong = [&](const RepeatedPass& part) {
    const auto verdict = JudgeModule(run, *part.module);
    return !verdict || verdict->verdict == Verdict::kMismatch;
  };
  RepeatedPass right{.module = before_->Clone(/*as_input=*/true), .rewrites = {}}, wrong = TRY(repeated(INT64_MAX));
  int64_t good = 0, bad = 0;
  for (const auto& [rule, count] : wrong.rewrites) bad += count;
  std::string out;
  const bool by_rules = bad > 0 && !is_wrong(TRY(repeated(0)));
  while (by_rules && bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    progress_.Stage(Str("looking for the wrong rewrite of ", NameOf(run), ", ", good, " to ", bad));
    RepeatedPass part = TRY(repeated(middle));
    const bool part_is_wrong = is_wrong(part);
    (part_is_wrong ? bad : good) = middle;
    (part_is_wrong ? wrong : right) = std::move(part);
  }
  if (by_rules && good > 0 && right.rewrites.empty()) right = TRY(repeated(good));
  if (by_rules) wrong = TRY(repeated(bad));
  out += Str("\nstopped at #", run.number, " ", NameOf(run), " of ", run.pipeline,
             ", the first pass instance that changes results\n", summary);
  for (const auto& [id, count] : wrong.rewrites) {
    const auto before = right.rewrites.find(id);
    if (!by_rules || (before != right.rewrites.end() && before->second == count)) continue;
    const std::vector<const Rule*> rules = FindRules(id);  // Empty for a planted fault.
    out += Str("rule: ", id, rules.empty() ? "" : Str("  ", rules.front()->law), "   (rewrite ", bad, " of ",
               NameOf(run), ")\n");
  }
  if (!by_rules)
    out += wrong.rewrites.empty() ? "rule: none; the pass itself is wrong\n" : "rule: no single rule is wrong\n";
  out += Str("what it changed:\n", DiffOf(LinesOf(*right.module), LinesOf(*wrong.module), diff_));
  return out;
}

std::string EachPassCheck::Report() const {
  std::string out = Str("inputs: ", inputs_,
                        "     judged: the module after each pass against the module before it "
                        "('hlo help passes')\n");
  TextTable table({">#", "pass", "verdict", "what was compared"});
  for (const Line& line : lines_) table.Row({line.number, line.name, line.verdict, line.detail});
  if (!lines_.empty()) out += table.Text();
  if (wrong_) return out + blame_;
  if (judged_ == 0 && only_) return out + Finding() + "\n";
  if (!options_.pipeline.inject.empty()) {
    out += judged_ == 0       ? "the fault was planted, but nothing was compared, so nothing was tested\n"
           : open_ == judged_ ? "the fault was planted, but it could not be decided whether it changed results\n"
                              : "a fault was to be planted, but no pass is wrong on these arguments: the fault fits "
                                "nowhere or changes nothing\n";
  }
  return out + Str(Counted(judged_, "pass instance"),
                   " changed the module: ", judged_ == open_ && judged_ > 0 ? "" : Str(judged_ - open_, " right"),
                   open_ == 0 ? "" : Str(judged_ == open_ ? "" : ", ", open_, " open"), "\n");
}

std::string EachPassCheck::Finding() const {
  if (wrong_) return Str(lines_.back().name, " is wrong: ", lines_.back().detail);
  if (judged_ == 0 && only_) return "no pass instance that changed the module matches the pattern";
  return open_ > 0 ? Str(open_, " of ", Counted(judged_, "pass instance"), " open") : "";
}

ExitCode EachPassCheck::exit() const {
  return wrong_ ? ExitCode::kNo : open_ > 0 || (judged_ == 0 && only_) ? ExitCode::kInconclusive : ExitCode::kOk;
}

}  // namespace hlo
