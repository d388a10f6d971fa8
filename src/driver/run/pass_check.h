// The oracle `passes`: judges exact passes by the bits of their values and other passes by bits, residues or in f64,
// and names a wrong pass.
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
// Compares `input` in f64 with the module after passes, on `arguments`. Compares values that the bounds leave open
// again on made-up arguments. Sets `arguments` to the arguments that decided, and `summary` to the verdict and the
// number of compared elements.
Result<WidenedResult> CompareAroundPasses(const Module& input, const Module& optimized, const RunOptions& options,
                                          const AroundPasses& around, std::vector<Literal>* arguments,
                                          std::string* summary);

// The change that a wrong pass made.
struct PassFinding {
  std::string instance;     // "algsimp#2". Empty if the caller needs no instance.
  std::string description;  // The instance in words, for the report.
  std::string input;
  std::string loop;    // "iteration 3 of 'while.5'"; empty outside of loops.
  std::string source;  // Text with the source place of `input`, to append to a line. May be empty.
  std::optional<Comparison> comparison;
};

struct JudgedPasses {
  Verdict verdict = Verdict::kMatch;
  std::string text;    // The report's line: the verdict and the compared parts.
  std::string reason;  // Why the verdict is not kMatch, in one line. Otherwise empty.
  std::string not_exercised;
  bool beyond_work = false;    // Judging took more than the work limit.
  bool of_exact_pass = false;  // A segment of exact passes is wrong.
  bool opened = false;         // Passes left values undetermined that the input determines.
  std::optional<PassFinding> finding;
};

struct JudgedPipeline {
  const Module& input;
  const std::vector<Literal>& arguments;
  const RunOptions& options;  // Options for judging, with the pipeline that `run` runs.
  InterpretOptions interpret;
  PipelineRunner run;
  std::optional<SampleOptions> sample;  // SegmentOptions::sample.
  // Whether a finding names the wrong instance. That needs further runs of the pipeline.
  bool names_instance = true;
  Progress& progress;
};
// Judges segments of exact passes by bits and each other instance by itself (judge/pass_segments.h). Returns
// kUnsupported if all values must be compared and the interpreter cannot run one of the modules.
Result<JudgedPasses> JudgeSegments(const JudgedPipeline& pipeline);

// Judges the passes of an experiment by segments, without compiling, on its arguments and on one further set that
// reaches more sides. If interpreting the module exceeds the work limit or is not supported, it judges samples of the
// values. With `runs_code`, samples are computed from values that the compiled program leaves in memory.
Result<JudgedPasses> JudgePassesOf(Experiment& experiment, bool runs_code, bool names_instance);

// The oracle `passes`. Sets the report's verdict on the passes. A wrong pass becomes the culprit even if a kernel was
// the culprit before.
Status JudgePasses(Experiment& experiment, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PASS_CHECK_H_
