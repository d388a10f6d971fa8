#include "driver/fuzz/fuzz.h"

#include <algorithm>
#include <cctype>

#include "base/parallel.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/optimize.h"
#include "driver/run/each_pass_check.h"
#include "driver/run/experiment.h"
#include "driver/run/oracles.h"
#include "driver/run/pass_check.h"
#include "driver/run/pass_segments.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "judge/reach/reach_search.h"
#include "parser/parser.h"
#include "passes/sharding/propagation.h"

namespace hlo {
namespace {

// Every kSampled-th module has its kernels and passes judged by samples.
constexpr uint64_t kSampled = 4;

// 0, or a work limit for judging by samples. Twice the steps of the interpreter are enough for most samples. Each
// fourth limit is less than the steps of the interpreter, so that the run has no reference.
int64_t WorkLimitOf(const Module& module, uint64_t seed) {
  constexpr int64_t kLeast = 100'000;
  if (seed % kSampled != kSampled - 1) return 0;
  const bool has_reference = seed / kSampled % 4 != 3;
  const double steps = StepsOfInterpreting(module) * (has_reference ? 2 : 0.9);
  return std::max(kLeast, static_cast<int64_t>(std::min(steps, 1e9)));
}

// Without `profiles`, most seeds have `normal`. Otherwise kSampled consecutive seeds share a profile, so that each
// profile meets all kinds of runs that JudgedAs makes.
InputProfile ProfileOf(uint64_t seed, const std::vector<InputProfile>& profiles) {
  using enum InputProfile;
  static constexpr InputProfile kProfiles[] = {kNormal, kNormal, kNormal, kNormal, kExact, kNormal, kIota, kSpecial};
  return profiles.empty() ? kProfiles[seed % std::size(kProfiles)] : profiles[seed / kSampled % profiles.size()];
}

void Count(const Module& module, FuzzOutcome* outcome) {
  outcome->instructions = module.InstructionCount();
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions())
      ++outcome->cells[{inst->opcode(), inst->shape().type()}];
  }
}

std::string Words(const Error& error) { return Str("[", error.code(), "] ", error.message()); }

std::string FirstDifference(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> was = Split(a, '\n'), is = Split(b, '\n');
  for (size_t i = 0; i < std::max(was.size(), is.size()); ++i) {
    const std::string_view before = i < was.size() ? was[i] : "", after = i < is.size() ? is[i] : "";
    if (before != after) return Str("line ", i + 1, ": ", Trim(before), " | ", Trim(after));
  }
  return "";
}

// Checks that printed modules can be read back. The long form may reorder instructions, so texts are compared only
// after a first reading.
void CheckPrinting(const Module& grown, const std::string& grown_text, FuzzOutcome* outcome) {
  const auto add = [&](std::string what) { outcome->findings.push_back({"print", std::move(what)}); };
  const auto read = [&](std::string_view form, const std::string& text) -> std::unique_ptr<Module> {
    auto module = Parse(std::make_shared<const SourceText>("printed", text));
    if (module) return std::move(*module);
    add(Str(form, " form cannot be read: ", Words(module.error())));
    return nullptr;
  };
  const std::unique_ptr<Module> module = read("short", grown_text);
  if (module == nullptr) return;
  if (Fingerprint(*module) != Fingerprint(grown)) add("short form: reading it gives a different module");
  for (const auto& [name, options] : {std::pair("short", ShortForm()), std::pair("long", PrintOptions())}) {
    const std::unique_ptr<Module> ordered = read(name, Print(*module, options));
    if (ordered == nullptr) continue;
    const std::string text = Print(*ordered, options);
    const std::unique_ptr<Module> again = read(name, text);
    if (again == nullptr) continue;
    const std::string difference = FirstDifference(text, Print(*again, options));
    if (!difference.empty())
      add(Str(name, " form: reading it and printing again gives a different text, ", difference));
    else if (Fingerprint(*again) != Fingerprint(*ordered)) add(Str(name, " form: reading it gives a different module"));
  }
}

void AddError(const Error& error, const std::string& oracle, FuzzOutcome* outcome) {
  if (error.exit == ExitCode::kUnsupported) outcome->unsupported.push_back(Str(oracle, ": ", error.message()));
  else if (error.exit == ExitCode::kLimit) outcome->limits.push_back(Str(oracle, ": ", error.message()));
  else outcome->findings.push_back({oracle, Words(error)});
}

