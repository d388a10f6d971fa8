#include "driver/run/pass_check.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "driver/command_line.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "driver/optimize.h"
#include "driver/run/further_arguments.h"
#include "driver/run/oracles.h"
#include "driver/run/pass_segments.h"
#include "driver/run/step_alone.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "ir/analysis/region.h"
#include "judge/compare/same_operation.h"
#include "judge/compare/widened.h"
#include "judge/f64_runs.h"

namespace hlo {
namespace {

WidenedOptions OptionsOf(const RunOptions& options, Progress* progress = nullptr) {
  WidenedOptions widened;
  if (progress != nullptr) {
    widened.on_trip = [progress](const Instruction& loop, int64_t trip) {
      progress->Detail([&] { return Str(", trip ", trip, " of '", loop.name(), "'"); });
    };
  }
  widened.seed = static_cast<uint64_t>(options.seed);
  widened.max_loop_iterations = options.max_loop_iterations;
  widened.work_limit = options.work_limit;
  widened.compare = options.compare;
  return widened;
}

// Loops inside regions cannot be compared by iterations.
std::unique_ptr<Module> WithoutRegions(const Module& optimized) {
  std::unique_ptr<Module> apart = optimized.Clone();
  TakeRegionsApart(*apart);
  return apart;
}

// Results of steps outside of loops, which runs leave in memory. A run keeps values up to a sixth of the memory limit,
// and the program runs again for others.
class ValuesOfRuns {
 public:
  ValuesOfRuns(Experiment& experiment, const Module& optimized) : experiment_(experiment) {
    for (const Instruction* inst : optimized.entry().PostOrder()) {
      const Instruction& step = inst->Is(Opcode::kGetTupleElement) ? inst->operand(0) : *inst;
      const bool may_be_left = step.Is(Opcode::kFusion) || step.Is(Opcode::kCustomCall) || step.Is(Opcode::kDot) ||
                               step.Is(Opcode::kConvolution) || step.Is(Opcode::kCopy) || step.Is(Opcode::kScatter) ||
                               step.Is(Opcode::kSort);
      if (!may_be_left || inst->origin() < 0 || !inst->shape().IsArray()) continue;
      if (at_.try_emplace(inst->origin(), values_.size()).second)
        values_.push_back({.step = step.id(),
                           .element = &step == inst ? -1 : inst->tuple_index(),
                           .bytes = inst->shape().ByteSize(),
                           .literal = nullptr});
    }
  }

  LeftValues Functions() {
    return {.has = [this](int id) { return at_.contains(id); }, .take = [this](int id) { return Take(id); }};
  }

 private:
  struct Value {
    int step = 0;
    int64_t element = -1;  // -1 if the step has only one result.
    int64_t bytes = 0;
    std::shared_ptr<const Literal> literal;
    bool is_lost = false;  // A run ended before computing it.
  };

  Result<std::shared_ptr<const Literal>> Take(int id) {
    Value& value = values_[at_.at(id)];
    if (value.literal == nullptr && !value.is_lost) TRY(RunFrom(at_.at(id)));
    return value.literal;
  }

  // Gets `first`, and as many of the next values as memory allows.
  Status RunFrom(size_t first) {
    const int64_t most_bytes = DefaultMemoryLimit() / 6;
    for (Value& value : values_) value.literal = nullptr;
    std::unordered_map<int, std::vector<Value*>> wanted;  // Keyed by the id of the step.
    int64_t bytes = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      Value& value = values_[(first + i) % values_.size()];
      if (i > 0 && (bytes += value.bytes) > most_bytes) break;
      wanted[value.step].push_back(&value);
    }
    const gpu::Observer take = {
        .wants = [&](const Instruction& inst,
                     std::span<const gpu::LoopStep> loops) { return loops.empty() && wanted.contains(inst.id()); },
        .reads_operands = false,
        .observe = [&](const Instruction& inst, std::span<const gpu::LoopStep>, std::span<const Literal>,
                       const Literal& output) -> Status {
          for (Value* value : wanted.at(inst.id())) {
            Literal own = value->element < 0 ? output : output.elements()[value->element];
            OwnBytes(own);  // Later steps may overwrite the bytes.
            value->literal = std::make_shared<const Literal>(std::move(own));
          }
          return {};
        }};
    const Status ran = TRY(experiment_.Placed())->Execute({.observer = &take});
    // An unfinished run leaves a part of the values.
    if (!ran && ran.error().exit != ExitCode::kLimit) FAIL(ran.error());
    experiment_.Displace();  // The comparison needs the memory.
    for (const auto& [step, of_step] : wanted) {
      for (Value* value : of_step) value->is_lost = value->literal == nullptr;
    }
    return {};
  }

