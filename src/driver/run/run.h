// Text to verdict: load, make arguments, optimize, compile, run, compare, and say who is wrong.
//
// The judges (docs/comparison.md): `local` judges each kernel and library call from the operands that it really read.
// `dataflow` judges by bits that the steps ran in order and read the values that were left for them. `passes` judges
// the passes by bits, or in f64. The results at the end are compared with the reference, and a difference beyond the
// tolerance must be explained by roundings.
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
#include "interp/compare/compare.h"
#include "interp/compare/ensemble.h"
#include "passes/pipeline.h"

namespace hlo::gpu {
struct TuningReport;
}

namespace hlo {

struct DivergenceReport;
struct ValuesReport;

// Of --inject: a candidate of autotuning that gives wrong results and would be the fastest.
inline constexpr std::string_view kWrongCandidate = "autotune:wrong";
inline constexpr int64_t kWorkLimit = 3'000'000'000;  // With what goes on around it some ten seconds.

// What --reproducer leaves (reproducer.h).
struct ReproducerOptions {
  std::string directory;           // Empty: nothing.
  std::string target;              // As --target names the pipeline's device; empty: the default one.
  std::vector<std::string> flags;  // More that the command needs.
};

// Which part of the program is compiled as a whole, and which op by op (scopes.h): patterns of op_name, or of the name
// of a computation. Empty: none is given.
struct ScopeOptions {
  std::string compile, interpret;

  bool any() const { return !compile.empty() || !interpret.empty(); }
};

// The state of values that a snapshot records together with its module.
enum class Recorded : uint8_t {
  kWanted,   // Taken where the module's file has it (recording.h).
  kIgnored,  // A flag names other values.
  kMissing,  // The module's file is a snapshot without such values.
  kTaken,
};

struct RunOptions {
  std::vector<std::string> flags;       // As they were given: what to do next repeats them.
  std::vector<std::string> of_kernels;  // Of them those that nothing looks at where the interpreter is the platform.
  LoadOptions load{.fill_elided_constants = "random"};
  std::string platform = "auto";               // interpreter, cpu, cuda[:N], auto
  std::string reference_platform = "default";  // default, interpreter, cpu, none
  std::string reference_file;                  // .npz of expected outputs, or a saved run; selects `tolerance`
  std::string compare_mode = "auto";           // auto, local, widened, exact, ensemble, all, tolerance, bitwise
  std::optional<Tolerance> tolerance;          // Of `tolerance`; empty: the table by type.
  bool tolerance_given = false;  // It was asked for: what is beyond it is a mismatch, also where roundings explain it.
  CompareOptions compare;
  // Scalar steps (interp/shadow/slice.h) of judging the kernels, and as many of judging the passes; beyond, the largest
  // are judged by a sample. What takes more to interpret as a whole is not. 0: all, whatever it takes; -1: kWorkLimit,
  // for judging more of what runs long (Experiment::Judging).
  int64_t work_limit = -1;

  // Whether `args` and `reference_file` are the module's own file.
  Recorded recorded_arguments = Recorded::kWanted, recorded_result = Recorded::kWanted;
  std::string args;                                        // .npz, .npy, a snapshot
  std::vector<std::string> arg;                            // WHICH=SPEC, rR.WHICH=SPEC
  std::string args_are = "auto";                           // parts, whole
  std::string argument_mode = "use_shared_random_inputs";  // use_device_id_as_input
  std::string input_profile = "normal";
  bool constrain_inputs = true;
  std::string cast_args = "never";  // never, safe, force
  std::string arg_range;            // "a,b"
  int64_t exact_bound = 8;          // The largest number of profile `exact`.
  int64_t seed = 0;

  PipelineOptions pipeline;
  bool reoptimize = false;  // Run passes over a module that is optimized already.
  ScopeOptions scopes;
  DumpOptions dump;
  ReproducerOptions reproducer;
  BundleOptions bundle;  // What RunModule leaves.
  bool libraries = true;
  bool fallback = true;  // What has no kernel runs in the interpreter.
  bool allow_tf32 = false;
  bool cuda_graphs = true;  // See gpu::RunOptions::record.
  gpu::Concurrency concurrency = gpu::Concurrency::kWhereItPays;
  bool early_launches = true;
  bool sync_check = false;    // See gpu::RunOptions::wait_for_each.
  std::string why_no_target;  // Why it is not planned for the device that it runs on, where it should be.
  std::vector<std::string> library_path;
  std::shared_ptr<kernel::CodeCache> cache;  // See gpu::CompileOptions::cache.
  std::vector<std::string> custom_call;      // TARGET=POLICY; checked by CheckCustomCallPolicies.
  gpu::TuningOptions tuning;                 // Nothing is measured unless it says so.
  bool autotune_report = false;
  std::string inject;  // gpu::CompileOptions::inject; tests only.

