// Advice for a profile: rules with thresholds (`hlo help advice`). Each quotes its numbers, and a flag that may help.
#ifndef HLO_DRIVER_PROFILE_ADVICE_H_
#define HLO_DRIVER_PROFILE_ADVICE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/profile/summary.h"

namespace hlo {

struct AdviceRule {
  std::string_view name, when;
  std::string (*say)(const ProfileSummary& summary);
};

std::span<const AdviceRule> AllAdvice();
std::vector<std::string> AdviceOn(const ProfileSummary& summary);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_ADVICE_H_
