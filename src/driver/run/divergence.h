// --first_divergence shows the error that each step inherits and adds, and finds the first wrong instruction in the
// first wrong kernel.
//
// `inherited` and `handed_on` are TensorComparison::norm_rel against the interpreter's run of the compiled module. The
// other errors come from the comparator `local`, which alone decides whether a step is wrong.
#ifndef HLO_DRIVER_RUN_DIVERGENCE_H_
#define HLO_DRIVER_RUN_DIVERGENCE_H_

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "driver/inspect/source_place.h"
#include "driver/run/experiment.h"
#include "gpu/runtime/executable.h"
#include "judge/compare/compare.h"

namespace hlo {

// Errors of a step's first wrong execution, or of its first one if none is wrong.
struct StepErrors {
  std::string name, kind, shape, loops, source;
  // The largest error of an operand. Empty for later executions, and if the interpreter's values are unknown.
  std::optional<double> inherited;
  std::optional<double> handed_on;    // The error of the result.
  double own_rel = 0, own_ratio = 0;  // `own_ratio` is the largest error divided by its bound.
  int64_t own_ulps = 0;
  bool is_wrong = false;
  std::string unchecked;
};

struct DivergenceReport {
  std::vector<StepErrors> steps;
  std::optional<size_t> first;  // The first wrong step.
  std::string inside;           // Names the wrong instruction in that step.
  int64_t unknown = 0;          // Number of the interpreter's values that were too large to keep.
};
std::string ToString(const DivergenceReport& report);
void WriteJson(JsonWriter& json, const DivergenceReport& report);

class Divergence {
 public:
  static Result<std::unique_ptr<Divergence>> Of(Experiment& experiment);

  // `own` is the result of the comparator `local` for this execution.
  void Look(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
            const Literal& output, const Comparison& own);
  DivergenceReport Finish(gpu::Device& device, const RunOptions& options);

 private:
  Divergence() = default;
  std::string FindInside(gpu::Device& device, const RunOptions& options) const;

  std::unique_ptr<const SourcePlaces> places_;
  // The interpreter's values of steps in their first execution, by id.
  std::map<int, Literal> truth_;
  std::map<int, size_t> row_;
  std::map<int, int64_t> runs_;
  DivergenceReport report_;
  const gpu::StepInfo* wrong_ = nullptr;  // The first wrong step. `read_` holds its operands.
  std::vector<Literal> read_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_DIVERGENCE_H_
