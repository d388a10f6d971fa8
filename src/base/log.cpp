#include "base/log.h"

#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <mutex>
#include <set>

#include "base/log_patterns.h"

namespace hlo {
namespace {

LogOptions& Options() {
  static LogOptions options;
  return options;
}

// The --vmodule patterns that have matched a file.
struct Met {
  std::mutex mutex;
  std::set<std::string> patterns;
};
Met& MetPatterns() {
  static Met met;
  return met;
}

std::string_view Stem(std::string_view file) {
  const size_t slash = file.rfind('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return file.substr(0, file.rfind('.'));
}

// Patterns for XLA's file or pass also match our file `stem`, which does the same task or a part of it.
struct OtherName {
  std::string_view stem, xla;
};
constexpr OtherName kOtherNames[] = {
    {"compile_times", "gpu_compiler"},
    {"compile_times", "nvptx_compiler"},
    {"library_rewriter", "gemm_rewriter"},
    {"library_rewriter", "conv_rewriter"},
    {"optimize", "hlo_pass_pipeline"},
    {"while_simplifier", "while_loop_simplifier"},
    {"horizontal_fusion", "horizontal_loop_fusion"},
    {"row_fusion", "attention_fusion"},
    {"constant_folding", "hlo_constant_folding"},
    {"cse", "hlo_cse"},
    {"dce", "hlo_dce"},
};

bool NamesFile(std::string_view pattern, std::string_view stem) {
  if (GlobMatches(pattern, stem)) return true;
  for (const OtherName& other : kOtherNames) {
    if (other.stem == stem && GlobMatches(pattern, other.xla)) return true;
  }
  return false;
}

std::string Now() {
  timeval now{};
  gettimeofday(&now, nullptr);
  tm local{};
  localtime_r(&now.tv_sec, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return Format("%s.%06ld", text, static_cast<long>(now.tv_usec));
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
    if (!NamesFile(pattern, Stem(file))) continue;
    const std::lock_guard lock(MetPatterns().mutex);
    MetPatterns().patterns.insert(pattern);
    return level;
  }
  return Options().level;
}

void WriteLog(const char* file, int line, const std::string& message) {
  const std::string thread = Options().thread_id ? Str(" ", static_cast<int64_t>(gettid())) : "";
  const std::string text = Str(Now(), ": I", thread, " ", file, ":", line, "] ", message, "\n");
  std::FILE* out = Options().path.empty() ? stderr : std::fopen(Options().path.c_str(), "a");
  if (out == nullptr) out = stderr;
  std::fwrite(text.data(), 1, text.size(), out);
  if (out != stderr) std::fclose(out);
}

}  // namespace internal

}  // namespace hlo
