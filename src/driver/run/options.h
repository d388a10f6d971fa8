// The options of a run, grouped by the first stage (experiment.h) that they change.
//
// Experiment::With compares whole groups, so a stage is made again if any option of its groups differs.
#ifndef HLO_DRIVER_RUN_OPTIONS_H_
#define HLO_DRIVER_RUN_OPTIONS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_words.h"
#include "driver/bundle.h"
#include "driver/dump/dump.h"
#include "driver/load.h"
#include "driver/profile/options.h"
#include "driver/run/watch.h"
#include "driver/target.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/tuning/tuning_options.h"
#include "interp/arguments/argument_files.h"
#include "interp/arguments/arguments.h"
#include "judge/compare/compare.h"
#include "passes/pipeline.h"

namespace hlo {

// The --inject value for a wrong autotuning candidate with the shortest time.
inline constexpr std::string_view kWrongCandidate = "autotune:wrong";
inline constexpr int64_t kWorkLimit = 3'000'000'000;  // Scalar steps, about ten seconds of judging.

enum class ReferencePlatform : uint8_t { kDefault, kInterpreter, kCpu, kNone, kEmpty };
template <>
struct EnumWords<ReferencePlatform> {
  static constexpr std::string_view kWords[] = {"default", "interpreter", "cpu", "none", ""};
};

// Their oracles: oracles.h.
enum class CompareMode : uint8_t {
  kAuto,
  kLocal,
  kPasses,
  kWidened,
  kPartition,
  kExact,
  kEnsemble,
  kAll,
  kTolerance,
  kBitwise,
};
template <>
struct EnumWords<CompareMode> {
  static constexpr std::string_view kWords[] = {"auto",  "local",    "passes", "widened",   "partition",
                                                "exact", "ensemble", "all",    "tolerance", "bitwise"};
};

enum class ArgumentMode : uint8_t { kShared, kDeviceId };
template <>
struct EnumWords<ArgumentMode> {
  static constexpr std::string_view kWords[] = {"use_shared_random_inputs", "use_device_id_as_input"};
};

enum class OutputMode : uint8_t { kFirstDevice, kAllDevices };
template <>
struct EnumWords<OutputMode> {
  static constexpr std::string_view kWords[] = {"return_device_0_outputs", "return_outputs"};
};

struct ReproducerOptions {
  std::string directory;  // "" for no reproducer.
  std::string target;     // As in --target. Empty means the default device.
  std::vector<std::string> flags;
};

// Patterns for `op_name` or computation names (scopes.h).
struct ScopeOptions {
  std::string compile, interpret;

  bool any() const { return !compile.empty() || !interpret.empty(); }
  bool operator==(const ScopeOptions&) const = default;
};

// State of the arguments or the result in a snapshot.
enum class Recorded : uint8_t {
  kWanted,
  kIgnored,  // Must not be used.
  kMissing,
  kTaken,
};

struct InputOptions {
  LoadOptions load{.fill_elided_constants = ElidedValues::kRandom};
  std::vector<std::string> custom_call;  // TARGET=POLICY, checked by CheckCustomCallPolicies.
  int64_t memory_limit = 0;

  bool operator==(const InputOptions&) const = default;
};

struct PlatformOptions {
  std::string platform = "auto";  // interpreter, cpu, cuda[:N], auto
  bool libraries = true;
  bool allow_tf32 = false;
  std::vector<std::string> library_path;
  std::string why_no_target;  // Why the passes do not plan for the device of the run, or "".

  bool is_interpreter() const { return KindOfPlatform(platform) == PlatformKind::kInterpreter; }
  bool operator==(const PlatformOptions&) const = default;
};

struct OptimizeOptions {
  PipelineOptions pipeline;
  bool reoptimize = false;  // Optimize even an optimized module.
  // Whether the passes plan for the device that the module's plans name.
  bool obeys_plans = false;
  ScopeOptions scopes;
  gpu::TuningOptions tuning;

  bool operator==(const OptimizeOptions&) const = default;
};

// For the interpreter, which makes arguments and runs steps without a kernel.
struct EvaluateOptions {
  int64_t seed = 0;
  int64_t max_loop_iterations = 1'000'000;
  std::string infeed;  // .npz with the values in0, in1..., or out0, out1...

