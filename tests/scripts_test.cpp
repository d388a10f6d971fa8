// Scripts of this repository that developers run: the index of elliptical sentences and the commit-message hook.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/read_file.h"

namespace {

namespace fs = std::filesystem;

struct Outcome {
  std::string text;  // stdout and stderr.
  int exit = 0;
};

Outcome RunShell(const std::string& command) {
  const fs::path out = fs::temp_directory_path() / ("hlo-scripts-" + std::to_string(getpid()));
  const int status = std::system(("{ " + command + "\n} >" + out.string() + " 2>&1 </dev/null").c_str());
  const std::string text = hlo::ReadFile(out);
  fs::remove(out);
  return {text, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
}

TEST(Scripts, ProseIndexPassesItsTests) {
  if (RunShell("command -v python3 git").exit != 0) GTEST_SKIP() << "python3 or git is not installed";
  const Outcome tests = RunShell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/python python3 -m unittest test_prose_index");
  EXPECT_EQ(tests.exit, 0) << tests.text;
  EXPECT_NE(tests.text.find("Ran 7 tests"), std::string::npos) << tests.text;
}

}  // namespace
