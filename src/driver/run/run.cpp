#include "driver/run/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/hash_bytes.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/text.h"
#include "driver/dump/dump_compiled.h"
#include "driver/optimize.h"
#include "driver/run/arguments.h"
#include "driver/run/exact_check.h"
#include "driver/run/fallback.h"
#include "driver/run/verdict.h"
#include "gpu/plan/planner.h"
#include "interp/arguments/argument_files.h"
#include "interp/devices/manual_regions.h"
#include "interp/interpreter.h"
#include "interp/shadow/slice.h"
#include "ir/cost.h"
#include "ir/markers.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// The most memory that the process has held so far.
int64_t ProcessPeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

bool WantsReference(const RunOptions& options) {
  return options.reference_platform == "default" || options.reference_platform == "interpreter";
}

// Of interpreting a module, about a nanosecond each: a product's additions are fast, and memory is touched for the
// first time. Loops whose number of iterations depends on data count once. A long window that slides takes a few steps
// a result, however long it is.
double StepsOfInterpreting(const Module& module) {
  constexpr double kDotFlopsAStep = 20, kStepsAByte = 0.5;
  const CostAnalysis costs(module);
  const Cost& cost = costs.Of(module.entry());
  const double dots = std::accumulate(cost.dot_flops.begin(), cost.dot_flops.end(), 0.0);
  double steps = cost.scalar_work + dots / kDotFlopsAStep + cost.bytes() * kStepsAByte;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (!inst->Is(Opcode::kReduceWindow) || !inst->shape().IsArray()) continue;
      const auto windows = static_cast<double>(shadow::StepsOf(*inst, inst->shape().NumElements()));
      steps -= std::max(0.0, costs.Of(*inst).scalar_work - windows);
    }
  }
  return steps;
}

// Why the interpreter does not run over the whole module; "": it does. Kernels and passes are judged without it.
std::string WhyNoReference(const Module& module, const RunOptions& options) {
  const std::string& mode = options.compare_mode;
  const bool without = mode == "auto" || mode == "local" || mode == "widened";
  if (!without || options.reference_platform != "default" || options.work_limit == 0) return "";
  const double steps = StepsOfInterpreting(module);
  if (steps <= static_cast<double>(options.work_limit)) return "";
  return Format("about %.2g steps, beyond --work_limit", steps);
}

// Values from and to the host. A run that is done again reads and writes them again.
struct Feeds {
  NpzArrays in;
  std::vector<Literal> out;
};

InterpretOptions InterpreterOptions(const RunOptions& options, Feeds& feeds) {
  InterpretOptions interpret = InterpreterOptions(options);
  if (!options.infeed.empty()) {
    interpret.infeed = [&](const Instruction& infeed, int64_t number) {
      return ReadFed(feeds.in, options.infeed, number, infeed.shape().element(0), Str("'", infeed.name(), "'"));
    };
  }
  interpret.outfeed = [&](int64_t number, const Literal& value) {
    feeds.out.resize(number);
    feeds.out.push_back(value);
  };
  return interpret;
}

// Of an array or what is no array; large ones are hashed in pieces, on all threads.
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

// A hash of all bits of the outputs, to compare runs across machines.
std::string Bits(const Literal& literal) {
  uint64_t hash = 0xCBF29CE484222325;
  ForEachLeaf(literal.shape(), [&](const ShapeIndex& index, const Shape&) {
    hash = (hash ^ HashOf(literal.At(index))) * 0x100000001B3;
  });
  return Format("%016llx", static_cast<unsigned long long>(hash));
}

void SetRunTimes(std::vector<double> runs, RunTimes* times) {
  std::sort(runs.begin(), runs.end());
  times->runs = std::ssize(runs);
  times->run = runs[runs.size() / 2];
  times->run_min = runs.front();
  times->run_max = runs.back();
}