  Experiment& experiment_;
  std::vector<Value> values_;
  std::unordered_map<int, size_t> at_;  // Keyed by the origin.
};

// The command that judges `instance`, or all instances if it is "".
std::string LookCommand(const Experiment& experiment, const std::string& instance) {
  const RunOptions& options = experiment.options();
  std::string command = "hlo-opt --check_each_pass";
  if (!instance.empty()) command = Str("hlo-opt ", ShellWord(Str("--check_each_pass=^", instance, "$")));
  const PipelineOptions& pipeline = options.pipeline;
  if (!options.reproducer.target.empty()) command += Str(" --target=", ShellWord(options.reproducer.target));
  if (pipeline.pipeline != "default") command += Str(" --pipeline=", ShellWord(pipeline.pipeline));
  if (!pipeline.disabled_rules.empty())
    command += Str(" --disable_rules=", ShellWord(Join(pipeline.disabled_rules, ",")));
  if (pipeline.passes) command += Str(" --passes=", ShellWord(*pipeline.passes));
  if (!pipeline.inject.empty()) command += Str(" --inject=", ShellWord(Str("pass:", pipeline.inject)));
  if (options.reoptimize) command += " --reoptimize";
  if (!options.args.empty()) command += Str(" --args=", ShellWord(options.args));
  for (const std::string& arg : options.arg) command += Str(" --arg=", ShellWord(arg));
  if (options.cast_args != CastArgs::kNever) command += Str(" --cast_args=", options.cast_args);
  if (options.input_profile != InputProfile::kNormal) command += Str(" --input_profile=", options.input_profile);
  if (!options.arg_range.empty()) command += Str(" --arg_range=", ShellWord(options.arg_range));
  if (!options.constrain_inputs) command += " --noconstrain_inputs";
  if (options.seed != 0) command += Str(" --random_seed=", options.seed);
  return Str(command, " ", ShellWord(experiment.path()));
}

// A value that a comparison on the run's own arguments leaves open.
struct Question {
  const WidenedValue* own;
  // Made-up arguments showed no fault, but the bounds may be too wide to exclude a wrong value.
  bool is_right = false;
};

// Questions that made-up arguments did not answer. If passes left a value undetermined, all its elements must be
// decided.
std::vector<Question> RemainingOf(std::vector<Question> questions, const WidenedResult& made_up) {
  std::erase_if(questions, [&](Question& question) {
    const auto value = std::ranges::find_if(made_up.values, [&](const WidenedValue& other) {
      return other.instruction == question.own->instruction && other.leaf == question.own->leaf;
    });
    if (value == made_up.values.end() || !value->open.empty() || value->is_silent) return false;
    if (question.own->opened && value->is_partial) return false;
    question.is_right = true;
    return value->IsDecidedByBounds();
  });
  return questions;
}

// Compares open values on made-up arguments. Returns nothing if a value stays open (then `own` has the reason), without
// made-up arguments, or if `own` is a match.
std::optional<WidenedResult> CompareMadeUp(const Module& input, const Module& optimized, const RunOptions& options,
                                           const WidenedOptions& widened, WidenedResult& own,
                                           std::vector<Literal>* arguments) {
  std::vector<Question> questions;
  for (const WidenedValue& value : own.values) {
    if (value.IsInQuestion()) questions.push_back({.own = &value});
  }
  std::optional<WidenedResult> last;
  for (const ArgumentOptions& made : DecidingArguments(static_cast<uint64_t>(options.seed))) {
    auto made_up = MakeArguments(input, made);
    if (!made_up) continue;
    auto result = CompareWidened(input, optimized, *made_up, widened);
    if (!result) continue;
    if (result->beyond_work) break;
    const bool is_wrong = result->verdict == Verdict::kMismatch;
    const size_t before = questions.size();
    if (!is_wrong) questions = RemainingOf(std::move(questions), *result);
    if (is_wrong || questions.size() < before || !last) {
      *arguments = std::move(*made_up);
      last = std::move(*result);
    }
    if (is_wrong) return last;
    if (questions.empty()) break;
  }
  const auto open = std::ranges::find_if(
      questions, [](const Question& question) { return !question.own->open.empty() && !question.is_right; });
  if (open != questions.end()) {
    own.opened = open->own->opened;
    own.reason = open->own->open;
    return std::nullopt;
  }
  if (!last || own.verdict == Verdict::kMatch) return std::nullopt;
  last->verdict = Verdict::kMatch;
  last->opened = false;
  last->reason.clear();
  return last;
}

bool HasDynamicSizes(const Module& module) {
  return std::ranges::any_of(module.Computations(), [](const Computation* computation) {
    return std::ranges::any_of(computation->Instructions(), [](const Instruction* i) { return HasDynamicSize(*i); });
  });
}

// Values with dynamic sizes have no bounds. Nothing if runs in f64 decide nothing.
Result<std::optional<WidenedResult>> CompareByF64Runs(const Module& input, const Module& optimized,
                                                      const RunOptions& options, std::vector<Literal>* arguments) {
  std::vector<std::vector<Literal>> sets = {*arguments};
  for (const ArgumentOptions& made : DecidingArguments(static_cast<uint64_t>(options.seed))) {
    if (auto made_up = MakeArguments(input, made)) sets.push_back(std::move(*made_up));
  }
  std::optional<WidenedResult> decided;
  for (std::vector<Literal>& set : sets) {
    F64Runs runs =
        TRY(CompareF64Runs(input, optimized, set, InterpreterOptions(options), static_cast<uint64_t>(options.seed)));
    if (runs.verdict == Verdict::kInconclusive) return std::nullopt;
    const bool is_wrong = runs.verdict == Verdict::kMismatch;
    if (!is_wrong && (runs.verdict != Verdict::kMatch || runs.is_silent)) continue;
    *arguments = std::move(set);
    decided.emplace();
    decided->verdict = runs.verdict;
    if (!is_wrong) continue;
    const auto result_of = [&](const Module& module) {
      const Instruction& root = module.entry().root();
      return !runs.output.empty() && root.Is(Opcode::kTuple) ? &root.operand(runs.output[0]) : &root;
    };
    decided->reason = runs.reason;
    decided->finding = {result_of(optimized), result_of(input), "", std::move(runs.comparison)};
    return decided;
  }
  return decided;
}

void Name(const PassRun& run, PassFinding* finding) {
  finding->instance = NameOf(run);
  finding->description = Describe(run);
}

PassFinding FindingOf(WidenedResult result) {
  PassFinding finding;
  if (!result.finding) return finding;
  finding.input = result.finding->input->name();
  finding.loop = std::move(result.finding->loop);
  finding.source = SourceAtEnd(*result.finding->input);
  finding.comparison = std::move(result.finding->comparison);
  return finding;
}

PassFinding FindingOf(const BitsFinding& bits) {
  PassFinding finding{.input = std::string(bits.before->name()), .loop = bits.loop};
  finding.source = SourceAtEnd(*bits.before);
  finding.comparison = bits.comparison;
  return finding;
}

std::string ReasonOf(const SegmentsResult& result) {
  if (result.wrong) return result.wrong->reason;
  if (result.open.empty()) return "";
  const JudgedPart& open = result.open.front();
  const std::string last = NameOf(open.last);
  return Str(NameOf(open.first) == last ? last : Str(NameOf(open.first), " to ", last), ": ", open.reason);
}

// "110 values, 4096 elements", or for samples "110 values: 84 unchanged, 20 of 26 compared, 81920 elements".
std::string ValuesOf(const SegmentsResult& result) {
  const int64_t changed = result.values + result.not_compared;
  const std::string elements = Counted(result.elements, "element");
  if (result.unchanged + result.not_compared == 0) return Str(Counted(result.values, "value"), ", ", elements);
  return Str(Counted(result.unchanged + changed, "value"), ": ", result.unchanged, " unchanged",
             changed == 0 ? "" : Str(", ", result.values, " of ", changed, " compared, ", elements));
}

std::string TextOf(const SegmentsResult& result) {
  const int64_t open = std::ranges::count_if(result.open, [](const JudgedPart& part) { return !part.exact; }),
                in_f64 = result.other_instances - result.equal_in_bits - result.by_residues - open,
                by_bits = result.exact_instances + result.equal_in_bits,
                all = by_bits + result.by_residues + in_f64 + open;
  if (all == 0 && result.verdict == Verdict::kMatch) return "MATCH  no pass changed the module";
  std::string text;
  if (result.verdict == Verdict::kMatch) text = "MATCH  ";
  if (result.verdict == Verdict::kMismatch) return Str("MISMATCH  ", ReasonOf(result));
  if (!result.open.empty()) {
    text = VerdictText(Verdict::kInconclusive, ReasonOf(result));
    if (all == 0) return text;
    text += "  ";
  }
  text += Str(Counted(all, "pass instance"), ": ", by_bits, " by bits",
              result.by_residues == 0 ? "" : Str(", ", result.by_residues, " by residues"),
              in_f64 == 0 ? "" : Str(", ", in_f64, " in f64"), open == 0 ? "" : Str(", ", open, " open"), "; ",
              ValuesOf(result));
  if (result.undetermined > 0) text += Str(", ", result.undetermined, " undetermined");
  return text;
}

// Number of parts that share the work limit: segments of exact instances, other instances, and one more.
int64_t PartsOf(std::span<const PassRun> runs) {
  int64_t parts = 1;
  bool in_segment = false;
  for (const PassRun& run : runs) {
    if (!run.changed) continue;
    const bool is_exact = PreservesOf(*run.pass, run.options) == Preserves::kExact;
    parts += !is_exact || !in_segment;
    in_segment = is_exact;
  }
  return parts;
}

// Without passes, other changes of the module must keep all bits.
Result<JudgedPasses> JudgeWithoutPasses(const Module& input, const Module& optimized,
                                        const std::vector<Literal>& arguments, const SampleOptions& options) {
  SampleResult sample =
      TRY(CompareBySample(input, optimized, arguments, OriginsOf::kBefore, Preserves::kExact, options));
  JudgedPasses judged{.verdict = sample.verdict,
                      .text = VerdictText(sample.verdict, sample.reason),
                      .reason = std::move(sample.reason),
                      .not_exercised = {},
                      .finding = {}};
  judged.text += sample.changed == 0 ? "  no pass ran"
                                     : Str("  no pass ran; ", sample.compared(), " of ",
                                           Counted(sample.changed, "changed value"), " compared");
  if (sample.finding) judged.finding = FindingOf(*sample.finding);
  return judged;
}

}  // namespace

