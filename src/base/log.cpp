#include "base/log.h"

#include <cstdio>

namespace hlo {
namespace {

LogOptions& Options() {
  static LogOptions options;
  return options;
}

// "src/passes/algebraic_simplifier.cpp" -> "algebraic_simplifier".
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

void SetLogOptions(LogOptions options) { Options() = std::move(options); }

namespace internal {

int VlogLevelOf(const char* file) {
  for (const auto& [pattern, level] : Options().modules) {
    if (GlobMatches(pattern, Stem(file))) return level;
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
