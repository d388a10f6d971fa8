// Tests of --reproducer for the failure of a pass, which golden files cannot express because no pass of hlokit fails.
// testdata/cli/reproducer_*.hlo has the other cases.
#include "driver/run/reproducer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/source_text.h"
#include "parser/parser.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

std::string TextOf(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Reproducer : public testing::Test {
 protected:
  Reproducer() {
    fs::remove_all(folder_);
    const auto parsed =
        Parse(std::make_shared<const SourceText>("m.hlo",
                                                 "HloModule m\n\nENTRY e {\n  x = f32[2] parameter(0)\n"
                                                 "  part = f32[2] negate(x)\n  ROOT y = f32[2] sine(part)\n}"
                                                 "\n"));
    module_ = (*parsed)->Clone();
    options_.pipeline.passes = "cse,dce";
    options_.reproducer.directory = folder_.string();
  }
  ~Reproducer() override { fs::remove_all(folder_); }

  std::string NotesOf(const std::string& pass) const {
    Error error = InternalError("it failed");
    error.pass = pass;
    error = Reproduced(std::move(error), *module_, options_);
    std::string notes;
    for (const Note& note : error.diagnostics.front().notes) notes += note.message;
    return notes;
  }

  const fs::path folder_ = fs::temp_directory_path() / ("hlo-reproducer-" + std::to_string(getpid()));
  std::unique_ptr<Module> module_;
  RunOptions options_;
};

// The failure is simulated, so the reproducer's command runs without a failure, and a note says so.
TEST_F(Reproducer, SaysWhetherThePassFailsAgain) {
  const fs::path made = folder_ / "m.dce_1";
  EXPECT_EQ(NotesOf("dce#1"),
            "repro: sh " + made.string() +
                "/cmd.sh has the module and the pass, which alone do not show the failure (output.txt)");
  EXPECT_NE(TextOf(made / "before.hlo").find("%part = "), std::string::npos);
  EXPECT_NE(TextOf(made / "cmd.sh").find("exec hlo-opt --passes=dce before.hlo -o /dev/null\n"), std::string::npos);
  EXPECT_EQ(TextOf(made / "output.txt"), "exit 0\n");
  EXPECT_FALSE(fs::exists(made / "args.npz"));
}

TEST_F(Reproducer, IsOnlyMadeForAFailingPass) {
  EXPECT_EQ(NotesOf(""), "");
  EXPECT_EQ(NotesOf("algsimp#1"), "");
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(Reproducer, SaysWhyItCouldNotBeMade) {
  std::ofstream(folder_) << "a file";
  EXPECT_EQ(NotesOf("dce#1"), "repro: none: cannot make directory '" + folder_.string() + "': Not a directory");
}

TEST_F(Reproducer, PassesThatDoNotCrashLeaveNothing) {
  EXPECT_TRUE(TryPasses(*module_, options_));
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace hlo
