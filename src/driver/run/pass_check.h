// The oracle `passes`: exact passes by the bits of their values, other passes by bits, residues or in f64, and the name
// of a wrong pass.
#ifndef HLO_DRIVER_RUN_PASS_CHECK_H_
#define HLO_DRIVER_RUN_PASS_CHECK_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"
#include "interp/compare/widened.h"
#include "interp/interpreter.h"
#include "judge/pass_segments.h"

namespace hlo {

// Whether interpreting both ends of a pipeline, and hashing their values, takes more than the work limit (0: none).
bool IsTooLargeToInterpret(const Module& module, int64_t work_limit);

// Whether the instance is declared to keep the precision of all values.
bool KeepsPrecision(const PassRun& run);

struct AroundPasses {
  Progress* progress = nullptr;  // May be null.
  bool keeps_precision = false;  // WidenedOptions::keeps_precision.
};
// Compares `input` in f64 with the module after passes, on `arguments`. Each value that bounds leave open there is
// compared on made-up arguments. `arguments` become those that decided. `summary`
// names the verdict and counts the compared elements.
Result<WidenedResult> CompareAroundPasses(const Module& input, const Module& optimized, const RunOptions& options,
                                          const AroundPasses& around, std::vector<Literal>* arguments,
                                          std::string* summary);

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
  std::string reason;                  // In one line, unless the verdict is kMatch; empty without segments.
  std::string not_exercised;           // FurtherArguments::not_exercised.
  bool beyond_work = false;            // Judging took more than the work limit.
  bool of_exact_pass = false;          // The wrong part is a segment of exact passes.
  bool opened = false;                 // Passes left values undetermined that the input determines.
  std::optional<PassFinding> finding;  // Set if the verdict is a mismatch.
};

// A pipeline that is judged by segments.
struct JudgedPipeline {
  const Module& input;
  const std::vector<Literal>& arguments;
  const RunOptions& options;  // Options of judging. The pipeline is the one that `run` runs.
  InterpretOptions interpret;
  PipelineRunner run;
  std::optional<SampleOptions> sample;  // SegmentOptions::sample.
  bool names_instance = true;           // A finding has the wrong instance, for which the pipeline runs again.
  Progress& progress;
};
// Judges segments of exact passes by bits and each other instance by itself (judge/pass_segments.h). The verdict is
// kUnsupported if all values are to be compared and the interpreter cannot run some module.
Result<JudgedPasses> JudgeSegments(const JudgedPipeline& pipeline);

// Judges the passes of an experiment by segments, on its arguments and on one more set if these leave sides of
// decisions unreached; nothing is compiled. If the module is too large to be interpreted within the work limit, or if
// the interpreter cannot run it, samples of its values are judged, and these are computed from values that runs of the
// code left, if `runs_code`.
Result<JudgedPasses> JudgePassesOf(Experiment& experiment, bool runs_code, bool names_instance);

// The oracle `passes`. Fills in the report's verdict on the passes, and the culprit, ahead of any kernel: a kernel that
// computes a wrong module rightly is not to blame.
Status JudgePasses(Experiment& experiment, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PASS_CHECK_H_
