#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/host_isa.h"

// The last line of the output is always the result of the whole run.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* isa = std::getenv("HLO_HOST_ISA")) {
    if (const hlo::Status chosen = hlo::ChooseHostIsa(isa); !chosen) {
      std::fprintf(stderr, "hlo-test: error: HLO_HOST_ISA: %s\n", chosen.error().message().c_str());
      return static_cast<int>(chosen.error().exit);
    }
  }
  const int status = RUN_ALL_TESTS();
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  std::printf("%d passed, %d failed, %d skipped\n", tests.successful_test_count(), tests.failed_test_count(),
              tests.skipped_test_count());
  return status;
}