  bool check_replicas = false;
  std::string output_mode = "return_device_0_outputs";  // return_outputs

  bool bench = false;
  double bench_seconds = 3;  // With `bench`, at least.
  bool obeys_plans =
      false;  // With --bench or autotuning, without --target: the device is the one that the module's plans name.
  int64_t num_repeats = 1;
  int64_t max_loop_iterations = 1'000'000;
  int64_t memory_limit = 0;
  bool print_literals = false;
  ProfileOptions profile;
  bool asks_for_roundings = true;  // Asks an ensemble about outputs beyond the tolerance that no other judge explains.
  bool first_divergence = false;   // divergence.h; takes the oracle `local`.
  WatchOptions watch;              // Of the interpreter as the platform, one device.
  std::string save_args, save_outputs;
  std::string save_run;         // saved_run.h
  std::string infeed, outfeed;  // .npz of values in0, in1 ...; out0, out1 ...

  bool wants_interpreter() const {  // As the reference.
    return reference_platform == "default" || reference_platform == "interpreter";
  }
};

// Milliseconds, wall time. Those of a line of the report add up to `all`, less what takes no time worth a figure.
struct RunTimes {
  double parse = 0, passes = 0, tuning = 0, compile = 0, run = 0, run_min = 0, run_max = 0, reference = 0, check = 0;
  int64_t runs = 0;
  std::optional<double> on_device;  // Of it, on the device's own clock: without what waiting for it costs.
  double all_runs = 0;              // Of which `run` is the median; warming up and --profile count.
  double first_run = 0;             // The first of them, which touches its memory for the first time.
  double arguments = 0;             // Made or read; without `reference`, which judges what is made up.
  double placing = 0;               // To the device.
  double results = 0;               // From it, hashed, as text.
  double saving = 0;                // Arguments and results, to files.
  double all = 0;
  double ready() const { return parse + passes + tuning + compile; }  // Text to ready to run.
};

// What `local` found over all kernels and library calls.
struct LocalSummary {
  int64_t steps = 0;         // Kernels and library calls of the executable.
  int64_t interpreted = 0;   // Steps by the interpreter, which is the reference itself.
  int64_t checked = 0;       // Of them, at least once.
  int64_t runs_checked = 0;  // Executions of steps that were checked; a loop's body counts each chosen iteration.
  int64_t elements = 0, elements_checked = 0;
  int64_t sampled = 0;  // Steps of which not all outputs were checked, and of their outputs how many.
  int64_t sampled_elements = 0, sampled_checked = 0;
  std::array<int64_t, kElementClasses> counts = {};
  int64_t disproved = 0;  // Elements with the interpreter's bits and beyond their bound.
  int64_t decided = 0;    // Steps with an open output, which made-up arguments decided.
  double worst_ratio = 0;
  std::string worst_step;
  std::vector<std::string> unchecked;  // Steps without error bounds, with the reason.
  std::set<std::string> wrong;         // Steps that broke their bounds.
  struct OpenStep {
    std::string name, why;      // "12 of 20 elements undetermined"
    bool only_vacuous = false;  // Bounds say nothing, but leave no element undetermined.
  };
  std::vector<OpenStep> open;   // Steps with an open output, which nothing decides.
  bool beyond_work = false;     // Some were judged as far as --work_limit goes.
  bool undecided_loop = false;  // A kernel that holds a loop and more was judged as one, which decided nothing.
};

// Of `exact`: see exact_check.h.
struct ExactSummary {
  int64_t bound = 0;  // The largest number among made-up arguments; 0: they were given.
  int64_t instructions = 0;
  bool zeros_have_signs = false;  // Else +0 and -0 are equal: the order of additions decides.
  std::string reason;             // What rounds; empty: nothing.
  // Where something does: the different kernels and calls, each alone on integers of its own.
  int64_t steps = 0, exact_steps = 0;
  Verdict verdict = Verdict::kMatch;
};

// What happened between them: see dataflow_check.h.
struct DataflowSummary {
  int64_t steps = 0;     // Executions of steps, in loops too.
  int64_t operands = 0;  // That they read as they had been left.
  bool sound = true;
};

// Steps that have no kernel and ran in the interpreter.
struct FallbackSummary {
  std::vector<std::string> names;
  int64_t steps = 0;  // Of the executable, these among them.
  double share = 0;   // Of the time of the timed runs.
  bool Everything() const { return steps > 0 && std::ssize(names) == steps; }
};

// Of a module that runs on several: device = replica * partitions + partition.
struct DevicesSummary {
  int64_t replicas = 1, partitions = 1;
  int64_t differing = 0;     // Devices whose results are not those of device 0.
  int64_t first = 0;         // Of them.
  std::string first_output;  // That differs there.
  bool joined = false;       // The results are whole arrays, made of the parts of all partitions.
};

// Of --scope_compile and --scope_interpret.
struct ScopesSummary {
  struct Part {
    int64_t instructions = 0;  // Of the input that compute.
    int64_t steps = 0;
    double ms = 0;  // Of one run, in its steps.
  };
  Part compiled, by_op;
};

struct Culprit {
  // The last four of results that a file (--reference) has otherwise: the file is wrong, nothing but roundings is, that
  // is not known, or the program is made up in part (stubs of custom calls, elided constants).
  enum class Kind : uint8_t { kNone, kPass, kKernel, kLibrary, kRuntime, kReference, kRounding, kUnknown, kStub };
  Kind kind = Kind::kNone;
  std::string name;     // "algsimp#2", "fusion.7"
  std::string sort;     // Of a kernel: the word of its plan, "row_reduction"; of a call: "gemm"; else "".
  std::string input;    // Of a pass: the instruction of the input whose value changed; else "".
  std::string text;     // One line for the report.
  std::string made_by;  // Of a kernel: the pass instance that made what it computes, "fusion#2"; "": it was read.
  // The outputs of the culprit step against their bounds.
  std::optional<Comparison> comparison;
};

struct PlantedFault {
  std::string fault;  // As --inject spells it.
  int64_t times = 0;  // Pass instances, kernels, library calls or parts of the run time that it changed.
};

struct RunReport {
  std::string path, module_name;
  int64_t parameters = 0, parameter_bytes = 0, instructions = 0;
  std::string inputs;             // "normal, seed 0"
  double non_finite_outputs = 0;  // Share of the reference's float outputs.
  std::string platform, device;   // "cpu", "AVX-512, 2 threads"
  RunTimes times;
  std::optional<DevicesSummary> devices;
  std::optional<gpu::MemoryReport> memory;  // What the plan says.
  int64_t process_peak_bytes = 0;           // Resident, up to the end of the runs; the reference is part of it.
  std::optional<gpu::CompileReport> compile;
  std::shared_ptr<const gpu::TuningReport> tuning;  // Null: nobody asked.
  bool autotune_report = false;                     // All of it is shown.
  int64_t copy_steps = 0, fill_steps = 0;           // Neither kernel nor call.
  FallbackSummary fallback;
  PipelineReport passes;
  std::vector<PlantedFault> planted;
  std::vector<CustomCallStub> stubs;  // Of targets that the module calls.
  std::string reference_file;         // Where `ends` has what is expected from; "" of the interpreter.
  bool reference_recorded = false;    // It is the module's own file.
  std::string reference_skipped;      // Why the interpreter did not run; there is no `ends` then.
  int64_t filled_constants = 0;       // Elided in the text.
  std::optional<Comparison> outputs;  // Outputs against the reference's.
  bool outputs_decide = false;        // compare_mode tolerance, bitwise or exact.
  std::string rounded;                // Why outputs beyond a tolerance that nobody asked for are no mismatch; "".
  std::optional<LocalSummary> local;
  std::shared_ptr<const DivergenceReport> divergence;  // Of --first_divergence.
  std::shared_ptr<const ValuesReport> values;          // Against another run, value by value (saved_run.h).
  std::optional<ScopesSummary> scopes;
  std::optional<DataflowSummary> dataflow;
  std::optional<ExactSummary> exact;
  std::optional<EnsembleResult> ensemble;
  std::string widened;  // What the comparison of the passes found; empty when it did not run.
  Verdict widened_verdict = Verdict::kMatch;
  std::string not_exercised;        // FurtherArguments::not_exercised.
  bool passes_beyond_work = false;  // They were judged as far as --work_limit goes.
  std::string look_at_passes;  // The command that judges each by itself, where passes left more open than there was.
  Culprit culprit;
  std::string verdict = "RAN";  // The words of docs/reports.md#verdicts.
  ExitCode exit = ExitCode::kOk;
  std::string detail;  // One line for the table of several modules.
  std::string next;    // A command that leads on, where there is one.
  std::string bits;    // Hash of all outputs.
  std::vector<std::string> notes;
  std::string warnings;  // SummaryOf those of the module.
  std::string literals;  // Outputs as text, with print_literals.
  std::string profile;   // The tables of --profile, or of what was watched.
  int64_t examples_per_run = 0;
};

// What of the options is the compiler's, and the interpreter's.
gpu::CompileOptions CompilerOptions(const RunOptions& options);
InterpretOptions InterpreterOptions(const RunOptions& options);

class Experiment;
// Makes all stages of it, and has them judged.
Result<RunReport> Run(Experiment& experiment);
Result<RunReport> RunModule(const std::string& path, const RunOptions& options, Progress& progress);

// The report (docs/reports.md#a-run), and the same as JSON ("hlo.run/1").
std::string ReportText(const RunReport& report);
std::string ReportJson(const RunReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_RUN_H_
