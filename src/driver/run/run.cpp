#include "driver/run/run.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/hash_bytes.h"
#include "base/parallel.h"
#include "base/text.h"
#include "driver/command_line.h"
#include "driver/run/bundle_writer.h"
#include "driver/run/experiment.h"
#include "driver/run/profile_report.h"
#include "driver/run/recording.h"
#include "driver/run/report_page.h"
#include "driver/run/reproducer.h"
#include "driver/run/saved_run.h"
#include "driver/run/scopes.h"
#include "driver/run/timing.h"
#include "driver/run/verdict.h"
#include "gpu/runtime/tuning/tuner.h"
#include "interp/arguments/argument_files.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

void Append(std::vector<std::string>* notes, const std::vector<std::string>& more) {
  notes->insert(notes->end(), more.begin(), more.end());
}

uint64_t HashOf(const Literal& leaf) {
  constexpr int64_t kPiece = 1 << 20;
  const int64_t bytes = leaf.byte_size();
  if (!leaf.shape().IsArray() || bytes <= kPiece) return leaf.Hash();
  std::vector<uint64_t> pieces((bytes + kPiece - 1) / kPiece);
  ParallelFor(bytes, kPiece, [&](int64_t begin, int64_t end) {
    const char* const first = reinterpret_cast<const char*>(leaf.raw()) + begin;
    pieces[begin / kPiece] = HashBytes({first, static_cast<size_t>(end - begin)});
  });
  return HashBytes({reinterpret_cast<const char*>(pieces.data()), pieces.size() * sizeof(uint64_t)});
}

std::string Bits(const Literal& literal) {
  uint64_t hash = 0xCBF29CE484222325;
  ForEachLeaf(literal.shape(), [&](const ShapeIndex& index, const Shape&) {
    hash = (hash ^ HashOf(literal.At(index))) * 0x100000001B3;
  });
  return Format("%016llx", static_cast<unsigned long long>(hash));
}

std::string FirstDifference(const Literal& a, const Literal& b) {
  std::string first;
  ForEachLeaf(a.shape(), [&](const ShapeIndex& index, const Shape& leaf) {
    if (first.empty() && leaf.IsArray() && !a.At(index).BitEquals(b.At(index)))
      first = index.empty() ? "the output" : Str("output {", Join(index, ","), "}");
  });
  return first;
}

DevicesSummary CompareDevices(std::span<const Literal> outputs, const ModuleHeader& header) {
  DevicesSummary summary = {.replicas = header.replica_count, .partitions = header.num_partitions};
  for (size_t device = 1; device < outputs.size(); ++device) {
    const std::string difference = FirstDifference(outputs[0], outputs[device]);
    if (difference.empty()) continue;
    if (summary.differing++ > 0) continue;
    summary.first = static_cast<int64_t>(device);
    summary.first_output = difference;
  }
  return summary;
}

void CheckReplicas(std::span<const Literal> outputs, int64_t partitions, RunReport* report) {
  for (int64_t device = partitions; device < static_cast<int64_t>(outputs.size()); ++device) {
    const std::string difference = FirstDifference(outputs[device % partitions], outputs[device]);
    if (difference.empty()) continue;
    SetVerdict(report, Verdict::kMismatch, "");
    report->detail =
        Str("replica ", device / partitions, partitions == 1 ? "" : Str(" of partition ", device % partitions),
            " differs from replica 0 in ", difference);
    return;
  }
  SetVerdict(report, Verdict::kMatch, "");
  report->detail = Str(outputs.size() / partitions, " replicas have the same results");
}

std::string LiteralsText(const Literal& result) {
  std::string out;
  ForEachLeaf(result.shape(), [&](const ShapeIndex& index, const Shape& shape) {
    out += Str(shape, index.empty() ? "" : Str(" {", Join(index, ","), "}"), " ", Print(result.At(index)), "\n");
  });
  return out;
}

std::string LiteralsText(std::span<const Literal> results, int64_t partitions) {
  std::string out;
  for (size_t device = 0; device < results.size(); ++device) {
    const int64_t number = static_cast<int64_t>(device);
    out += partitions == 1
               ? Str("replica ", number)
               : Str("device ", number, " (replica ", number / partitions, ", partition ", number % partitions, ")");
    out += ":\n" + LiteralsText(results[device]);
  }
  return out;
}

Status ReportInput(Experiment& experiment, RunReport* report) {
  const InputModule& input = *TRY(experiment.Input());
  report->warnings = input.warnings;
  report->times.parse = input.ms;
  report->stubs = input.stubs;
  report->filled_constants = input.filled_constants;
  report->module_name = input.module->name();
  report->instructions = input.module->InstructionCount();
  report->parameters = std::ssize(input.module->entry().parameters());
  for (const Instruction* parameter : input.module->entry().parameters())
    report->parameter_bytes += parameter->shape().ByteSize();
  Append(&report->notes, input.notes);
  return {};
}