void CheckThreads(const Module& module, const RunOptions& run, FuzzOutcome* outcome) {
  const auto arguments = MakeArguments(module, {.seed = static_cast<uint64_t>(run.seed), .profile = run.input_profile});
  if (!arguments) return AddError(arguments.error(), "threads", outcome);
  const int before = Threads();
  SetThreads(1);
  const auto one = Interpret(module, *arguments);
  SetThreads(2);
  const auto two = Interpret(module, *arguments);
  SetThreads(before);
  if (!one) return AddError(one.error(), "threads", outcome);
  if (!two) return AddError(two.error(), "threads", outcome);
  ForEachLeaf(one->shape(), [&](const ShapeIndex& index, const Shape& leaf) {
    if (leaf.IsArray() && !one->At(index).BitEquals(two->At(index)))
      outcome->findings.push_back(
          {"threads", Str("output {", Join(index, ","), "} ", leaf, " has different bits with 2 threads")});
  });
}

struct KernelOracle {
  std::string_view name;
  const char* passes;
};
constexpr KernelOracle kKernelOracles[] = {
    {"optimized", nullptr},
    {"unfused", "batchnorm_expander,shuffle-expander"},
};

bool IsOfPasses(std::string_view oracle) {
  return oracle == "passes" || oracle == "bits" || oracle.starts_with("running ") || oracle.starts_with("judging ");
}

void CheckKernels(Experiment experiment, const std::string& oracle, FuzzOutcome* outcome) {
  const auto report = Run(experiment);
  if (!report) return AddError(report.error(), oracle, outcome);
  if (report->exit == ExitCode::kOk) return;
  if (report->exit == ExitCode::kInconclusive) {
    // If judging the passes was inconclusive, the reason is in `widened`.
    const bool passes = report->widened_verdict == Verdict::kInconclusive;
    const std::string& why = passes ? report->widened : report->verdict;
    outcome->inconclusive.push_back(Str(oracle, passes ? ": passes: " : ": ", why.substr(0, why.find("  "))));
    return;
  }
  std::string what = report->verdict;
  const std::string& who = report->culprit.text;
  if (!who.empty()) what += Str("; ", who.substr(0, who.find('\n')));
  else what += Str("; ", report->detail);
  outcome->findings.push_back({oracle, what});
}

void CheckPartition(Experiment experiment, FuzzOutcome* outcome) {
  const auto report = Run(experiment);
  if (!report) return AddError(report.error(), "partition", outcome);
  const bool is_judged = report->partition && report->partition->verdict != Verdict::kUnsupported;
  if (!is_judged) {
    const std::string why = report->partition ? report->partition->text : Join(report->notes, "; ");
    outcome->unsupported.push_back(Str("partition: ", why));
    return;
  }
  const std::string& text = report->partition->text;
  if (report->partition->verdict == Verdict::kMismatch)
    outcome->findings.push_back({"partition", Str(report->culprit.name, ": ", text)});
  if (report->partition->verdict == Verdict::kInconclusive) outcome->inconclusive.push_back(Str("partition: ", text));
}

void CheckPasses(const Module& grown, const RunOptions& options, const std::function<void(const std::string&)>& doing,
                 FuzzOutcome* outcome) {
  Progress progress(true);
  EachPassCheck check(options, std::nullopt, {}, progress);
  if (const Status begun = check.Begin(grown); !begun) return AddError(begun.error(), "passes", outcome);
  PipelineOptions pipeline = options.pipeline;
  const auto announce = [&](std::string_view what, const PassRun& run) {
    if (doing) doing(Str(what, " ", NameOf(run)));
  };
  pipeline.before = [&](const PassRun& run, Module& module) {
    announce("running", run);
    return check.Before(run, module);
  };
  pipeline.after = [&](const PassRun& run, Module& module) {
    announce("judging", run);
    return check.After(run, module);
  };
  const auto report = Optimize(*grown.Clone(), std::move(pipeline), nullptr);
  if (check.is_wrong()) outcome->findings.push_back({"passes", report.error().message()});
  else if (!report && report.error().exit == ExitCode::kInternal)
    outcome->findings.push_back({"passes", Str("after ", report.error().pass, ": ", Words(report.error()))});
  else if (!report) AddError(report.error(), "passes", outcome);
  else if (check.exit() == ExitCode::kInconclusive) outcome->inconclusive.push_back("passes: some passes are open");
  if (!report) return;
  for (const std::string& finding : FindingsOf(*report)) outcome->findings.push_back({"passes", finding});
}

