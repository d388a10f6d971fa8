// Compiles a planned module to kernels, library calls and copies over planned buffers.
//
// A fusion, or an instruction outside fusions that computes, becomes kernels, a library call, a fill or a host call.
//
//   auto device = TRY(OpenDevice("cpu"));
//   auto executable = TRY(Compile(*module, *device));
//   Literal result = TRY(executable->Run(arguments));
//
// For timing, call Bind once and then MakeReady and Execute repeatedly. Execute then allocates no buffers.
#ifndef HLO_GPU_RUNTIME_EXECUTABLE_H_
#define HLO_GPU_RUNTIME_EXECUTABLE_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/codegen/code_cache.h"
#include "gpu/device/device.h"
#include "gpu/emitters/emitter.h"
#include "ir/device_description.h"
#include "ir/module.h"
#include "ir/precision_plan.h"

namespace hlo::gpu {

struct RecordedGraph;
struct Timeline;

// Computes steps on the host, such as those without a kernel.
class HostCaller {
 public:
  virtual ~HostCaller() = default;
  virtual void Begin() {}  // Called before each execution.
  virtual Result<Literal> Call(const Instruction& inst, std::span<const Literal> operands) = 0;
};

// Functions for host calls. `takes` and `prefers` may be null.
struct HostCalls {
  std::function<std::unique_ptr<HostCaller>()> open;  // Called for each binding.
  std::function<Status(const Instruction&)> takes;    // An error if a call would fail.
  std::function<bool(const Instruction&)> prefers;    // Whether to call the host although there is a kernel.
};

struct CompileOptions {
  // Plans are made for this device. The host can run kernels for any device.
  const DeviceDescription* target = &DefaultDevice();
  bool libraries = true;                  // If false, library calls become kernels.
  bool allow_tf32 = false;                // On cuda, library calls may round operands of f32 products to tf32.
  std::vector<std::string> library_path;  // Folders searched first for libraries.
  int64_t max_loop_iterations = 0;        // For each `while`. 0 is unlimited.
  bool reuse_donated = true;              // Reuses donated arguments' memory, except on the host.
  // Packs parameters and constants into a library's order once after Bind, not in each Execute.
  bool pack_once = false;
  bool keep_kernels = false;
  bool quick_code = false;                   // Kernels compile faster and run longer.
  std::shared_ptr<kernel::CodeCache> cache;  // May be null.
  // If null, ops without an emitter and dynamic sizes are unsupported.
  std::shared_ptr<const HostCalls> host;
  std::string inject;  // "KIND:NAME:FAULT", see fault.h.
};

// Checks CompileOptions::inject, but not whether NAME exists.
Status CheckFault(std::string_view inject);

struct LoopStep {
  const Instruction* loop;
  int64_t iteration;
};

// Observes a run's steps. Loops are listed from the outermost one.
struct Observer {
  // Null observes all steps.
  std::function<bool(const Instruction&, std::span<const LoopStep>)> wants;
  bool reads_operands = true;  // If false, `inputs` is empty.
  // `inputs` are the operands before the step. The next step may overwrite `output`. An error ends the run.
  std::function<Status(const Instruction&, std::span<const LoopStep>, std::span<const Literal> inputs, Literal output)>
      observe;
};

enum class Concurrency : uint8_t { kNever, kWhereItPays, kAlways };

struct RunOptions {
  const Observer* observer = nullptr;
  Timeline* timeline = nullptr;       // Receives events. A device without a log waits after each step.
  const bool* interrupted = nullptr;  // When it becomes true, the run ends with R022.
  // Outermost loops inside kernels stop after this number of trips. 0 is unlimited.
  int64_t stop_loops_after = 0;
  int64_t* trips = nullptr;       // Receives the trips of the last such loop.
  std::optional<uint64_t> order;  // Runs steps in a random order that respects dependencies, with this seed.
  // In the second run, records the steps that do not need the host. Later runs queue the recording (Device::Records).
  bool record = true;
  Concurrency concurrency = Concurrency::kWhereItPays;
  bool early_launches = true;                 // Recorded kernels may start early and wait for others.
  bool wait_for_each = false;                 // Waits for each step, so that an error names the right step.
  std::vector<std::string>* notes = nullptr;  // Receives reasons for slow execution.
  std::vector<RecordedGraph>* graphs = nullptr;
  std::optional<double>* device_ms = nullptr;  // The time on the device's clock, if it has one.
};

enum class StepKind : uint8_t { kKernel, kGemm, kConvolution, kAttention, kCopy, kFill, kHostCall };
std::string_view ToString(StepKind kind);
inline bool CallsLibrary(StepKind kind) {
  return kind == StepKind::kGemm || kind == StepKind::kConvolution || kind == StepKind::kAttention;
}

// For example "loop, 3 blocks of 256".
std::string LaunchText(const EmittedKernel& kernel);

struct StepInfo {
  const Instruction* instruction;  // In Executable::module().
  StepKind kind;
  std::string how;                     // Such as "oneDNN 2.6.3 brgconv:avx512_core".
  PrecisionPlan precision;             // Set for steps with kernels.
  FusionPlan plan;                     // Empty for copies, and for some host calls.
  std::vector<EmittedKernel> kernels;  // Only with CompileOptions::keep_kernels.
};

struct MemoryReport {
  int64_t parameter_bytes = 0;
  int64_t constant_bytes = 0;  // Equal constants count once.
  int64_t output_bytes = 0;
  int64_t packed_bytes = 0;       // Kept between runs.
  int64_t arena_bytes = 0;        // All other buffers, including scratch.
  int64_t arena_lower_bound = 0;  // The most live bytes of the arena at once.
  int64_t scratch_bytes = 0;      // The most scratch of any step, including packed weights.
  int64_t copies = 0;             // Added by the buffer plan.
  int64_t peak_bytes() const { return parameter_bytes + constant_bytes + output_bytes + packed_bytes + arena_bytes; }
};

struct CompileReport {
  double total_ms = 0;
  double buffers_ms = 0;
  double emit_ms = 0;     // From HLO to kernels.
  double kernels_ms = 0;  // Wall time of compiling kernels.
  double libraries_ms = 0;
  int kernels = 0;
  int distinct_kernels = 0;
  std::optional<int> cached_kernels;  // nullopt without a cache.
  int library_calls = 0;
  int planted = 0;  // Number of planted faults (CompileOptions::inject).
  // Notes for the user, such as why a library call became a kernel.
  std::vector<std::string> notes;
  std::vector<std::string> host_calls;  // Names of steps that call the host.
};

struct Program;
class PlannedModule;

// A program bound to a device.
class Executable {
 public:
  virtual ~Executable() = default;

