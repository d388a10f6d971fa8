// A profile as one page for a browser, which needs nothing else and no scripts: the time line of a run, memory over it,
// the longest steps, the roofline, and the tables.
#ifndef HLO_DRIVER_PROFILE_PROFILE_PAGE_H_
#define HLO_DRIVER_PROFILE_PROFILE_PAGE_H_

#include <string>

#include "driver/profile/summary.h"

namespace hlo {

std::string ProfileHtml(const ProfileSummary& summary);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_PROFILE_PAGE_H_
