// CHECK(condition, values...) ends the process at a bug of this program and prints the values. It must never depend on
// user input.
#ifndef HLO_BASE_CHECK_H_
#define HLO_BASE_CHECK_H_

#include <string>

#include "base/text.h"

namespace hlo::internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const std::string& message);
}

#define CHECK(condition, ...)                                                                                  \
  do {                                                                                                         \
    if (!(condition)) [[unlikely]]                                                                             \
      ::hlo::internal::CheckFailed(__FILE__, __LINE__, #condition, ::hlo::Str(__VA_ARGS__ __VA_OPT__(, ) "")); \
  } while (false)

#endif  // HLO_BASE_CHECK_H_