Result<JudgedPasses> JudgePassesOf(Experiment& experiment, bool runs_code, bool names_instance) {
  experiment.progress().Stage("judging the passes");
  RunOptions judging = TRY(experiment.Judging());
  const Module& input = *TRY(experiment.Input())->module;
  const Module& optimized = *TRY(experiment.Optimized())->module;
  const std::vector<PassRun>& runs = TRY(experiment.Optimized())->passes.runs;
  judging.pipeline = experiment.Running().pipeline;
  const auto run = [&](const PassObserver& before, const PassObserver& after) -> Result<std::unique_ptr<Module>> {
    Experiment observed = experiment.With([&](RunOptions& options) {
      options.pipeline.before = before;
      options.pipeline.after = after;
      options.tuning = {};
    });
    return TRY(observed.Optimized())->module->Clone();
  };
  const InterpretOptions interpret = TRY(experiment.Interpreter());
  const std::vector<Literal>& own = TRY(experiment.Arguments())->values;
  ValuesOfRuns values(experiment, optimized);
  SampleOptions sample{.interpret = interpret,
                       .compare = judging.compare,
                       .left = runs_code ? values.Functions() : LeftValues(),
                       .seed = static_cast<uint64_t>(judging.seed),
                       .work_limit = int64_t{1} << 50};
  if (judging.work_limit > 0) {
    sample.work_limit = judging.work_limit / PartsOf(runs);
    sample.reserve = judging.work_limit / 2;
  }
  if (runs.empty()) return JudgeWithoutPasses(input, optimized, own, sample);
  const auto judge_on = [&](const std::vector<Literal>& arguments, bool by_sample) {
    return JudgeSegments({.input = input,
                          .arguments = arguments,
                          .options = judging,
                          .interpret = interpret,
                          .run = run,
                          .sample = by_sample ? std::optional(sample) : std::nullopt,
                          .names_instance = names_instance,
                          .progress = experiment.progress()});
  };
  if (IsTooLargeToInterpret(input, judging.work_limit)) return judge_on(own, /*by_sample=*/true);
  JudgedPasses judged = TRY(judge_on(own, /*by_sample=*/false));
  if (judged.verdict == Verdict::kUnsupported) return judge_on(own, /*by_sample=*/true);
  if (judged.verdict == Verdict::kMismatch) return judged;
  const FurtherArguments& further = *TRY(experiment.Further());
  judged.not_exercised = further.not_exercised;
  // Further arguments are extreme, so only faults of exact passes count there.
  for (const ReachingSet& set : further.sets) {
    JudgedPasses on_set = TRY(judge_on(set.arguments, /*by_sample=*/false));
    if (!on_set.of_exact_pass) continue;
    on_set.text += kOnFurther;
    return on_set;
  }
  return judged;
}