// Warm up, then run until the figures are steady: at least 10 times and 3 s with --bench, else num_repeats times.
Status TimeRuns(gpu::Executable& executable, const RunOptions& options, Progress& progress, RunReport* report) {
  constexpr double kWarmUpMs = 200, kBenchMs = 3000;
  constexpr int64_t kBenchRuns = 10;
  progress.Stage("running");
  const auto warm_up = Clock::now();
  do {
    TRY(executable.Execute());
    if (report->times.first_run == 0) report->times.first_run = MillisecondsSince(warm_up);
  } while (options.bench && MillisecondsSince(warm_up) < kWarmUpMs);
  std::vector<double> runs;
  double interpreted = 0;
  const auto begin = Clock::now();
  while (static_cast<int64_t>(runs.size()) < std::max<int64_t>(1, options.bench ? kBenchRuns : options.num_repeats) ||
         (options.bench && MillisecondsSince(begin) < kBenchMs)) {
    TRY(executable.MakeReady());
    const auto start = Clock::now();
    TRY(executable.Execute());
    runs.push_back(MillisecondsSince(start));
    interpreted += 1000 * executable.HostCallSeconds();
    progress.Step(static_cast<int64_t>(runs.size()), 0, "run");
  }
  report->fallback.share = interpreted / std::max(1e-9, std::accumulate(runs.begin(), runs.end(), 0.0));
  SetRunTimes(std::move(runs), &report->times);
  return {};
}

// Milliseconds of one execution spent in each kernel and library call, the longest first; a loop's are summed up. Steps
// are waited for one by one, so the sum is more than an execution takes.
Result<std::string> Profile(gpu::Executable& executable) {
  constexpr int kRuns = 10;
  constexpr size_t kMostRows = 25;
  std::vector<double> seconds(executable.steps().size()), one(seconds.size());
  for (int run = 0; run < kRuns; ++run) {
    TRY(executable.Execute({.step_seconds = &one}));
    for (size_t i = 0; i < seconds.size(); ++i) seconds[i] += one[i];
  }
  std::vector<size_t> order(seconds.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return seconds[a] > seconds[b]; });
  double total = 0;
  for (const double s : seconds) total += s;
  std::string out = Str("  profile (mean of ", kRuns, " runs, each step waited for)\n               ms      %  step\n");
  for (size_t i = 0; i < std::min(order.size(), kMostRows); ++i) {
    const gpu::StepInfo& step = executable.steps()[order[i]];
    out += Format("  %16.4f  %5.1f  %s (%s, %s)\n", 1000 * seconds[order[i]] / kRuns,
                  total > 0 ? 100 * seconds[order[i]] / total : 0.0, std::string(step.instruction->name()).c_str(),
                  std::string(ToString(step.kind)).c_str(), step.how.c_str());
  }
  if (order.size() > kMostRows) out += Format("  ... and %zu steps that take less\n", order.size() - kMostRows);
  return out;
}

// The interpreter as the platform: there is nothing more basic to compare it with, but for a file of expected results.
// The run that judged the arguments is the first of those asked for. Results by device.
Result<std::vector<Literal>> RunInterpreter(const Module& module, RunArguments& arguments, const RunOptions& options,
                                            const InterpretOptions& interpret, Progress& progress, RunReport* report) {
  progress.Stage("interpreting");
  if (options.watch.any()) progress.Clear();  // Values are printed as they come.
  report->platform = "interpreter";
  const bool several = !arguments.by_device.empty();
  if (options.watch.any() && several)
    FAIL(UsageError("F004", "--trace_values, --detect_nan, --detect_inf, --log_minmax and --stats watch one device"));
  std::vector<Literal> outputs;
  std::vector<double> runs;
  if (!options.watch.any() && !several && arguments.reference) {
    outputs.push_back(std::move(*arguments.reference));
    runs.push_back(arguments.reference_ms);
  }
  while (std::ssize(runs) < options.num_repeats) {
    outputs.clear();
    const auto begin = Clock::now();
    if (options.watch.any()) {
      Watched watched = TRY(InterpretWatched(module, arguments.values, interpret, options.watch));
      report->profile = std::move(watched.report);
      report->notes.insert(report->notes.end(), watched.notes.begin(), watched.notes.end());
      outputs.push_back(std::move(watched.result));
    } else if (several) {
      outputs = TRY(InterpretDevices(module, arguments.by_device, interpret));
    } else {
      outputs.push_back(TRY(Interpret(module, arguments.values, interpret)));
    }
    runs.push_back(MillisecondsSince(begin));
  }
  SetRunTimes(std::move(runs), &report->times);
  return outputs;
}

// The first output that has other bits, or "".
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

// --check_replicas: of the devices of one partition all replicas have to agree.
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

// An op that other devices have a part in, or that tells them apart; null if there is none.
const Instruction* FindDeviceOp(const Module& module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      const bool channel = inst->Is(Opcode::kSend) || inst->Is(Opcode::kRecv);
      const bool splits = MarkerOf(*inst) == Marker::kShard || MarkerOf(*inst) == Marker::kWhole;
      if (channel ? !inst->attrs<ChannelAttrs>().is_host_transfer
                  : inst->Is(kCollective) || inst->Is(Opcode::kReplicaId) || inst->Is(Opcode::kPartitionId) ||
                        (splits && !IsIdentityMarker(*inst)))
        return inst;
    }
  }
  return nullptr;
}

