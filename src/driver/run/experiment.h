// A program and what becomes of it, stage by stage:
//
//   input -> optimized -> code ----> results
//     \-----------------> arguments --/
//
// Each stage is a value that is computed at its first use and kept. `With` returns the experiment with other options.
// It shares the stages that do not depend on the changed options, such as the code when only arguments change.
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
#include "interp/arguments/npz.h"
#include "interp/interpreter.h"

namespace hlo {

struct Profile;
class Scopes;

struct InputModule {
  std::unique_ptr<Module> module;  // Stubs replace custom calls, and elided constants are filled.
  std::string warnings;
  std::vector<CustomCallStub> stubs;
  int64_t filled_constants = 0;
  std::vector<std::string> notes;
  double ms = 0;  // Time of reading.
};

struct Platform {
  std::shared_ptr<gpu::Device> device;  // Null: the interpreter runs the module.
  std::vector<std::string> notes;
};

struct OptimizedModule {
  std::unique_ptr<Module> module;
  PipelineReport passes;                            // Empty if no pass ran, because the module was optimized already.
  std::shared_ptr<const Scopes> scopes;             // Null without scopes.
  std::shared_ptr<const gpu::TuningReport> tuning;  // Null without autotuning. `ms` excludes it.
  std::vector<std::string> notes;
  double ms = 0;
};

struct Code {
  std::shared_ptr<gpu::Device> device;  // Outlives the executable.
  std::unique_ptr<gpu::Executable> executable;
  std::shared_ptr<const void> placed;  // The arguments that are bound to the executable.
  std::vector<std::string> notes;
  double ms = 0;
};

struct RunResults {
  Literal outputs;                 // Outputs of device 0, or whole arrays.
  std::vector<Literal> by_device;  // Empty for one device.
  bool joined = false;
  std::string why_not_joined;  // Why whole arrays could not be joined. Set only if the arguments were whole.
  RunTimes times;              // Times of placing, running and taking the results.
  double fallback_share = 0;
  int64_t process_peak_bytes = 0;  // Up to the end of the runs.
  std::string watched;
  std::shared_ptr<const Profile> profiled;  // Null without --profile.
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

  // The same experiment with other options. It writes no dumps and no reproducer.
  Experiment With(const std::function<void(RunOptions&)>& change) const;

  // A part of the program as an experiment of its own, with other options. It shares the device if the platform is
  // equal.
  Experiment Of(std::unique_ptr<Module> piece, const std::function<void(RunOptions&)>& change) const;

  const std::string& path() const { return path_; }
  const RunOptions& options() const { return options_; }
  Progress& progress() const { return *progress_; }

  // The stages. Each first computes the stages that it needs. A pointer is valid while any experiment holds the stage.
  Result<const InputModule*> Input();
  Result<const Platform*> ResolvedPlatform();
  Result<const OptimizedModule*> Optimized();
  Result<const Code*> Compiled();
  Result<const RunArguments*> Arguments();
  Result<const RunResults*> Results();
  Result<const Expected*> Reference();  // Null without a reference.
  // The same arguments on the platform of --reference_platform. Null if the flag names none.
  Result<Experiment*> OtherPlatform();
  Result<const Interpretation*> Interpreted();
  Result<const FollowedRun*> Followed();  // Another run, in which values are followed from step to step.
  // At most one further set of arguments, which reaches more sides.
  Result<const FurtherArguments*> Further();

  // The options with the pipeline that runs here.
  RunOptions Running();

  // The code with these arguments bound, ready to execute. Other experiments may bind theirs to the same code later.
  Result<gpu::Executable*> Placed();
  // Unbinds the arguments and frees the memory of the binding until the next Placed().
  void Displace();
  // Whether the interpreter runs the whole module. Needs ResolvedPlatform().
  bool IsInterpreted() const { return (*where_)->device == nullptr; }
  // Why the interpreter does not run the whole module as the reference. "" if it runs, or if no option requires it.
  Result<std::string> WhyNoReference();
  // The options with the work limit for judging. The default is kWorkLimit, or more if four runs of the program are
  // estimated to take longer than that much judging.
  Result<RunOptions> Judging();
  // Options for every use of the interpreter, with infeeds and outfeeds connected.
  Result<InterpretOptions> Interpreter();
  const std::vector<Literal>& fed_out() const { return feeds_->out; }  // Outfeeds of the last run.

  // Takes the arguments of another experiment, so that two programs run on equal arguments. The caller ensures that
  // they fit. Results of the old arguments are discarded.
  void Take(const RunArguments& arguments);

  // Dumps all later stages. Must precede them.
  Status DumpTo(const DumpOptions& options);

 private:
  // Infeeds and outfeeds. Repeated runs read and write them again.
  struct Feeds {
    std::optional<NpzArrays> in;
    std::vector<Literal> out;
  };
  template <class T>
  using Kept = std::shared_ptr<std::optional<T>>;

  Result<RunArguments> MakeArguments();
  Result<std::shared_ptr<const Profile>> Profiled(gpu::Executable& executable);
  Result<RunResults> RunKernels();
  Result<RunResults> RunInterpreter();
  // The sizes of results in the file of --reference, for joining parts whose total size is not known.
  Result<WholeSizes> SizesOfReference() const;
  Result<ResultShardings> StatedForResults(const Module& module) const;

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
