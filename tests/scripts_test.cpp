// Tests of developers' scripts: the index of elliptical sentences, the commit-message hook and the installation of
// hooks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/read_file.h"
#include "tests/run_shell.h"

namespace {

namespace fs = std::filesystem;
using hlo::Outcome;
using hlo::RunShell;

TEST(Scripts, ProseIndexPassesItsTests) {
  if (RunShell("command -v python3 git").exit != 0) GTEST_SKIP() << "python3 or git is not installed";
  const Outcome tests =
      RunShell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/python python3 -m unittest test_prose_index");
  EXPECT_EQ(tests.exit, 0) << tests.text;
  EXPECT_NE(tests.text.find("Ran 7 tests"), std::string::npos) << tests.text;
}

Outcome CheckMessage(const std::string& message) {
  const fs::path file = fs::temp_directory_path() / ("hlo-message-" + std::to_string(getpid()));
  std::ofstream(file, std::ios::binary) << message;
  const Outcome outcome = RunShell("scripts/hooks/commit-msg " + file.string());
  fs::remove(file);
  return outcome;
}

TEST(Scripts, CommitMessageHookAcceptsOneChangeInASubject) {
  const std::string longest(72, 'x');
  for (const std::string& message :
       {std::string("Fold convert of convert\n"),
        std::string("Fold convert of convert\n\nThe middle type loses nothing; why.\n"),
        longest + "\n# a comment of git\n", "\n\n" + longest + "\n",
        std::string("Fix x\n# ------------------------ >8 ------------------------\ndiff; of a verbose commit.\n"),
        // The limit counts characters, not bytes.
        std::string("Gr\u00f6\u00dfe: ") + std::string(65, 'x'), std::string("Merge branch 'a'; of long standing."),
        std::string("fixup! Fold; it.")})
    EXPECT_EQ(CheckMessage(message).exit, 0) << message << CheckMessage(message).text;
}

TEST(Scripts, CommitMessageHookNamesEachProblem) {
  const std::string too_long(73, 'x');
  const struct {
    std::string message, problem;
  } kBad[] = {
      {too_long, "73 characters; at most 72"},
      {"Fix a; fix b\n", "has a semicolon"},
      {"Fix a.\n", "ends with a full stop"},
      {"Fix a\nand b\n", "second line is not empty"},
  };
  for (const auto& [message, problem] : kBad) {
    const Outcome outcome = CheckMessage(message);
    EXPECT_EQ(outcome.exit, 1) << message;
    EXPECT_NE(outcome.text.find(problem), std::string::npos) << message << outcome.text;
  }
}

TEST(Scripts, EachFuzzTargetRunsEveryNight) {
  std::set<std::string> targets;
  for (const auto& entry : fs::directory_iterator("tests/fuzz"))
    if (entry.path().extension() == ".cpp") targets.insert(entry.path().stem());
  std::string list;
  for (const std::string& target : targets) list += (list.empty() ? "" : ", ") + target;
  const std::string workflow = hlo::ReadFile(".github/workflows/nightly.yml");
  EXPECT_NE(workflow.find("target: [" + list + "]"), std::string::npos) << "nightly.yml: target: [" << list << "]";
}

TEST(Scripts, HooksAreInstalledOnceAndOtherHooksAreKept) {
  if (RunShell("command -v git make").exit != 0) GTEST_SKIP() << "git or make is not installed";
  const std::string folder = fs::temp_directory_path() / ("hlo-hooks-" + std::to_string(getpid()));
  const std::string make =
      "env -i PATH=\"$PATH\" HOME=" + folder + " make -s -C " + folder + " -f \"$PWD/Makefile\" hooks";
  ASSERT_EQ(RunShell("git init -q " + folder).exit, 0);
  for (int time = 0; time < 2; ++time) {
    const Outcome installed = RunShell(make);
    EXPECT_EQ(installed.exit, 0) << installed.text;
    EXPECT_NE(installed.text.find("core.hooksPath is now scripts/hooks"), std::string::npos) << installed.text;
    EXPECT_EQ(RunShell("git -C " + folder + " config core.hooksPath").text, "scripts/hooks\n");
  }
  RunShell("git -C " + folder + " config core.hooksPath other");
  const Outcome kept = RunShell(make);
  EXPECT_NE(kept.exit, 0);
  EXPECT_NE(kept.text.find("core.hooksPath is other"), std::string::npos) << kept.text;
  EXPECT_EQ(RunShell("git -C " + folder + " config core.hooksPath").text, "other\n");
  fs::remove_all(folder);
}

}  // namespace
