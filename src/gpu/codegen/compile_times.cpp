#include "gpu/codegen/compile_times.h"

#include <ctime>

#include "base/log.h"
#include "base/parallel.h"

namespace hlo::kernel {

void CompileTimes::Log(std::string_view target, size_t kernels, size_t compiled, int64_t quick, int64_t kept) const {
  const auto seconds = [&](CompilePhase phase) {
    return Format("%.3f", 1e-9 * static_cast<double>(nanoseconds_[static_cast<size_t>(phase)].load()));
  };
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
  VLOG(1, target, ": ", kernels, " kernels, ", compiled, " compiled, ", quick, " quickly, ", kept, " kept, in ",
       Format("%.3f", wall.count()), " s on ", Threads(), " threads; processor time: lower ",
       seconds(CompilePhase::kLower), " s, passes ", seconds(CompilePhase::kPasses), " s, code ",
       seconds(CompilePhase::kCode), " s, load ", seconds(CompilePhase::kLoad), " s");
}

int64_t PhaseClock::Now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

}  // namespace hlo::kernel
