#ifndef HLO_BASE_COUNTED_H_
#define HLO_BASE_COUNTED_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace hlo {

// "1 kernel", "2 kernels".
inline std::string Counted(int64_t count, std::string_view what) {
  return Str(count, " ", what, count == 1 ? "" : "s");
}

}  // namespace hlo

#endif  // HLO_BASE_COUNTED_H_
