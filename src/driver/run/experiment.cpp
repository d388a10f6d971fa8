#include "driver/run/experiment.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "driver/dump/dump_compiled.h"
#include "driver/optimize.h"
#include "driver/profile/profile.h"
#include "driver/run/exact_check.h"
#include "driver/run/fallback.h"
#include "driver/run/oracles.h"
#include "driver/run/platform.h"
#include "driver/run/reproducer.h"
#include "driver/run/scopes.h"
#include "driver/run/timing.h"
#include "driver/run/tuning.h"
#include "gpu/plan/planner.h"
#include "interp/arguments/argument_files.h"
#include "interp/devices/manual_regions.h"
#include "ir/analysis/region.h"
#include "ir/fusion_plan.h"
#include "ir/mesh/unpartitioned.h"
#include "ir/module.h"
#include "judge/compare/widened_module.h"

namespace hlo {
namespace {

// With a shard_map of GSPMD, only the manual regions have the number of partitions.
void TakePartitions(Module& module, const LoadOptions& options, std::vector<std::string>* notes) {
  if (options.num_partitions > 0 || module.header.num_partitions > 1) return;
  if (!TakePartitionsOfShardings(module)) {
    const int64_t partitions = PartitionsOfManualRegions(module);
    if (partitions <= 1) return;
    module.header.num_partitions = partitions;
  }
  notes->push_back(Str(
      "the header does not state more than one partition, so the number in the shardings is used: --num_partitions=",
      module.header.num_partitions));
}

std::string_view NameOf(const gpu::Device* device) { return device == nullptr || device->IsHost() ? "cpu" : "gpu"; }

// Returns "" without a plan or target.
std::string TargetOfPlans(const Module& module) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      if (!HasPlan(*inst)) continue;
      const auto plan = ReadPlan(*inst);
      return plan && *plan ? (*plan)->target : "";
    }
  }
  return "";
}

// The device of the plans. If `device` has its name, returns `device`, because that may describe the real host.
const DeviceDescription& DeviceOfPlans(const Module& module, const DeviceDescription& device) {
  const std::string target = TargetOfPlans(module);
  const DeviceDescription* other = target == device.name ? nullptr : FindDevice(target);
  return other != nullptr ? *other : device;
}

}  // namespace

Experiment::Experiment(std::string path, RunOptions options, Progress& progress)
    : path_(std::move(path)),
      options_(std::move(options)),
      progress_(&progress),
      feeds_(std::make_shared<Feeds>()),
      input_(std::make_shared<std::optional<InputModule>>()),
      where_(std::make_shared<std::optional<Platform>>()),
      optimized_(std::make_shared<std::optional<OptimizedModule>>()),
      planned_(std::make_shared<std::optional<PlannedProgram>>()),
      code_(std::make_shared<std::optional<Code>>()),
      arguments_(std::make_shared<std::optional<RunArguments>>()),
      results_(std::make_shared<std::optional<RunResults>>()),
      reference_(std::make_shared<std::optional<Expected>>()),
      interpretation_(std::make_shared<std::optional<Interpretation>>()),
      followed_(std::make_shared<std::optional<FollowedRun>>()),
      further_(std::make_shared<std::optional<FurtherArguments>>()) {}

Experiment::Experiment(std::shared_ptr<const SourceText> text, RunOptions options, Progress& progress)
    : Experiment(text->name(), std::move(options), progress) {
  text_ = std::move(text);
}

Experiment Experiment::With(const std::function<void(RunOptions&)>& change) const {
  Experiment other(path_, options_, *progress_);
  other.text_ = text_;
  change(other.options_);
  other.options_.reproducer = {};
  // The values of elided constants depend on the seed.
  const bool filled = !*input_ || (*input_)->filled_constants > 0;
  if (!HaveSame<InputOptions>(options_, other.options_) || (filled && options_.seed != other.options_.seed))
    return other;
  other.input_ = input_;
  if (!HaveSame<PlatformOptions>(options_, other.options_)) return other;
  other.where_ = where_;
  const bool same_passes = HaveSame<OptimizeOptions>(options_, other.options_);
  const bool same_plan = same_passes && HaveSame<EvaluateOptions, PlanOptions>(options_, other.options_);
  const bool same_code = same_plan && HaveSame<CompileOptions>(options_, other.options_);
  const bool same_arguments = HaveSame<EvaluateOptions, RunArgumentOptions>(options_, other.options_);
  if (same_passes) other.optimized_ = optimized_;
  if (same_plan) other.planned_ = planned_;
  if (same_code) other.code_ = code_, other.feeds_ = feeds_;
  if (same_arguments) {
    other.arguments_ = arguments_;
    other.interpretation_ = interpretation_;
    other.further_ = further_;
  }
  if (!same_code || !same_arguments) return other;
  other.followed_ = followed_;
  if (HaveSame<ExecuteOptions>(options_, other.options_)) other.results_ = results_, other.reference_ = reference_;
  return other;
}

