#include "base/log.h"

#include <cstdio>
#include <mutex>
#include <set>

#include "base/log_patterns.h"

namespace hlo {
namespace {

LogOptions& Options() {
  static LogOptions options;
  return options;
}

// Patterns that named a file.
struct Met {
  std::mutex mutex;
  std::set<std::string> patterns;
};
Met& MetPatterns() {
  static Met met;
  return met;
}

// "src/passes/call_inliner.cpp" -> "call_inliner".
std::string_view Stem(std::string_view file) {
  const size_t slash = file.rfind('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return file.substr(0, file.rfind('.'));
}

}  // namespace

bool GlobMatches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, mark = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string> UnmetLogPatterns() {
  const std::lock_guard lock(MetPatterns().mutex);
  std::vector<std::string> unmet;
  for (const auto& [pattern, level] : Options().modules) {
    if (!MetPatterns().patterns.contains(pattern)) unmet.push_back(pattern);
  }
  return unmet;
}

void SetLogOptions(LogOptions options) { Options() = std::move(options); }

namespace internal {

int VlogLevelOf(const char* file) {
  for (const auto& [pattern, level] : Options().modules) {
    if (!GlobMatches(pattern, Stem(file))) continue;
    const std::lock_guard lock(MetPatterns().mutex);
    MetPatterns().patterns.insert(pattern);
    return level;
  }
  return Options().level;
}

void WriteLog(const char* file, int line, const std::string& message) {
  const std::string text = Str("I ", Stem(file), ":", line, "] ", message, "\n");
  std::FILE* out = Options().path.empty() ? stderr : std::fopen(Options().path.c_str(), "a");
  if (out == nullptr) out = stderr;
  std::fwrite(text.data(), 1, text.size(), out);
  if (out != stderr) std::fclose(out);
}

}  // namespace internal

}  // namespace hlo
