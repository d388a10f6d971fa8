// Loops over a fixed set of threads. How work is cut never depends on the number of threads, so results do not either.
#ifndef HLO_BASE_PARALLEL_H_
#define HLO_BASE_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace hlo {

// The threads of the process: set once at start-up by the tool (--threads); the default is what the machine offers.
void SetThreads(int threads);
int Threads();

// Calls body(begin, end) for consecutive pieces of [0, count), each of at most `grain` items, on all threads; returns
// when all are done. Nested calls run on the calling thread. The first thing thrown arrives at the caller; the rest
// ends.
void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace hlo

#endif  // HLO_BASE_PARALLEL_H_
