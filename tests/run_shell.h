#ifndef HLO_TESTS_RUN_SHELL_H_
#define HLO_TESTS_RUN_SHELL_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/read_file.h"

namespace hlo {

struct Outcome {
  std::string text;  // stdout and stderr.
  int exit = 0;      // 128 + N if signal N ended the command.
};

// Runs the command in a shell, without input.
inline Outcome RunShell(const std::string& command) {
  const auto out = std::filesystem::temp_directory_path() / ("hlo-shell-" + std::to_string(getpid()));
  const int status = std::system(("{ " + command + "\n} >" + out.string() + " 2>&1 </dev/null").c_str());
  const Outcome outcome{ReadFile(out), WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
  std::filesystem::remove(out);
  return outcome;
}

}  // namespace hlo

#endif  // HLO_TESTS_RUN_SHELL_H_
