// An optimized module made to run: kernels, library calls and copies over planned buffers.
//
// Compile takes what the pipeline leaves: computing instructions are fusions (kLoop and kInput become kernels, kCustom
// library calls); tuple, get-tuple-element and bitcast are views; while, conditional and call are control flow; copies
// are made where buffers cannot be shared. An instruction that computes outside a fusion is put in one of its own.
//
//   auto device = TRY(OpenDevice("cpu"));
//   auto executable = TRY(Compile(*module, *device));
//   Literal result = TRY(executable->Run(arguments));
//
// Compile makes a program, which never changes, and binds it to the device; a second device of the kind, or a second
// replica, binds the same program (BindProgram) and runs beside it.
//
// Timing: Bind once, then MakeReady and Execute many times. Execute allocates nothing and leaves the results where they
// are.
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

struct RecordedGraph;  // recorded_graph.h
struct Timeline;       // timeline.h

// Computes steps from the values of their operands where there is no kernel; the interpreter, in practice.
class HostCaller {
 public:
  virtual ~HostCaller() = default;
  virtual void Begin() {}  // Before each execution.
  virtual Result<Literal> Call(const Instruction& inst, std::span<const Literal> operands) = 0;
};

// Only `open` must be there.
struct HostCalls {
  std::function<std::unique_ptr<HostCaller>()>
      open;                                         // One for each binding: what it keeps from call to call is its own.
  std::function<Status(const Instruction&)> takes;  // An error where a call could give nothing but one.
  std::function<bool(const Instruction&)> prefers;  // Is called even where there is a kernel.
};

struct CompileOptions {
  // What kernels are planned for. The host runs those for any device.
  const DeviceDescription* target = &DefaultDevice();
  bool libraries = true;                  // False: emitted kernels for gemm and convolution too.
  bool allow_tf32 = false;                // cuda: f32 products may be rounded to tf32 first.
  std::vector<std::string> library_path;  // Where to look for libraries first.
  int64_t max_loop_iterations = 0;        // Of one `while`; 0: no limit.
  bool reuse_donated = true;  // Memory of donated parameters is reused where that saves some (never on the host).
  // Weights that a library wants in an order of its own are packed once after Bind when they are parameters or
  // constants, not in each Execute; costs their size in memory. Whoever compares times should say which was measured.
  bool pack_once = false;
  bool keep_kernels = false;                 // For dumps.
  std::shared_ptr<kernel::CodeCache> cache;  // Code that other processes made. Null: all is compiled.
  // For what no emitter takes, and for sizes that are known only at run time. Null: such instructions are unsupported.
  std::shared_ptr<const HostCalls> host;
  std::string inject;  // "KIND:NAME:FAULT", see fault.h. Tests of the comparison.
};

// CompileOptions::inject is of its form and the fault one that there is; whether NAME exists, compiling tells.
Status CheckFault(std::string_view inject);

// One loop around what runs, and the iteration it is in, from 0.
struct LoopStep {
  const Instruction* loop;
  int64_t iteration;
};

// Sees what each step really read and wrote. Steps are the instructions that compute: fusions (of any kind), host calls
// and copies that change the layout. Loops from the outermost in.
struct Observer {
  // Asked before the step. Null: all of them.
  std::function<bool(const Instruction&, std::span<const LoopStep>)> wants;
  bool reads_operands = true;  // False: `inputs` are none.
  // After it, with its operands as they were before (values of the operands' shapes) and its result, whose bytes the
  // next step may write over where they are shared: who keeps it copies those. An error ends the run.
  std::function<Status(const Instruction&, std::span<const LoopStep>, std::span<const Literal> inputs, Literal output)>
      observe;
};

// Whether steps that do not wait for each other run beside each other, on a device that can.
enum class Concurrency : uint8_t { kNever, kWhereItPays, kAlways };

struct RunOptions {
  const Observer* observer = nullptr;
  Timeline* timeline = nullptr;       // Is filled. On a device of its own each step is waited for.
  const bool* interrupted = nullptr;  // Looked at before each step; true ends the run (kInterrupted).
  // After so many trips the outermost loops in kernels stop, whatever their conditions say; 0: they do not.
  int64_t stop_loops_after = 0;
  int64_t* trips = nullptr;       // How many trips the last of these made.
  std::optional<uint64_t> order;  // Steps in an order drawn from it, of those that their dependencies allow.
  // Steps between which the host has nothing to do are recorded when they run again and from then on queued as one
  // (Device::Records); false: each by itself.
  bool record = true;
  Concurrency concurrency = Concurrency::kWhereItPays;  // Of what is recorded.
  bool early_launches = true;  // Kernels in what is recorded may begin before those before them have ended, and wait.
  bool wait_for_each = false;  // Each step is waited for, so that an error of the device is that of the step it is of.
  std::vector<std::string>* notes = nullptr;     // Gets what was done in a slower way than was meant, and why.
  std::vector<RecordedGraph>* graphs = nullptr;  // Gets what was recorded in this run.
  std::optional<double>* device_ms = nullptr;    // What the run took on the device's own clock, where it has one.
};

