// Runs a module, judges the run and names the culprit. docs/comparison.md describes the oracles.
#ifndef HLO_DRIVER_RUN_RUN_H_
#define HLO_DRIVER_RUN_RUN_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/bundle.h"
#include "driver/dump/dump.h"
#include "driver/load.h"
#include "driver/profile/options.h"
#include "driver/progress.h"
#include "driver/run/custom_call_stubs.h"
#include "driver/run/watch.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/tuning/tuning_options.h"
#include "judge/compare/compare.h"
#include "judge/compare/ensemble.h"
#include "passes/pipeline.h"

namespace hlo::gpu {
struct TuningReport;
}

namespace hlo {

struct DivergenceReport;
struct ValuesReport;

// The --inject value for a wrong autotuning candidate with the shortest time.
inline constexpr std::string_view kWrongCandidate = "autotune:wrong";
inline constexpr int64_t kWorkLimit = 3'000'000'000;  // Scalar steps, about ten seconds of judging.

struct ReproducerOptions {
  std::string directory;  // "" for no reproducer.
  std::string target;     // As in --target. Empty means the default device.
  std::vector<std::string> flags;
};

// Patterns for `op_name` or computation names (scopes.h).
struct ScopeOptions {
  std::string compile, interpret;

  bool any() const { return !compile.empty() || !interpret.empty(); }
};

// State of the arguments or the result in a snapshot.
enum class Recorded : uint8_t {
  kWanted,
  kIgnored,  // Must not be used.
  kMissing,
  kTaken,
};

struct RunOptions {
  std::vector<std::string> flags;       // Suggested commands repeat these flags.
  std::vector<std::string> of_kernels;  // Flags without effect in the interpreter.
  LoadOptions load{.fill_elided_constants = "random"};
  std::string platform = "auto";               // interpreter, cpu, cuda[:N], auto
  std::string reference_platform = "default";  // default, interpreter, cpu, none
  std::string reference_file;                  // .npz of expected outputs, or a saved run.
  std::string compare_mode = "auto";           // Name of a CompareMode (oracles.h).
  std::optional<Tolerance> tolerance;          // Empty means a tolerance by element type.
  // Whether the user gave `tolerance`. A difference beyond it is then a mismatch, even if roundings explain it.
  bool tolerance_given = false;
  CompareOptions compare;
  // Limits scalar steps (judge/bounds/slice.h) for judging kernels, and separately passes. Beyond the limit, the
  // largest parts are judged by samples, and the whole module is not interpreted. `0` means no limit. `-1` uses
  // kWorkLimit, or more if the program runs long (Experiment::Judging).
  int64_t work_limit = -1;
  // The partitioned program is judged with padding of NaN, then of another value. Results must be the same.
  bool poison_padding = false;

  // Whether `args` and `reference_file` come from the module's own file.
  Recorded recorded_arguments = Recorded::kWanted, recorded_result = Recorded::kWanted;
  std::string args;                                        // .npz, .npy or a snapshot
  std::vector<std::string> arg;                            // WHICH=SPEC, rR.WHICH=SPEC
  std::string args_are = "auto";                           // auto, parts, whole
  std::string result_shardings;                            // A module whose root states the shardings of the results.
  std::string argument_mode = "use_shared_random_inputs";  // or use_device_id_as_input
  std::string input_profile = "normal";
  bool constrain_inputs = true;
  std::string cast_args = "never";  // never, safe, force
  std::string arg_range;            // "a,b"
  int64_t exact_bound = 8;          // For the input profile `exact`.
  int64_t seed = 0;

  PipelineOptions pipeline;
  bool reoptimize = false;  // Optimize even an optimized module.
  ScopeOptions scopes;
  DumpOptions dump;
  ReproducerOptions reproducer;
  BundleOptions bundle;
  bool libraries = true;
  bool fallback = true;
  bool allow_tf32 = false;
  bool cuda_graphs = true;  // gpu::RunOptions::record
  gpu::Concurrency concurrency = gpu::Concurrency::kWhereItPays;
  bool early_launches = true;
  bool sync_check = false;    // gpu::RunOptions::wait_for_each
  std::string why_no_target;  // Why the passes do not plan for the device of the run, or "".
  std::vector<std::string> library_path;
  std::shared_ptr<kernel::CodeCache> cache;  // gpu::CompileOptions::cache
  std::vector<std::string> custom_call;      // TARGET=POLICY, checked by CheckCustomCallPolicies.
  gpu::TuningOptions tuning;
  bool autotune_report = false;
  std::string inject;  // gpu::CompileOptions::inject. For tests only.