  bool operator==(const EvaluateOptions&) const = default;
};

struct PlanOptions {
  bool fallback = true;
  DumpOptions dump;

  bool operator==(const PlanOptions&) const = default;
};

struct CompileOptions {
  std::string inject;                        // gpu::CompileOptions::inject. For tests only.
  std::shared_ptr<kernel::CodeCache> cache;  // gpu::CompileOptions::cache
  ProfileOptions profile;

  bool operator==(const CompileOptions&) const = default;
};

// Including the interpreter's results for the arguments, if --compare_mode needs them.
struct RunArgumentOptions {
  std::string args;              // .npz, .npy or a snapshot
  std::vector<std::string> arg;  // WHICH=SPEC, rR.WHICH=SPEC
  ArgsAre args_are = ArgsAre::kAuto;
  // Whether `args` comes from the module's own file.
  Recorded recorded_arguments = Recorded::kWanted;
  ArgumentMode argument_mode = ArgumentMode::kShared;
  InputProfile input_profile = InputProfile::kNormal;
  bool constrain_inputs = true;
  CastArgs cast_args = CastArgs::kNever;
  std::string arg_range;    // "a,b"
  int64_t exact_bound = 8;  // For the input profile `exact`.
  ReferencePlatform reference_platform = ReferencePlatform::kDefault;
  std::string reference_file;  // .npz of expected outputs, or a saved run.
  CompareMode compare_mode = CompareMode::kAuto;
  // Limits scalar steps (judge/bounds/slice.h) for judging kernels, and separately passes. Beyond the limit, the
  // largest parts are judged by samples, and the whole module is not interpreted. `0` means no limit. `-1` uses
  // kWorkLimit, or more if the program runs long (Experiment::Judging).
  int64_t work_limit = -1;
  WatchOptions watch;  // Needs the interpreter and one device, except for detect_nan and detect_inf.

  bool wants_interpreter() const {
    return reference_platform == ReferencePlatform::kDefault || reference_platform == ReferencePlatform::kInterpreter;
  }
  bool operator==(const RunArgumentOptions&) const = default;
};

struct ExecuteOptions {
  bool bench = false;
  double bench_seconds = 3;
  int64_t num_repeats = 1;
  bool cuda_graphs = true;  // gpu::RunOptions::record
  gpu::Concurrency concurrency = gpu::Concurrency::kWhereItPays;
  bool early_launches = true;
  bool sync_check = false;  // gpu::RunOptions::wait_for_each
  std::string outfeed;
  std::string result_shardings;  // A module whose root states the shardings of the results.

  bool operator==(const ExecuteOptions&) const = default;
};

// Change no stage.
struct JudgeOptions {
  std::optional<Tolerance> tolerance;  // Empty means a tolerance by element type.
  // Whether the user gave `tolerance`. A difference beyond it is then a mismatch, even if roundings explain it.
  bool tolerance_given = false;
  CompareOptions compare;
  // The partitioned program is judged with padding of NaN, then of another value. Results must be the same.
  bool poison_padding = false;
  bool asks_for_roundings = true;  // Judges outputs beyond the tolerance by an ensemble.
  bool first_divergence = false;   // Needs the oracle `local`.
  bool check_replicas = false;
  // Whether `reference_file` comes from the module's own file.
  Recorded recorded_result = Recorded::kWanted;
};

// Change no stage.
struct ReportOptions {
  std::vector<std::string> flags;       // Suggested commands repeat these flags.
  std::vector<std::string> of_kernels;  // Flags without effect in the interpreter.
  bool autotune_report = false;
  bool print_literals = false;
  OutputMode output_mode = OutputMode::kFirstDevice;
  std::string save_args, save_outputs;
  std::string save_run;  // saved_run.h
  ReproducerOptions reproducer;
  BundleOptions bundle;
};

// Has no option of its own.
struct RunOptions : InputOptions,
                    PlatformOptions,
                    OptimizeOptions,
                    EvaluateOptions,
                    PlanOptions,
                    CompileOptions,
                    RunArgumentOptions,
                    ExecuteOptions,
                    JudgeOptions,
                    ReportOptions {};

template <class... Groups>
bool HaveSame(const RunOptions& a, const RunOptions& b) {
  return (... && (static_cast<const Groups&>(a) == static_cast<const Groups&>(b)));
}

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_OPTIONS_H_