enum class StepKind : uint8_t { kKernel, kGemm, kConvolution, kAttention, kCopy, kFill, kHostCall };
std::string_view ToString(StepKind kind);
inline bool CallsLibrary(StepKind kind) {
  return kind == StepKind::kGemm || kind == StepKind::kConvolution || kind == StepKind::kAttention;
}

// "loop, 3 blocks of 256".
std::string LaunchText(const EmittedKernel& kernel);

// What is timed and observed.
struct StepInfo {
  const Instruction* instruction;  // Of Executable::module().
  StepKind kind;
  std::string how;                     // "oneDNN 2.6.3 brgconv:avx512_core"; "row reduction, 64 blocks of 256".
  PrecisionPlan precision;             // What its kernels promise; empty for libraries.
  FusionPlan plan;                     // What ran; of copies and host calls none.
  std::vector<EmittedKernel> kernels;  // With CompileOptions::keep_kernels.
};

struct MemoryReport {
  int64_t parameter_bytes = 0;
  int64_t constant_bytes = 0;     // Different ones.
  int64_t output_bytes = 0;       // Buffers of results, outside the arena.
  int64_t packed_bytes = 0;       // Weights in a library's order, kept between runs.
  int64_t arena_bytes = 0;        // Everything else, scratch too.
  int64_t arena_lower_bound = 0;  // The most that is live at once.
  int64_t scratch_bytes = 0;      // The largest of one step, in the arena.
  int64_t copies = 0;             // That the buffer plan had to insert.
  int64_t peak_bytes() const { return parameter_bytes + constant_bytes + output_bytes + packed_bytes + arena_bytes; }
};

struct CompileReport {
  double total_ms = 0;
  double buffers_ms = 0;
  double emit_ms = 0;     // HLO to kernels.
  double kernels_ms = 0;  // Kernels to code on the device; wall time over all threads.
  double libraries_ms = 0;
  int kernels = 0;
  int distinct_kernels = 0;
  std::optional<int> cached_kernels;  // Of the distinct ones, those that CompileOptions::cache had; where there is one.
  int library_calls = 0;
  int planted = 0;  // Steps with the fault of CompileOptions::inject in them.
  // Library fusions that became kernels, and kernels that became host calls, with the reason.
  std::vector<std::string> notes;
  std::vector<std::string> host_calls;  // Names of the steps that are host calls.
};

struct Program;  // program.h

// A program bound to a device.
class Executable {
 public:
  virtual ~Executable() = default;

  // What runs; others may bind it too.
  virtual std::shared_ptr<const Program> program() const = 0;
  // A copy of the compiled module, whose instructions keep their ids.
  virtual const Module& module() const = 0;
  virtual const Device& device() const = 0;
  virtual std::span<const StepInfo> steps() const = 0;
  virtual const MemoryReport& memory() const = 0;
  virtual const CompileReport& report() const = 0;
  // The buffer plan as text, for dumps.
  virtual std::string BuffersText() const = 0;

  // One literal for each parameter of the entry. Kept (not copied on the host, where the layout allows) until the next
  // Bind. Errors: A-codes for the wrong number or shape.
  virtual Status Bind(std::span<const Literal> arguments) = 0;
  // Gives back all that it holds of the device, until the next Bind.
  virtual void Unbind() = 0;
  // What has to be done before a run and is no part of it: donated arguments back in their place, memory for results
  // that were given away, weights packed once. Execute does it where nobody has since the last run.
  virtual Status MakeReady() = 0;
  // Runs with the bound arguments and waits.
  virtual Status Execute(const RunOptions& options = {}) = 0;
  // Of the last Execute, in host calls; copies from and to the device are part of them.
  virtual double HostCallSeconds() const = 0;
  // The results of the last Execute. Its bytes are the caller's.
  virtual Result<Literal> Output() = 0;

  Result<Literal> Run(std::span<const Literal> arguments, const RunOptions& options = {}) {
    TRY(Bind(arguments));
    TRY(Execute(options));
    return Output();
  }
};

// `device` must outlive the executable. Errors: U-codes at the instruction that cannot be run.
Result<std::unique_ptr<Executable>> Compile(const Module& optimized, Device& device,
                                            const CompileOptions& options = {});

// The program alone: `device` says what code and calls are made for, and measures nothing.
Result<std::shared_ptr<const Program>> CompileProgram(const Module& optimized, Device& device,
                                                      const CompileOptions& options = {});
// Errors: R016 where the program is made for another kind of device.
Result<std::unique_ptr<Executable>> BindProgram(std::shared_ptr<const Program> program, Device& device);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_EXECUTABLE_H_
