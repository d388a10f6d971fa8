// Judges a pipeline by segments. Consecutive instances of exact passes form a segment, whose two ends are compared by
// bits (bits.h). An instance that is not exact ends a segment and is judged alone, the module before it against the
// module after it: by bits first, where these differ by residues (residues.h), and where residues decide nothing by a
// function of the caller.
//
// If modules are too large to be interpreted, samples of the values of both ends are compared instead (sample.h).
//
// At most two snapshots of the module exist at a time, and one is taken only where the module has changed.
#ifndef HLO_JUDGE_PASS_SEGMENTS_H_
#define HLO_JUDGE_PASS_SEGMENTS_H_

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

// Verdict of the caller's function on an instance that is not exact.
struct InstanceVerdict {
  Verdict verdict = Verdict::kMatch;
  std::string reason;  // Set unless the verdict is kMatch.
};
// Origins of `after` are ids of `before`. Dead instructions were removed from `after`.
using InstanceJudge =
    std::function<Result<InstanceVerdict>(const PassRun& run, const Module& before, const Module& after)>;

struct SegmentOptions {
  BitsOptions bits;                     // `origins` is replaced.
  InstanceJudge judge;                  // If null, instances that are not exact are open where bits differ.
  PipelineOptions pipeline;             // Its device and disabled rules, with which an instance is repeated on a clone.
  std::optional<SampleOptions> sample;  // Options for sampling the values of each part. nullopt compares all values.
};

// A judged part: a segment, or an instance that is not exact.
struct JudgedPart {
  PassRun first, last;  // The changed instances at its ends.
  bool exact = true;    // Whether the part is a segment.
  Verdict verdict = Verdict::kMatch;
  std::string reason;
};

struct SegmentsResult {
  Verdict verdict = Verdict::kMatch;  // The worst verdict of a part (Worse).
  int64_t exact_instances = 0;        // Instances that changed the module, in segments with equal bits.
  int64_t segments = 0;               // Segments with equal bits.
  int64_t other_instances = 0;        // Instances that are not exact and changed the module.
  int64_t equal_in_bits = 0;          // How many of them kept all bits.
  int64_t by_residues = 0;            // How many of them kept all real numbers.
  int64_t values = 0, elements = 0, undetermined = 0;  // Sums over all parts.
  int64_t unchanged = 0, not_compared = 0;             // Values of samples that were not computed.
  bool beyond_work = false;                            // The work limit left values out.
  std::vector<JudgedPart> open;                        // Parts that were not decided.
  // The first part that is wrong. Later parts are not judged.
  std::optional<JudgedPart> wrong;
  // Set if bits or residues differ. Refers to `before` and `after`.
  std::optional<BitsFinding> finding;
  std::unique_ptr<const Module> before, after;  // Copies of the two ends of the wrong part.
};

// One instance, run again on a clone of the module before it.
struct RepeatedPass {
  std::unique_ptr<Module> module;  // Its origins are ids of the module before. Dead instructions were removed.
  std::map<std::string_view, int64_t> rewrites;  // Applications of each rule, by the rule's id.
};
// `pipeline`: its device and disabled rules. `fuel`: the largest number of rewrites.
Result<RepeatedPass> RepeatPass(const PassRun& run, const Module& before, const PipelineOptions& pipeline,
                                int64_t fuel = std::numeric_limits<int64_t>::max());

class PassSegments {
 public:
  // The pipeline runs on input.Clone(/*as_input=*/true). `input` is read until the first instance that is not exact has
  // changed the module, or until Finish.
  PassSegments(const Module& input, std::vector<Literal> args, SegmentOptions options);

  // Observers of the pipeline. They return errors of CompareByBits, of the caller's function and of a repeated pass.
  // After the first wrong part they do nothing.
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
  // The module at the start of the segment: the input, or the snapshot, if there is one.
  const Module* start_;
  std::unique_ptr<const Module> snapshot_;
  // The module before the current instance, if that is not exact. It is the start of the segment, or a copy that is
  // kept until the module changes. Null if the instance is exact.
  const Module* before_ = nullptr;
  std::unique_ptr<const Module> before_copy_;
  // The number of instances of the segment that changed the module, and the first and last of them.
  int64_t changed_ = 0;
  std::optional<PassRun> first_, last_;
  std::optional<PassRun> latest_;  // The latest instance that ran, changed or not.
};

// The module after an instance, for residues and the comparison in f64. It contains the roundings that the instance
// added, if the instance promises to add none (new_roundings.h). Null means `after` itself. Origins of `after` are ids
// of `before`.
std::unique_ptr<Module> WithPromisedRoundings(const PassRun& run, const Module& before, const Module& after);

// Judges an instance that is not exact by residues. Origins of `after` are ids of `before`. Returns nullopt if residues
// do not decide.
Result<std::optional<BitsResult>> JudgeByResidues(const PassRun& run, const Module& before, const Module& after,
                                                  std::span<const Literal> args, const BitsOptions& bits);

// Runs the same pipeline on the same input, cloned `as_input`, with these observers, and returns the module at its end.
// An error of an observer ends the run and is its result.
using PipelineRunner =
    std::function<Result<std::unique_ptr<Module>>(const PassObserver& before, const PassObserver& after)>;

// The instance of a wrong segment after which the bits first differ from those at the start of the segment.
Result<PassRun> FirstWrongInstance(const JudgedPart& segment, std::span<const Literal> args,
                                   const SegmentOptions& options, const PipelineRunner& run_pipeline);

}  // namespace hlo

#endif  // HLO_JUDGE_PASS_SEGMENTS_H_
