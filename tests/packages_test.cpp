// Tests of manual pages, the Python module, and the release script. `hlo` is found on the path, as in golden_test.cpp.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/run_shell.h"

namespace {

namespace fs = std::filesystem;
using hlo::Outcome;
using hlo::RunShell;

bool Has(const std::string& program) { return RunShell("command -v " + program).exit == 0; }

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Every command with a page of its own, such as "run" and "inspect cost".
std::vector<std::string> Commands() {
  std::vector<std::string> commands;
  for (const std::string& name : Lines(RunShell("HLO_COMPLETE= hlo").text)) {
    if (name != "help" && name != "completion" && name != "version") commands.push_back(name);
  }
  for (const std::string& name : Lines(RunShell("HLO_COMPLETE= hlo inspect").text))
    commands.push_back("inspect " + name);
  return commands;
}

TEST(ManPages, HaveEveryFlagOfHelp) {
  static const std::regex kFlag("\n  (--[a-z_0-9]+)");
  const std::vector<std::string> commands = Commands();
  EXPECT_GT(commands.size(), 20u);
  for (const std::string& command : commands) {
    const Outcome help = RunShell("hlo " + command + " --help"), page = RunShell("hlo help --man " + command);
    ASSERT_EQ(page.exit, 0) << command << "\n" << page.text;
    EXPECT_TRUE(page.text.starts_with(".TH HLO")) << command;
    int flags = 0;
    for (auto match = std::sregex_iterator(help.text.begin(), help.text.end(), kFlag); match != std::sregex_iterator();
         ++match, ++flags) {
      const std::string head = "\n\\fB" + std::regex_replace((*match)[1].str(), std::regex("-"), "\\-") + "\\fR";
      EXPECT_NE(page.text.find(head), std::string::npos) << command << ": " << (*match)[1];
    }
    const bool has_flags =
        command != "inspect" && command != "inspect flags" && command != "ops" && command != "inspect ops";
    EXPECT_TRUE(flags > 0 || !has_flags) << command;
  }
}

// groff knows every macro and character, and no line is wider than a terminal.
TEST(ManPages, AreFormattedWithoutAWarning) {
  if (!Has("groff")) GTEST_SKIP() << "groff is not installed";
  std::vector<std::string> commands = Commands();
  commands.emplace_back();
  for (const std::string& command : commands) {
    const Outcome warnings = RunShell("hlo help --man " + command + " | groff -ww -man -Tutf8 -rLL=80n -z");
    EXPECT_EQ(warnings.exit, 0) << command;
    EXPECT_EQ(warnings.text, "") << command;
  }
}

TEST(ManPages, ShowCommandsVerbatim) {
  if (!Has("groff")) GTEST_SKIP() << "groff is not installed";
  const std::string page = RunShell("hlo help --man opt | groff -man -Tutf8 -rLL=120n -P-bcou").text;
  EXPECT_NE(page.find("hlo-opt - runs the pipeline up to a stage"), std::string::npos) << page;
  for (const char* line :
       {"hlo opt [flags] MODULE [-o FILE]", "hlo-opt --passes=algsimp,dce --hlo_print=short model.hlo",
        "--print_changed=none|full|diff|cdiff"})
    EXPECT_NE(page.find(line), std::string::npos) << line << "\n" << page;
}

TEST(ManPages, NameThePageOfACommandWithoutOne) {
  const Outcome version = RunShell("hlo help --man version");
  EXPECT_EQ(version.exit, 2);
  EXPECT_NE(version.text.find("'version' is on the page of hlo"), std::string::npos) << version.text;
  EXPECT_EQ(RunShell("hlo help --man no-such-command").exit, 2);
}

// An installation's share/ has pages, completions for every name of the program, and the files that commands in the
// manual use.
TEST(Share, HasPagesCompletionAndExamples) {
  const fs::path folder = fs::temp_directory_path() / ("hlo-share-" + std::to_string(getpid()));
  const Outcome share = RunShell("scripts/share \"$(command -v hlo)\" " + folder.string());
  EXPECT_EQ(share.exit, 0) << share.text;
  for (const char* file :
       {"man/man1/hlo.1.gz", "man/man1/hlo-run.1.gz", "man/man1/run_hlo_module.1.gz", "man/man1/hlo-inspect-cost.1.gz",
        "bash-completion/completions/hlo", "bash-completion/completions/hlo-bisect", "zsh/site-functions/_hlo",
        "fish/vendor_completions.d/hlo-run.fish", "hlokit/testdata/models/poisson_jacobi.hlo",
        "hlokit/testdata/cli/isolate.hlo", "hlokit/testdata/diff/old.profile.json"})
    EXPECT_TRUE(fs::exists(folder / file) && fs::file_size(folder / file) > 100) << file;
  fs::remove_all(folder);
}

// ---- Python --------------------------------------------------------------------------------------------------------

// The first Python that can run `imports`, or "".
std::string Python(const std::string& imports) {
  for (const char* name : {"python3", "/usr/bin/python3"}) {
    if (RunShell(std::string(name) + " -c '" + imports + "'").exit == 0) return name;
  }
  return "";
}

void RunPythonTests(const std::string& python, const std::string& suite, int at_least) {
  const Outcome tests = RunShell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=python:tests/python " + python +
                                 " -m unittest test_hlokit." + suite);
  EXPECT_EQ(tests.exit, 0) << tests.text;
  EXPECT_EQ(tests.text.find("skipped"), std::string::npos) << tests.text;
  static const std::regex kRan("Ran ([0-9]+) tests?");
  std::smatch ran;
  ASSERT_TRUE(std::regex_search(tests.text, ran, kRan)) << tests.text;
  EXPECT_GE(std::stoi(ran[1]), at_least);
}

TEST(PythonModule, WorksWithoutArrays) {
  const std::string python = Python("pass");
  if (python.empty()) GTEST_SKIP() << "python3 is not installed";
  RunPythonTests(python, "WithoutArrays", 6);
}

TEST(PythonModule, WorksWithArrays) {
  const std::string python = Python("import numpy");
  if (python.empty()) GTEST_SKIP() << "python3 with NumPy is not installed";
  RunPythonTests(python, "WithArrays", 6);
}

TEST(PythonModule, WorksWithJax) {
  const std::string python = Python("import jax, numpy");
  if (python.empty()) GTEST_SKIP() << "python3 with JAX is not installed";
  RunPythonTests(python, "WithJax", 1);
}

// ---- A release -----------------------------------------------------------------------------------------------------

TEST(Release, NamesFilesWithAnotherVersion) {
  const Outcome other = RunShell("scripts/release --check 9.8.7");
  EXPECT_EQ(other.exit, 1);
  for (const char* file : {"Makefile", "editors/vscode/package.json", "CHANGELOG.md"})
    EXPECT_NE(other.text.find(std::string(file) + " says '"), std::string::npos) << other.text;
  EXPECT_EQ(RunShell("scripts/release").exit, 2);
}

TEST(Release, AllFilesHaveTheSameVersion) {
  const std::string version = RunShell("hlo version").text;
  const std::string number = version.substr(4, version.find('\n') - 4);
  const Outcome check = RunShell("scripts/release --check " + number);
  EXPECT_EQ(check.text.find(" says '"), std::string::npos) << check.text;
}

}  // namespace