  bool check_replicas = false;
  std::string output_mode = "return_device_0_outputs";  // or return_outputs

  bool bench = false;
  double bench_seconds = 3;
  // Whether the passes plan for the device that the module's plans name.
  bool obeys_plans = false;
  int64_t num_repeats = 1;
  int64_t max_loop_iterations = 1'000'000;
  int64_t memory_limit = 0;
  bool print_literals = false;
  ProfileOptions profile;
  bool asks_for_roundings = true;  // Judges outputs beyond the tolerance by an ensemble.
  bool first_divergence = false;   // Needs the oracle `local`.
  WatchOptions watch;              // Needs the interpreter and one device, except for detect_nan and detect_inf.
  std::string save_args, save_outputs;
  std::string save_run;         // saved_run.h
  std::string infeed, outfeed;  // .npz with the values in0, in1..., or out0, out1...

  bool wants_interpreter() const { return reference_platform == "default" || reference_platform == "interpreter"; }
};

// Wall times in milliseconds.
struct RunTimes {
  double parse = 0, passes = 0, tuning = 0, compile = 0, run = 0, run_min = 0, run_max = 0, reference = 0, check = 0;
  int64_t runs = 0;
  std::optional<double> on_device;  // Median run time by the device's own clock.
  double all_runs = 0;              // Includes warm-up and --profile. `run` is the median of the timed runs.
  double first_run = 0;             // Includes the first access to memory.
  // Making or reading the arguments, without `reference`.
  double arguments = 0;
  double placing = 0;
  double results = 0;  // Copying, hashing and printing the results.
  double saving = 0;
  double all = 0;
  double ready() const { return parse + passes + tuning + compile; }
};

struct LocalSummary {
  int64_t steps = 0;
  int64_t interpreted = 0;   // Steps that the interpreter ran, which are not checked.
  int64_t checked = 0;       // Steps that were checked at least once.
  int64_t runs_checked = 0;  // Checked executions. A step in a loop counts once for each chosen iteration.
  int64_t elements = 0, elements_checked = 0;
  // Steps with partly checked outputs, and the elements of these outputs.
  int64_t sampled = 0;
  int64_t sampled_elements = 0, sampled_checked = 0;
  std::array<int64_t, kElementClasses> counts = {};
  // Elements that have the interpreter's bits but are beyond their bound. Then the bound is wrong.
  int64_t disproved = 0;
  int64_t decided = 0;  // Open steps that made-up arguments decided.
  double worst_ratio = 0;
  std::string worst_step;
  std::vector<std::string> unchecked;  // Steps without error bounds, and why.
  std::set<std::string> wrong;
  struct OpenStep {
    std::string name, why;      // "12 of 20 elements undetermined"
    bool only_vacuous = false;  // The step is open only because of vacuous elements (run_check.h).
  };
  std::vector<OpenStep> open;
  bool beyond_work = false;     // Not all was judged within --work_limit.
  bool undecided_loop = false;  // A kernel with a loop and other instructions stays open.
};

struct ExactSummary {
  int64_t bound = 0;  // The largest magnitude of made-up arguments. 0 if the user gave the arguments.
  int64_t instructions = 0;
  bool zeros_have_signs = false;  // If false, +0 equals -0, because the order of additions determines the sign.
  std::string reason;             // Names an operation that rounds, if any.
  // If the program rounds: distinct kernels and calls, and those that do not round when they run alone on other
  // integers.
  int64_t steps = 0, exact_steps = 0;
  Verdict verdict = Verdict::kMatch;
};

struct DataflowSummary {
  int64_t steps = 0;     // Executions, also in loops.
  int64_t operands = 0;  // Checked operands.
  bool sound = true;
};

struct PartitionSummary {
  Verdict verdict = Verdict::kMatch;  // kUnsupported if there is no partitioned program, or nothing to compare it with.
  int64_t devices = 0;
  bool ran = false;        // Whether the partitioned program ran.
  double collectives = 0;  // Executions on one device.
  double bytes = 0;        // Received by one device.
  std::string text;        // How the results agree or differ, or why the verdict is open.
};

// Steps that ran in the interpreter, because they have no kernel.
struct FallbackSummary {
  std::vector<std::string> names;
  int64_t steps = 0;
  double share = 0;  // Share of the interpreter in the time of the runs.
  bool Everything() const { return steps > 0 && std::ssize(names) == steps; }
};

// Device number = replica * partitions + partition.
struct DevicesSummary {
  int64_t replicas = 1, partitions = 1;
  int64_t differing = 0;  // Number of devices whose results differ from device 0's.
  int64_t first = 0;
  std::string first_output;
  bool joined = false;  // The results are whole arrays.
};

// Results of --scope_compile and --scope_interpret.
struct ScopesSummary {
  struct Part {
    int64_t instructions = 0;
    int64_t steps = 0;
    double ms = 0;  // In one run.
  };
  Part compiled, by_op;
};

struct Culprit {
  // The last four kinds explain a difference from the reference. kReference: our side has no known fault. kRounding:
  // only roundings differ. kUnknown: our side could not be judged. kStub: stubs or elided constants make the program
  // differ.
  enum class Kind : uint8_t { kNone, kPass, kKernel, kLibrary, kRuntime, kReference, kRounding, kUnknown, kStub };
  Kind kind = Kind::kNone;
  std::string name;   // "algsimp#2", "fusion.7"
  std::string sort;   // A kernel's kind such as "row_reduction", or "gemm" of a library call.
  std::string input;  // For a pass, the input instruction whose value changed.
  std::string text;
  std::string made_by;  // The pass instance that made a kernel's fusion, "fusion#2".
  // The comparison that shows the fault, in a step's outputs or in the value that a pass changed.
  std::optional<Comparison> comparison;
};

struct PlantedFault {
  std::string fault;  // In the spelling of --inject.
  int64_t times = 0;  // Pass instances, kernels, library calls or parts of the run time with the fault.
};

struct RunReport {
  std::string path, module_name;
  int64_t parameters = 0, parameter_bytes = 0, instructions = 0;
  std::string inputs;             // "normal, seed 0"
  double non_finite_outputs = 0;  // Share of the reference's float outputs.
  std::string platform, device;   // "cpu", "AVX-512, 2 threads"
  RunTimes times;
  std::optional<DevicesSummary> devices;
  std::optional<gpu::MemoryReport> memory;
  int64_t process_peak_bytes = 0;  // Resident memory up to the end of the runs.
  std::optional<gpu::CompileReport> compile;
  std::shared_ptr<const gpu::TuningReport> tuning;
  bool autotune_report = false;
  int64_t copy_steps = 0, fill_steps = 0;
  FallbackSummary fallback;
  PipelineReport passes;
  std::vector<PlantedFault> planted;
  std::vector<CustomCallStub> stubs;
  std::string reference_file;       // "" if the interpreter is the reference.
  bool reference_recorded = false;  // `reference_file` is the module's own file.
  std::string reference_skipped;    // Why the interpreter did not run. Then `outputs` is empty.
  int64_t filled_constants = 0;
  std::optional<Comparison> outputs;
  bool outputs_decide = false;  // As in the compare modes tolerance, bitwise and exact.
  std::string rounded;          // Why outputs beyond a default tolerance count as right.
  std::optional<LocalSummary> local;
  std::shared_ptr<const DivergenceReport> divergence;
  std::shared_ptr<const ValuesReport> values;
  std::optional<ScopesSummary> scopes;
  std::optional<DataflowSummary> dataflow;
  std::optional<PartitionSummary> partition;
  std::optional<ExactSummary> exact;
  std::optional<EnsembleResult> ensemble;
  std::string widened;  // Result of the oracle `passes`.
  Verdict widened_verdict = Verdict::kMatch;
  std::string not_exercised;
  bool passes_beyond_work = false;  // Not all was judged within --work_limit.
  // A command that examines passes which left values undetermined.
  std::string look_at_passes;
  Culprit culprit;
  std::string verdict = "RAN";  // The words of docs/reports.md#verdicts.
  ExitCode exit = ExitCode::kOk;
  std::string detail;  // Follows the verdict: "2 outputs, 8 elements".
  std::string next;
  std::string bits;  // Hash of all outputs.
  std::vector<std::string> notes;
  std::string warnings;
  std::string literals;
  std::string profile;  // Tables of --profile or of WatchOptions.
  int64_t examples_per_run = 0;
};

gpu::CompileOptions CompilerOptions(const RunOptions& options);
InterpretOptions InterpreterOptions(const RunOptions& options);

class Experiment;
Result<RunReport> Run(Experiment& experiment);
Result<RunReport> RunModule(const std::string& path, const RunOptions& options, Progress& progress);

// Text as in docs/reports.md#a-run, and JSON ("hlo.run/1").
std::string ReportText(const RunReport& report);
std::string ReportJson(const RunReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RUN_H_
