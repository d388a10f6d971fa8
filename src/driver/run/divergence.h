// Where a run leaves the truth (--first_divergence): for each step the error of what it was given beside the error that
// it made itself, and inside the first wrong kernel the first instruction that is wrong.
//
// The code is that of any run. Truth is the interpreter on the very module that was compiled, so that steps are the
// same on both sides. Errors are those of TensorComparison::norm_rel; what a step makes itself is judged by the
// comparator `local`, and by nothing else.
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
#include "interp/compare/compare.h"

namespace hlo {

// A step's first execution, or the first that is wrong.
struct StepErrors {
  std::string name, kind, shape, loops, source;
  std::optional<double> inherited;    // The largest error of an operand. Nothing: of a later iteration, or not kept.
  std::optional<double> handed_on;    // Of its result.
  double own_rel = 0, own_ratio = 0;  // The latter: error over bound, at its worst.
  int64_t own_ulps = 0;
  bool is_wrong = false;
  std::string unchecked;  // Why it could not be judged.
};

struct DivergenceReport {
  std::vector<StepErrors> steps;  // In the order of execution.
  std::optional<size_t> first;    // The first that is wrong.
  std::string inside;             // What is wrong in it, as a sentence.
  int64_t unknown = 0;            // Values beyond what is kept.
};
std::string ToString(const DivergenceReport& report);
void WriteJson(JsonWriter& json, const DivergenceReport& report);

class Divergence {
 public:
  // Interprets what was compiled, with the experiment's arguments. Errors: those of the interpreter.
  static Result<std::unique_ptr<Divergence>> Of(Experiment& experiment);

  // A step that ran, in these iterations, and what `local` says of it.
  void Look(const gpu::StepInfo& step, std::span<const gpu::LoopStep> loops, std::span<const Literal> inputs,
            const Literal& output, const Comparison& own);
  // Of all that was looked at. Compiles parts of the first wrong kernel.
  DivergenceReport Finish(gpu::Device& device, const RunOptions& options);

 private:
  Divergence() = default;
  std::string FindInside(gpu::Device& device, const RunOptions& options) const;

  std::unique_ptr<const SourcePlaces> places_;
  std::map<int, Literal> truth_;  // By id: what steps read and make, of their first execution.
  std::map<int, size_t> row_;     // Of a step, by id.
  std::map<int, int64_t> runs_;
  DivergenceReport report_;
  const gpu::StepInfo* wrong_ = nullptr;  // The first, and what it read.
  std::vector<Literal> read_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_DIVERGENCE_H_
