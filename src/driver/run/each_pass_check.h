// --check_each_pass: each pass instance that changes the module is judged by itself, the module before it against the
// module after it, on the same arguments. An exact pass must keep the bits of all values (judge/bits.h). Where another
// pass does not keep them, the two are compared in f64 (pass_check.h). A module that takes long to interpret is
// compared by samples (judge/sample.h). The first wrong instance ends the check, with the instruction whose value
// changed, the rule that did it and the changed lines.
#ifndef HLO_DRIVER_RUN_EACH_PASS_CHECK_H_
#define HLO_DRIVER_RUN_EACH_PASS_CHECK_H_

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "driver/module_diff.h"
#include "driver/pattern.h"
#include "driver/progress.h"
#include "driver/run/run.h"
#include "interp/compare/widened.h"
#include "ir/module.h"
#include "judge/reach_search.h"
#include "passes/pipeline.h"

namespace hlo {

class EachPassCheck {
 public:
  // `only`: names of passes; null: all. Options: arguments, judging and the pipeline.
  EachPassCheck(const RunOptions& options, std::optional<Pattern> only, const DiffOptions& diff, Progress& progress);

  // Makes the arguments. Then `Before` and `After` are the pipeline's observers; `After` fails at what is wrong, and
  // `is_wrong` says that it was that.
  Status Begin(const Module& module);
  Status Before(const PassRun& run, const Module& module);
  Status After(const PassRun& run, const Module& module);

  bool is_wrong() const { return wrong_; }
  // A line for each instance that was judged, and what is wrong or how many there were.
  std::string Report() const;
  // Why this is no success, in a line: "algsimp#1 is wrong: ..."; "": it is one.
  std::string Finding() const;
  ExitCode exit() const;

 private:
  struct Line {
    std::string number, name, verdict, detail;
  };
  void TakeValues(const Module& module);
  Status Judge(const PassRun& run);
  // The verdict on the module after an instance.
  struct Judged {
    Verdict verdict = Verdict::kMatch;
    std::string detail;   // For the table: the compared parts, or the difference, or why nothing is decided.
    std::string summary;  // The elements that differ; empty unless there is a mismatch.
    const std::vector<Literal>* arguments = nullptr;  // A further set on which a mismatch was found.
  };
  Result<Judged> JudgeModule(const PassRun& run, const Module& after) const;
  Result<std::optional<Judged>> JudgeByBits(const PassRun& run, const Module& after) const;
  Result<std::optional<Judged>> JudgeOnFurther(const PassRun& run, const Module& after) const;
  Result<Judged> JudgeOtherwise(const PassRun& run, const Module& after) const;
  Result<Judged> JudgeBySample(const PassRun& run, const Module& after) const;
  Result<Judged> JudgeInF64(const PassRun& run, const Module& after) const;
  Result<std::string> Blame(const PassRun& run, const std::string& summary) const;

  const RunOptions options_;
  const std::optional<Pattern> only_;
  const DiffOptions diff_;
  Progress& progress_;
  const int64_t given_work_limit_;
  std::string path_, inputs_;
  std::vector<Literal> arguments_;
  std::vector<ReachingSet> further_;                                // Sets that reach more.
  std::unordered_map<int, std::shared_ptr<const Literal>> values_;  // The interpreter's, by id in the input.
  std::unique_ptr<Module> before_;
  std::vector<int> input_ids_;  // Origins of instructions, by their id in `before_`.
  std::vector<Line> lines_;
  int judged_ = 0, open_ = 0;
  bool wrong_ = false;
  std::string blame_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_EACH_PASS_CHECK_H_
