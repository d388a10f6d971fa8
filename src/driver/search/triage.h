// hlo-run --triage: what is wrong with a module, asked step by step, each with what the ones before it found: does it
// fail each time, and who is accused; where in that one; what else has to be there for it; the smallest module that
// still fails; and a bundle of that. Every run is a process of its own. What is found is on disk before the next step
// begins.
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
  RunOptions run;         // Of its `bundle` the flags and files, which the bundle gets.
  std::string directory;  // Where the report, triage.json, the smaller module and the bundle go.
  double seconds = 600;   // Of all; what is left to the steps that search.
  int jobs = 2;           // Processes at once, of reducing.
};

struct TriageStep {
  std::string name, found;
  double seconds = 0;
};

struct TriageReport {
  std::string path, module;  // The latter is the smaller one; "" where there is none.
  Symptom symptom;
  bool steady = true;  // It failed each time, in the same way.
  std::vector<TriageStep> steps;
  std::string change;  // What the guilty rewrite changed, as a diff.
  std::string bundle;  // Its folder; "" where none was made.
};

// `tell` is called with what goes on, `found` with what was found so far. Errors: [N003] nothing is wrong; those of a
// file that cannot be read, of a folder that cannot be written.
Result<TriageReport> Triage(const std::string& path, const TriageOptions& options,
                            const std::function<void(const std::string&)>& tell,
                            const std::function<void(const TriageReport&)>& found);

// "  3 located        pass instance 19, ..."
std::string ToLine(const TriageStep& step, size_t number);
std::string TriageJson(const TriageReport& report);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_TRIAGE_H_
