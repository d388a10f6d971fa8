// A program and what becomes of it, stage by stage:
//
//   input -> optimized -> code ----> results
//     \-----------------> arguments --/
//
// Each stage is a value that is made when it is first asked for, and kept. `With` is the experiment with other options:
// stages that do not depend on what was changed are the very values that are there, so that another pipeline runs on
// the same module and arguments, and other arguments run through the same code.
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
  std::unique_ptr<Module> module;  // Stubs in the place of custom calls, elided constants filled.
  std::string warnings;
  std::vector<CustomCallStub> stubs;  // Of targets that it calls.
  int64_t filled_constants = 0;
  std::vector<std::string> notes;
  double ms = 0;  // Reading it.
};

// Where it runs.
struct Platform {
  std::shared_ptr<gpu::Device> device;  // Null: in the interpreter.
  std::vector<std::string> notes;
};

struct OptimizedModule {
  std::unique_ptr<Module> module;
  PipelineReport passes;                            // Empty where none ran over a module that was optimized already.
  std::shared_ptr<const Scopes> scopes;             // Null: all is one program.
  std::shared_ptr<const gpu::TuningReport> tuning;  // Where that was asked for. `ms` is without it.
  std::vector<std::string> notes;
  double ms = 0;
};

struct Code {
  std::shared_ptr<gpu::Device> device;  // Which the executable needs to the end.
  std::unique_ptr<gpu::Executable> executable;
  std::shared_ptr<const void> placed;  // The arguments in it.
  std::vector<std::string> notes;
  double ms = 0;
};

struct RunResults {
  Literal outputs;                 // Of device 0, or whole arrays.
  std::vector<Literal> by_device;  // Empty for one device.
  bool joined = false;             // The outputs are whole arrays, joined from parts.
  std::string why_not_joined;      // Where the arguments were whole.
  RunTimes times;                  // Those of placing, running and taking the results.
  double fallback_share = 0;
  int64_t process_peak_bytes = 0;           // Up to the end of the runs.
  std::string watched;                      // The tables of what was watched.
  std::shared_ptr<const Profile> profiled;  // Null: nobody asked.
  std::vector<std::string> notes;
};

// What the results should be: of a file, else of the interpreter.
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
  // `progress` is told what goes on, and outlives the experiment.
  Experiment(std::string path, RunOptions options, Progress& progress);
  // Of a text that is no file; `path` is its name.
  Experiment(std::shared_ptr<const SourceText> text, RunOptions options, Progress& progress);

  // The same with other options. Nothing of it is dumped, and no reproducer is written.
  Experiment With(const std::function<void(RunOptions&)>& change) const;

  // A piece of the program as one of its own, with other options; where these name the same platform, it is there.
  Experiment Of(std::unique_ptr<Module> piece, const std::function<void(RunOptions&)>& change) const;

  const std::string& path() const { return path_; }
  const RunOptions& options() const { return options_; }
  Progress& progress() const { return *progress_; }

  // The stages, each after those that it needs. A pointer holds as long as an experiment has the stage.
  Result<const InputModule*> Input();
  Result<const Platform*> ResolvedPlatform();
  Result<const OptimizedModule*> Optimized();
  Result<const Code*> Compiled();
  Result<const RunArguments*> Arguments();
  Result<const RunResults*> Results();
  Result<const Expected*> Reference();  // Null: there is nothing to compare the results with.
  // The same on the platform that --reference_platform names, with the same arguments; null: it names none.
  Result<Experiment*> OtherPlatform();
  Result<const Interpretation*> Interpreted();
  Result<const FollowedRun*> Followed();  // One more run, in which the values are followed from step to step.
  // At most one further set of arguments, which reaches more than the run does.
  Result<const FurtherArguments*> Further();

  // The options, with the pipeline as it is run here.
  RunOptions Running();

  // The code with these arguments in place, to be executed again. Other experiments may put theirs there.
  Result<gpu::Executable*> Placed();
  // Gives back the memory that this takes, until it is asked for again.
  void Displace();
  // All of it runs in the interpreter, since kernels cannot or shall not. Needs ResolvedPlatform().
  bool IsInterpreted() const { return (*where_)->device == nullptr; }
  // Why the interpreter does not run over the whole module; "": it does, or nobody wants it to.
  Result<std::string> WhyNoReference();
  // The options, with the work limit that judging the results has. As it was given; without one, kWorkLimit, or what
  // some runs of the program take, if these are longer.
  Result<RunOptions> Judging();
  // Of the interpreter wherever it takes part. Infeeds and outfeeds are connected.
  Result<InterpretOptions> Interpreter();
  const std::vector<Literal>& fed_out() const { return feeds_->out; }  // In the last run.

  // The arguments of another experiment, instead of those that it has: two programs on the same ones. The caller knows
  // that they fit. What was made of those before goes.
  void Take(const RunArguments& arguments);

  // From here on what is made is dumped too; to be called before it is made.
  Status DumpTo(const DumpOptions& options);

 private:
  // Values from and to the host. A run that is done again reads and writes them again.
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
  // The sizes that the results of --reference have, for parts that do not tell them.
  Result<WholeSizes> SizesOfReference() const;

  std::string path_;
  std::shared_ptr<const SourceText> text_;  // Null: at the path.
  RunOptions options_;
  Progress* progress_;
  std::optional<Dumper> dumper_;
  std::shared_ptr<Experiment> other_;  // OtherPlatform.
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
