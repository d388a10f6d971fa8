// What runs of a program did, and when: a value, from which the summary (summary.h) and the trace (trace.h) follow. Its
// times come from gpu/runtime/timeline.h; what belongs to a step comes from those who know it: costs from ir/cost.h,
// kinds from the plans that ran, places from SourcePlaces, rates from a DeviceDescription.
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
#include "ir/cost.h"

namespace hlo {

// What the time of a run goes to.
enum class TimeClass : uint8_t { kKernel, kLibrary, kCopy, kFill, kCollective, kInterpreter };
inline constexpr int kTimeClasses = 6;
std::string_view ToString(TimeClass time_class);

// How a kernel is launched: blocks, threads of each, and the shared memory that the kernel itself asks for.
struct LaunchSize {
  int64_t blocks = 1, threads = 1, shared_bytes = 0;
};

// One of Executable::steps().
struct ProfiledStep {
  std::string name;  // fusion.3
  gpu::StepKind sort = gpu::StepKind::kKernel;
  std::string kind;  // "row_reduction", by its plan; "gemm", "copy".
  std::string how;   // As of StepInfo.
  std::string op_name, source;
  std::string library;
  std::string slow, refused;      // Why its form is a generic one; which libraries were asked first, and why not.
  int64_t launches = 1;           // Kernels or calls of one execution; none of a host call.
  std::vector<LaunchSize> sizes;  // Of its own kernels, where the executable keeps them.
  bool is_collective = false;
  int bits = 32;  // Of what it computes in: BitsOf.
  TensorCoreUse tensor_cores;
  Cost cost;                 // Of one execution.
  double least_seconds = 0;  // In which the device would do it, by its description, and what of it says so.
  Bound bound = Bound::kMemory;
  int64_t live_bytes = 0;  // Temporaries and results in memory while it runs.
  uint64_t work = 0;       // WorkOf.
  // Names of instructions of the module that was read: what it computes, and of that what others read. As far as the
  // passes remember; in the order of names.
  std::vector<std::string> made_of, results;

  bool IsInterpreted() const { return sort == gpu::StepKind::kHostCall; }
  TimeClass Class() const;
};

struct ProfiledLoop {
  std::string name, op_name, source;
};

// A buffer that holds something when the most is held.
struct HeldValue {
  std::string name;  // "fusion.3", "while.2{1}"; "scratch of fusion.3".
  std::string shape, op_name, source;
  int64_t bytes = 0;
  bool is_output = false;
  std::string from, to;  // Steps from and to which it holds it.
};

struct MemoryProfile {
  int64_t parameter_bytes = 0, constant_bytes = 0,
          kept_bytes = 0;          // Held all the time; kept: packed weights, counters.
  int64_t planned_bytes = 0;       // All that is set aside.
  int64_t peak_bytes = 0;          // The most of temporaries and results at once.
  std::string peak_at;             // The step that runs then.
  std::vector<HeldValue> at_peak;  // The largest first.
};

struct Profile {
  std::string path, module_name;
  uint64_t input = 0, code = 0;  // Fingerprints of the module that was read, and of what the passes made of it.
  std::string platform, device;  // "cpu"; "AVX2, 2 threads".
  bool is_host = true;
  std::string target;      // The device that kernels are planned for.
  DeviceDescription roof;  // The device that ran them.
  int64_t examples_per_run = 0;
  std::vector<ProfiledStep> steps;
  std::map<int, ProfiledLoop> loops;  // By TimelineTrip::loop.
  MemoryProfile memory;
  std::vector<gpu::Timeline> runs;  // Those that were profiled.
  std::vector<std::string> notes;   // What they did in a slower way than was meant, and why.
  // Nanoseconds that these took, and as many that were not profiled, by turns with them, all from outside.
  std::vector<int64_t> profiled_ns, plain_ns;
};

// What of the profile does not depend on what the runs did.
// `target`: the device that it was planned for.
Profile DescribeProgram(const gpu::Executable& executable, const DeviceDescription& target, bool allow_tf32);
// Which instructions of the module that was read its steps stand for.
void AddOrigins(const gpu::Executable& executable, const Module& input, Profile* profile);

// "row_reduction", by the plans of its kernels; "gemm", "copy".
std::string KindOf(const gpu::StepInfo& step);

// Runs the executable, whose arguments are bound, and adds what it did: by turns without a timeline and with one, 10
// times and for 0.2 s, but not much longer than 2 s (3 times) or 20 s (once).
Status AddRuns(gpu::Executable& executable, Progress& progress, Profile* profile);

// The bits of the numbers that a step computes with: where it has products, of their wider operand; else of the element
// type that most bytes of its operands and results have. 8, 16, 32 or 64; of complex numbers those of their parts.
int BitsOf(const Instruction& inst, const Cost& cost);

// A hash of what a step computes, of which shapes: names, metadata and how it is done aside. Never 0.
uint64_t WorkOf(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_PROFILE_H_
