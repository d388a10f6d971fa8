#include "base/check.h"

#include <cstdio>

#include "base/crash.h"

namespace hlo::internal {

void CheckFailed(const char* file, int line, const char* condition, const std::string& message) {
  std::fflush(nullptr);
  std::fprintf(stderr, "%s:%d: internal error: [I000] %s%s%s\n", file, line, condition, message.empty() ? "" : ": ",
               message.c_str());
  EndAfterCheck(file, line);
}

}  // namespace hlo::internal