Experiment Experiment::Of(std::unique_ptr<Module> piece, const std::function<void(RunOptions&)>& change) const {
  Experiment other(path_, options_, *progress_);
  other.options_.tuning = {};
  change(other.options_);
  if (HaveSame<PlatformOptions>(options_, other.options_)) other.where_ = where_;
  other.input_->emplace().module = std::move(piece);
  return other;
}

Status Experiment::DumpTo(const DumpOptions& options) {
  const InputModule& input = *TRY(Input());
  dumper_ = TRY(Dumper::Make(options, *input.module));
  return dumper_->Before(*input.module);
}

Result<const InputModule*> Experiment::Input() {
  return Keep(*input_, [&]() -> Result<InputModule> {
    progress_->Stage("reading");
    const Stopwatch watch;
    InputModule input;
    std::vector<Diagnostic> warnings;
    input.module = text_ == nullptr ? TRY(LoadModule(path_, options_.load, &warnings))
                                    : TRY(LoadModule(text_, options_.load, &warnings));
    input.warnings = SummaryOf(warnings, path_);
    input.ms = watch.ms();
    for (CustomCallStub& stub : TRY(StubCustomCalls(*input.module, options_.custom_call, options_.load))) {
      if (stub.calls > 0) input.stubs.push_back(std::move(stub));
      else input.notes.push_back(Str("--custom_call: the module does not call \"", Escaped(stub.target), "\""));
    }
    if (options_.obeys_plans) options_.pipeline.device = &DeviceOfPlans(*input.module, *options_.pipeline.device);
    input.filled_constants =
        TRY(FillElided(*input.module, options_.load, static_cast<uint64_t>(options_.seed), options_.memory_limit));
    if (input.filled_constants > 0) input.notes.push_back(FilledText(input.filled_constants, options_.load));
    TakePartitions(*input.module, options_.load, &input.notes);
    return input;
  });
}

Result<const Platform*> Experiment::ResolvedPlatform() {
  return Keep(*where_, [&]() -> Result<Platform> {
    const Module& module = *TRY(Input())->module;
    Platform platform;
    if (MustInterpret(module, options_.platform, &platform.notes)) return platform;
    TRY(CheckKernelsSuffice(module, options_.load.max_depth, &platform.notes));
    platform.device = TRY(OpenPlatform(options_.platform, options_.library_path, &platform.notes));
    if (!platform.device->IsHost() && !options_.why_no_target.empty())
      platform.notes.push_back(
          Str("planned for ", options_.pipeline.device->name, ", not for the device: ", options_.why_no_target));
    return platform;
  });
}

Result<const OptimizedModule*> Experiment::Optimized() {
  return Keep(*optimized_, [&]() -> Result<OptimizedModule> {
    const Module& module = *TRY(Input())->module;
    OptimizedModule optimized;
    std::unique_ptr<Module> made = module.Clone(true);
    progress_->Stage("optimizing");
    const Stopwatch watch;
    std::shared_ptr<Scopes> scopes;
    if (options_.scopes.any()) scopes = std::make_shared<Scopes>(TRY(Scopes::Divide(*made, options_.scopes)));
    if (!options_.pipeline.passes && !options_.reoptimize && IsOptimized(module, path_)) {
      if (scopes != nullptr)
        FAIL(UsageError("F004",
                        "--scope_compile and --scope_interpret select what the passes optimize, but the module is "
                        "already optimized")
                 .Hint("--reoptimize runs the passes"));
      optimized.notes.emplace_back("the module is already optimized, so no passes run (--reoptimize runs them)");
      if (std::string note = TRY(TakeLibraryCalls(*made, *options_.pipeline.device)); !note.empty())
        optimized.notes.push_back(std::move(note));
    } else {
      const RunOptions running = Running();
      if (!running.reproducer.directory.empty()) TRY(TryPasses(module, running));
      auto passes = Optimize(*made, running.pipeline, dumper_ ? &*dumper_ : nullptr);
      if (!passes) FAIL(Reproduced(std::move(passes).error(), module, running));
      optimized.passes = std::move(*passes);
      optimized.notes = FindingsOf(optimized.passes);
      for (const std::string& end : optimized.passes.unmet)
        optimized.notes.push_back(Str(end, ": no such pass instance was reached"));
      if (std::string todo = TodoText(optimized.passes); !todo.empty()) optimized.notes.push_back(std::move(todo));
    }
    // Splits regions as compilation does, so that reports and checks refer to the kernels that run.
    const auto runs_on = [&]() -> gpu::Device* {
      const auto where = ResolvedPlatform();
      return where ? (*where)->device.get() : nullptr;
    };
    for (std::string& note :
         gpu::ResolveRegions(*made, runs_on, CompilerOptions(options_), /*may_measure=*/options_.tuning.any()))
      optimized.notes.push_back(std::move(note));
    if (scopes != nullptr) TRY(scopes->Join(*made));
    optimized.scopes = std::move(scopes);
    optimized.ms = watch.ms();
    // Without a device there is no other plan.
    if (dumper_ && TRY(ResolvedPlatform())->device == nullptr)
      TRY(DumpOptimized(*made, optimized.passes, &optimized.notes));
    optimized.module = std::move(made);
    return optimized;
  });
}