bool IsTooLargeToInterpret(const Module& module, int64_t work_limit) {
  constexpr double kTimes = 3;
  return work_limit > 0 && kTimes * StepsOfInterpreting(module) > static_cast<double>(work_limit);
}

bool KeepsPrecision(const PassRun& run) { return PreservesOf(*run.pass, run.options) != Preserves::kChangesPrecision; }

Result<WidenedResult> CompareAroundPasses(const Module& input, const Module& optimized, const RunOptions& options,
                                          const AroundPasses& around, std::vector<Literal>* arguments,
                                          std::string* summary) {
  WidenedOptions widened = OptionsOf(options, around.progress);
  widened.keeps_precision = around.keeps_precision;
  WidenedResult result = TRY(CompareWidened(input, optimized, *arguments, widened));
  const bool is_decided =
      result.verdict == Verdict::kMismatch || std::ranges::none_of(result.values, &WidenedValue::IsInQuestion);
  std::optional<WidenedResult> decided;
  if (!is_decided && !result.beyond_work)
    decided = CompareMadeUp(input, optimized, options, widened, result, arguments);
  const bool has_no_bounds = !decided && result.verdict == Verdict::kInconclusive && !result.beyond_work &&
                             (HasDynamicSizes(input) || HasDynamicSizes(optimized));
  if (has_no_bounds) {
    if (auto by_runs = TRY(CompareByF64Runs(input, optimized, options, arguments))) {
      *summary = ToString(*by_runs);
      return std::move(*by_runs);
    }
  }
  if (!decided) {
    *summary = ToString(result);
    return result;
  }
  *summary = Str(ToString(*decided), ", on made-up arguments; on the run's own arguments ",
                 result.undetermined + result.by_bits, " of ", result.elements, " undetermined",
                 result.vacuous == 0 ? "" : Str(", ", result.vacuous, " vacuous"));
  return std::move(*decided);
}

