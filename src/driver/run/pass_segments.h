// Judges a pipeline by segments of consecutive instances of exact passes, whose two ends are compared by bits (bits.h),
// or by samples if the modules are too large (sample.h). An instance of another pass is judged alone: by bits, then by
// residues (residues.h), then by a function of the caller.
#ifndef HLO_DRIVER_RUN_PASS_SEGMENTS_H_
#define HLO_DRIVER_RUN_PASS_SEGMENTS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/literal.h"
#include "ir/module.h"
#include "judge/bits.h"
#include "judge/sample.h"
#include "passes/pipeline.h"

namespace hlo {

struct InstanceVerdict {
  Verdict verdict = Verdict::kMatch;
  std::string reason;  // Set unless the verdict is kMatch.
};
// Origins of `after` are ids of `before`. Dead instructions were removed from `after`.
using InstanceJudge =
    std::function<Result<InstanceVerdict>(const PassRun& run, const Module& before, const Module& after)>;

struct SegmentOptions {
  BitsOptions bits;                     // `origins` is replaced.
  InstanceJudge judge;                  // Without it, instances that residues do not decide are open.
  PipelineOptions pipeline;             // Only the device and disabled rules are used.
  std::optional<SampleOptions> sample;  // If nullopt, all values are compared.
};

struct JudgedPart {
  PassRun first, last;
  bool exact = true;
  Verdict verdict = Verdict::kMatch;
  std::string reason;
};

struct SegmentsResult {
  Verdict verdict = Verdict::kMatch;
  int64_t exact_instances = 0;  // Changed instances in segments with equal bits.
  int64_t segments = 0;         // Segments with equal bits.
  int64_t other_instances = 0;  // Changed instances that are not exact.
  int64_t equal_in_bits = 0;    // Other instances with equal bits.
  int64_t by_residues = 0;      // Other instances with equal residues.
  int64_t values = 0, elements = 0, undetermined = 0;
  int64_t unchanged = 0, not_compared = 0;  // Numbers of values that samples found unchanged, or could not compare.
  bool beyond_work = false;
  std::vector<JudgedPart> open;
  // The first wrong segment or other instance. Later ones are not judged.
  std::optional<JudgedPart> wrong;
  // Set if bits or residues of the wrong part differ. Points into `before` and `after`.
  std::optional<BitsFinding> finding;
  std::unique_ptr<const Module> before, after;  // The ends of the wrong part.
};

struct RepeatedPass {
  std::unique_ptr<Module> module;  // Origins are ids of the module before. Dead instructions were removed.
  std::map<std::string_view, int64_t> rewrites;  // Counts by rule id.
};
// Runs an instance again on a clone of `before`, with the device and disabled rules of `pipeline`, and at most `fuel`
// rewrites.
Result<RepeatedPass> RepeatPass(const PassRun& run, const Module& before, const PipelineOptions& pipeline,
                                int64_t fuel = std::numeric_limits<int64_t>::max());

class PassSegments {
 public:
  // The pipeline runs on input.Clone(/*as_input=*/true). `input` must live until an instance that is not exact has
  // changed the module, or until Finish.
  PassSegments(const Module& input, std::vector<Literal> args, SegmentOptions options);

  // Observers of the pipeline. They do nothing after the first wrong part.
  Status Before(const PassRun& run, Module& module);
  Status After(const PassRun& run, Module& module);
  // Closes the last segment. `end` is the module at the end of the pipeline, or after later steps that keep all bits.
  Status Finish(const Module& end);

  const SegmentsResult& result() const { return result_; }
  bool is_wrong() const { return result_.wrong.has_value(); }

 private:
  static bool IsExact(const PassRun& run);
  OriginsOf OriginsFrom(const Module& before) const;
  Result<BitsResult> Compare(const Module& before, const Module& after) const;
  Result<SampleResult> Sample(const Module& before, const Module& after, Preserves promise);
  Status CloseSegment(const Module& end);
  Status CloseSampledSegment(const Module& end, JudgedPart part);
  Status SampleInstance(const PassRun& run, const Module& after, JudgedPart part);
  Status JudgeInstance(const PassRun& run, const Module& after);
  void Count(const BitsResult& bits);
  void AddOpen(JudgedPart part);
  void SetWrong(JudgedPart part, const Module& before, const Module& after, std::optional<BitsFinding> finding = {});

  std::vector<Literal> args_;
  SegmentOptions options_;
  SegmentsResult result_;
  const Module* start_;
  std::unique_ptr<const Module> snapshot_;
  // The module before the current instance: the start of the segment, or before_copy_. Null if the instance is exact.
  const Module* before_ = nullptr;
  std::unique_ptr<const Module> before_copy_;
  // Changed instances of the segment: their number, the first and the last.
  int64_t changed_ = 0;
  std::optional<PassRun> first_, last_;
  std::optional<PassRun> latest_;
};

// A copy of `after` with the added roundings (new_roundings.h), if the pass promises to add none. Null means `after`
// itself. Origins of `after` are ids of `before`.
std::unique_ptr<Module> WithPromisedRoundings(const PassRun& run, const Module& before, const Module& after);

// Returns nullopt if residues do not decide. Origins of `after` are ids of `before`.
Result<std::optional<BitsResult>> JudgeByResidues(const PassRun& run, const Module& before, const Module& after,
                                                  std::span<const Literal> args, const BitsOptions& bits);

// Runs the pipeline again on the input, cloned `as_input`, and returns the final module. An error of an observer ends
// the run and is its result.
using PipelineRunner =
    std::function<Result<std::unique_ptr<Module>>(const PassObserver& before, const PassObserver& after)>;

// The first instance of a wrong segment after which the bits differ from its start, or the last one if samples find
// none.
Result<PassRun> FirstWrongInstance(const JudgedPart& segment, std::span<const Literal> args,
                                   const SegmentOptions& options, const PipelineRunner& run_pipeline);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_PASS_SEGMENTS_H_