Status Experiment::DumpOptimized(Module& module, const PipelineReport& passes, std::vector<std::string>* notes) {
  if (dumper_->active()) TRY(gpu::PlanModule(module, *options_.pipeline.device));
  TRY(dumper_->After(NameOf(TRY(ResolvedPlatform())->device.get()), module));
  TRY(dumper_->Passes(passes));
  std::ranges::move(dumper_->TakeNotes(), std::back_inserter(*notes));
  return {};
}

Result<gpu::CompileOptions> Experiment::CodeOptions() {
  gpu::CompileOptions compile = CompilerOptions(options_);
  if (options_.fallback) compile.host = InterpreterCalls(TRY(Interpreter()));
  return compile;
}

// An error of the planner or compiler, with a hint if --fallback helps.
Error Experiment::Advised(Error error) const {
  if (error.exit != ExitCode::kUnsupported || options_.fallback) return error;
  for (const Computation* computation : (*input_)->module->Computations()) {
    if (!std::ranges::all_of(computation->Instructions(), [](const Instruction* inst) { return CanInterpret(*inst); }))
      return error;
  }
  return std::move(error).Advise("fallback", "runs steps without a kernel in the interpreter");
}

Result<const PlannedProgram*> Experiment::Planned() {
  return Keep(*planned_, [&]() -> Result<PlannedProgram> {
    const OptimizedModule& optimized = *TRY(Optimized());
    PlannedProgram planned{.module = optimized.module};
    const auto device = TRY(ResolvedPlatform())->device;
    if (device == nullptr) return planned;
    if (options_.tuning.any() || dumper_) {
      std::unique_ptr<Module> module = optimized.module->Clone();
      if (options_.tuning.any()) {
        progress_->Stage("measuring");
        planned.tuning = std::make_shared<const gpu::TuningReport>(TRY(TuneModule(*module, *device, options_)));
        planned.notes = planned.tuning->notes;
      }
      if (dumper_) TRY(DumpOptimized(*module, optimized.passes, &planned.notes));
      planned.module = std::move(module);
    }
    progress_->Stage("planning");
    const Stopwatch watch;
    auto program = gpu::Plan(*planned.module, *device, TRY(CodeOptions()));
    if (!program) FAIL(Advised(std::move(program).error()));
    planned.program = std::move(*program);
    planned.ms = watch.ms();
    return planned;
  });
}

Result<const Module*> Experiment::Tuned() {
  return options_.tuning.any() ? TRY(Planned())->module.get() : TRY(Optimized())->module.get();
}

RunOptions Experiment::Running() {
  RunOptions options = options_;
  if (options.scopes.any()) options.pipeline.disabled.emplace_back("call-inliner");
  const auto where = ResolvedPlatform();
  const bool on_gpu = where && (*where)->device != nullptr && !(*where)->device->IsHost();
  if (!on_gpu) options.pipeline = ForHost(std::move(options.pipeline));
  return options;
}

Result<const Code*> Experiment::Compiled() {
  return Keep(*code_, [&]() -> Result<Code> {
    const PlannedProgram& planned = *TRY(Planned());
    Code code{.device = TRY(ResolvedPlatform())->device};
    progress_->Stage("compiling");
    const Stopwatch watch;
    gpu::CompileOptions compile = TRY(CodeOptions());
    compile.inject = TRY(FaultToPlant(*planned.module, options_.inject, planned.tuning.get()));
    auto compiled = gpu::Compile(planned.program, *code.device, compile);
    if (!compiled) FAIL(Advised(std::move(compiled).error()));
    code.executable = std::move(*compiled);
    code.ms = watch.ms();
    if (!dumper_) return code;
    TRY(DumpCompiled(*code.executable, NameOf(code.device.get()), *dumper_));
    code.notes = dumper_->TakeNotes();
    return code;
  });
}

