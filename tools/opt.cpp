// hlo opt: HLO in, HLO (or LLVM IR, PTX, host code) out.
#include <cstdio>

#include "base/files.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/inspect/fusion_report.h"
#include "driver/lower.h"
#include "driver/optimize.h"
#include "gpu/plan/planner.h"
#include "ir/text/printer.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/module_flags.h"

namespace hlo {
namespace {

struct OptFlags {
  LoadOptions load;
  PassFlags passes;
  DumpOptions dump;
  LogFlags log;
  std::string stage = "hlo", output = "-", print_changed = "none", kernel;
  std::vector<std::string> inject;
  std::optional<std::string> print_fusion_plan;
  bool list_passes = false, list_stages = false, print_pipeline = false, time_passes = false,
       print_pass_instances = false, reoptimize = false;
  PrintFlags print;
};

constexpr LowerStage kLowerStages[] = {LowerStage::kKernels, LowerStage::kLlvmBefore, LowerStage::kLlvm,
                                       LowerStage::kPtx,     LowerStage::kPtxas,      LowerStage::kHostLlvm,
                                       LowerStage::kHostAsm};

std::optional<LowerStage> LowerStageOf(std::string_view name) {
  for (const LowerStage stage : kLowerStages) {
    if (ToString(stage) == name) return stage;
  }
  return std::nullopt;
}

void ListPasses() {
  for (const PassRow& row : AllPasses()) {
    std::printf("%-34s %-18s %s\n", std::string(row.name).c_str(), std::string(ToString(row.preserves)).c_str(),
                std::string(row.what).c_str());
  }
}

void ListStages() {
  std::printf("hlo          after the passes, but for the last ones, which schedule\n");
  std::printf("hlo-backend  fused, scheduled, planned: what is compiled; which library a call goes to: kernels\n");
  for (const LowerStage stage : kLowerStages)
    std::printf("%-12s %s\n", std::string(ToString(stage)).c_str(), std::string(About(stage)).c_str());
}

// "ok" and "changed" for each instance that ran, before the module is printed; for --print_changed and
// --print_pass_instances.
Status Show(const OptFlags& f, const PassRun& run, const Module& module) {
  if (f.print_pass_instances)
    std::fprintf(stderr, "%4d %s %s#%d%s\n", run.number, run.skipped ? "SKIP" : "run ",
                 std::string(run.pass->name).c_str(), run.instance, run.changed ? " changed" : "");
  if (f.print_changed == "full" && run.changed)
    std::fprintf(stderr, "*** after %s ***\n%s\n", Describe(run).c_str(), Print(module).c_str());
  return {};
}

FlagSet MakeFlags(OptFlags* f) {
  FlagSet flags("hlo-opt", "[flags] MODULE [-o FILE]",
                "Run the pipeline to a stage, or passes by name, and print what comes out.",
                {"hlo-opt model.hlo", "hlo-opt --passes=algsimp,dce --hlo_print=short model.hlo",
                 "hlo-opt --stage=ptx --kernel=fusion.3 model.hlo", "hlo-opt --time_passes model.hlo -o /dev/null",
                 "hlo-opt model.hlo | hlo-run -"});
  flags.Group("What");
  flags.String("stage", &f->stage, "S",
               "hlo, hlo-backend, kernels, llvm-before-optimizations, llvm, ptx, ptxas, host-llvm, host-asm");
  flags.String("kernel", &f->kernel, "NAME", "below hlo-backend: only this instruction's kernels");
  flags.Bool("list_stages", &f->list_stages, "the stages, one line each");
  flags.Bool("list_passes", &f->list_passes, "the passes, one line each: name, what it preserves, what it does");
  flags.Bool("print_pipeline", &f->print_pipeline, "the text of the pipeline that would run, and nothing else");
  flags.OptionalString(
      "print_fusion_plan", &f->print_fusion_plan, "all",
      "instead of the module: its kernels, why they are what they are, what they save; 'all': no list is "
      "cut short");
  flags.Bool("reoptimize", &f->reoptimize, "run passes even over a module that is optimized already");
  AddPassFlags(flags, &f->passes);
  flags.Group("Output");
  flags.String("o", &f->output, "FILE", "where the result goes; - is stdout");
  AddPrintFlags(flags, &f->print);
  flags.Bool("time_passes", &f->time_passes, "a table of the passes and one of the rules to stderr");
  flags.Choice("print_changed", &f->print_changed, {"none", "full"},
               "the module after each pass that changed it, to stderr");
  flags.Bool("print_pass_instances", &f->print_pass_instances,
             "a line for each pass instance, to stderr; numbers for --opt_bisect_limit");
  AddLoadFlags(flags, &f->load, {"keep", "error", "random", "zeros", "iota"});
  AddDeviceFlags(flags, &f->load);
  AddSplitFlag(flags, &f->load);
  AddDumpFlags(flags, &f->dump);
  AddLogFlags(flags, &f->log);
  flags.Group("Testing hlokit itself");
  flags.Repeated("inject", &f->inject, "KIND:NAME:FAULT",
                 "plant a fault. pass:algsimp[#k]: multiply_by_zero, drop_add_zero_sign, swapped_permutation");
  return flags;
}

// Alone, so that it can be kept, changed and given to --pipeline.
Result<std::string> PipelineTextOf(const OptFlags& f) {
  const auto source = TextOf(TRY(PipelineOf(f.passes, {})));
  std::string text(source->text());
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

// What comes out of one module, as text.
Result<std::string> OutputOf(const std::string& path, const OptFlags& f, PipelineOptions pipeline) {
  const DeviceDescription& device = *pipeline.device;
  std::vector<Diagnostic> warnings;
  const auto module = TRY(LoadModule(path, f.load, &warnings));
  if (!warnings.empty()) std::fprintf(stderr, "note: %s\n", SummaryOf(warnings, path).c_str());
  const int64_t filled = TRY(FillElided(*module, f.load, /*seed=*/0));
  if (filled > 0) std::fprintf(stderr, "note: %s\n", FilledText(filled, f.load).c_str());
  Dumper dumper = TRY(Dumper::Make(f.dump, *module));
  TRY(dumper.Before(*module));
  FusionLog fusions;
  if (f.print_fusion_plan) pipeline.fusions = &fusions;
  if (!pipeline.passes && IsOptimized(*module, path) && !f.reoptimize) {
    std::fprintf(stderr, "note: the module is optimized already; no passes run (--reoptimize runs them)\n");
  } else {
    const PipelineReport report = TRY(Optimize(*module, std::move(pipeline), &dumper));
    TRY(dumper.Passes(report));
    for (const std::string& finding : FindingsOf(report)) std::fprintf(stderr, "warning: %s\n", finding.c_str());
    if (const std::string todo = TodoText(report); !todo.empty()) std::fprintf(stderr, "note: %s\n", todo.c_str());
    if (f.time_passes) std::fputs((PassTable(report) + RuleTable(report)).c_str(), stderr);
  }
  if (f.stage == "hlo-backend" || dumper.active() || f.print_fusion_plan) TRY(gpu::PlanModule(*module, device));
  TRY(dumper.After("cpu", *module));
  for (const std::string& note : dumper.Notes()) std::fprintf(stderr, "note: %s\n", note.c_str());

  if (f.print_fusion_plan) {
    FusionReportOptions options;
    if (*f.print_fusion_plan == "all") options = {.blocks = SIZE_MAX, .lines = SIZE_MAX, .names = SIZE_MAX, .least = 0};
    return FusionReport(*module, fusions, options);
  }
  if (const std::optional<LowerStage> lower = LowerStageOf(f.stage)) return Lower(*module, *lower, f.kernel, device);
  return PrintAs(*module, f.print);
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
  if (f.list_passes) ListPasses();
  if (f.list_stages) ListStages();
  if (f.list_passes || f.list_stages) return ExitCode::kOk;
  if (f.print_pipeline) {
    if (!positionals.empty())
      FAIL(UsageError("F002", Str("--print_pipeline reads no module, found '", Escaped(positionals[0]), "'"))
               .Hint("--pipeline=FILE is the one to print"));
    std::fputs(TRY(PipelineTextOf(f)).c_str(), stdout);
    return ExitCode::kOk;
  }
  if (positionals.size() != 1)
    FAIL(flags.WrongFiles(Str("expected one module, got ", positionals.size()), positionals)
             .Hint("hlo-opt model.hlo; '-' is stdin"));
  if (!LowerStageOf(f.stage) && f.stage != "hlo" && f.stage != "hlo-backend") {
    FAIL(UsageError("F004", Str("--stage: unknown stage '", Escaped(f.stage), "'")).Hint("hlo-opt --list_stages"));
  }
  if (f.print_fusion_plan && !f.print_fusion_plan->empty() && *f.print_fusion_plan != "all")
    FAIL(UsageError("F004",
                    Str("--print_fusion_plan wants nothing or 'all', not '", Escaped(*f.print_fusion_plan), "'")));
  TRY(Apply(f.log));
  for (const std::string& fault : f.inject) {
    if (!fault.starts_with("pass:"))
      FAIL(UsageError("F004", Str("--inject: expected pass:NAME:FAULT, got '", Escaped(fault), "'")));
  }
  TRY(OneStdin(f.passes, positionals));
  TRY(ReadTargetFlag(&f.passes));
  PipelineOptions pipeline = TRY(PipelineOf(f.passes, f.inject));
  pipeline.after = [&f](const PassRun& run, Module& module) { return Show(f, run, module); };
  // Kernels and what they lie in need values.
  if (LowerStageOf(f.stage) && f.load.fill_elided_constants == "keep") f.load.fill_elided_constants = "random";
  f.load.text_only = !LowerStageOf(f.stage) && pipeline.passes && pipeline.passes->empty();
  if (f.stage == "hlo" && !pipeline.passes) pipeline.disabled.emplace_back("gpu-schedule");

  std::string output;
  const std::vector<std::string> paths = f.load.split_input_file ? TRY(ExpandPaths(positionals, f.load)) : positionals;
  for (const std::string& path : paths) {
    if (!output.empty()) output += "// -----\n\n";
    output += TRY(OutputOf(path, f, pipeline));
  }
  TRY(WriteFile(f.output, output));
  WarnOfUnmetPatterns(f.log);
  return ExitCode::kOk;
}

}  // namespace hlo
