// Compiles an optimized module to an executable: kernels, library calls and copies over planned buffers.
//
// Compile takes the output of the pipeline. Computing instructions are fusions: kLoop and kInput become kernels, and
// kCustom becomes library calls. tuple, get-tuple-element and bitcast are views. while, conditional and call are
// control flow. Copies are added where buffers cannot be shared. A computing instruction outside a fusion gets its own
// fusion.
//
//   auto device = TRY(OpenDevice("cpu"));
//   auto executable = TRY(Compile(*module, *device));
//   Literal result = TRY(executable->Run(arguments));
//
// Compile makes an immutable program and binds it to the device. BindProgram binds the same program to another device
// of that kind, or again for another replica.
//
// For timing, call Bind once and then MakeReady and Execute repeatedly. Execute allocates nothing and leaves the
// results in place.
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
#include "gpu/device/device.h"
#include "gpu/emitters/emitter.h"
#include "gpu/kernel/code_cache.h"
#include "ir/device_description.h"
#include "ir/module.h"
#include "ir/precision_plan.h"

namespace hlo::gpu {

struct RecordedGraph;  // Defined in recorded_graph.h.
struct Timeline;       // Defined in timeline.h.

// Computes steps without a kernel from the values of their operands. Implemented by the interpreter.
class HostCaller {
 public:
  virtual ~HostCaller() = default;
  virtual void Begin() {}  // Called before each execution.
  virtual Result<Literal> Call(const Instruction& inst, std::span<const Literal> operands) = 0;
};

// Host calls. Only `open` is required.
struct HostCalls {
  std::function<std::unique_ptr<HostCaller>()> open;  // Called once for each binding, which owns the caller.
  std::function<Status(const Instruction&)> takes;    // Returns an error if a call can only fail.
  std::function<bool(const Instruction&)> prefers;    // Whether to call it even if there is a kernel.
};

struct CompileOptions {
  // The target of the kernels. The host can run kernels for any device.
  const DeviceDescription* target = &DefaultDevice();
  bool libraries = true;                  // If false, gemm and convolution use emitted kernels too.
  bool allow_tf32 = false;                // On cuda: f32 products may be rounded to tf32 first.
  std::vector<std::string> library_path;  // Folders to search for libraries first.
  int64_t max_loop_iterations = 0;        // For each `while`; 0 is unlimited.
  bool reuse_donated = true;  // Reuses the memory of donated parameters where that saves some (never on the host).
  // Packs weights in a library's own order once after Bind instead of in each Execute, if they are parameters or
  // constants. Takes memory of their size. Comparisons of times must state this option.
  bool pack_once = false;
  bool keep_kernels = false;                 // For dumps.
  bool quick_code = false;                   // Compiles kernels fast. Their results are the same, they run longer.
  std::shared_ptr<kernel::CodeCache> cache;  // Code made by other processes, or null.
  // For ops without an emitter and for dynamic sizes. Null means that such instructions are unsupported.
  std::shared_ptr<const HostCalls> host;
  std::string inject;  // "KIND:NAME:FAULT", see fault.h. For tests of the comparison.
};

// Checks the form and the fault of CompileOptions::inject. NAME is checked when compiling.
Status CheckFault(std::string_view inject);

// A running loop, and its current iteration, from 0.
struct LoopStep {
  const Instruction* loop;
  int64_t iteration;
};

// Receives the inputs and outputs of each step. Steps are the computing instructions: fusions of any kind, host calls,
// and copies that change the layout. Loops are listed from the outermost one.
struct Observer {
  // Whether the step is observed, called before it. Null observes all steps.
  std::function<bool(const Instruction&, std::span<const LoopStep>)> wants;
  bool reads_operands = true;  // If false, `inputs` is empty.
  // Called after the step with its operands as they were before (with the operands' shapes) and its result. The next
  // step may overwrite shared bytes of the result, so copy it to keep it. An error ends the run.
  std::function<Status(const Instruction&, std::span<const LoopStep>, std::span<const Literal> inputs, Literal output)>
      observe;
};

// Whether independent steps run concurrently, on devices that can.
enum class Concurrency : uint8_t { kNever, kWhereItPays, kAlways };

struct RunOptions {
  const Observer* observer = nullptr;
  Timeline* timeline = nullptr;       // Filled in. On a device, the run waits for each step.
  const bool* interrupted = nullptr;  // Checked before each step; true ends the run (kInterrupted).
  // Outermost loops in kernels stop after this number of trips, regardless of their conditions; 0 for no limit.
  int64_t stop_loops_after = 0;
  int64_t* trips = nullptr;       // Receives the trips of the last such loop.
  std::optional<uint64_t> order;  // Runs the steps in a random order with this seed that respects dependencies.
  // Records steps without host work when they run a second time, and then queues them together (Device::Records). If
  // false, queues each step.
  bool record = true;
  Concurrency concurrency = Concurrency::kWhereItPays;  // For recordings.
  bool early_launches = true;  // Recorded kernels may start before the preceding ones have ended, and then wait.
  bool wait_for_each = false;  // Waits for each step, so that a device error is reported at the right step.
  std::vector<std::string>* notes = nullptr;     // Receives the reasons for slower ways of running.
  std::vector<RecordedGraph>* graphs = nullptr;  // Receives the graphs that were recorded in this run.
  std::optional<double>* device_ms = nullptr;    // Receives the time of the run on the device's clock, if it has one.
};

enum class StepKind : uint8_t { kKernel, kGemm, kConvolution, kAttention, kCopy, kFill, kHostCall };
std::string_view ToString(StepKind kind);
inline bool CallsLibrary(StepKind kind) {
  return kind == StepKind::kGemm || kind == StepKind::kConvolution || kind == StepKind::kAttention;
}

// "loop, 3 blocks of 256".
std::string LaunchText(const EmittedKernel& kernel);

// A timed and observed step.
struct StepInfo {
  const Instruction* instruction;  // In Executable::module().
  StepKind kind;
  std::string how;                     // "oneDNN 2.6.3 brgconv:avx512_core"; "row reduction, 64 blocks of 256".
  PrecisionPlan precision;             // Of its kernels; empty for libraries.
  FusionPlan plan;                     // The plan that ran; empty for copies and host calls.
  std::vector<EmittedKernel> kernels;  // Only with CompileOptions::keep_kernels.
};

struct MemoryReport {
  int64_t parameter_bytes = 0;
  int64_t constant_bytes = 0;     // Without duplicates.
  int64_t output_bytes = 0;       // Results outside the arena.
  int64_t packed_bytes = 0;       // Packed weights that are kept between runs.
  int64_t arena_bytes = 0;        // All other buffers, including scratch.
  int64_t arena_lower_bound = 0;  // The most bytes live at once.
  int64_t scratch_bytes = 0;      // The largest scratch of a step, in the arena.
  int64_t copies = 0;             // Copies added by the buffer plan.
  int64_t peak_bytes() const { return parameter_bytes + constant_bytes + output_bytes + packed_bytes + arena_bytes; }
};

struct CompileReport {
  double total_ms = 0;
  double buffers_ms = 0;
  double emit_ms = 0;     // From HLO to kernels.
  double kernels_ms = 0;  // From kernels to code for the device; wall time over all threads.
  double libraries_ms = 0;
  int kernels = 0;
  int distinct_kernels = 0;
  std::optional<int> cached_kernels;  // Distinct kernels found in CompileOptions::cache, if there is one.
  int library_calls = 0;
  int planted = 0;  // Steps with the planted fault of CompileOptions::inject.
  // Library fusions that became kernels, and kernels that became host calls, with the reasons.
  std::vector<std::string> notes;
  std::vector<std::string> host_calls;  // Names of the steps that are host calls.
};

struct Program;  // Defined in program.h.

// A program bound to a device.
class Executable {
 public:
  virtual ~Executable() = default;

