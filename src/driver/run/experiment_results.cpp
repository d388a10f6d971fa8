// The stages of an experiment that run the program.
#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "driver/dump/dump_graphs.h"
#include "driver/profile/profile.h"
#include "driver/run/experiment.h"
#include "driver/run/fallback.h"
#include "driver/run/saved_run.h"
#include "driver/run/timing.h"
#include "interp/arguments/argument_files.h"
#include "ir/mesh/unpartitioned.h"
#include "ir/module.h"
#include "judge/compare/widened_module.h"

namespace hlo {
namespace {

int64_t ProcessPeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// Whether arrays of the reference have other sizes than the module's results: the results are parts of them.
bool HasOtherSizes(const WholeSizes& reference, const Module& module) {
  bool any = false;
  ForEachLeaf(module.entry().root().shape(), [&](const ShapeIndex& index, const Shape& leaf) {
    const auto size = reference(index);
    any |= size && leaf.IsArray() && !std::ranges::equal(*size, leaf.dims());
  });
  return any && !IsUnpartitioned(module);
}

}  // namespace

Result<RunResults> Experiment::RunKernels() {
  RunResults results;
  TRY(Arguments());
  TRY(Compiled());
  progress_->Stage("placing the arguments");
  const Stopwatch placing;
  gpu::Executable& executable = *TRY(Placed());
  results.times.placing = placing.ms();
  const Stopwatch running;
  std::vector<gpu::RecordedGraph> graphs;
  results.fallback_share =
      TRY(TimeRuns(executable, options_, *progress_, &results.times, &results.notes, dumper_ ? &graphs : nullptr));
  if (dumper_) TRY(DumpGraphs(graphs, executable.module().name(), *dumper_));
  if (options_.profile.any()) results.profiled = TRY(Profiled(executable));
  if (options_.watch.detects()) {
    std::ranges::move(OddArguments(*TRY(Input())->module, TRY(Arguments())->values, options_.watch),
                      std::back_inserter(results.notes));
    for (std::string& note : TRY(DetectInSteps(executable, TRY(Interpreter()), options_.watch)))
      results.notes.push_back(std::move(note));
  }
  results.times.all_runs = running.ms();
  progress_->Stage("taking the results");
  const Stopwatch taking;
  results.outputs = TRY(executable.Output());
  results.times.results = taking.ms();
  return results;
}

Result<WholeSizes> Experiment::SizesOfReference() const {
  if (options_.reference_file.empty()) return WholeSizes([](const ShapeIndex&) { return std::nullopt; });
  // ReadExpected reports errors of the file.
  auto arrays = ReadNpz(TRY(ReferenceFile(options_.reference_file)));
  return WholeSizes([arrays = std::move(arrays)](const ShapeIndex& index) -> std::optional<std::vector<int64_t>> {
    if (!arrays) return std::nullopt;
    const std::string key = index.empty() ? "out0" : Str("out", Join(index, "."));
    const auto found = std::ranges::find(*arrays, key, [](const auto& item) { return item.first; });
    return found == arrays->end() ? std::nullopt : std::optional(found->second.dims);
  });
}

// Errors: A028 if the module of --result_shardings has other results.
Result<ResultShardings> Experiment::StatedForResults(const Module& module) const {
  if (options_.result_shardings.empty()) return ShardingsOfResult(module);
  const auto other = TRY(LoadModule(options_.result_shardings, options_.load));
  ResultShardings stated = ShardingsOfResult(*other);
  const int64_t leaves = module.entry().root().shape().LeafCount();
  if (std::ssize(stated) != leaves)
    FAIL(Rejected("A028", Str("--result_shardings: '", Escaped(options_.result_shardings), "' has ", stated.size(),
                              " results, but the module has ", leaves)));
  return stated;
}

Result<JoinedResults> Experiment::Joined(const Module& module, std::span<const Literal> by_device) {
  const WholeSizes sizes = TRY(SizesOfReference());
  const bool is_wanted =
      TRY(Arguments())->are_whole || !options_.result_shardings.empty() || HasOtherSizes(sizes, module);
  return is_wanted ? JoinResults(module, TRY(StatedForResults(module)), by_device, sizes) : JoinedResults();
}

Result<EnsembleOptions> Experiment::Ensemble() {
  EnsembleOptions ensemble = {.seed = static_cast<uint64_t>(options_.seed), .interpret = TRY(Interpreter())};
  const RunArguments& arguments = *TRY(Arguments());
  if (arguments.by_device.empty()) return ensemble;
  auto wide = std::make_shared<std::vector<std::vector<Literal>>>();
  for (const std::vector<Literal>& of_device : arguments.by_device) {
    std::vector<Literal>& values = wide->emplace_back();
    for (const Literal& value : of_device) values.push_back(WidenedLiteral(value));
  }
  ensemble.evaluate = [this, wide, &arguments](const Module& module, const InterpretOptions& interpret,
                                               bool is_widened) -> Result<Literal> {
    std::vector<Literal> by_device = TRY(InterpretDevices(module, is_widened ? *wide : arguments.by_device, interpret));
    JoinedResults joined = TRY(Joined(module, by_device));
    return joined.whole ? std::move(*joined.whole) : std::move(by_device[0]);
  };
  return ensemble;
}

// Runs the module in the interpreter. The run that judged the arguments counts as the first run.
Result<RunResults> Experiment::RunInterpreter() {
  const Module& module = *TRY(Input())->module;
  const RunArguments& arguments = *TRY(Arguments());
  const InterpretOptions interpret = TRY(Interpreter());
  const WatchOptions& watch = options_.watch;
  RunResults results;
  progress_->Stage("interpreting");
  if (watch.any()) progress_->Clear();  // Values are printed immediately.
  const Stopwatch all;
  const bool several = !arguments.by_device.empty();
  if (options_.profile.any())
    results.notes.emplace_back("no profile: everything runs in the interpreter, which has no kernels");
  if (watch.any() && several)
    FAIL(UsageError("F004",
                    "--trace_values, --detect_nan, --detect_inf, --log_minmax and --stats watch one device, but the "
                    "module runs on several"));
  std::vector<double> runs;
  if (!watch.any() && !several && arguments.reference) {
    results.outputs = *arguments.reference;
    runs.push_back(arguments.reference_ms);
  }
  while (std::ssize(runs) < options_.num_repeats) {
    const Stopwatch one;
    if (watch.any()) {
      Watched watched = TRY(InterpretWatched(module, arguments.values, interpret, watch));
      results.watched = std::move(watched.report);
      results.notes.insert(results.notes.end(), watched.notes.begin(), watched.notes.end());
      results.outputs = std::move(watched.result);
    } else if (several) {
      results.by_device = TRY(InterpretDevices(module, arguments.by_device, interpret));
    } else {
      results.outputs = TRY(Interpret(module, arguments.values, interpret));
    }
    runs.push_back(one.ms());
  }
  if (several) {
    JoinedResults joined = TRY(Joined(module, results.by_device));
    results.joined = joined.whole.has_value();
    results.outputs = joined.whole ? std::move(*joined.whole) : results.by_device[0];
    std::ranges::move(joined.notes, std::back_inserter(results.notes));
    if (!joined.why_not.empty()) {
      results.why_not_joined = Str("the results are those of partition 0: ", joined.why_not);
      results.notes.push_back(results.why_not_joined);
    }
  }
  SetRunTimes(std::move(runs), &results.times);
  // Includes the run that judged the arguments.
  results.times.all_runs = all.ms() + arguments.reference_ms;
  return results;
}

Result<const RunResults*> Experiment::Results() {
  return Keep(*results_, [&]() -> Result<RunResults> {
    TRY(ResolvedPlatform());
    RunResults results = IsInterpreted() ? TRY(RunInterpreter()) : TRY(RunKernels());
    results.process_peak_bytes = ProcessPeakBytes();
    if (!dumper_ || !results.by_device.empty()) return results;
    TRY(dumper_->Snapshot(*TRY(Input())->module, TRY(Arguments())->values, results.outputs));
    for (std::string& note : dumper_->TakeNotes()) results.notes.push_back(std::move(note));
    return results;
  });
}

Result<Experiment*> Experiment::OtherPlatform() {
  if (options_.reference_platform != ReferencePlatform::kCpu) return nullptr;
  const Platform& where = *TRY(ResolvedPlatform());
  if (where.device != nullptr && where.device->IsHost())
    FAIL(UsageError("F004", "--reference_platform=cpu: the run itself is on the cpu")
             .Hint("--save_run=DIR keeps a run with other flags, and --reference=DIR compares with it"));
  if (other_ != nullptr) return other_.get();
  auto other = std::make_shared<Experiment>(With([](RunOptions& options) {
    options.platform = "cpu";
    options.reference_platform = ReferencePlatform::kNone;
    options.bench = false;
    options.profile = {};
    options.num_repeats = 1;
    options.watch = {};
  }));
  other->Take(*TRY(Arguments()));
  other_ = std::move(other);
  return other_.get();
}

Result<const Expected*> Experiment::Reference() {
  const std::string& file = options_.reference_file;
  const RunArguments& arguments = *TRY(Arguments());
  if (file.empty() && options_.reference_platform == ReferencePlatform::kCpu) {
    Experiment& other = *TRY(OtherPlatform());
    progress_->Stage("running on the other platform");
    return Keep(*reference_, [&]() -> Result<Expected> { return Expected{.outputs = TRY(other.Results())->outputs}; });
  }
  if (file.empty() && (IsInterpreted() || !arguments.reference)) return nullptr;
  return Keep(*reference_, [&]() -> Result<Expected> {
    if (file.empty()) return Expected{.outputs = *arguments.reference};
    Expected expected;
    const RunResults& results = *TRY(Results());
    auto outputs =
        ReadExpected(TRY(ReferenceFile(file)), results.outputs.shape(), Running().cast_args, &expected.notes);
    if (!outputs && outputs.error().code() == "A004" && !results.why_not_joined.empty())
      FAIL(std::move(outputs).error().Hint(results.why_not_joined));
    expected.outputs = TRY(std::move(outputs));
    return expected;
  });
}

Result<const Interpretation*> Experiment::Interpreted() {
  return Keep(*interpretation_, [&]() -> Result<Interpretation> {
    const RunArguments& arguments = *TRY(Arguments());
    if (IsInterpreted()) return Interpretation{TRY(Results())->outputs, TRY(Results())->times.run};
    if (arguments.reference) return Interpretation{*arguments.reference, arguments.reference_ms};
    progress_->Stage("interpreting, to judge the reference");
    const Stopwatch watch;
    Literal outputs = TRY(Interpret(*TRY(Input())->module, arguments.values, TRY(Interpreter())));
    return Interpretation{std::move(outputs), watch.ms()};
  });
}

Result<const FollowedRun*> Experiment::Followed() {
  return Keep(*followed_, [&]() -> Result<FollowedRun> {
    gpu::Executable& executable = *TRY(Placed());
    return Follow(executable, (*arguments_)->values);
  });
}

Result<const FurtherArguments*> Experiment::Further() {
  const std::vector<Literal>& own = TRY(Arguments())->values;
  return Keep(*further_, [&]() -> Result<FurtherArguments> {
    progress_->Stage("looking for arguments that reach more decisions");
    InterpretOptions interpret = TRY(Interpreter());
    interpret.outfeed = nullptr;  // Keeps the values that the run sent.
    return FindFurtherArguments(*TRY(Input())->module, own, static_cast<uint64_t>(options_.seed), interpret,
                                /*most_sets=*/1);
  });
}

}  // namespace hlo
