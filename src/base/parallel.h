// Loops over a fixed set of threads. How the work is divided does not depend on the number of threads, so results do
// not depend on it either.
#ifndef HLO_BASE_PARALLEL_H_
#define HLO_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace hlo {

// Sets the number of threads. The tool calls it once at start-up (--threads). The default is the number of hardware
// threads.
void SetThreads(int threads);
int Threads();

// Calls body(begin, end) on all threads for consecutive pieces of [0, count) with at most `grain` items each. Returns
// when all are done. Nested calls run on the calling thread. The first exception is rethrown to the caller, and the
// remaining pieces are skipped.
void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace hlo

#endif  // HLO_BASE_PARALLEL_H_
