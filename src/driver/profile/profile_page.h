// A profile as a self-contained page without scripts.
#ifndef HLO_DRIVER_PROFILE_PROFILE_PAGE_H_
#define HLO_DRIVER_PROFILE_PROFILE_PAGE_H_

#include <string>

#include "driver/profile/summary.h"

namespace hlo {

std::string ProfileHtml(const ProfileSummary& summary);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_PROFILE_PAGE_H_
