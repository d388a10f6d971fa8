// The report of a run as a page for a browser: the verdict, the culprit between its neighbours in the program, and the
// worst elements of its results.
#ifndef HLO_DRIVER_RUN_REPORT_PAGE_H_
#define HLO_DRIVER_RUN_REPORT_PAGE_H_

#include <string>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

// `report` is the result of Run for this experiment.
Result<std::string> ReportHtml(Experiment& experiment, const RunReport& report);

// As RunModule; the page of the report goes to the file `page`, unless that is empty.
Result<RunReport> RunModuleWithPage(const std::string& path, const RunOptions& options, const std::string& page,
                                    Progress& progress);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_REPORT_PAGE_H_
