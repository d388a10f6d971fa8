// What to do about a profile: rules with thresholds, which `hlo help advice` lists. Each quotes the figures that it
// goes by, and the flag that helps, where there is one.
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
  std::string (*say)(const ProfileSummary& summary);  // "" where it does not hold.
};

std::span<const AdviceRule> AllAdvice();
// Of the rules that hold, in their order.
std::vector<std::string> AdviceOn(const ProfileSummary& summary);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_ADVICE_H_
