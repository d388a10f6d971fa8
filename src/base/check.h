// CHECK(condition, values...) ends the process and prints the values. Only bugs of this program, never user input, may
// make the condition false.
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
