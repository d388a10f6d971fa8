// Tests that loops nested a thousand deep pass through every stage, including the comparison, and that deeper nesting
// than --max_depth is an error.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/text.h"

namespace hlo {
namespace {

// The body of each loop is the loop before it. All loops continue until the counter is 1.
std::string Nest(int depth) {
  std::string text =
      "HloModule nest\n"
      "below_one {\n  s = (s32[]) parameter(0)\n  n = s32[] get-tuple-element(s), index=0\n"
      "  one = s32[] constant(1)\n  ROOT r = pred[] compare(n, one), direction=LT\n}\n"
      "body.0 {\n  s = (s32[]) parameter(0)\n  n = s32[] get-tuple-element(s), index=0\n"
      "  one = s32[] constant(1)\n  sum = s32[] add(n, one)\n  ROOT r = (s32[]) tuple(sum)\n}\n";
  for (int i = 1; i < depth; ++i)
    text +=
        Str("body.", i, " {\n  s = (s32[]) parameter(0)\n  ROOT w = (s32[]) while(s), condition=below_one, body=body.",
            i - 1, "\n}\n");
  return text + Str("ENTRY main {\n  n = s32[] parameter(0)\n  s = (s32[]) tuple(n)\n"
                    "  ROOT w = (s32[]) while(s), condition=below_one, body=body.",
                    depth - 1, "\n}\n");
}

int ExitOfRun(int depth) {
  const char* folder = std::getenv("HLO");
  const std::filesystem::path file = std::filesystem::temp_directory_path() / Str("nested_loops_", depth, ".hlo");
  std::ofstream(file) << Nest(depth);
  const std::string command = Str(folder != nullptr ? folder : "build/bin", "/hlo-run --arg=0=0 ", file.string(), " >",
                                  file.string(), ".out 2>&1");
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(NestedLoops, RunAndAreCompared) { EXPECT_EQ(ExitOfRun(1200), 0); }

TEST(NestedLoops, BeyondTheDepthLimitAreAnError) { EXPECT_EQ(ExitOfRun(9000), 5); }

}  // namespace
}  // namespace hlo
