// What --profile and its kin ask for.
#ifndef HLO_DRIVER_PROFILE_OPTIONS_H_
#define HLO_DRIVER_PROFILE_OPTIONS_H_

#include <cstdint>
#include <string>

namespace hlo {

struct ProfileOptions {
  std::string detail;  // "summary", "full"; empty: no summary.
  std::string trace, json;
  int64_t most_events = 1'000'000;  // Of the trace; 0: all.
  int64_t examples_per_run = 0;     // 0: not said.

  bool any() const { return !detail.empty() || !trace.empty() || !json.empty(); }
  bool operator==(const ProfileOptions&) const = default;
};

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_OPTIONS_H_
