#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

namespace hlo {
namespace {

TEST(ParallelFor, ExceptionsReachTheCaller) {
  std::atomic<int64_t> done = 0;
  const auto run = [&](int64_t bad) {
    ParallelFor(1000, 1, [&](int64_t begin, int64_t) {
      if (begin == bad) throw std::bad_alloc();
      ++done;
    });
  };
  for (const int64_t bad : {0, 7, 999}) EXPECT_THROW(run(bad), std::bad_alloc) << bad;
  done = 0;
  run(-1);  // The threads are still usable after an exception.
  EXPECT_EQ(done, 1000);
}

TEST(ParallelFor, ExceptionsOfNestedLoopsReachTheCaller) {
  const auto inner = [](int64_t, int64_t) {
    ParallelFor(8, 1, [](int64_t begin, int64_t) {
      if (begin == 5) throw std::bad_alloc();
    });
  };
  EXPECT_THROW(ParallelFor(16, 1, inner), std::bad_alloc);
}

// Threads that are late for one loop must not join the next. The pauses let threads fall asleep.
TEST(ParallelFor, EachItemRunsOnceInManyShortLoops) {
  for (int loop = 0; loop < 3000; ++loop) {
    if (loop % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const int64_t count = 2 + loop % 7;
    std::vector<std::atomic<int>> done(count);
    ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++done[i];
    });
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(done[i], 1) << loop << ", " << i;
  }
}

}  // namespace
}  // namespace hlo
