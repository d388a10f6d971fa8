#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace hlo::internal {

void CheckFailed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: internal error: [I000] %s%s%s\nplease report this with the module that caused it\n",
               file, line, condition, message.empty() ? "" : ": ", message.c_str());
  std::fflush(nullptr);
  std::_Exit(70);
}

}  // namespace hlo::internal
