#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/host_isa.h"

namespace {

// Writes the number of tests and a newline for each test that has ended, for scripts/run-tests.
class ProgressFile : public testing::EmptyTestEventListener {
 public:
  explicit ProgressFile(const char* path) : file_(std::fopen(path, "w")) {}
  ~ProgressFile() override {
    if (file_ != nullptr) std::fclose(file_);
  }
  void OnTestProgramStart(const testing::UnitTest& tests) override {
    Write(std::to_string(tests.test_to_run_count()) + "\n");
  }
  void OnTestEnd(const testing::TestInfo&) override { Write("\n"); }

 private:
  void Write(const std::string& text) {
    if (file_ == nullptr) return;
    std::fputs(text.c_str(), file_);
    std::fflush(file_);
  }

  std::FILE* file_;
};

}  // namespace

// The last line gives the numbers of passed, failed and skipped tests.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* isa = std::getenv("HLO_HOST_ISA")) {
    if (const hlo::Status chosen = hlo::ChooseHostIsa(isa); !chosen) {
      std::fprintf(stderr, "hlo-test: error: HLO_HOST_ISA: %s\n", chosen.error().message().c_str());
      return static_cast<int>(chosen.error().exit);
    }
  }
  if (const char* path = std::getenv("HLO_TEST_PROGRESS")) {
    testing::UnitTest::GetInstance()->listeners().Append(new ProgressFile(path));
    unsetenv("HLO_TEST_PROGRESS");  // Death tests start this program again, which must not empty the file.
  }
  const int status = RUN_ALL_TESTS();
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  std::printf("%d passed, %d failed, %d skipped\n", tests.successful_test_count(), tests.failed_test_count(),
              tests.skipped_test_count());
  return status;
}
