// What a run's report says of its profile, and the files that hold it.
#ifndef HLO_DRIVER_RUN_PROFILE_REPORT_H_
#define HLO_DRIVER_RUN_PROFILE_REPORT_H_

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// At the end of a run, when the times of all its stages are known: the tables, --profile_json and --trace. Errors:
// A011.
Status ReportProfile(Experiment& experiment, const Profile& profile, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PROFILE_REPORT_H_
