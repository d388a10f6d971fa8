// Opens the HTML pages that commands write in a browser. Scripts run without an error, pages make no network requests
// and show the expected content, and the targets of their links exist. Without Chromium the tests are skipped. `hlo` is
// found on the path, as in golden_test.cpp.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/read_file.h"

namespace {

namespace fs = std::filesystem;
using hlo::ReadFile;

constexpr char kModel[] = "testdata/models/mlp_train_f32.hlo";

struct Page {
  const char* name;
  std::string command;  // Runs in the root of the repository. $OUT is a folder for the page.
  const char* file;     // The name of the page in that folder.
  std::vector<std::string> shows;
  int least_shapes;  // The least number of <rect>, <circle> and <path> elements that a script or the command has drawn.
};

const Page kPages[] = {
    {.name = "Profile",
     .command = std::string("hlo-run -q --platform=cpu --profile_json=$OUT/p.json ") + kModel +
                " && hlo inspect profile $OUT/p.json --html=$OUT/page.html",
     .file = "page.html",
     .shows = {"jit_mlp_train", "Advice", "Memory", "Roofline", "gemm_fusion.4"},
     .least_shapes = 40},
    {.name = "Diff",
     .command = std::string("hlo diff --format=html ") + kModel +
                " testdata/models/mlp_train_bf16.hlo > $OUT/page.html; [ $? = 1 ]",
     .file = "page.html",
     .shows = {"DIFFERENT", "mlp_train_f32.hlo", "dot_general.8", "bf16[64,512]"},
     .least_shapes = 0},
    {.name = "DumpIndex",
     .command = std::string("hlo-run -q --platform=cpu --xla_dump_to=$OUT --xla_dump_hlo_pass_re=.* ") + kModel,
     .file = "index.html",
     .shows = {"jit_mlp_train", "algsimp#1", "multi_output_fusion#1"},
     .least_shapes = 0},
    {.name = "Graph",
     .command = std::string("hlo inspect graph --format=html -o $OUT/page.html ") + kModel,
     .file = "page.html",
     .shows = {"jit_mlp_train", "dot_general.8", "parameter 19"},
     .least_shapes = 300},
    {.name = "Report",
     .command = "hlo-run -qq --platform=cpu --html=$OUT/page.html --inject=kernel:input_reduce_fusion:dropped_term "
                "testdata/cli/isolate.hlo; [ $? = 1 ]",
     .file = "page.html",
     .shows = {"MISMATCH", "kernel 'input_reduce_fusion' is wrong", "model.py:10", "128 of 128 elements"},
     .least_shapes = 6},
    {.name = "Manual",
     .command = "hlo help --html=$OUT",
     .file = "docs/commands.html",
     .shows = {"hlo bisect", "--reference_platform", "guides"},
     .least_shapes = 0},
    {.name = "Seeds",
     .command = "python3 bench/seeds.py --only fusion,counts --rounds 1 --seconds 0.05 --out $OUT "
                "--binaries $(dirname $(command -v hlo-run))",
     .file = "index.html",
     .shows = {"<td>97</td><td>97</td><td>97</td>", "conv_canonicalization", "one kernel against several", "3.5 MiB"},
     .least_shapes = 15},
};

int RunShell(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The first browser on the path, or "".
std::string Browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (RunShell(std::string("command -v ") + name + " >/dev/null") == 0) return name;
  }
  return "";
}

int Count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()));
}

class HtmlPages : public testing::Test {
 protected:
  void SetUp() override {
    browser_ = Browser();
    if (browser_.empty()) GTEST_SKIP() << "no Chromium here: its page is not opened";
    fs::create_directories(out_ / "home");
  }
  void TearDown() override { fs::remove_all(out_); }

  // The page after its scripts have run. `log` receives their complaints.
  std::string Opened(const fs::path& page, std::string* log) const {
    const fs::path dom = out_ / "dom", err = out_ / "err";
    // A separate home folder keeps out the user's settings and leaves no files behind.
    const int exit = RunShell(
        "HOME=" + (out_ / "home").string() + " timeout 120 " + browser_ +
        " --headless --no-sandbox --disable-gpu --virtual-time-budget=5000 --enable-logging=stderr --dump-dom file://" +
        page.string() + " >" + dom.string() + " 2>" + err.string());
    EXPECT_EQ(exit, 0) << ReadFile(err);
    std::istringstream lines(ReadFile(err));
    for (std::string line; std::getline(lines, line);) {
      if (line.find("CONSOLE") != std::string::npos) *log += line + "\n";
    }
    return ReadFile(dom);
  }

  const fs::path out_ = fs::temp_directory_path() / ("hlo-pages-" + std::to_string(getpid()));
  std::string browser_;
};

class HtmlPage : public HtmlPages, public testing::WithParamInterface<Page> {};

TEST_P(HtmlPage, OpensInABrowser) {
  const Page& page = GetParam();
  if (page.command.starts_with("python3") && RunShell("command -v python3 >/dev/null") != 0)
    GTEST_SKIP() << "python3 is not installed";
  ASSERT_EQ(RunShell("OUT=" + out_.string() + "; { " + page.command + " ; } >" + (out_ / "log").string() + " 2>&1"), 0)
      << ReadFile(out_ / "log");
  std::string complaints;
  const std::string dom = Opened(out_ / page.file, &complaints);
  EXPECT_EQ(complaints, "");
  for (const std::string& text : page.shows) EXPECT_NE(dom.find(text), std::string::npos) << text;
  EXPECT_GE(Count(dom, "<(rect|circle|path)[ >]"), page.least_shapes);
  EXPECT_EQ(Count(dom, R"((src|href)="?https?://)"), 0);
  const std::regex link(R"rx(href="([^"#]+)")rx");
  for (std::sregex_iterator at(dom.begin(), dom.end(), link), end; at != end; ++at)
    EXPECT_TRUE(fs::exists((out_ / page.file).parent_path() / (*at)[1].str())) << (*at)[1];
}

TEST_F(HtmlPages, AnErrorOfAScriptIsDetected) {
  std::ofstream(out_ / "bad.html") << "<html><body><script>missing()</script></body></html>";
  std::string complaints;
  Opened(out_ / "bad.html", &complaints);
  EXPECT_NE(complaints.find("missing is not defined"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, HtmlPage, testing::ValuesIn(kPages),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
