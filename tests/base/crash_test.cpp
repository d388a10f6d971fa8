// Tests of the message when the program crashes. Each case runs in its own process and directory.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/crash.h"
#include "base/files.h"
#include "base/parallel.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

class Crash : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer's handlers stay";
#endif
    GTEST_FLAG_SET(death_test_style, "fast");
    folder_ = *MakeTemporaryDirectory("hlo-crash-test");
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  void Tells() const {
    fs::current_path(folder_);
    ReportCrashes({.tool = "hlo-run", .version = "7.7", .command_line = "hlo run m.hlo", .advice = "try --this"});
    SetStageAtHand("optimizing");
  }

  std::string folder_;
};

const auto kExit = testing::ExitedWithCode(70);

[[gnu::noinline]] int64_t Overflow(volatile int64_t* of) {
  volatile int64_t here[512] = {};
  here[0] = *of + 1;
  if (here[0] < 0) return 0;  // This is never true. It prevents the compiler from removing the recursion.
  return Overflow(here) + here[0];
}

TEST_F(Crash, ReportsTheCurrentPassAndInstruction) {
  const auto crash = [&] {
    Tells();
    const AtHand pass("pass", "algsimp#2"), inst("instruction", "add.\x1b[31m\"3");
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(crash(), kExit,
              "hlo-run: internal error: \\[I014\\] Segmentation fault in instruction 'add.\\?\\[31m\\?3' of pass "
              "'algsimp#2', while optimizing\n"
              "FAILED\\(crash\\)  Segmentation fault .*\n  report: hlo-crash.txt\n  next: try --this\n"
              "please report this with the module that caused it and that file\n");
}

TEST_F(Crash, OmitsThePassIfNoneWasRunning) {
  const auto crash = [&] {
    Tells();
    {
      const AtHand pass("pass", "algsimp#2");
    }
    std::abort();
  };
  EXPECT_EXIT(crash(), kExit,
              "\\[I014\\] Aborted, while optimizing\nFAILED\\(crash\\)  Aborted, while optimizing\n  report: "
              "hlo-crash.txt\nplease");
}

TEST_F(Crash, ThreadsReportTheStepOfTheirCaller) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // A forked child does not have its parent's pool of threads.
  const auto crash = [&] {
    Tells();
    SetThreads(4);
    const AtHand step("step", "fusion.7");
    ParallelFor(64, 1, [](int64_t begin, int64_t) {
      if (begin == 63) std::raise(SIGFPE);
    });
  };
  EXPECT_EXIT(crash(), kExit, "\\[I014\\] Arithmetic exception in step 'fusion.7'");
}

TEST_F(Crash, ReportsAStackOverflow) {
  const auto crash = [&] {
    Tells();
    volatile int64_t zero = 0;
    std::printf("%ld", Overflow(&zero));
  };
  EXPECT_EXIT(crash(), kExit, "\\[I014\\] Segmentation fault, while optimizing");
}

TEST_F(Crash, ReportsAFailedCheck) {
  const auto crash = [&] {
    Tells();
    const AtHand kernel("kernel", "k");
    CHECK(folder_.empty(), "it is not");
  };
  EXPECT_EXIT(
      crash(), kExit,
      "crash_test.cpp:[0-9]+: internal error: \\[I000\\] folder_.empty\\(\\): it is not\n"
      "FAILED\\(crash\\)  check at .*crash_test.cpp:[0-9]+ in kernel 'k', while optimizing\n  report: hlo-crash.txt\n");
}

TEST_F(Crash, WritesAReportWithoutReplacingAnother) {
  std::ofstream(folder_ + "/hlo-crash.txt") << "mine";
  const auto crash = [&] {
    Tells();
    std::raise(SIGBUS);
  };
  EXPECT_EXIT(crash(), kExit, "report: hlo-crash-2.txt");
  std::stringstream kept, report;
  kept << std::ifstream(folder_ + "/hlo-crash.txt").rdbuf();
  report << std::ifstream(folder_ + "/hlo-crash-2.txt").rdbuf();
  EXPECT_EQ(kept.str(), "mine");
  EXPECT_TRUE(
      report.str().starts_with("version  7.7\ncommand  hlo run m.hlo\ncrash    Bus error, while optimizing\nstack\n  "))
      << report.str();
}

TEST_F(Crash, AParentReportsTheCrashOfItsChild) {
  const auto crash = [&] {
    Tells();
    LeaveCrashesToParent();
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_FALSE(fs::exists(folder_ + "/hlo-crash.txt"));
  const auto tells_parent = [&] {
    Tells();
    const AtHand pass("pass", "dce#1");
    LeaveCrashesToParent(STDERR_FILENO);
    std::raise(SIGSEGV);
  };
  EXPECT_EXIT(tells_parent(), testing::KilledBySignal(SIGSEGV),
              "^Segmentation fault in pass 'dce#1', while optimizing$");
}

}  // namespace
}  // namespace hlo
