#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "base/files.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/inspect/emit.h"
#include "driver/inspect/fusion_report.h"
#include "driver/inspect/pass_stats.h"
#include "driver/list_pipelines.h"
#include "driver/lower.h"
#include "driver/optimize.h"
#include "driver/pass_times.h"
#include "driver/pass_watch.h"
#include "driver/run/each_pass_check.h"
#include "driver/run/recording.h"
#include "driver/run/reproducer.h"
#include "driver/run/tuning.h"
#include "driver/target.h"
#include "gpu/device/device.h"
#include "gpu/plan/planner.h"
#include "ir/mesh/unpartitioned.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "parser/read_back.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/module_flags.h"
#include "tools/tuning_flags.h"

namespace hlo {
namespace {

struct OptFlags {
  LoadOptions load;
  PassFlags passes;
  DumpOptions dump;
  LogFlags log;
  CacheFlags cache;
  std::vector<std::string> library_path;
  std::string stage = "hlo", lock, output = "-", emit = "hlo", kernel, verify_each = "changed", color = "auto",
              platform = "gpu";
  bool quiet = false;
  std::vector<std::string> inject;
  std::optional<std::string> print_fusion_plan, time_passes, pass_stats, check_each_pass;
  bool list_passes = false, list_pipelines = false, list_stages = false, emit_proto = false, print_pipeline = false,
       reoptimize = false, round_trip = false;
  PassWatchOptions watch;
  RunOptions run;  // Arguments for --check_each_pass.
  PrintFlags print;
};

constexpr LowerStage kLowerStages[] = {LowerStage::kKernels,  LowerStage::kLlvmBefore, LowerStage::kLlvm,
                                       LowerStage::kPtx,      LowerStage::kPtxas,      LowerStage::kSass,
                                       LowerStage::kHostLlvm, LowerStage::kHostAsm};

std::optional<LowerStage> LowerStageOf(std::string_view name) {
  for (const LowerStage stage : kLowerStages) {
    if (ToString(stage) == name) return stage;
  }
  return std::nullopt;
}

void Note(const OptFlags& f, const std::string& text) {
  if (!f.quiet) std::fprintf(stderr, "note: %s\n", text.c_str());
}

void ListPasses() {
  for (const PassRow& row : AllPasses()) {
    std::printf("%-34s %-18s %s\n", std::string(row.name).c_str(), std::string(ToString(row.preserves)).c_str(),
                std::string(row.what).c_str());
  }
}

void ListStages() {
  std::printf("hlo          after the passes, without those that schedule\n");
  std::printf(
      "hlo-backend  fused, scheduled and planned, as it is compiled; --stage=kernels lists the library of each call\n");
  for (const LowerStage stage : kLowerStages)
    std::printf("%-12s %s\n", std::string(ToString(stage)).c_str(), std::string(About(stage)).c_str());
}

void AddSeeingFlags(FlagSet& flags, OptFlags* f) {
  flags.Group("Output");
  flags.String("o", &f->output, "FILE", "file for the result; -: stdout");
  std::vector<std::string> forms = {"hlo"}, about = {"hlo: text"};
  for (const EmitForm& form : EmitForms()) {
    forms.emplace_back(form.name);
    about.push_back(Str(form.name, ": ", form.what));
  }
  flags.Bool("q", &f->quiet, "print no notes and no progress");
  flags.Choice("emit", &f->emit, forms, Str("form of the module, for stages up to hlo-backend; ", Join(about, "; ")));
  flags.Bool("emit_proto", &f->emit_proto, "XLA's name for --emit=pbtxt");
  AddPrintFlags(flags, &f->print);
  flags.Group("Output of the passes (on stderr)");
  flags.OptionalString(
      "print_before", &f->watch.print_before, "LIST",
      "print the module before these passes, pipelines or instances (algsimp#2); without a value: before all");
  flags.OptionalString("print_after", &f->watch.print_after, "LIST",
                       "print the module after these passes if they changed it");
  flags.Choice("print_changed", &f->watch.print_changed,
               "output after each pass that changed the module; full: the module; diff: the rules, and the removed and "
               "added instructions; cdiff: the same as diff, in colours");
  flags.Choice("color", &f->color, {"auto", "always", "never"},
               "whether diffs have colours; auto: on a terminal, unless NO_COLOR is set");
  flags.OptionalString("time_passes", &f->time_passes, "table|tree|json",
                       "print the time of the passes; table: by pass, with the rules; tree: by stage and pass, with "
                       "wall and processor time; json: the tree and each instance");
  flags.Alias("xla_gpu_print_compilation_stats", "time_passes");
  flags.OptionalString(
      "pass_stats", &f->pass_stats, "all|json",
      "print a table of the changes of each pass in instructions, kernels, bytes moved and estimated time; all: "
      "also of passes that changed nothing");
  flags.Bool("print_pass_instances", &f->watch.print_pass_instances,
             "print a line for each pass instance, with the numbers for --opt_bisect_limit");
  flags.Group("Checks");
  flags.Choice("verify_each", &f->verify_each, {"off", "changed", "all"},
               "pass instances after which the verifier runs");
  flags.Bool("round_trip", &f->round_trip, "print the result, read it again, and compare the two modules");
  flags.OptionalString(
      "check_each_pass", &f->check_each_pass, "RE",
      "judge each pass that changes the module: compare the modules before and after it on the same arguments. The "
      "report is printed instead of the module and names the first wrong pass, the instruction and the "
      "rule; RE: judge only matching instances (algsimp#2)");
  flags.Int("work_limit", &f->run.work_limit, "most scalar operations for judging one pass; -1: 3e8; 0: no limit", -1);
  AddArgumentFlags(flags, &f->run);
}

FlagSet MakeFlags(OptFlags* f) {
  FlagSet flags("hlo-opt", "[flags] MODULE [-o FILE]",
                "Runs the pipeline up to a stage, or single passes, and prints the result.",
                {"hlo-opt model.hlo", "hlo-opt --passes=algsimp,dce --hlo_print=short model.hlo",
                 "hlo-opt --stage=ptx --kernel=fusion.3 model.hlo", "hlo-opt --pass_stats model.hlo -o /dev/null",
                 "hlo-opt --print_changed=diff model.hlo -o /dev/null", "hlo-opt --check_each_pass model.hlo",
                 "hlo-opt model.hlo | hlo-run -"});
  flags.Group("Stage");
  flags.String("stage", &f->stage, "S",
               "hlo, hlo-backend, kernels, llvm-before-optimizations, llvm, ptx, ptxas, sass, host-llvm, host-asm");
  flags.String("kernel", &f->kernel, "NAME", "for stages after hlo-backend: only the kernels of this instruction");
  flags.List("library_path", &f->library_path, "DIR", "folders that stage sass searches first for nvJitLink");
  AddCacheFlags(flags, &f->cache);
  flags.Bool("list_stages", &f->list_stages, "print a line for each stage");
  flags.Bool("list_passes", &f->list_passes,
             "print a line for each pass, with its name, the property that it preserves, and a description");
  flags.Bool("list_pipelines", &f->list_pipelines, "print the pipelines of each preset in their order, with counts");
  flags.Bool("print_pipeline", &f->print_pipeline, "print only the text of the pipeline that would run");
  flags.String("autotune_cache", &f->lock, "DIR|FILE.lock",
               "use the measured plans of this lock file and the passes of hlo-run; with --target=host for this "
               "machine's processor, otherwise for its GPU");
  flags.Alias("xla_gpu_load_autotune_results_from", "autotune_cache");
  flags.OptionalString("print_fusion_plan", &f->print_fusion_plan, "all",
                       "instead of the module, print its kernels, the reasons for them and the traffic that they save; "
                       "all: print complete lists");
  flags.Bool("reoptimize", &f->reoptimize, "run the passes even if the module is already optimized");
  AddPassFlags(flags, &f->passes);
  flags.Choice("platform", &f->platform, {"gpu", "cuda", "cpu", "host"}, "XLA's flag; cpu means --target=host");
  AddSeeingFlags(flags, f);
  AddLoadFlags(
      flags, &f->load,
      {ElidedValues::kKeep, ElidedValues::kError, ElidedValues::kRandom, ElidedValues::kZeros, ElidedValues::kIota});
  AddDeviceFlags(flags, &f->load);
  AddSplitFlag(flags, &f->load);
  AddDumpFlags(flags, &f->dump);
  AddReproducerFlag(flags, &f->run.reproducer);
  AddLogFlags(flags, &f->log);
  flags.Group("Testing hlokit itself");
  flags.Repeated("inject", &f->inject, "KIND:NAME:FAULT",
                 "plant a fault. pass:algsimp[#k]: multiply_by_zero, drop_add_zero_sign, swapped_permutation; "
                 "crash:algsimp[#k]: the pass crashes");
  return flags;
}

Result<std::string> PipelineTextOf(const OptFlags& f) {
  const auto source = TextOf(TRY(PipelineOf(f.passes, {})));
  std::string text(source->text());
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

Result<bool> ListWhatIsAsked(const OptFlags& f, const std::vector<std::string>& positionals) {
  if (f.list_passes) ListPasses();
  if (f.list_pipelines) std::fputs(PipelineList().c_str(), stdout);
  if (f.list_stages) ListStages();
  if (f.list_passes || f.list_pipelines || f.list_stages) return true;
  if (!f.print_pipeline) return false;
  if (!positionals.empty())
    FAIL(UsageError("F002", Str("--print_pipeline reads no module, found '", Escaped(positionals[0]), "'"))
             .Hint("--pipeline=FILE is the one to print"));
  std::fputs(TRY(PipelineTextOf(f)).c_str(), stdout);
  return true;
}

// XLA's flag is a switch, so true and false are accepted.
constexpr std::string_view kTimeForms[] = {"", "true", "1", "table", "tree", "json", "false", "0"};
bool IsOff(std::string_view form) { return form == "false" || form == "0"; }

Status CheckFlags(const OptFlags& f) {
  if (!LowerStageOf(f.stage) && f.stage != "hlo" && f.stage != "hlo-backend")
    FAIL(UsageError("F004", Str("--stage: unknown stage '", Escaped(f.stage), "'")).Hint("hlo-opt --list_stages"));
  if (f.print_fusion_plan && !f.print_fusion_plan->empty() && *f.print_fusion_plan != "all")
    FAIL(UsageError("F004",
                    Str("--print_fusion_plan wants nothing or 'all', not '", Escaped(*f.print_fusion_plan), "'")));
  if (f.pass_stats && !f.pass_stats->empty() && *f.pass_stats != "all" && *f.pass_stats != "json")
    FAIL(UsageError("F004", Str("--pass_stats wants nothing, 'all' or 'json', not '", Escaped(*f.pass_stats), "'")));
  if (f.time_passes && std::ranges::find(kTimeForms, *f.time_passes) == std::end(kTimeForms))
    FAIL(UsageError("F004", Str("--time_passes wants 'table', 'tree' or 'json', not '", Escaped(*f.time_passes), "'")));
  for (const std::string& fault : f.inject) {
    if (!fault.starts_with("pass:") && !fault.starts_with(kCrash))
      FAIL(UsageError("F004", Str("--inject: expected pass:NAME:FAULT or crash:NAME, got '", Escaped(fault), "'")));
  }
  return {};
}

RunOptions RunOptionsOf(const OptFlags& f, const PipelineOptions& pipeline) {
  RunOptions run = f.run;
  run.load = f.load;
  run.pipeline = pipeline;
  if (f.verify_each == "all") run.reproducer.flags.emplace_back("--verify_each=all");
  return run;
}

struct Observers {
  PassWatch watch;
  std::optional<PassStats> stats;
  std::optional<EachPassCheck> check;
};

Result<Observers> ObserversOf(const OptFlags& f, const PipelineOptions& pipeline, Progress& progress) {
  PassWatchOptions watch = f.watch;
  watch.color =
      f.color == "always" || (f.color == "auto" && isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr);
  Observers observers{
      .watch = TRY(PassWatch::Make(watch, pipeline, [&f](const Module& module) { return PrintAs(module, f.print); })),
      .stats = {},
      .check = {}};
  if (f.pass_stats) observers.stats.emplace(*pipeline.device);
  if (!f.check_each_pass) return observers;
  std::optional<Pattern> only;
  if (!f.check_each_pass->empty()) only = TRY(Pattern::Compile(*f.check_each_pass, "check_each_pass"));
  const RunOptions run = RunOptionsOf(f, pipeline);
  const bool color =
      f.color == "always" || (f.color == "auto" && isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr);
  constexpr size_t kMostLines = 40;
  observers.check.emplace(run, std::move(only), DiffOptions{.color = color, .most_lines = kMostLines}, progress);
  return observers;
}

bool IsModule(const OptFlags& f) { return !LowerStageOf(f.stage) && !f.check_each_pass && !f.print_fusion_plan; }

Status VerifyUnchanged(const PassRun& run, const Module& module) {
  if (run.changed || run.skipped) return {};
  auto sound = Verify(module);
  if (sound) return {};
  sound.error().exit = ExitCode::kInternal;
  sound.error().pass = NameOf(run);
  FAIL(std::move(sound.error()).AddNote(Str("after ", Describe(run), ", which changed nothing")));
}

Result<PipelineReport> RunPasses(Module& module, const OptFlags& f, PipelineOptions pipeline, Observers& observers,
                                 Dumper& dumper) {
  observers.watch.Begin(module);
  if (observers.stats) TRY(observers.stats->Begin(module));
  if (observers.check) TRY(observers.check->Begin(module));
  if (f.verify_each == "off") pipeline.verify = [](const Module&) { return Status(); };
  pipeline.before = [&, before = std::move(pipeline.before)](const PassRun& run, Module& m) -> Status {
    TRY(observers.watch.Before(run, m));
    if (before) TRY(before(run, m));
    return observers.check ? observers.check->Before(run, m) : Status();
  };
  pipeline.after = [&](const PassRun& run, Module& m) -> Status {
    if (f.verify_each == "all") TRY(VerifyUnchanged(run, m));
    TRY(observers.watch.After(run, m));
    if (observers.stats) TRY(observers.stats->After(run, m));
    return observers.check ? observers.check->After(run, m) : Status();
  };
  return Optimize(module, std::move(pipeline), &dumper, IsModule(f) ? MisfitLayouts::kKeep : MisfitLayouts::kAssign);
}

std::string TimesText(const PipelineReport& report, std::string_view form) {
  if (form == "tree") return PassTree(report);
  if (form == "json") return PassTimesJson(report);
  return IsOff(form) ? "" : PassTable(report) + RuleTable(report);
}

Status PrintReports(const PipelineReport& report, const OptFlags& f, const Observers& observers, const Module& module,
                    const PipelineOptions& pipeline) {
  for (const std::string& finding : FindingsOf(report)) std::fprintf(stderr, "warning: %s\n", finding.c_str());
  for (const std::string& end : report.unmet) Note(f, Str(end, ": no such pass instance ran"));
  for (const std::string& note : observers.watch.Notes()) Note(f, note);
  for (const std::string& note : report.notes) Note(f, note);
  if (const std::string todo = TodoText(report); !todo.empty()) Note(f, todo);
  if (f.time_passes) std::fputs(TimesText(report, *f.time_passes).c_str(), stderr);
  if (!observers.stats) return {};
  if (*f.pass_stats == "json") {
    std::fputs(observers.stats->Json().c_str(), stderr);
    return {};
  }
  const Pipeline parsed = TRY(ParsePipeline(TextOf(pipeline)));
  std::fputs((observers.stats->Text(*f.pass_stats == "all") +
              Str("  the pipeline: ", ToString(CountsOf(parsed, module, *pipeline.device)), "\n"))
                 .c_str(),
             stderr);
  return {};
}

// Sets the plans of the lock file, without measuring.
Status ObeyLock(Module& module, const OptFlags& f, const PipelineOptions& pipeline) {
  RunOptions run = RunOptionsOf(f, pipeline);
  run.library_path = f.library_path;
  run.tuning.read_from = TRY(LockFile(f.lock, /*written=*/false));
  run.tuning.must_exist = true;
  const auto device = TRY(gpu::OpenDevice(pipeline.device->is_gpu ? "cuda" : "cpu", f.library_path));
  for (const std::string& note : gpu::ResolveRegions(module, [&] { return device.get(); }, CompilerOptions(run), true))
    Note(f, note);
  const gpu::TuningReport tuned = TRY(TuneModule(module, *device, run));
  for (const std::string& note : tuned.notes) Note(f, note);
  Note(f, Str(tuned.cached, tuned.cached == 1 ? " plan is" : " plans are", " from '", run.tuning.read_from, "'"));
  return {};
}

// If the partitioner refuses a module, the hint names the flag that skips it.
Error WithHint(Error error) {
  if (error.code() != "U044") return error;
  return std::move(error).Hint("--xla_disable_hlo_passes=spmd-partitioner optimizes the unpartitioned module");
}

struct Output {
  std::string text;
  ExitCode exit = ExitCode::kOk;
  std::string finding;
};

Result<Output> OutputOf(const std::string& path, const OptFlags& f, const PipelineOptions& pipeline) {
  const DeviceDescription& device = *pipeline.device;
  std::vector<Diagnostic> warnings;
  const auto module = TRY(LoadModule(path, f.load, &warnings));
  if (!warnings.empty()) Note(f, SummaryOf(warnings, path));
  const int64_t filled = TRY(FillElided(*module, f.load, /*seed=*/0));
  if (filled > 0) Note(f, FilledText(filled, f.load));
  TRY(MakeReproducerDirectory(f.run.reproducer));
  Dumper dumper = TRY(Dumper::Make(f.dump, *module));
  TRY(dumper.Before(*module));
  FusionLog fusions;
  PipelineOptions watched = pipeline;
  if (f.print_fusion_plan) watched.fusions = &fusions;
  Progress progress(f.quiet);
  Observers observers = TRY(ObserversOf(f, pipeline, progress));
  std::optional<PipelineReport> passes;
  if (!pipeline.passes && IsOptimized(*module, path) && !f.reoptimize) {
    Note(f, "the module is already optimized, so no passes run (--reoptimize runs them)");
    const std::string note = f.stage == "hlo" ? "" : TRY(TakeLibraryCalls(*module, device));
    if (!note.empty()) Note(f, note);
  } else {
    const bool keeps = !f.run.reproducer.directory.empty();
    const auto input = keeps ? module->Clone() : nullptr;
    if (keeps) TRY(TryPasses(*input, RunOptionsOf(f, pipeline)));
    if (!pipeline.partitions && !pipeline.passes && SplitsArrays(*module))
      Note(f,
           "the passes optimize the unpartitioned module, which kernels run; --stage=hlo prints the program of one "
           "device");
    auto report = RunPasses(*module, f, std::move(watched), observers, dumper);
    progress.Clear();
    if (!report && !(observers.check && observers.check->is_wrong())) {
      Error error = WithHint(std::move(report).error());
      if (keeps) FAIL(Reproduced(std::move(error), *input, RunOptionsOf(f, pipeline)));
      FAIL(std::move(error));
    }
    if (report) TRY(PrintReports(passes.emplace(*std::move(report)), f, observers, *module, pipeline));
  }
  const bool is_judged = observers.check.has_value();
  if (!f.lock.empty()) TRY(ObeyLock(*module, f, pipeline));
  if (f.stage == "hlo-backend") {
    for (const std::string& note : gpu::TakeUnplannedRegionsApart(*module, device)) Note(f, note);
  }
  if (f.stage == "hlo-backend" || dumper.active() || f.print_fusion_plan) TRY(gpu::PlanModule(*module, device));
  TRY(dumper.After("cpu", *module));
  if (passes) TRY(dumper.Passes(*passes));
  for (const std::string& note : dumper.TakeNotes()) Note(f, note);

  if (f.round_trip) TRY(CheckTextRoundTrip(*module));
  if (is_judged) return Output{observers.check->Report(), observers.check->exit(), observers.check->Finding()};
  if (f.print_fusion_plan) {
    FusionReportOptions options;
    if (*f.print_fusion_plan == "all") options = {.blocks = SIZE_MAX, .lines = SIZE_MAX, .names = SIZE_MAX, .least = 0};
    return Output{FusionReport(*module, fusions, options)};
  }
  if (const std::optional<LowerStage> lower = LowerStageOf(f.stage)) {
    const auto cache = CacheOf(f.cache);
    const SassOptions sass = {.library_path = f.library_path, .cache = cache.get()};
    return Output{TRY(Lower(*module, *lower, f.kernel, device, sass))};
  }
  const auto form = std::ranges::find(EmitForms(), f.emit, &EmitForm::name);
  if (form != EmitForms().end()) return Output{TRY(form->emit(*module))};
  return Output{TRY(PrintAs(*module, f.print))};
}

}  // namespace

Result<ExitCode> OptCommand(Args args) {
  OptFlags f;
  FlagSet flags = MakeFlags(&f);
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (TRY(ListWhatIsAsked(f, positionals))) return ExitCode::kOk;
  if (positionals.size() != 1)
    FAIL(flags.WrongFiles(Str("expected one module, got ", positionals.size()), positionals)
             .Hint("hlo-opt model.hlo; '-' is stdin"));
  TRY(CheckFlags(f));
  TRY(Apply(f.log));
  TRY(OneStdin(f.passes, positionals));
  ResolveRecording(flags, &f.run);
  if (f.check_each_pass) TakeRecordedArguments(positionals[0], &f.run);
  const std::optional<LowerStage> lower = LowerStageOf(f.stage);
  const bool is_for_host =
      f.platform == "cpu" || f.platform == "host" || lower == LowerStage::kHostLlvm || lower == LowerStage::kHostAsm;
  if (f.passes.target.empty() && is_for_host) f.passes.target = "host";
  TRY(ReadTargetFlag(&f.passes));
  if (!f.lock.empty() && f.passes.device == nullptr)
    f.passes.device = TargetOfPlatform("cuda", /*for_speed=*/false, f.library_path);
  ResolveReproducer(f.passes, f.log, f.inject, &f.run.reproducer);
  PipelineOptions pipeline = TRY(PipelineOf(f.passes, f.inject));
  pipeline.partitions = IsModule(f) && f.load.num_partitions != 1;
  // A lock has decisions for the steps of hlo-run, which uses this pipeline on a host.
  if (!f.lock.empty() && !pipeline.device->is_gpu) pipeline = ForHost(std::move(pipeline));
  // Kernels and the interpreter need the values of constants.
  if ((LowerStageOf(f.stage) || f.check_each_pass) && f.load.fill_elided_constants == ElidedValues::kKeep)
    f.load.fill_elided_constants = ElidedValues::kRandom;
  f.load.text_only = !LowerStageOf(f.stage) && pipeline.passes && pipeline.passes->empty();
  if (f.stage == "hlo" && !pipeline.passes) pipeline.disabled.emplace_back("gpu-schedule");

  if (f.emit_proto) f.emit = "pbtxt";
  std::string text, findings;
  ExitCode exit = ExitCode::kOk;
  const std::vector<std::string> paths = f.load.split_input_file ? TRY(ExpandPaths(positionals, f.load)) : positionals;
  if (f.emit != "hlo" && !IsModule(f))
    FAIL(UsageError("F004", Str("--emit=", f.emit, " writes the module, but ",
                                LowerStageOf(f.stage) ? Str("--stage=", f.stage) : "a report", " is asked for")));
  if (f.emit != "hlo" && paths.size() > 1)
    FAIL(UsageError("F004", Str("--emit=", f.emit, " writes one module, but there are ", paths.size()))
             .Hint(Str(paths.front(), " is one of them")));
  for (const std::string& path : paths) {
    if (!text.empty()) text += "// -----\n\n";
    Output output = TRY(OutputOf(path, f, pipeline));
    text += output.text;
    if (!output.finding.empty()) findings += Str(path, ": ", output.finding, "; the report is in ", f.output, "\n");
    exit = WorseOf(exit, output.exit);
  }
  TRY(WriteFile(f.output, text));
  if (f.output != "-") std::fputs(findings.c_str(), stderr);
  WarnOfUnmetPatterns(f.log, f.quiet);
  return exit;
}

}  // namespace hlo