Result<JudgedPasses> JudgeSegments(const JudgedPipeline& pipeline) {
  const RunOptions& judging = pipeline.options;
  JudgedPasses judged;
  SegmentOptions options;
  options.bits.interpret = pipeline.interpret;
  options.bits.compare = judging.compare;
  options.pipeline = judging.pipeline;
  options.sample = pipeline.sample;
  options.judge = [&](const PassRun& run, const Module& before, const Module& after) -> Result<InstanceVerdict> {
    std::vector<Literal> own = pipeline.arguments;
    std::string summary;
    const std::unique_ptr<Module> apart = WithoutRegions(after);
    const AroundPasses around{.progress = &pipeline.progress, .keeps_precision = KeepsPrecision(run)};
    auto result = CompareAroundPasses(before, *apart, judging, around, &own, &summary);
    if (!result && result.error().exit == ExitCode::kUnsupported)
      return InstanceVerdict{Verdict::kUnsupported, result.error().message()};
    if (!result && result.error().exit == ExitCode::kLimit)
      return InstanceVerdict{Verdict::kInconclusive, result.error().message()};
    if (!result) FAIL(std::move(result).error());
    judged.beyond_work |= result->beyond_work;
    judged.opened |= result->opened;
    const bool is_wrong = result->verdict == Verdict::kMismatch;
    InstanceVerdict verdict{result->verdict, is_wrong ? summary.substr(0, summary.find('\n')) : result->reason};
    if (is_wrong) judged.finding = FindingOf(std::move(*result));
    return verdict;
  };
  PassSegments segments(pipeline.input, pipeline.arguments, options);
  const std::unique_ptr<Module> end =
      TRY(pipeline.run([&](const PassRun& run, Module& module) { return segments.Before(run, module); },
                       [&](const PassRun& run, Module& module) { return segments.After(run, module); }));
  TRY(segments.Finish(*end));
  const SegmentsResult& result = segments.result();
  judged.verdict = result.verdict;
  judged.text = TextOf(result);
  judged.reason = ReasonOf(result);
  judged.beyond_work |= result.beyond_work && result.verdict == Verdict::kInconclusive;
  if (!segments.is_wrong()) return judged;
  judged.of_exact_pass = result.wrong->exact;
  if (result.finding) judged.finding = FindingOf(*result.finding);
  if (!judged.finding) judged.finding.emplace();
  if (!pipeline.names_instance) return judged;
  if (!result.wrong->exact) {
    Name(result.wrong->first, &*judged.finding);
    return judged;
  }
  pipeline.progress.Stage("looking for the wrong pass");
  Name(TRY(FirstWrongInstance(*result.wrong, pipeline.arguments, options, pipeline.run)), &*judged.finding);
  return judged;
}

Status JudgePasses(Experiment& experiment, RunReport* report) {
  JudgedPasses judged = TRY(JudgePassesOf(experiment, /*runs_code=*/true, /*names_instance=*/true));
  report->widened = std::move(judged.text);
  report->widened_verdict = judged.verdict;
  report->passes_beyond_work = judged.beyond_work;
  report->not_exercised = std::move(judged.not_exercised);
  if (judged.opened) report->look_at_passes = LookCommand(experiment, "");
  if (!judged.finding) return {};
  PassFinding& finding = *judged.finding;
  Culprit& culprit = report->culprit;
  culprit.kind = Culprit::Kind::kPass;
  culprit.name = finding.instance;
  culprit.text = finding.description;
  culprit.input = finding.input;
  if (!finding.input.empty())
    culprit.text += Str("\n                changed the value of '", finding.input, "'",
                        finding.loop.empty() ? "" : Str(" (", finding.loop, ")"), finding.source);
  culprit.comparison = std::move(finding.comparison);
  culprit.text += Str("\n                look:  ", LookCommand(experiment, finding.instance));
  return {};
}

}  // namespace hlo
