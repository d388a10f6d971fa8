// Runs the program on doubles of CUDA's libraries, in a process of its own, and reads the doubles' trace.
#ifndef HLO_TESTS_GPU_DOUBLES_RUN_H_
#define HLO_TESTS_GPU_DOUBLES_RUN_H_

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "tests/read_file.h"

namespace hlo {

namespace fs = std::filesystem;

// True for `make cuda-doubles`, which tests everything. Otherwise the tests choose a sample.
inline bool All() {
  const char* const asked = std::getenv("HLO_DOUBLES");
  return asked != nullptr && std::string_view(asked) == "all";
}

inline std::string Bin() {
  const char* const folder = std::getenv("HLO");
  return fs::absolute(folder != nullptr ? folder : "build/bin").string();
}

struct Outcome {
  int exit = 0;
  std::string out, err;
  std::vector<std::string> trace;  // The trace that the doubles write to HLO_DOUBLE_TRACE.

  int64_t Count(std::string_view line) const { return std::ranges::count(trace, line); }
  bool Says(std::string_view words) const {
    return out.find(words) != std::string::npos || err.find(words) != std::string::npos;
  }
};

// `fail` is the value of HLO_DOUBLE_FAIL. `variables` are further environment variables.
inline Outcome RunHlo(const std::string& command, const std::string& fail = "", int seconds = 120,
                      const std::string& variables = "") {
  static std::atomic<int> runs = 0;
  const fs::path folder = fs::temp_directory_path() / Str("hlo-doubles-", getpid(), "-", runs++);
  fs::create_directories(folder);
  const auto file = [&](const char* name) { return (folder / name).string(); };
  const int status =
      std::system(Str(variables, " HLO_DOUBLE_TRACE=", file("trace"), fail.empty() ? "" : " HLO_DOUBLE_FAIL='", fail,
                      fail.empty() ? "" : "'", " timeout -k 1 ", seconds, " ", Bin(), "/", command, " >", file("out"),
                      " 2>", file("err"), " </dev/null")
                      .c_str());
  Outcome outcome{.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                  .out = ReadFile(file("out")),
                  .err = ReadFile(file("err"))};
  std::ifstream trace(file("trace"));
  for (std::string line; std::getline(trace, line);) outcome.trace.push_back(line);
  fs::remove_all(folder);
  return outcome;
}

inline std::string OnDoubles(const std::string& arguments) {
  return Str("hlo-run --platform=cuda --library_path=", Bin(), "/../doubles ", arguments);
}

}  // namespace hlo

#endif  // HLO_TESTS_GPU_DOUBLES_RUN_H_