  virtual std::shared_ptr<const Program> program() const = 0;
  // A copy of the module with the same instruction ids.
  virtual const Module& module() const = 0;
  virtual const Device& device() const = 0;
  virtual std::span<const StepInfo> steps() const = 0;
  virtual const MemoryReport& memory() const = 0;
  virtual const CompileReport& report() const = 0;
  virtual std::string BuffersText() const = 0;

  // A literal for each parameter, kept until the next Bind. The host uses them in place if layout and alignment allow.
  // Errors: A004 for a wrong number or shape.
  virtual Status Bind(std::span<const Literal> arguments) = 0;
  // Releases device resources until the next Bind.
  virtual void Unbind() = 0;
  // Restores donated arguments, allocates memory for results that were given away, and packs weights. Execute calls it
  // if needed.
  virtual Status MakeReady() = 0;
  virtual Status Execute(const RunOptions& options = {}) = 0;
  // Time of all host calls, with copies from and to the device.
  virtual double HostCallSeconds() const = 0;
  // The last Execute's result. The caller owns its bytes.
  virtual Result<Literal> Output() = 0;

  Result<Literal> Run(std::span<const Literal> arguments, const RunOptions& options = {}) {
    TRY(Bind(arguments));
    TRY(Execute(options));
    return Output();
  }
};

// Borrows `device`. Errors: U-codes at unsupported instructions.
Result<std::unique_ptr<Executable>> Compile(std::shared_ptr<const PlannedModule> planned, Device& device,
                                            const CompileOptions& options = {});
// Plans (planned.h) and compiles.
Result<std::unique_ptr<Executable>> Compile(const Module& optimized, Device& device,
                                            const CompileOptions& options = {});

// `device` determines the target of code and calls.
Result<std::shared_ptr<const Program>> CompileProgram(std::shared_ptr<const PlannedModule> planned, Device& device,
                                                      const CompileOptions& options = {});
// Errors: R016 if the program was made for another kind of device.
Result<std::unique_ptr<Executable>> BindProgram(std::shared_ptr<const Program> program, Device& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_EXECUTABLE_H_
