// Runs the programs for several devices of $CORPUS/devices/programs.tar.xz, if the archive exists. Their partitioned
// programs must be right.
#include "driver/run/partition_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/text.h"
#include "driver/run/run.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// The programs' texts before the partitioner, unpacked.
std::vector<fs::path> Programs() {
  const char* const corpus = std::getenv("CORPUS");
  const fs::path archive = fs::path(corpus == nullptr ? "../shared" : corpus) / "devices/programs.tar.xz";
  const fs::path folder = fs::path(testing::TempDir()) / "hlokit_partition_check";
  if (!fs::exists(archive)) return {};
  fs::create_directories(folder);
  const std::string unpack =
      Str("tar -xJf '", archive.string(), "' -C '", folder.string(), "' --wildcards '*.before.hlo'");
  if (std::system(unpack.c_str()) != 0) return {};
  std::vector<fs::path> programs;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    // Skips *.gspmd.before.hlo, the same programs with an older spelling of their shardings.
    const std::string name = entry.path().string();
    if (name.ends_with(".before.hlo") && !name.ends_with(".gspmd.before.hlo")) programs.push_back(entry.path());
  }
  std::ranges::sort(programs);
  return programs;
}

// The work limit leaves out the largest program.
TEST(PartitionCheck, TheProgramsOfTheArchiveMatch) {
  const std::vector<fs::path> programs = Programs();
  if (programs.empty()) GTEST_SKIP() << "no devices/programs.tar.xz below CORPUS=DIR";
  RunOptions options;
  options.platform = "interpreter";
  options.compare_mode = CompareMode::kPartition;
  options.work_limit = 500'000'000;
  int64_t judged = 0;
  for (const fs::path& path : programs) {
    Progress progress(true);
    const auto report = RunModule(path.string(), options, progress);
    ASSERT_TRUE(report) << path << ": " << report.error().message();
    ASSERT_TRUE(report->partition) << path << ": " << Join(report->notes, "\n");
    if (report->partition->text.ends_with("beyond --work_limit")) continue;
    EXPECT_EQ(report->partition->verdict, Verdict::kMatch) << path << ": " << report->partition->text;
    ++judged;
  }
  EXPECT_GE(judged, 75);
}

}  // namespace
}  // namespace hlo