// A text with shard_map has the number of its partitions in the meshes alone: JAX hands it over beside the text.
void TakePartitionsOfMeshes(Module& module, const LoadOptions& options, RunReport* report) {
  if (options.num_partitions > 0 || module.header.num_partitions > 1) return;
  const int64_t partitions = PartitionsOfManualRegions(module);
  if (partitions <= 1) return;
  module.header.num_partitions = partitions;
  report->notes.push_back(Str("the header names no number of partitions; the meshes have ", partitions,
                              ", as --num_partitions=", partitions));
}

std::string DevicesText(const ModuleHeader& header) {
  return Str(header.replica_count, header.replica_count == 1 ? " replica" : " replicas", " and ", header.num_partitions,
             header.num_partitions == 1 ? " partition" : " partitions");
}

// Where nobody chose the platform, the interpreter runs what kernels on one device cannot: all devices.
bool IsInterpreted(const Module& module, const RunOptions& options, RunReport* report) {
  if (options.platform != "auto") return options.platform == "interpreter";
  const ModuleHeader& header = module.header;
  if (header.replica_count == 1 && header.num_partitions == 1) return false;
  const Instruction* inst = FindDeviceOp(module);
  if (inst == nullptr) return false;
  report->notes.push_back(Str("kernels run on one device, and '", inst->name(), "' needs ", DevicesText(header),
                              ": all run in the interpreter"));
  return true;
}

// Kernels run on one device: that must be enough, or be said.
Status CheckOneDeviceIsEnough(const Module& module, RunReport* report) {
  const ModuleHeader& header = module.header;
  if (header.replica_count == 1 && header.num_partitions == 1) return {};
  const std::string devices = DevicesText(header);
  const Instruction* inst = FindDeviceOp(module);
  if (inst == nullptr) {
    report->notes.push_back(Str("the module is for ", devices, ", which do not depend on each other; one runs"));
    return {};
  }
  return std::unexpected(
      UnsupportedAt(*inst, "U102", Str("'", inst->opcode(), "' among ", devices, ": kernels run on one device"))
          .Advise("platform=interpreter", "runs all of them"));
}

// What has no kernel may run all the same.
Error WithAdvice(Error error, const Module& module) {
  if (error.exit != ExitCode::kUnsupported) return error;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (!CanInterpret(*inst)) return error;
    }
  }
  return std::move(error).Advise("fallback", "runs what has no kernel in the interpreter");
}

// The result as text: leaf by leaf.
std::string LiteralsText(const Literal& result) {
  std::string out;
  ForEachLeaf(result.shape(), [&](const ShapeIndex& index, const Shape& shape) {
    out += Str(shape, index.empty() ? "" : Str(" {", Join(index, ","), "}"), " ", Print(result.At(index)), "\n");
  });
  return out;
}

// Those of all devices, each under its number.
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

// What plans memory looks at pairs of values that live at once, which is many of them in control flow that is nested
// deep. Calls are inlined.
Status CheckNesting(const Module& module, int64_t max_depth) {
  std::unordered_map<const Computation*, int64_t> levels;
  for (const Computation* computation : module.PostOrder()) {
    int64_t& level = levels[computation];
    for (const Instruction* inst : computation->Instructions()) {
      const bool branches = inst->Is(Opcode::kWhile) || inst->Is(Opcode::kConditional);
      for (const Computation* callee : CalledComputations(*inst)) level = std::max(level, levels[callee] + branches);
    }
    if (level < max_depth) continue;
    FAIL(LimitError("R005", Str("loops and branches nested deeper than ", max_depth, " in '", computation->name(), "'"))
             .RaisedBy("max_depth"));
  }
  return {};
}

}  // namespace

