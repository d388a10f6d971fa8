#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "base/processors.h"

namespace hlo {
namespace {

TEST(UsableProcessors, AreThoseOfTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(UsableProcessors(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(UsableProcessors(), CPU_COUNT(&before));
}

TEST(UsableProcessors, AQuotaOfAControlGroupIsRoundedUp) {
  EXPECT_EQ(ProcessorsOfQuota("200000 100000\n"), 2);
  EXPECT_EQ(ProcessorsOfQuota("150000 100000"), 2);
  EXPECT_EQ(ProcessorsOfQuota("5000 100000"), 1);
  EXPECT_EQ(ProcessorsOfQuota("max 100000"), std::nullopt);
  for (const char* bad : {"", "2", "0 100000", "-1 100000", "1 0"}) EXPECT_EQ(ProcessorsOfQuota(bad), std::nullopt);
}

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
