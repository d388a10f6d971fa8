// --bundle=DIR: the bundle of a run (driver/bundle.h), whatever came of it.
#ifndef HLO_DRIVER_RUN_BUNDLE_WRITER_H_
#define HLO_DRIVER_RUN_BUNDLE_WRITER_H_

#include <string>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// Of the experiment as options().bundle says; what it did not come to is left out. The folder. Errors: [A011], [A012].
Result<std::string> WriteBundle(Experiment& experiment, const Result<RunReport>& report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_BUNDLE_WRITER_H_
