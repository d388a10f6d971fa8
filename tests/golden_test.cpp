// Runs the files *.hlo, *.mlir and *.session below testdata/ that have a `// RUN:` line, and compares the output with
// the blocks at the end of the file.
//
//   // RUN: hlo check %s          %s is the file, `hlo` is the program that was built, and a shell runs the line
//   ...HLO...
//   // STDOUT:
//   // first line
//   // STDERR:
//   // ...
//   // EXIT: 3
//
// Without a block the output must be empty, and without EXIT the exit code must be 0. `// REQUIRES: gpu` skips the file
// if there is no GPU. `// REQUIRES: crash reports` skips it if a sanitizer reports crashes. HLO_UPDATE_GOLDEN=1 (`make
// golden`) rewrites the blocks.
//
// Measured numbers, such as times and memory, appear as `#`.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/crash.h"
#include "tests/read_file.h"

namespace {

namespace fs = std::filesystem;
using hlo::ReadFile;

struct Expectation {
  std::string run;
  int runs = 0;  // The number of RUN lines. A file must have exactly one.
  bool requires_gpu = false, requires_crash_reports = false;
  std::string input;  // The text before the first block.
  std::string out, err;
  int exit = 0;
};

Expectation ReadExpectation(const std::string& text) {
  Expectation golden;
  std::string* block = nullptr;
  bool in_input = true;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("// RUN: ") && golden.runs++ == 0) golden.run = line.substr(8);
    if (line == "// REQUIRES: gpu") golden.requires_gpu = true;
    if (line == "// REQUIRES: crash reports") golden.requires_crash_reports = true;
    if (line == "// STDOUT:" || line == "// STDERR:" || line.starts_with("// EXIT: ")) in_input = false;
    if (line == "// STDOUT:") {
      block = &golden.out;
    } else if (line == "// STDERR:") {
      block = &golden.err;
    } else if (line.starts_with("// EXIT: ")) {
      golden.exit = std::atoi(line.c_str() + 9);
      block = nullptr;
    } else if (block != nullptr && line.starts_with("//")) {
      *block += (line.starts_with("// ") ? line.substr(3) : line.substr(2)) + "\n";
    }
    if (in_input) golden.input += line + "\n";
  }
  return golden;
}

// Replaces durations, throughputs and sizes of memory by `#`, and removes the padding of columns that contained them.
std::string Normalize(const std::string& text) {
  static const std::regex kMeasured(R"( *\b[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)? (ms|s|us|GB/s|GFLOP/s)\b)");
  std::string out = std::regex_replace(text, kMeasured, " # $3");
  std::istringstream lines(out);
  out.clear();
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

struct Outcome {
  std::string out, err;
  int exit = 0;
};

Outcome RunShell(const std::string& command) {
  const fs::path folder = fs::temp_directory_path() / ("hlo-golden-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string out = (folder / "out").string(), err = (folder / "err").string();
  const int status = std::system(
      ("export TMP_DIR=" + folder.string() + "; { " + command + " ; } >" + out + " 2>" + err + " </dev/null").c_str());
  Outcome outcome{Normalize(ReadFile(out)), Normalize(ReadFile(err)),
                  WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
  fs::remove_all(folder);
  return outcome;
}

std::string AsComment(const char* title, const std::string& text) {
  if (text.empty()) return "";
  std::string out = std::string("// ") + title + ":\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += line.empty() ? "//\n" : "// " + line + "\n";
  return out;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, PrintsTheExpectedOutput) {
  const std::string text = ReadFile(GetParam());
  const Expectation golden = ReadExpectation(text);
  ASSERT_EQ(golden.runs, 1) << "one RUN line a file; ';' joins commands";
  if (golden.requires_gpu) GTEST_SKIP() << "needs a GPU";
  if (golden.requires_crash_reports && !hlo::CrashesAreReported()) GTEST_SKIP() << "a sanitizer tells of crashes";
  std::string command = golden.run;
  for (size_t at; (at = command.find("%s")) != std::string::npos;) command.replace(at, 2, GetParam());
  const Outcome outcome = RunShell(command);
  if (std::getenv("HLO_UPDATE_GOLDEN") != nullptr) {
    std::string updated = golden.input;
    while (updated.ends_with("\n\n")) updated.pop_back();
    std::string blocks = AsComment("STDOUT", outcome.out) + AsComment("STDERR", outcome.err);
    if (outcome.exit != 0) blocks += "// EXIT: " + std::to_string(outcome.exit) + "\n";
    if (!blocks.empty()) updated += "\n" + blocks;
    if (updated != text) std::ofstream(GetParam(), std::ios::binary) << updated;
    return;
  }
  EXPECT_EQ(outcome.exit, golden.exit) << command << "\n" << outcome.err;
  EXPECT_EQ(outcome.out, golden.out) << command;
  EXPECT_EQ(outcome.err, golden.err) << command;
}

std::vector<std::string> GoldenFiles() {
  static const std::set<std::string> kExtensions = {".hlo", ".mlir", ".session"};
  std::vector<std::string> files;
  if (!fs::exists("testdata")) return files;
  for (const auto& entry : fs::recursive_directory_iterator("testdata")) {
    if (!kExtensions.contains(entry.path().extension().string())) continue;
    std::ifstream file(entry.path());
    std::string line;
    for (int i = 0; i < 3 && std::getline(file, line); ++i) {
      if (!line.starts_with("// RUN: ")) continue;
      files.push_back(entry.path().string());
      break;
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(std::string("testdata/").size());
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Golden, Golden, testing::ValuesIn(GoldenFiles()), TestName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Golden);

// `hlo` in a RUN line is the program that was built.
const bool kPathIsSet = [] {
  const char* folder = std::getenv("HLO");
  const std::string bin = fs::absolute(folder != nullptr ? folder : "build/bin").string();
  setenv("PATH", (bin + ":" + std::getenv("PATH")).c_str(), 1);
  for (const char* name :
       {"XLA_FLAGS", "HLO_FLAGS", "TF_CPP_VMODULE", "TF_CPP_MAX_VLOG_LEVEL", "TF_CPP_MIN_VLOG_LEVEL", "NO_COLOR"})
    unsetenv(name);
  return true;
}();

}  // namespace
