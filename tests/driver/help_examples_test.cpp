// Runs the examples of --help in a folder with the files they name. `hlo` is found on the path, as in golden_test.cpp.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/read_file.h"

namespace {

namespace fs = std::filesystem;
using hlo::ReadFile;

struct Outcome {
  std::string out, err;
  int exit = 0;
};

void WriteFile(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// A folder with model.hlo and the other files that examples name. Scripts that only read their input replace programs
// that do not belong to hlokit.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("hlo-examples-" + std::to_string(getpid()))) {
    for (const char* folder : {"dumps", "dumps/old", "dumps/new", "testdata/lsp", "bin"})
      fs::create_directories(path_ / folder);
    for (const char* copy :
         {"model.hlo", "step.hlo", "old.hlo", "new.hlo", "testdata/model.hlo",
          "dumps/module_0001.f.before_optimizations.txt", "dumps/old/module_0001.f.before_optimizations.txt",
          "dumps/new/module_0001.f.before_optimizations.txt"})
      fs::copy_file("testdata/help/model.hlo", path_ / copy);
    fs::copy_file("testdata/lsp/hover.session", path_ / "testdata/lsp/hover.session");
    for (const char* copy : {"old.json", "new.json"}) fs::copy_file("testdata/diff/old.profile.json", path_ / copy);
    WriteFile(path_ / "files", "model.hlo\n");
    for (const char* program : {"bin/dot", "bin/make"}) {
      WriteFile(path_ / program, "#!/bin/sh\ncat >/dev/null\n");
      fs::permissions(path_ / program, fs::perms::owner_all);
    }
    // Formats the file so that `hlo fmt --check` accepts it, and makes arguments for it.
    Run("hlo fmt -i model.hlo; hlo-run -q --platform=interpreter --save_args=args.npz model.hlo; "
        "cp args.npz expected.npz; cp args.npz actual.npz");
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;

  Outcome Run(const std::string& command) const {
    const std::string out = (path_ / "out").string(), err = (path_ / "err").string();
    const int status = std::system(("cd " + path_.string() + "; PATH=" + (path_ / "bin").string() + ":$PATH; { " +
                                    command + " ; } >" + out + " 2>" + err + " </dev/null")
                                       .c_str());
    return {ReadFile(out), ReadFile(err), WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
  }

 private:
  fs::path path_;
};

// The commands that an overview lists as lines such as "  run       run a module, ...".
std::vector<std::string> Commands(const std::string& overview) {
  std::vector<std::string> commands;
  static const std::regex kRow("  ([a-z]+)  .*");
  std::istringstream lines(overview);
  for (std::string line; std::getline(lines, line) && line != "Examples:";) {
    std::smatch match;
    if (std::regex_match(line, match, kRow)) commands.push_back(match[1]);
  }
  return commands;
}

// The examples of a help text, without the remarks after them.
std::vector<std::string> Examples(const std::string& help) {
  std::vector<std::string> examples;
  bool here = false;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (here && line.empty()) break;
    if (here) examples.push_back(line.substr(2, line.find("   ", 2) - 2));
    here = here || line == "Examples:";
  }
  return examples;
}

int ExpectedExit(const std::string& example) {
  if (example == "hlo lsp") return 1;  // The session ends without a shutdown request.
  return 0;
}

TEST(HelpExamples, RunAsWritten) {
  const Folder folder;
  const std::string overview = folder.Run("hlo help").out;
  std::vector<std::string> helps = {overview};
  for (const std::string& command : Commands(overview)) {
    if (command == "help" || command == "version") continue;
    const std::string help = folder.Run("hlo " + command + " --help").out;
    const std::vector<std::string> inner = Examples(help).empty() ? Commands(help) : std::vector<std::string>();
    if (inner.empty()) helps.push_back(help);
    for (const std::string& question : inner)
      helps.push_back(folder.Run("hlo " + command + " " + question + " --help").out);
  }
  EXPECT_GT(helps.size(), 14u);
  // A thousand modules would take minutes, so counts become 1. One example with --bench is enough.
  static const std::regex kCount("--count=[0-9]+");
  bool timed = false;
  for (const std::string& help : helps) {
    const std::vector<std::string> examples = Examples(help);
    EXPECT_FALSE(examples.empty()) << help;
    for (const std::string& example : examples) {
      if (example.find("--bench") != std::string::npos && std::exchange(timed, true)) continue;
      const Outcome outcome = folder.Run(std::regex_replace(example, kCount, "--count=1"));
      if (example.find("--require=cuda") != std::string::npos && outcome.exit == 1) {
        EXPECT_NE(outcome.err.find("'cuda' is not usable here"), std::string::npos) << outcome.err;
        continue;
      }
      EXPECT_EQ(outcome.exit, ExpectedExit(example)) << example << "\n" << outcome.out << outcome.err;
      EXPECT_EQ(outcome.err.find("error"), std::string::npos) << example << "\n" << outcome.err;
      // The debugger continues after a wrong name, so the exit code does not show the error.
      EXPECT_EQ(outcome.out.find("no instruction is called"), std::string::npos) << example << "\n" << outcome.out;
      EXPECT_EQ(outcome.out.find("has no value yet"), std::string::npos) << example << "\n" << outcome.out;
    }
  }
}

}  // namespace
