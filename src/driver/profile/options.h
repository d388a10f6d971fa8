#ifndef HLO_DRIVER_PROFILE_OPTIONS_H_
#define HLO_DRIVER_PROFILE_OPTIONS_H_

#include <cstdint>
#include <string>

namespace hlo {

struct ProfileOptions {
  std::string detail;  // "summary" or "full". Empty for no summary.
  std::string trace, json;
  int64_t most_events = 1'000'000;  // For the trace. 0 is all.
  int64_t examples_per_run = 0;     // 0 if unknown.

  bool any() const { return !detail.empty() || !trace.empty() || !json.empty(); }
  bool operator==(const ProfileOptions&) const = default;
};

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_OPTIONS_H_
