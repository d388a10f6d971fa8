// The report as an HTML page: verdict, culprit with neighbours, worst elements.
#ifndef HLO_DRIVER_RUN_REPORT_PAGE_H_
#define HLO_DRIVER_RUN_REPORT_PAGE_H_

#include <string>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// `report` must be the result of Run for this experiment.
Result<std::string> ReportHtml(Experiment& experiment, const RunReport& report);

// Like RunModule. Writes the file `page` unless it is empty.
Result<RunReport> RunModuleWithPage(const std::string& path, const RunOptions& options, const std::string& page,
                                    Progress& progress);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_REPORT_PAGE_H_
