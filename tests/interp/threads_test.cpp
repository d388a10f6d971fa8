// Tests that the number of threads does not change any bit. Each module of the test data that the interpreter can run
// is run with one thread and with two, on the same random arguments.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "driver/load.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "ir/module.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

class ThreadsAgain {
 public:
  ~ThreadsAgain() { SetThreads(before_); }

 private:
  const int before_ = Threads();
};

bool SameBits(const Literal& a, const Literal& b) {
  if (!a.shape().IsTuple()) return a.BitEquals(b);
  return std::ranges::equal(a.elements(), b.elements(), SameBits);
}

struct Outcome {
  std::vector<Literal> results;
  std::string error;
};

Outcome Run(const Module& module, const std::vector<Literal>& args, int threads) {
  SetThreads(threads);
  const std::vector<Literal> each[] = {args};
  auto results = InterpretDevices(module, each);
  if (!results) return {{}, results.error().message()};
  return {std::move(*results), ""};
}

// Counts of modules. Some golden files cannot run, and their error must be the same too.
struct Count {
  int ran = 0, stopped = 0, not_read = 0;
};

void Compare(const std::string& path, Count& count) {
  const auto module = LoadModule(path, {.split_input_file = true});
  if (!module) {
    ++count.not_read;
    return;
  }
  const auto args = MakeArguments(**module);
  ASSERT_TRUE(args.has_value()) << path << ": " << args.error().message();
  const Outcome one = Run(**module, *args, 1), two = Run(**module, *args, 2);
  ++(one.results.empty() ? count.stopped : count.ran);
  EXPECT_EQ(one.error, two.error) << path;
  ASSERT_EQ(one.results.size(), two.results.size()) << path;
  for (size_t i = 0; i < one.results.size(); ++i)
    EXPECT_TRUE(SameBits(one.results[i], two.results[i])) << path << ", device " << i;
}

Count CompareAll(const char* folder) {
  Count count;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".hlo") files.push_back(entry.path().string());
  }
  const auto paths = ExpandPaths(files, {.split_input_file = true});
  EXPECT_TRUE(paths.has_value());
  for (const std::string& path : *paths) Compare(path, count);
  return count;
}

class OneThreadOrTwo : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists("testdata/models")) GTEST_SKIP() << "run from the project's folder";
  }
  ThreadsAgain again_;
};

// In each folder most modules must run, because otherwise the test compares too little.
TEST_F(OneThreadOrTwo, GiveTheSameBitsForOps) {
  const Count count = CompareAll("testdata/interp");
  EXPECT_GT(count.ran, 140);
  EXPECT_LT(count.stopped, 25);  // These have errors at run time, unsupported ops, or infeeds without data.
  EXPECT_EQ(count.not_read, 0);
}

TEST_F(OneThreadOrTwo, GiveTheSameBitsForRuns) {
  const Count count = CompareAll("testdata/run");
  EXPECT_GT(count.ran, 20);
  EXPECT_LT(count.stopped, 15);
  EXPECT_EQ(count.not_read, 0);
}

TEST_F(OneThreadOrTwo, GiveTheSameBitsForModels) {
  const Count count = CompareAll("testdata/models");
  EXPECT_GT(count.ran, 10);
  EXPECT_EQ(count.stopped, 0);
  EXPECT_EQ(count.not_read, 0);
}

}  // namespace
}  // namespace hlo