InterpretOptions BitsLimits() { return {.max_loop_iterations = 100'000, .max_steps = 20'000'000}; }

// Judges segments of exact passes, and each other pass by itself.
Result<JudgedPasses> JudgeBitsOn(const Module& module, const std::vector<Literal>& arguments, const RunOptions& options,
                                 std::optional<SampleOptions> sample = {}) {
  const auto run = [&](const PassObserver& before, const PassObserver& after) -> Result<std::unique_ptr<Module>> {
    std::unique_ptr<Module> work = module.Clone(/*as_input=*/true);
    PipelineOptions observed = options.pipeline;
    observed.before = before;
    observed.after = after;
    TRY(Optimize(*work, std::move(observed), nullptr));
    return work;
  };
  Progress progress(true);
  return JudgeSegments({.input = module,
                        .arguments = arguments,
                        .options = options,
                        .interpret = BitsLimits(),
                        .run = run,
                        .sample = std::move(sample),
                        .progress = progress});
}

// Judges on a run's arguments, by all bits and by samples, then on arguments that reach more decisions. These are
// extreme, so only a mismatch of an exact pass counts.
void CheckBits(const Module& module, RunOptions options, FuzzOutcome* outcome) {
  const auto seed = static_cast<uint64_t>(options.seed);
  const auto own = MakeArguments(module, {.seed = seed, .profile = options.input_profile});
  if (!own) return AddError(own.error(), "bits", outcome);
  if (!options.pipeline.device->is_gpu) options.pipeline = ForHost(options.pipeline);
  const auto judged = JudgeBitsOn(module, *own, options);
  if (!judged) return AddError(judged.error(), "bits", outcome);
  if (judged->verdict == Verdict::kUnsupported) return outcome->unsupported.push_back(Str("bits: ", judged->reason));
  if (judged->verdict == Verdict::kInconclusive) outcome->inconclusive.push_back(Str("bits: ", judged->reason));
  if (judged->verdict == Verdict::kMismatch)
    return outcome->findings.push_back({"bits", Str(judged->finding->instance, ": ", judged->reason)});
  constexpr int64_t kStepsOfSamples = 100'000;
  const auto sampled = JudgeBitsOn(
      module, *own, options, SampleOptions{.interpret = BitsLimits(), .seed = seed, .work_limit = kStepsOfSamples});
  if (!sampled) return AddError(sampled.error(), "bits", outcome);
  if (sampled->verdict == Verdict::kMismatch)
    return outcome->findings.push_back({"bits", Str(sampled->finding->instance, ": by samples: ", sampled->reason)});
  Reach reach(module);
  auto recording = reach.Run(*own, BitsLimits());
  if (!recording) return;
  const ReachSearchOptions search = {.seed = seed, .interpret = BitsLimits()};
  for (const ReachingSet& set : ArgumentsThatReach(module, std::move(*recording), search, reach)) {
    const auto further = JudgeBitsOn(module, set.arguments, options);
    if (!further || !further->of_exact_pass) continue;
    return outcome->findings.push_back(
        {"bits", Str(further->finding->instance, ": on arguments that reach more decisions: ", further->reason)});
  }
}

constexpr std::string_view kOracleNames[] = {"print", "threads", "passes", "bits", "optimized", "unfused", "partition"};

}  // namespace

Status CheckOracles(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(kOracleNames, name) != std::end(kOracleNames)) continue;
    FAIL(UsageError("F004",
                    Str("--oracles: no oracle '", Escaped(name), "'; expected some of ", Join(kOracleNames, ", "))));
  }
  return {};
}

RunOptions JudgedAs(const Module& module, uint64_t seed, RunOptions run, const std::vector<InputProfile>& profiles) {
  if (run.platform == RunOptions().platform) run.platform = "cpu";
  run.reoptimize = true;
  run.reference_platform = ReferencePlatform::kInterpreter;
  run.input_profile = ProfileOf(seed, profiles);
  run.seed = static_cast<int64_t>(seed);
  run.work_limit = WorkLimitOf(module, seed);
  return run;
}