gpu::CompileOptions CompilerOptions(const RunOptions& options) {
  gpu::CompileOptions compile;
  compile.libraries = options.libraries;
  compile.allow_tf32 = options.allow_tf32;
  compile.library_path = options.library_path;
  compile.max_loop_iterations = options.max_loop_iterations;
  compile.inject = options.inject;
  compile.target = options.pipeline.device;
  compile.keep_kernels = !options.dump.directory.empty();
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

Result<RunReport> RunModule(const std::string& path, const RunOptions& asked, Progress& progress) {
  RunOptions options = asked;
  RunReport report;
  report.path = path == "-" ? "<stdin>" : path;
  progress.Stage("reading");
  const auto start = Clock::now();
  auto begin = start;
  std::vector<Diagnostic> warnings;
  const auto module = TRY(LoadModule(path, options.load, &warnings));
  report.warnings = SummaryOf(warnings, path);
  report.times.parse = MillisecondsSince(begin);
  for (CustomCallStub& stub : TRY(StubCustomCalls(*module, options.custom_call, options.load))) {
    if (stub.calls > 0) report.stubs.push_back(std::move(stub));
    else report.notes.push_back(Str("--custom_call: the module does not call \"", Escaped(stub.target), "\""));
  }
  report.filled_constants =
      TRY(FillElided(*module, options.load, static_cast<uint64_t>(options.seed), options.memory_limit));
  if (report.filled_constants > 0) report.notes.push_back(FilledText(report.filled_constants, options.load));
  TakePartitionsOfMeshes(*module, options.load, &report);
  if (IsInterpreted(*module, options, &report)) options.platform = "interpreter";
  report.module_name = module->name();
  report.instructions = module->InstructionCount();
  report.parameters = static_cast<int64_t>(module->entry().parameters().size());
  for (const Instruction* parameter : module->entry().parameters())
    report.parameter_bytes += parameter->shape().ByteSize();

  Dumper dumper = TRY(Dumper::Make(options.dump, *module));
  TRY(dumper.Before(*module));
  Feeds feeds;
  if (!options.infeed.empty()) feeds.in = TRY(ReadNpz(options.infeed));
  const InterpretOptions interpret = InterpreterOptions(options, feeds);
  // Compiled before arguments are made: what is unsupported is said at once.
  std::unique_ptr<Module> optimized;
  std::unique_ptr<gpu::Device> device;
  std::unique_ptr<gpu::Executable> executable;
  const bool interpreter_only = options.platform == "interpreter";
  if (!interpreter_only) {
    TRY(CheckOneDeviceIsEnough(*module, &report));
    TRY(CheckNesting(*module, options.load.max_depth));
    device = TRY(OpenPlatform(options.platform, &report.notes));
    report.platform = device->name();
    report.device = device->description();
    optimized = module->Clone(true);
    progress.Stage("optimizing");
    begin = Clock::now();
    if (!options.pipeline.passes && !options.reoptimize && IsOptimized(*module, path)) {
      report.notes.emplace_back("the module is optimized already; no passes run (--reoptimize runs them)");
    } else {
      report.passes = TRY(Optimize(*optimized, options.pipeline, &dumper));
      if (std::string todo = TodoText(report.passes); !todo.empty()) report.notes.push_back(std::move(todo));
    }
    report.times.passes = MillisecondsSince(begin);
    const std::string_view platform = device->IsHost() ? "cpu" : "gpu";
    if (dumper.active()) TRY(gpu::PlanModule(*optimized, *options.pipeline.device));
    TRY(dumper.After(platform, *optimized));
    for (std::string& note : dumper.Notes()) report.notes.push_back(std::move(note));
    TRY(dumper.Passes(report.passes));
    progress.Stage("compiling");
    begin = Clock::now();
    gpu::CompileOptions compile = CompilerOptions(options);
    if (options.fallback) compile.host = InterpreterCalls(interpret);
    auto compiled = gpu::Compile(*optimized, *device, compile);
    if (!compiled && options.fallback) FAIL(std::move(compiled).error());
    if (!compiled) FAIL(WithAdvice(std::move(compiled).error(), *module));
    executable = std::move(*compiled);
    report.times.compile = MillisecondsSince(begin);
    report.memory = executable->memory();
    report.compile = executable->report();
    report.fallback = {.names = report.compile->host_calls, .steps = std::ssize(executable->steps())};
    report.notes.insert(report.notes.end(), executable->report().notes.begin(), executable->report().notes.end());
    TRY(DumpCompiled(*executable, platform, dumper));
  }

  if (!options.pipeline.inject.empty())
    report.planted.push_back({Str("pass:", options.pipeline.inject), report.passes.planted});
  if (!options.inject.empty()) report.planted.push_back({options.inject, report.compile ? report.compile->planted : 0});

  // The reference runs while arguments are made: that they suit the program is judged by its results. Where a file has
  // the results, it runs for that alone: so the same seed makes the same arguments as without the file.
  const bool reference_given = !options.reference_file.empty();
  if (WantsReference(options) && !interpreter_only && !reference_given)
    report.reference_skipped = WhyNoReference(*module, options);
  const bool reference_wanted = WantsReference(options) && !interpreter_only &&
                                (!reference_given || options.args.empty()) && report.reference_skipped.empty();
  progress.Stage(options.args.empty() ? "making arguments" : "reading arguments");
  begin = Clock::now();
  const std::string& mode = options.compare_mode;
  const bool wants_exact = mode == "exact" && (reference_wanted || reference_given);
  RunArguments arguments =
      wants_exact ? TRY(PrepareExact(*module, options, interpret, &report.exact.emplace()))
                  : TRY(PrepareArguments(*module, options, reference_wanted || interpreter_only, interpret, &progress));
  report.inputs = arguments.description;
  report.times.reference = arguments.reference_ms;
  report.times.arguments = MillisecondsSince(begin) - arguments.reference_ms;
  report.non_finite_outputs = arguments.non_finite_share;
  report.notes.insert(report.notes.end(), arguments.notes.begin(), arguments.notes.end());
  const int64_t partitions = module->header.num_partitions;
  begin = Clock::now();
  if (!options.save_args.empty()) {
    progress.Stage("saving the arguments");
    TRY(arguments.by_device.empty() ? WriteNpz(options.save_args, "arg", arguments.values)
                                    : WriteArgumentsByDevice(options.save_args, arguments.by_device, partitions));
    report.times.saving = MillisecondsSince(begin);
  }

  std::optional<Literal> outputs;
  std::vector<Literal> by_device;  // Where there are several.
  begin = Clock::now();
  if (interpreter_only) {
    by_device = TRY(RunInterpreter(*module, arguments, options, interpret, progress, &report));
    outputs = by_device[0];
    // What judged the arguments is one of the runs.
    report.times.all_runs = MillisecondsSince(begin) + report.times.reference;
    report.times.reference = 0;
    if (by_device.size() == 1) by_device.clear();
  } else {
    progress.Stage("placing the arguments");
    TRY(executable->Bind(arguments.values));
    report.times.placing = MillisecondsSince(begin);
    begin = Clock::now();
    TRY(TimeRuns(*executable, options, progress, &report));
    if (options.profile) report.profile = TRY(Profile(*executable));
    report.times.all_runs = MillisecondsSince(begin);
  }
  begin = Clock::now();
  progress.Stage("taking the results");
  if (executable) outputs = TRY(executable->Output());
  report.process_peak_bytes = ProcessPeakBytes();
  report.bits = Bits(*outputs);
  const bool all_outputs = options.output_mode == "return_outputs" && !by_device.empty();
  if (options.print_literals)
    report.literals = all_outputs ? LiteralsText(by_device, partitions) : LiteralsText(*outputs);
  report.times.results = MillisecondsSince(begin);
  begin = Clock::now();
  if (!options.outfeed.empty()) TRY(WriteNpz(options.outfeed, "out", feeds.out));
  if (!options.save_outputs.empty()) {
    progress.Stage("saving the results");
    TRY(all_outputs ? WriteOutputsByDevice(options.save_outputs, by_device, partitions)
                    : WriteOutputs(options.save_outputs, *outputs));
  }
  if (!options.outfeed.empty() || !options.save_outputs.empty()) report.times.saving += MillisecondsSince(begin);
  begin = Clock::now();
  if (!by_device.empty()) report.devices = CompareDevices(by_device, module->header);
  if (!by_device.empty() && options.check_replicas) CheckReplicas(by_device, partitions, &report);

  std::optional<Literal> expected = std::move(arguments.reference);
  if (interpreter_only) expected.reset();
  std::optional<Literal> interpreted;  // Beside a reference that was given.
  if (reference_given) {
    interpreted = std::exchange(expected, TRY(ReadExpected(options.reference_file, outputs->shape(), &report.notes)));
    report.reference_file = options.reference_file;
  }
  const Compiled compiled = {*module, optimized.get(), executable.get(), device.get()};
  if (expected) {
    TRY(CompareResults(compiled, arguments, *expected, std::move(interpreted), *outputs, interpret, options, progress,
                       &report));
  } else if (!report.reference_skipped.empty()) {
    TRY(JudgeParts(compiled, arguments.values, outputs->shape(), options, progress, &report));
  }
  report.times.check = MillisecondsSince(begin);
  report.times.all = MillisecondsSince(start);
  return report;
}

}  // namespace hlo
