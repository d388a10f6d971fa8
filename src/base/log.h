// Logging with TensorFlow's controls and format: one level for all files (--v), or levels by patterns of file names
// (--vmodule). `hlo --help` explains the levels.
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
  std::vector<std::pair<std::string, int>> modules;  // Patterns (*, ?) of file names without extension.
  std::string path;
  bool thread_id = false;
};
void SetLogOptions(LogOptions options);

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

#define VLOG(n, ...)                                                                           \
  do {                                                                                         \
    if (VLOG_IS_ON(n)) ::hlo::internal::WriteLog(__FILE__, __LINE__, ::hlo::Str(__VA_ARGS__)); \
  } while (false)

#endif  // HLO_BASE_LOG_H_
