// A program and its stages:
//
//   input -> optimized -> planned -> code -> results
//     \---------------------> arguments ----/
//
// Stages are computed at their first use and kept. `With` shares those that do not depend on the changed options, such
// as the code when only arguments change.
#ifndef HLO_DRIVER_RUN_EXPERIMENT_H_
#define HLO_DRIVER_RUN_EXPERIMENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/dump/dump.h"
#include "driver/progress.h"
#include "driver/run/arguments.h"
#include "driver/run/custom_call_stubs.h"
#include "driver/run/dataflow_check.h"
#include "driver/run/further_arguments.h"
#include "driver/run/run.h"
#include "driver/run/whole_results.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/planned.h"
#include "interp/arguments/npz.h"
#include "interp/interpreter.h"
#include "judge/compare/ensemble.h"

namespace hlo {

struct Profile;
class Scopes;

struct InputModule {
  std::unique_ptr<Module> module;  // With stubs for custom calls and values for elided constants.
  std::string warnings;
  std::vector<CustomCallStub> stubs;
  int64_t filled_constants = 0;
  std::vector<std::string> notes;
  double ms = 0;
};

struct Platform {
  std::shared_ptr<gpu::Device> device;  // Null if the interpreter runs the module.
  std::vector<std::string> notes;
};

struct OptimizedModule {
  std::shared_ptr<const Module> module;
  PipelineReport passes;  // Empty if the module was optimized already.
  std::shared_ptr<const Scopes> scopes;
  std::vector<std::string> notes;
  double ms = 0;
};

struct PlannedProgram {
  std::shared_ptr<const Module> module;               // The optimized one, with the plans of autotuning and of dumps.
  std::shared_ptr<const gpu::PlannedModule> program;  // Null if the interpreter runs the module.
  std::shared_ptr<const gpu::TuningReport> tuning;    // Null without autotuning. `ms` excludes the tuning.
  std::vector<std::string> notes;
  double ms = 0;
};

struct Code {
  std::shared_ptr<gpu::Device> device;  // Outlives the executable.
  std::unique_ptr<gpu::Executable> executable;
  std::shared_ptr<const void> placed;  // Identifies the bound arguments.
  std::vector<std::string> notes;
  double ms = 0;
};

struct RunResults {
  Literal outputs;                 // The results of device 0 or, if `joined`, whole arrays.
  std::vector<Literal> by_device;  // Empty for one device.
  bool joined = false;
  std::string why_not_joined;  // Why results of several devices were not joined, or "".
  RunTimes times;
  double fallback_share = 0;
  int64_t process_peak_bytes = 0;  // Up to the end of the runs.
  std::string watched;
  std::shared_ptr<const Profile> profiled;
  std::vector<std::string> notes;
};

struct Expected {
  Literal outputs;
  std::vector<std::string> notes;
};

struct Interpretation {
  Literal outputs;
  double ms = 0;
};

class Experiment {
 public:
  // `progress` must outlive the experiment.
  Experiment(std::string path, RunOptions options, Progress& progress);
  // For a text without a file. `path` is its name.
  Experiment(std::shared_ptr<const SourceText> text, RunOptions options, Progress& progress);

  // An experiment with changed options, without dumps and reproducer.
  Experiment With(const std::function<void(RunOptions&)>& change) const;

  // An experiment on a part of the program. Shares the device if the platform is equal.
  Experiment Of(std::unique_ptr<Module> piece, const std::function<void(RunOptions&)>& change) const;

  const std::string& path() const { return path_; }
  const RunOptions& options() const { return options_; }
  Progress& progress() const { return *progress_; }

  // Each stage first computes the stages that it needs. The pointer is valid while any experiment holds the stage.
  Result<const InputModule*> Input();
  Result<const Platform*> ResolvedPlatform();
  Result<const OptimizedModule*> Optimized();
  Result<const PlannedProgram*> Planned();
  Result<const Code*> Compiled();
  Result<const RunArguments*> Arguments();
  Result<const RunResults*> Results();
  Result<const Expected*> Reference();  // Null without a reference.
  // Null without --reference_platform=cpu.
  Result<Experiment*> OtherPlatform();
  Result<const Interpretation*> Interpreted();
  Result<const FollowedRun*> Followed();  // Runs once more, and checks order and operands of the steps.
  // At most one further set of arguments.
  Result<const FurtherArguments*> Further();

  // The optimized module, with the plans of autotuning. Plans nothing without autotuning.
  Result<const Module*> Tuned();

  // Options with the pipeline for the resolved platform.
  RunOptions Running();

  // Binds this experiment's arguments. Others may bind theirs to the same code later.
  Result<gpu::Executable*> Placed();
  // Frees the memory of the binding until the next Placed().
  void Displace();
  // Needs ResolvedPlatform().
  bool IsInterpreted() const { return (*where_)->device == nullptr; }
  // Why the interpreter does not compute the reference (this would exceed --work_limit, and no option requires it), or
  // "".
  Result<std::string> WhyNoReference();
  // Sets the work limit, by default the longer of kWorkLimit and the estimated time of four runs.
  Result<RunOptions> Judging();
  // Options with --infeed and --outfeed connected.
  Result<InterpretOptions> Interpreter();
  // Options for runs of this program with other roundings, on all of its devices.
  Result<EnsembleOptions> Ensemble();
  const std::vector<Literal>& fed_out() const { return feeds_->out; }

  // The arguments must fit the parameters. Discards old results.
  void Take(const RunArguments& arguments);

  // Dumps all later stages.
  Status DumpTo(const DumpOptions& options);

 private:
  // Values of --infeed and --outfeed. Each run starts with the first value.
  struct Feeds {
    std::optional<NpzArrays> in;
    std::vector<Literal> out;
  };
  template <class T>
  using Kept = std::shared_ptr<std::optional<T>>;

  template <class T, class Make>
  static Result<T*> Keep(std::optional<T>& kept, Make make) {
    if (!kept) {
      Result<T> made = make();
      if (!made) FAIL(std::move(made).error());
      kept = std::move(*made);
    }
    return &*kept;
  }

  Result<gpu::CompileOptions> CodeOptions();
  Status DumpOptimized(Module& module, const PipelineReport& passes, std::vector<std::string>* notes);
  Error Advised(Error error) const;
  Result<RunArguments> MakeArguments();
  Result<std::shared_ptr<const Profile>> Profiled(gpu::Executable& executable);
  Result<RunResults> RunKernels();
  Result<RunResults> RunInterpreter();
  // Sizes of whole results in the --reference file. Parts with padding do not show these sizes.
  Result<WholeSizes> SizesOfReference() const;
  Result<ResultShardings> StatedForResults(const Module& module) const;
  // Joins results if arguments or reference are whole arrays, or for --result_shardings. If JoinedResults::whole is
  // empty, the results of device 0 are the outputs.
  Result<JoinedResults> Joined(const Module& module, std::span<const Literal> by_device);

  std::string path_;
  std::shared_ptr<const SourceText> text_;  // Null: read from path_.
  RunOptions options_;
  Progress* progress_;
  std::optional<Dumper> dumper_;
  std::shared_ptr<Experiment> other_;
  std::shared_ptr<Feeds> feeds_;
  Kept<InputModule> input_;
  Kept<Platform> where_;
  Kept<OptimizedModule> optimized_;
  Kept<PlannedProgram> planned_;
  Kept<Code> code_;
  Kept<RunArguments> arguments_;
  Kept<RunResults> results_;
  Kept<Expected> reference_;
  Kept<Interpretation> interpretation_;
  Kept<FollowedRun> followed_;
  Kept<FurtherArguments> further_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_EXPERIMENT_H_
