// --check_each_pass compares the module before and after each instance that changes it. An exact pass must keep the
// bits of all values (judge/bits.h). Other changes of bits are judged by residues or in f64 (pass_check.h), and large
// modules by samples (judge/sample.h). The first wrong instance ends the check.
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
#include "ir/module.h"
#include "judge/compare/widened.h"
#include "judge/reach/reach_search.h"
#include "passes/pipeline.h"

namespace hlo {

class EachPassCheck {
 public:
  // `options` has the arguments, the limits for judging and the pipeline.
  EachPassCheck(const RunOptions& options, std::optional<Pattern> only, const DiffOptions& diff, Progress& progress);

  // Begin makes the arguments, then Before and After observe the pipeline. At the first wrong instance, After sets
  // is_wrong() and fails.
  Status Begin(const Module& module);
  Status Before(const PassRun& run, const Module& module);
  Status After(const PassRun& run, const Module& module);

  bool is_wrong() const { return wrong_; }
  // A line for each instance, then the fault or the number of instances.
  std::string Report() const;
  // Why the check fails or is open, such as "algsimp#1 is wrong: ...". "" on success.
  std::string Finding() const;
  ExitCode exit() const;

 private:
  struct Line {
    std::string number, name, verdict, detail;
  };
  void TakeValues(const Module& module);
  Status Judge(const PassRun& run);
  struct Judged {
    Verdict verdict = Verdict::kMatch;
    std::string detail;   // Compared parts, the difference, or why the verdict is open.
    std::string summary;  // The differing elements of a mismatch.
    // The further arguments that showed a mismatch, or null.
    const std::vector<Literal>* arguments = nullptr;
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
  std::vector<ReachingSet> further_;
  std::unordered_map<int, std::shared_ptr<const Literal>> values_;
  std::unique_ptr<Module> before_;
  std::vector<int> input_ids_;  // For each id in `before_`, the id of its origin in the input.
  std::vector<Line> lines_;
  int judged_ = 0, open_ = 0;
  bool wrong_ = false;
  std::string blame_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_EACH_PASS_CHECK_H_
