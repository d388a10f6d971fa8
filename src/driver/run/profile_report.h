// The profile in a run's report, and its files.
#ifndef HLO_DRIVER_RUN_PROFILE_REPORT_H_
#define HLO_DRIVER_RUN_PROFILE_REPORT_H_

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// Also writes --profile_json and --trace. Must run last, when the times of all stages are known. Error: A011.
Status ReportProfile(Experiment& experiment, const Profile& profile, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PROFILE_REPORT_H_
