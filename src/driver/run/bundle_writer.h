// --bundle=DIR: writes the bundle of a run (driver/bundle.h), even if the run failed.
#ifndef HLO_DRIVER_RUN_BUNDLE_WRITER_H_
#define HLO_DRIVER_RUN_BUNDLE_WRITER_H_

#include <string>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// Returns the folder, which after a failed run has neither arguments nor values. Errors: [A011], [A012].
Result<std::string> WriteBundle(Experiment& experiment, const Result<RunReport>& report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_BUNDLE_WRITER_H_