std::optional<RunOptions> RunOfOracle(std::string_view oracle, RunOptions run) {
  if (oracle == "partition") {
    run.platform = "interpreter";
    run.poison_padding = true;
    run.work_limit = 0;
    return run;
  }
  if (IsOfPasses(oracle)) {
    run.work_limit = 0;  // The limit is for samples of kernels. Passes are judged by all bits.
    return run;
  }
  const auto row = std::ranges::find(kKernelOracles, oracle, &KernelOracle::name);
  if (row == std::end(kKernelOracles)) return std::nullopt;
  if (row->passes != nullptr) run.pipeline.passes = row->passes;
  return run;
}

std::string ReportCommand(std::string_view oracle, const RunOptions& run) {
  const std::string judged = Str(" --input_profile=", run.input_profile, " --random_seed=", run.seed,
                                 " --work_limit=", IsOfPasses(oracle) ? 0 : run.work_limit);
  if (IsOfPasses(oracle)) return Str("hlo-opt --check_each_pass", judged);
  if (oracle == "partition") {
    return Str("hlo-run --platform=interpreter --poison_padding --input_profile=", run.input_profile,
               " --random_seed=", run.seed, " --work_limit=0");
  }
  const auto row = std::ranges::find(kKernelOracles, oracle, &KernelOracle::name);
  if (row == std::end(kKernelOracles)) return "";
  return Str("hlo-run --platform=", run.platform, run.reoptimize ? " --reoptimize" : "",
             " --reference_platform=", run.reference_platform, judged,
             row->passes == nullptr ? "" : Str(" --passes=", row->passes));
}

FuzzOutcome CheckAll(const Module& module, const std::string& text, const RunOptions& run,
                     const std::function<void(const std::string&)>& doing, const std::vector<std::string>& only) {
  FuzzOutcome outcome;
  Count(module, &outcome);
  if (const Status valid = Verify(module); !valid) {
    outcome.findings.push_back({"verify", Words(valid.error())});
    return outcome;
  }
  const auto judges = [&](std::string_view oracle) {
    return only.empty() || std::ranges::find(only, oracle) != only.end();
  };
  const bool of_passes = run.pipeline.passes.has_value();
  if (!of_passes && judges("print")) CheckPrinting(module, text, &outcome);
  if (!of_passes && judges("threads")) CheckThreads(module, run, &outcome);

  const auto source = std::make_shared<const SourceText>("grown", text);
  if (of_passes && judges("passes")) {
    // Findings have the names in the text, because the module is read from it.
    const auto read = Parse(source);
    if (!read) {
      AddError(read.error(), "print", &outcome);
      return outcome;
    }
    CheckPasses(**read, *RunOfOracle("passes", run), doing, &outcome);
    if (!outcome.findings.empty()) return outcome;
  }
  if (judges("bits")) {
    if (doing) doing("bits");
    CheckBits(module, *RunOfOracle("bits", run), &outcome);
    if (of_passes && !outcome.findings.empty()) return outcome;
  }
  Progress progress(true);
  const Experiment experiment(source, run, progress);
  if (judges("partition") && SplitsArrays(module)) {
    if (doing) doing("partition");
    CheckPartition(experiment.With([&](RunOptions& own) { own = *RunOfOracle("partition", own); }), &outcome);
  }
  for (const KernelOracle& oracle : kKernelOracles) {
    // A fault is planted in the pipeline, so oracles with their own list of passes are skipped.
    if (oracle.passes != nullptr && (of_passes || !run.pipeline.inject.empty())) continue;
    if (!judges(oracle.name)) continue;
    const auto set_passes = [&](RunOptions& own) {
      if (oracle.passes != nullptr) own.pipeline.passes = oracle.passes;
    };
    if (doing) doing(std::string(oracle.name));
    CheckKernels(experiment.With(set_passes), std::string(oracle.name), &outcome);
  }
  return outcome;
}

std::string KindOf(std::string_view what) {
  std::string kind;
  for (size_t i = 0; i < what.size(); ++i) {
    const char c = what[i];
    if (c == '\'' || c == '"') {
      const size_t end = what.find(c, i + 1);
      const std::string_view quoted = what.substr(i, end == std::string_view::npos ? end : end - i + 1);
      const bool name = quoted.find_first_of("0123456789._") != std::string_view::npos;
      kind += name ? "''" : std::string(quoted);
      if (end == std::string_view::npos) break;
      i = end;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      if (kind.empty() || kind.back() != '#') kind += '#';
    } else {
      kind += c;
    }
  }
  return kind;
}

}  // namespace hlo
