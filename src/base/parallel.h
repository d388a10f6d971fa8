// Runs loops on a fixed set of threads. Results do not depend on their number.
#ifndef HLO_BASE_PARALLEL_H_
#define HLO_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace hlo {

// Set once at start-up (--threads). The default is UsableProcessors().
void SetThreads(int threads);
int Threads();

// Calls body(begin, end) on all threads for pieces of [0, count) with at most `grain` items. Nested calls run on the
// calling thread. The first exception skips the remaining pieces and is rethrown.
void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace hlo

#endif  // HLO_BASE_PARALLEL_H_
