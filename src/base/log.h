// VLOG-style logging with TF's controls: a level for all (--v, TF_CPP_MAX_VLOG_LEVEL) and levels by file name pattern
// (--vmodule, TF_CPP_VMODULE). The tool sets it up once; nothing below tools/ reads the environment. Lines go to
// stderr, as TF writes them. What the levels mean, --help says. XLA's names of the files that do what ours do are
// theirs too, so that the patterns people have keep working.
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
  std::vector<std::pair<std::string, int>> modules;  // Base name without extension, may hold * and ?; -> level.
  std::string path;                                  // Appended to instead of stderr when not empty.
  bool thread_id = false;                            // A column of it.
};
void SetLogOptions(LogOptions options);

// `name` against a pattern with * and ?.
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

// VLOG(1, "fusion ", name, " takes ", bytes, " bytes"): one line, when the level of this file is at least 1.
#define VLOG(n, ...)                                                                           \
  do {                                                                                         \
    if (VLOG_IS_ON(n)) ::hlo::internal::WriteLog(__FILE__, __LINE__, ::hlo::Str(__VA_ARGS__)); \
  } while (false)

#endif  // HLO_BASE_LOG_H_