Status ReportCode(Experiment& experiment, RunReport* report) {
  const OptimizedModule& optimized = *TRY(experiment.Optimized());
  report->passes = optimized.passes;
  report->times.passes = optimized.ms;
  Append(&report->notes, optimized.notes);
  const PlannedProgram& planned = *TRY(experiment.Planned());
  report->tuning = planned.tuning;
  report->autotune_report = experiment.options().autotune_report;
  if (planned.tuning) report->times.tuning = planned.tuning->seconds * 1000;
  Append(&report->notes, planned.notes);
  const Code& code = *TRY(experiment.Compiled());
  report->times.compile = planned.ms + code.ms;
  report->memory = code.executable->memory();
  report->compile = code.executable->report();
  report->fallback = {.names = report->compile->host_calls, .steps = std::ssize(code.executable->steps())};
  for (const gpu::StepInfo& step : code.executable->steps()) {
    if (step.kind == gpu::StepKind::kCopy) ++report->copy_steps;
    if (step.kind == gpu::StepKind::kFill) ++report->fill_steps;
  }
  Append(&report->notes, report->compile->notes);
  Append(&report->notes, code.notes);
  return {};
}

void ReportPlanted(const RunOptions& options, RunReport* report) {
  if (!options.pipeline.inject.empty())
    report->planted.push_back({Str("pass:", options.pipeline.inject), report->passes.planted});
  if (options.tuning.plant_wrong)
    report->planted.push_back({std::string(kWrongCandidate), report->tuning ? report->tuning->planted : 0});
  if (!options.inject.empty())
    report->planted.push_back({options.inject, report->compile ? report->compile->planted : 0});
}

Status ReportArguments(Experiment& experiment, RunReport* report) {
  const RunArguments& arguments = *TRY(experiment.Arguments());
  report->inputs = arguments.description;
  report->times.reference = arguments.reference_ms;
  report->times.arguments = arguments.ms;
  report->non_finite_outputs = arguments.non_finite_share;
  Append(&report->notes, arguments.notes);
  const std::string& file = experiment.options().save_args;
  if (file.empty()) return {};
  experiment.progress().Stage("saving the arguments");
  const Stopwatch watch;
  const int64_t partitions = TRY(experiment.Input())->module->header.num_partitions;
  TRY(arguments.by_device.empty() ? WriteNpz(file, "arg", arguments.values)
                                  : WriteArgumentsByDevice(file, arguments.by_device, partitions));
  report->times.saving = watch.ms();
  return {};
}

void ReportTimes(const RunTimes& of_results, bool interpreted, RunTimes* times) {
  times->placing = of_results.placing;
  times->run = of_results.run;
  times->run_min = of_results.run_min;
  times->run_max = of_results.run_max;
  times->on_device = of_results.on_device;
  times->runs = of_results.runs;
  times->all_runs = of_results.all_runs;
  times->first_run = of_results.first_run;
  times->results = of_results.results;
  if (interpreted) times->reference = 0;  // The reference is one of the runs.
}

Status ReportResults(Experiment& experiment, const RunResults& results, RunReport* report) {
  const RunOptions& options = experiment.options();
  ReportTimes(results.times, experiment.IsInterpreted(), &report->times);
  report->fallback.share = results.fallback_share;
  report->process_peak_bytes = results.process_peak_bytes;
  report->profile = results.watched;
  report->examples_per_run = options.profile.examples_per_run;
  Append(&report->notes, results.notes);
  const Stopwatch taking;
  const int64_t partitions = TRY(experiment.Input())->module->header.num_partitions;
  const bool all_outputs = options.output_mode == OutputMode::kAllDevices && !results.by_device.empty();
  report->bits = Bits(results.outputs);
  if (options.print_literals)
    report->literals = all_outputs ? LiteralsText(results.by_device, partitions) : LiteralsText(results.outputs);
  report->times.results += taking.ms();
  const Stopwatch saving;
  if (!options.outfeed.empty()) TRY(WriteNpz(options.outfeed, "out", experiment.fed_out()));
  if (!options.save_outputs.empty()) {
    experiment.progress().Stage("saving the results");
    TRY(all_outputs ? WriteOutputsByDevice(options.save_outputs, results.by_device, partitions)
                    : WriteOutputs(options.save_outputs, results.outputs));
  }
  if (!options.outfeed.empty() || !options.save_outputs.empty()) report->times.saving += saving.ms();
  return {};
}

Status ReportScopes(Experiment& experiment, RunReport* report) {
  const std::shared_ptr<const Scopes> scopes =
      experiment.IsInterpreted() ? nullptr : TRY(experiment.Optimized())->scopes;
  if (scopes == nullptr) return {};
  experiment.progress().Stage("timing the scopes");
  gpu::Executable& executable = *TRY(experiment.Placed());
  report->scopes = scopes->Summary(executable.steps());
  return TimeScopes(executable, *scopes, &*report->scopes);
}

