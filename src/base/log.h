// Logging with the controls of TensorFlow: one level for all files (--v, TF_CPP_MAX_VLOG_LEVEL) and levels by patterns
// of file names (--vmodule, TF_CPP_VMODULE). Lines go to stderr in TensorFlow's format; `hlo --help` explains the
// levels. The tool sets the options once, and code below tools/ never reads the environment. Our files also match the
// patterns of XLA's files with the same task, so that existing patterns keep working.
#ifndef HLO_BASE_LOG_H_
#define HLO_BASE_LOG_H_

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace hlo {

struct LogOptions {
  int level = 0;
  std::vector<std::pair<std::string, int>> modules;  // Pattern of base names without extension, with * and ?; level.
  std::string path;                                  // If not empty, the lines are appended to this file.
  bool thread_id = false;                            // Adds a column with the id of the thread.
};
void SetLogOptions(LogOptions options);

// Whether `name` matches a pattern with * and ?.
bool GlobMatches(std::string_view pattern, std::string_view name);

namespace internal {
int VlogLevelOf(const char* file);
void WriteLog(const char* file, int line, const std::string& message);
}  // namespace internal

}  // namespace hlo

#define VLOG_IS_ON(n)                                                \
  ([]() -> int {                                                     \
    static const int level = ::hlo::internal::VlogLevelOf(__FILE__); \
    return level;                                                    \
  }() >= (n))

// VLOG(1, "fusion ", name, " takes ", bytes, " bytes") writes one line if the level of this file is at least 1.
#define VLOG(n, ...)                                                                           \
  do {                                                                                         \
    if (VLOG_IS_ON(n)) ::hlo::internal::WriteLog(__FILE__, __LINE__, ::hlo::Str(__VA_ARGS__)); \
  } while (false)

#endif  // HLO_BASE_LOG_H_
