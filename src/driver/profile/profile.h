// Steps and times of a program's runs, which summary.h and trace.h present.
#ifndef HLO_DRIVER_PROFILE_PROFILE_H_
#define HLO_DRIVER_PROFILE_PROFILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/inspect/cost.h"
#include "driver/profile/tensor_cores.h"
#include "driver/progress.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/timeline.h"
#include "ir/analysis/cost.h"

namespace hlo {

enum class TimeClass : uint8_t { kKernel, kLibrary, kCopy, kFill, kCollective, kInterpreter };
inline constexpr int kTimeClasses = 6;
std::string_view ToString(TimeClass time_class);

// Blocks, threads of a block, and shared memory that the kernel declares.
struct LaunchSize {
  int64_t blocks = 1, threads = 1, shared_bytes = 0;
};

struct ProfiledStep {
  std::string name;
  gpu::StepKind sort = gpu::StepKind::kKernel;
  std::string kind;  // "row_reduction", "gemm", "copy", ...
  std::string how;
  std::string op_name, source;
  std::string library;
  std::string slow, refused;      // Reasons for a slow kind of kernel, and why libraries refused the step.
  int64_t launches = 1;           // Kernels or library calls of one execution. 0 for host calls.
  std::vector<LaunchSize> sizes;  // Sizes of our kernels, if the executable keeps them.
  bool is_collective = false;
  int bits = 32;
  TensorCoreUse tensor_cores;
  Cost cost;
  double least_seconds = 0;  // The least time by the device's description, and the limiting resource.
  Bound bound = Bound::kMemory;
  int64_t live_bytes = 0;  // Bytes of temporaries and results in memory while the step runs.
  uint64_t work = 0;
  // Names of input instructions, as far as passes recorded them: all that the step computes, and the ones whose values
  // are its results.
  std::vector<std::string> made_of, results;

  bool IsInterpreted() const { return sort == gpu::StepKind::kHostCall; }
  TimeClass Class() const;
};

struct ProfiledLoop {
  std::string name, op_name, source;
};

struct HeldValue {
  std::string name;
  std::string shape, op_name, source;
  int64_t bytes = 0;
  bool is_output = false;
  std::string from, to;  // The first and last step of its use.
};

struct MemoryProfile {
  int64_t parameter_bytes = 0, constant_bytes = 0,
          kept_bytes = 0;     // Memory in use during the whole run. `kept_bytes` are packed weights and counters.
  int64_t planned_bytes = 0;  // All allocated memory.
  int64_t peak_bytes = 0;     // The maximum of temporaries and results.
  std::string peak_at;
  std::vector<HeldValue> at_peak;
};

struct Profile {
  std::string path, module_name;
  uint64_t input = 0, code = 0;  // Fingerprints of the input and optimized modules.
  std::string platform, device;
  bool is_host = true;
  std::string target;      // The device for which kernels are planned.
  DeviceDescription roof;  // The device that ran the kernels.
  int64_t examples_per_run = 0;
  std::vector<ProfiledStep> steps;
  std::map<int, ProfiledLoop> loops;  // Keys are TimelineTrip::loop.
  MemoryProfile memory;
  std::vector<gpu::Timeline> runs;
  std::vector<std::string> notes;  // Reasons for slow execution.
  // Nanoseconds of profiled runs, and of as many plain runs that alternate with them.
  std::vector<int64_t> profiled_ns, plain_ns;
};

// The parts of a profile that need no runs. `target` is the device of the plans.
Profile DescribeProgram(const gpu::Executable& executable, const DeviceDescription& target, bool allow_tf32);
void AddOrigins(const gpu::Executable& executable, const Module& input, Profile* profile);

std::string KindOf(const gpu::StepInfo& step);

// Adds runs, alternately with and without a timeline. Stops after 10 runs and 0.2 s, after 3 runs and 2 s, or after 1
// run and 20 s.
Status AddRuns(gpu::Executable& executable, Progress& progress, Profile* profile);

// The width of a step's arithmetic: 8, 16, 32 or 64. For products it is the width of the wider operand, otherwise of
// the type with most bytes in operands and results. Complex numbers count by the width of a part.
int BitsOf(const Instruction& inst, const Cost& cost);

// Hashes computation and shapes, without names, metadata and plan. Never 0.
uint64_t WorkOf(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_PROFILE_H_