Status ReportVerdict(Experiment& experiment, const RunResults& results, RunReport* report) {
  const RunOptions& options = experiment.options();
  const Stopwatch watch;
  const ModuleHeader& header = TRY(experiment.Input())->module->header;
  if (!results.by_device.empty()) report->devices = CompareDevices(results.by_device, header);
  if (report->devices) report->devices->joined = results.joined;
  if (!results.by_device.empty() && options.check_replicas)
    CheckReplicas(results.by_device, header.num_partitions, report);
  if (!options.reference_file.empty()) {
    Append(&report->notes, TRY(experiment.Reference())->notes);
    report->reference_file = options.reference_file;
    report->reference_recorded = options.recorded_result == Recorded::kTaken;
  }
  if (options.reference_platform == ReferencePlatform::kCpu && TRY(experiment.OtherPlatform()) != nullptr)
    report->notes.push_back(Str("the reference is a run on cpu ",
                                TRY((*experiment.OtherPlatform())->ResolvedPlatform())->device->description()));
  TRY(JudgeRun(experiment, report));
  TRY(CompareValues(experiment, report));
  report->times.check = watch.ms();
  return {};
}

}  // namespace

gpu::CompileOptions CompilerOptions(const RunOptions& options) {
  gpu::CompileOptions compile;
  compile.libraries = options.libraries;
  compile.allow_tf32 = options.allow_tf32;
  compile.library_path = options.library_path;
  compile.cache = options.cache;
  compile.max_loop_iterations = options.max_loop_iterations;
  compile.inject = options.inject;
  compile.target = options.pipeline.device;
  compile.keep_kernels = !options.dump.directory.empty() || options.profile.any();
  return compile;
}

InterpretOptions InterpreterOptions(const RunOptions& options) {
  InterpretOptions interpret;
  interpret.max_loop_iterations = options.max_loop_iterations;
  interpret.max_depth = options.load.max_depth;
  interpret.memory_limit = options.memory_limit;
  interpret.seed = static_cast<uint64_t>(options.seed);
  return interpret;
}

Result<RunReport> Run(Experiment& experiment) {
  const Stopwatch watch;
  RunReport report;
  report.path = experiment.path() == "-" ? "<stdin>" : experiment.path();
  TRY(ReportInput(experiment, &report));
  TRY(experiment.DumpTo(experiment.options().dump));
  TRY(MakeReproducerDirectory(experiment.options().reproducer));
  const Platform& where = *TRY(experiment.ResolvedPlatform());
  Append(&report.notes, where.notes);
  report.platform = where.device == nullptr ? "interpreter" : where.device->name();
  if (where.device != nullptr) report.device = where.device->description();
  if (const auto& of_kernels = experiment.options().of_kernels; where.device == nullptr && !of_kernels.empty()) {
    const ModuleHeader& header = TRY(experiment.Input())->module->header;
    const bool has_one_device = header.replica_count * header.num_partitions == 1;
    report.notes.push_back(Str("the interpreter runs the module as it was read and ignores ", Join(of_kernels, " "),
                               has_one_device ? "; --platform=cpu runs kernels, for which these flags are meant" : ""));
  }
  // Unsupported ops are reported before arguments are made.
  if (where.device != nullptr) TRY(ReportCode(experiment, &report));
  ReportPlanted(experiment.options(), &report);
  report.reference_skipped = TRY(experiment.WhyNoReference());
  TRY(ReportArguments(experiment, &report));
  if (auto results = experiment.Results()) {
    TRY(ReportResults(experiment, **results, &report));
    TRY(ReportScopes(experiment, &report));
    TRY(ReportVerdict(experiment, **results, &report));
    if ((*results)->profiled != nullptr) TRY(ReportProfile(experiment, *(*results)->profiled, &report));
  } else {
    TRY(JudgeUnfinished(experiment, std::move(results).error(), &report));
  }
  TRY(ReportReproducer(experiment, &report));
  report.times.all = watch.ms();
  return report;
}

Result<RunReport> RunModule(const std::string& path, const RunOptions& options, Progress& progress) {
  return RunModuleWithPage(path, options, "", progress);
}

Result<RunReport> RunModuleWithPage(const std::string& path, const RunOptions& given, const std::string& page,
                                    Progress& progress) {
  RunOptions options = given;
  TakeRecording(path, &options);
  Experiment experiment(path, options, progress);
  auto report = Run(experiment);
  if (report && !page.empty()) TRY(WriteFile(page, TRY(ReportHtml(experiment, *report))));
  if (options.bundle.directory.empty()) return report;
  progress.Stage("writing the bundle");
  const std::string folder = TRY(WriteBundle(experiment, report));
  if (report)
    report->notes.push_back(
        Str("bundle: hlo-run ", ShellWord(folder), " repeats the run, also after the folder was moved"));
  return report;
}

}  // namespace hlo
