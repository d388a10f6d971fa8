// Runs a module, judges the run and names the culprit. docs/comparison.md describes the oracles.
#ifndef HLO_DRIVER_RUN_RUN_H_
#define HLO_DRIVER_RUN_RUN_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/progress.h"
#include "driver/run/custom_call_stubs.h"
#include "driver/run/options.h"
#include "gpu/runtime/executable.h"
#include "judge/compare/compare.h"
#include "judge/compare/ensemble.h"
#include "passes/pipeline.h"

namespace hlo::gpu {
struct TuningReport;
}

namespace hlo {

struct DivergenceReport;
struct ValuesReport;

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
