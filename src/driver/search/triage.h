// hlo-run --triage examines a failing module: whether it fails every time, the culprit and the place in it, conditions
// of the failure, and the smallest failing module. It writes a bundle. Every run is a process, and findings are written
// to disk before the next step.
#ifndef HLO_DRIVER_SEARCH_TRIAGE_H_
#define HLO_DRIVER_SEARCH_TRIAGE_H_

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/run/run.h"
#include "driver/search/symptom.h"

namespace hlo {

struct TriageOptions {
  RunOptions run;         // The new bundle includes the flags and files in `bundle`.
  std::string directory;  // For the report, triage.json, the smaller module and the bundle.
  double seconds = 600;   // Limit for all steps. Searches share the remaining time.
  int jobs = 2;
};

struct TriageStep {
  std::string name, found;
  double seconds = 0;
};

struct TriageReport {
  std::string path, module;  // `module` is the smaller module, or "".
  Symptom symptom;
  bool steady = true;
  std::vector<TriageStep> steps;
  std::string change;  // A diff of the wrong rewrite.
  std::string bundle;
};

// `announce` receives progress, and `found` the findings. Errors: N003 if nothing is wrong, or a file cannot be read or
// written.
Result<TriageReport> Triage(const std::string& path, const TriageOptions& options,
                            const std::function<void(const std::string&)>& announce,
                            const std::function<void(const TriageReport&)>& found);

// "  3 located        pass instance 19, ..."
std::string ToLine(const TriageStep& step, size_t number);
std::string TriageJson(const TriageReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_TRIAGE_H_