Result<InterpretOptions> Experiment::Interpreter() {
  InterpretOptions interpret = InterpreterOptions(options_);
  if (!options_.infeed.empty()) {
    if (!feeds_->in) feeds_->in = TRY(ReadNpz(options_.infeed));
    interpret.infeed = [feeds = feeds_, path = options_.infeed](const Instruction& infeed, int64_t number) {
      return ReadFed(*feeds->in, path, number, infeed.shape().element(0), Str("'", infeed.name(), "'"));
    };
  }
  interpret.outfeed = [feeds = feeds_](int64_t number, const Literal& value) {
    feeds->out.resize(number);
    feeds->out.push_back(value);
  };
  return interpret;
}

Result<std::string> Experiment::WhyNoReference() {
  if (!options_.wants_interpreter() || !options_.reference_file.empty() || IsInterpreted()) return "";
  const bool without = ModeOf(options_).parts_decide;
  if (!without || options_.reference_platform != ReferencePlatform::kDefault || options_.work_limit == 0) return "";
  const double steps = StepsOfInterpreting(*TRY(Input())->module);
  if (steps <= static_cast<double>(options_.work_limit < 0 ? kWorkLimit : options_.work_limit)) return "";
  return Format("about %.2g steps, beyond --work_limit", steps);
}

Result<RunOptions> Experiment::Judging() {
  // The run time is estimated, so that reports do not vary. The whole check takes less time than 20 runs. The estimate
  // includes fused values that no kernel stores, so the limit is at most an hour.
  constexpr double kRuns = 4, kSecondsOfTheLimit = 10, kMostLimits = 360;
  RunOptions options = options_;
  if (options.work_limit >= 0) return options;
  const double runs = kRuns * SecondsOfRunning(*TRY(Optimized())->module) / kSecondsOfTheLimit;
  options.work_limit = static_cast<int64_t>(kWorkLimit * std::clamp(runs, 1.0, kMostLimits));
  return options;
}

// The interpreter's results show whether generated arguments suit the program, so it also runs if --reference names a
// file: the same seed then makes the same arguments with and without the file.
Result<RunArguments> Experiment::MakeArguments() {
  const Module& module = *TRY(Input())->module;
  const bool given = !options_.reference_file.empty();
  const bool wanted = options_.wants_interpreter() && !IsInterpreted() && (!given || options_.args.empty()) &&
                      TRY(WhyNoReference()).empty();
  const InterpretOptions interpret = TRY(Interpreter());
  RunOptions own = options_;
  if (IsInterpreted()) own.platform = "interpreter";
  progress_->Stage(own.args.empty() ? "making arguments" : "reading arguments");
  const Stopwatch watch;
  RunArguments arguments = own.compare_mode == CompareMode::kExact && (wanted || given)
                               ? TRY(PrepareExact(module, own, interpret))
                               : TRY(PrepareArguments(module, own, wanted || IsInterpreted(), interpret, progress_));
  arguments.ms = watch.ms() - arguments.reference_ms;
  return arguments;
}

void Experiment::Take(const RunArguments& arguments) {
  RunArguments taken = arguments;
  taken.reference.reset();
  arguments_ = std::make_shared<std::optional<RunArguments>>(std::move(taken));
  results_ = std::make_shared<std::optional<RunResults>>();
  reference_ = std::make_shared<std::optional<Expected>>();
  interpretation_ = std::make_shared<std::optional<Interpretation>>();
  followed_ = std::make_shared<std::optional<FollowedRun>>();
  further_ = std::make_shared<std::optional<FurtherArguments>>();
}

Result<const RunArguments*> Experiment::Arguments() {
  TRY(ResolvedPlatform());
  return Keep(*arguments_, [&] { return MakeArguments(); });
}

Result<gpu::Executable*> Experiment::Placed() {
  TRY(Compiled());
  const RunArguments& arguments = *TRY(Arguments());
  Code& code = **code_;
  if (code.placed == arguments_) return code.executable.get();
  code.placed = nullptr;
  TRY(code.executable->Bind(arguments.values));
  code.placed = arguments_;
  return code.executable.get();
}

void Experiment::Displace() {
  if (!*code_) return;
  (*code_)->executable->Unbind();
  (*code_)->placed = nullptr;
}

Result<std::shared_ptr<const Profile>> Experiment::Profiled(gpu::Executable& executable) {
  const Module& input = *TRY(Input())->module;
  Profile profile = DescribeProgram(executable, *options_.pipeline.device, options_.allow_tf32);
  AddOrigins(executable, input, &profile);
  profile.path = path_ == "-" ? "<stdin>" : path_;
  profile.module_name = input.name();
  profile.input = Fingerprint(input);
  profile.code = Fingerprint(*TRY(Planned())->module);
  profile.examples_per_run = options_.profile.examples_per_run;
  TRY(AddRuns(executable, *progress_, &profile));
  return std::make_shared<const Profile>(std::move(profile));
}

}  // namespace hlo
