#include "gpu/device/shared_library.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace hlo::gpu {
namespace {

namespace fs = std::filesystem;

// A folder of Python packages may contain NVIDIA's wheels, each with its libraries.
TEST(SharedLibrary, IsFoundAmongWheels) {
  constexpr std::string_view kNames[] = {"libhlo-of-a-wheel.so.9", "libhlo-of-a-wheel.so"};
  const auto folder = MakeTemporaryDirectory("wheels");
  ASSERT_TRUE(folder) << folder.error().message();
  const std::string packages[] = {*folder};
  const auto missing = SharedLibrary::Open(kNames, packages);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), "R013");
  EXPECT_NE(missing.error().message().find(Str(*folder, "/libhlo-of-a-wheel.so.9")), std::string::npos);
  fs::create_directories(*folder + "/nvidia/other/lib");
  fs::create_directories(*folder + "/nvidia/wheel/lib");
  const fs::path system = "/lib/x86_64-linux-gnu/libm.so.6";
  if (!fs::exists(system)) GTEST_SKIP() << "no " << system;
  fs::create_symlink(system, *folder + "/nvidia/wheel/lib/libhlo-of-a-wheel.so.9");
  const auto found = SharedLibrary::Open(kNames, packages);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->path(), *folder + "/nvidia/wheel/lib/libhlo-of-a-wheel.so.9");
  EXPECT_NE(found->Find("cos").address, nullptr);
  fs::remove_all(*folder);
}

// Counts the calls of the loader. OpenOnce must call it once and keep its error.
int loads = 0;
Result<int> LoadNothing(const std::string& what) {
  ++loads;
  FAIL(DeviceError("R013", Str("no ", what)));
}

TEST(OpenOnce, KeepsTheError) {
  for (int i = 0; i < 2; ++i) {
    const auto opened = OpenOnce<LoadNothing>(std::string("library"));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message(), "no library");
  }
  EXPECT_EQ(loads, 1);
}

}  // namespace
}  // namespace hlo::gpu
