// Runs loops on a fixed set of threads. The division of the work, and hence the result, does not depend on the number
// of threads.
#ifndef HLO_BASE_PARALLEL_H_
#define HLO_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace hlo {

// The number of threads is set once at start-up (--threads). The default is the number of hardware threads.
void SetThreads(int threads);
int Threads();

// Calls body(begin, end) on all threads for consecutive pieces of [0, count) with at most `grain` items each. Nested
// calls run on the calling thread. The first exception is rethrown to the caller, and the remaining pieces are skipped.
void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace hlo

#endif  // HLO_BASE_PARALLEL_H_
