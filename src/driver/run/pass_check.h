// The oracle `passes`: judges exact passes by the bits of their values and other passes by bits, residues or in f64.
#ifndef HLO_DRIVER_RUN_PASS_CHECK_H_
#define HLO_DRIVER_RUN_PASS_CHECK_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/pass_segments.h"
#include "driver/run/run.h"
#include "interp/interpreter.h"
#include "judge/compare/widened.h"

namespace hlo {

// Whether interpreting and hashing the modules before and after passes exceeds the work limit (0: no limit).
bool IsTooLargeToInterpret(const Module& module, int64_t work_limit);

bool KeepsPrecision(const PassRun& run);

struct AroundPasses {
  Progress* progress = nullptr;
  bool keeps_precision = false;
};
// Compares in f64. If bounds leave values open, made-up arguments decide. Sets `arguments` to those that decided, and
// `summary` to the verdict and the number of compared elements.
Result<WidenedResult> CompareAroundPasses(const Module& input, const Module& optimized, const RunOptions& options,
                                          const AroundPasses& around, std::vector<Literal>* arguments,
                                          std::string* summary);

struct PassFinding {
  std::string instance;     // "algsimp#2", or "" if the caller needs no instance.
  std::string description;  // In words, for the report.
  std::string input;
  std::string loop;    // "iteration 3 of 'while.5'", or "".
  std::string source;  // The source location of `input`, for the end of a line.
  std::optional<Comparison> comparison;
};

struct JudgedPasses {
  Verdict verdict = Verdict::kMatch;
  std::string text;    // The report's line.
  std::string reason;  // Why the verdict is not kMatch.
  std::string not_exercised;
  bool beyond_work = false;
  bool of_exact_pass = false;
  bool opened = false;  // Passes left values undetermined that the input determines.
  std::optional<PassFinding> finding;
};

struct JudgedPipeline {
  const Module& input;
  const std::vector<Literal>& arguments;
  const RunOptions& options;  // With the pipeline that `run` runs.
  InterpretOptions interpret;
  PipelineRunner run;
  std::optional<SampleOptions> sample;
  // Whether to find the wrong instance, which needs further runs of the pipeline.
  bool names_instance = true;
  Progress& progress;
};
// See driver/run/pass_segments.h. kUnsupported if `sample` is empty and the interpreter cannot run a module.
Result<JudgedPasses> JudgeSegments(const JudgedPipeline& pipeline);

// Judges on the experiment's arguments, then on one further set. If the interpreter cannot run the module within the
// work limit, judges samples. With `runs_code`, samples start from values of the compiled program. Otherwise nothing is
// compiled.
Result<JudgedPasses> JudgePassesOf(Experiment& experiment, bool runs_code, bool names_instance);

// A wrong pass takes precedence over a kernel as the culprit.
Status JudgePasses(Experiment& experiment, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PASS_CHECK_H_
