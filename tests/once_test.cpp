// Tests that no other source has a text that belongs to one file.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/read_file.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

struct Once {
  std::string text, file;
};
const Once kOnce[] = {
    {"227 << 10", "src/ir/device_limits.h"},
    {"220 << 10", "src/ir/device_limits.h"},
    {"48 << 10", "src/ir/device_limits.h"},
    {"40 << 10", "src/ir/device_limits.h"},
    {"bytes() / device.memory_rate, ", "src/ir/analysis/cost.cpp"},
    {"dot_flops[width] / device.dot_rates[width]", "src/ir/analysis/cost.cpp"},
    {"> LoadApi(", "src/gpu/device/shared_library.h"},
    {"Type UnsignedOf(", "src/gpu/emitters/scalar"},
    {"using kernel::Value;", "src/gpu/emitters/names.h"},
};

TEST(Once, KnowledgeStandsInOneFile) {
  for (const char* top : {"src", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      const std::string path = entry.path().string();
      if (!path.ends_with(".h") && !path.ends_with(".cpp") && !path.ends_with(".def")) continue;
      const std::string source = ReadFile(path);
      for (const Once& once : kOnce) {
        if (path.starts_with(once.file)) continue;
        EXPECT_EQ(source.find(once.text), std::string::npos) << path << " has '" << once.text << "' of " << once.file;
      }
    }
  }
}

}  // namespace
}  // namespace hlo
