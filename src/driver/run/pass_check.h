// The oracle `passes`: exact passes by the bits of their values, other passes in f64, and the name of a wrong pass.
#ifndef HLO_DRIVER_RUN_PASS_CHECK_H_
#define HLO_DRIVER_RUN_PASS_CHECK_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"
#include "interp/compare/widened.h"

namespace hlo {

// Compares `input` with what passes made of it, on `arguments`; where bounds leave it undetermined there, on made-up
// ones, which `arguments` get then. `summary` says what was compared. `left`: WidenedOptions::left. `is_changed`: false
// where no pass changed the module, which then needs no made-up arguments.
Result<WidenedResult> CompareAroundPasses(const Module& input, const Module& optimized, const RunOptions& options,
                                          std::vector<Literal>* arguments, std::string* summary,
                                          LeftFunction left = nullptr, Progress* progress = nullptr,
                                          bool is_changed = true);

// The change that a wrong pass made.
struct PassFinding {
  std::string instance;     // "algsimp#2"; empty if nobody asked for it.
  std::string description;  // The instance in words, for the report.
  std::string input;        // The instruction whose value changed.
  std::string loop;         // "iteration 3 of 'while.5'"; empty outside of loops.
  std::string source;       // The end of a line that names the source place of `input`; or empty.
  std::optional<Comparison> comparison;
};

struct JudgedPasses {
  Verdict verdict = Verdict::kMatch;
  std::string text;                    // The line of the report: the verdict, and the compared parts.
  bool beyond_work = false;            // Judging took more than the work limit.
  bool opened = false;                 // Passes left values undetermined that the input determines.
  std::optional<PassFinding> finding;  // Set if the verdict is a mismatch.
};

// Judges the passes of an experiment on its arguments; nothing is compiled. Segments of exact passes are judged by
// bits, each other instance by itself (judge/pass_segments.h). A module that is too large to be interpreted within the
// work limit, or that the interpreter cannot run, is compared in f64 from its beginning to its end, cut at the values
// that passes kept. Large values are taken from runs of the code there if `runs_code`. `names_instance`: a finding has
// the wrong instance, for which the pipeline runs again.
Result<JudgedPasses> JudgePassesOf(Experiment& experiment, bool runs_code, bool names_instance);

// The oracle `passes`. Fills in the report's verdict on the passes, and the culprit, ahead of any kernel: a kernel that
// computes a wrong module rightly is not to blame.
Status JudgePasses(Experiment& experiment, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PASS_CHECK_H_
