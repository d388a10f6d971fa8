// The drawings of a profile's page, as HTML.
#ifndef HLO_DRIVER_PROFILE_PROFILE_CHARTS_H_
#define HLO_DRIVER_PROFILE_PROFILE_CHARTS_H_

#include <string>

#include "driver/profile/summary.h"

namespace hlo {

// Each is "" without its data.
std::string TimeLine(const ProfileSummary& summary);
std::string MemoryCurve(const ProfileSummary& summary);
std::string Roofline(const ProfileSummary& summary);

// The op_name and the source of a step.
std::string OriginOf(const std::string& op_name, const std::string& source);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_PROFILE_CHARTS_H_
