#ifndef HLO_DRIVER_PROFILE_OPTIONS_H_
#define HLO_DRIVER_PROFILE_OPTIONS_H_

#include <cstdint>
#include <string>

namespace hlo {

enum class ProfileDetail : uint8_t { kNone, kSummary, kFull };

struct ProfileOptions {
  ProfileDetail detail = ProfileDetail::kNone;
  std::string trace, json;
  int64_t most_events = 1'000'000;  // For the trace. 0 is all.
  int64_t examples_per_run = 0;     // 0 if unknown.

  bool any() const { return detail != ProfileDetail::kNone || !trace.empty() || !json.empty(); }
  bool operator==(const ProfileOptions&) const = default;
};

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_OPTIONS_H_
