// Processor time of compiling kernels by phase. Logs one line for each batch (--vmodule=compile_times=1), which
// bench/kernel_compile.py reads.
#ifndef HLO_GPU_CODEGEN_COMPILE_TIMES_H_
#define HLO_GPU_CODEGEN_COMPILE_TIMES_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace hlo::kernel {

enum class CompilePhase : uint8_t {
  kLower,
  kPasses,
  kCode,  // PTX or an object.
  kLoad,
};

class CompileTimes {
 public:
  void Add(CompilePhase phase, int64_t nanoseconds) { nanoseconds_[static_cast<size_t>(phase)] += nanoseconds; }
  // `kernels` counts all kernels, `compiled` the compilations, `quick` those with low effort, `kept` kernels from the
  // CodeCache.
  void Log(std::string_view target, size_t kernels, size_t compiled, int64_t quick = 0, int64_t kept = 0) const;

 private:
  std::array<std::atomic<int64_t>, 4> nanoseconds_ = {};
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Measures consecutive phases of one thread.
class PhaseClock {
 public:
  explicit PhaseClock(CompileTimes& times) : times_(times), last_(Now()) {}
  void Ended(CompilePhase phase) {
    const int64_t now = Now();
    times_.Add(phase, now - last_);
    last_ = now;
  }

 private:
  static int64_t Now();

  CompileTimes& times_;
  int64_t last_;
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_COMPILE_TIMES_H_