  // May be bound several times.
  virtual std::shared_ptr<const Program> program() const = 0;
  // A copy of the compiled module with the same instruction ids.
  virtual const Module& module() const = 0;
  virtual const Device& device() const = 0;
  virtual std::span<const StepInfo> steps() const = 0;
  virtual const MemoryReport& memory() const = 0;
  virtual const CompileReport& report() const = 0;
  // The buffer plan as text, for dumps.
  virtual std::string BuffersText() const = 0;

  // One literal for each parameter of the entry. Literals are kept until the next Bind, without a copy on the host if
  // the layout allows. Errors: A-codes for a wrong number or shape.
  virtual Status Bind(std::span<const Literal> arguments) = 0;
  // Releases all device resources until the next Bind.
  virtual void Unbind() = 0;
  // Prepares a run: restores donated arguments, allocates memory for results that were given away, and packs weights.
  // Execute calls it if it was not called since the last run.
  virtual Status MakeReady() = 0;
  // Runs with the bound arguments and waits for the end.
  virtual Status Execute(const RunOptions& options = {}) = 0;
  // The time of host calls in the last Execute, including copies from and to the device.
  virtual double HostCallSeconds() const = 0;
  // The results of the last Execute. The caller owns the bytes.
  virtual Result<Literal> Output() = 0;

  Result<Literal> Run(std::span<const Literal> arguments, const RunOptions& options = {}) {
    TRY(Bind(arguments));
    TRY(Execute(options));
    return Output();
  }
};

// `device` must outlive the executable. Errors: U-codes at unsupported instructions.
Result<std::unique_ptr<Executable>> Compile(const Module& optimized, Device& device,
                                            const CompileOptions& options = {});

// Makes only the program. `device` determines the target of code and calls; nothing is measured.
Result<std::shared_ptr<const Program>> CompileProgram(const Module& optimized, Device& device,
                                                      const CompileOptions& options = {});
// Errors: R016 if the program was made for another kind of device.
Result<std::unique_ptr<Executable>> BindProgram(std::shared_ptr<const Program> program, Device& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_EXECUTABLE_H_
