// Decides whether roundings explain the difference between two results: docs/comparison.md#ensemble. The module is
// interpreted once without the roundings of its types (m), and N times with random ones. A result t is suspect if the
// deviations s of these runs do not explain its deviation from m.
//
// Roundings inside a sum are drawn at random instead of computed. Over h additions their variance is h times the
// variance of one rounding of a partial sum. The mean square of a partial sum is S^2 / 3 + Q / 6 for a sum S of terms
// whose squares add up to Q, as in a random walk from 0 to S.
#ifndef HLO_JUDGE_COMPARE_ENSEMBLE_H_
#define HLO_JUDGE_COMPARE_ENSEMBLE_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "interp/interpreter.h"
#include "ir/literal.h"

namespace hlo {

class Module;

// The spread in n runs has a relative standard error of 1 / sqrt(2 n), which is 0.29 for 6 runs.
inline constexpr int kLeastRuns = 6;

// The limit of an ensemble that the user did not ask for.
inline constexpr double kUnaskedSeconds = 60;

struct EnsembleOptions {
  int runs = 24;
  uint64_t seed = 0;
  InterpretOptions interpret;
  // Limit of all runs in processor time, which does not depend on other programs. There is no result if fewer than
  // kLeastRuns fit, judging by the first. 0 means no limit.
  double most_seconds = 0;
  // Evaluates a variant with the same ids, whose floats are f64 if `is_widened`. If null, the variant is interpreted on
  // one device with `args`. Programs for several devices join their results here.
  std::function<Result<Literal>(const Module&, const InterpretOptions&, bool is_widened)> evaluate;
};

struct EnsembleOutput {
  ShapeIndex output;
  Shape shape;
  int64_t elements = 0;
  int runs = 0;
  // Floats: the largest r = |t - m| / max(s, half the median s, |d - m|), and the rms of r, with d the interpreter's
  // result in the declared types. Integers: number of elements that differ from m, divided by the largest such number
  // in a run.
  double worst = 0, rms = 0;
  int64_t worst_element = 0;                    // Row-major index.
  double expected = 0, actual = 0, spread = 0;  // At worst_element: m, t, and the divisor of r.
  double digits = 0;                            // log2 of (rms deviation of the runs / rms of m), or -inf.
  bool IsSuspect() const;
};

struct EnsembleResult {
  int runs = 0;
  std::vector<EnsembleOutput> outputs;
  bool suspect = false;
  std::string unsupported;  // Set if there are no runs.

  double worst() const;
};

Result<EnsembleResult> CompareEnsemble(const Module& module, std::span<const Literal> args, const Literal& actual,
                                       const EnsembleOptions& options = {});

// "24 runs, worst r 1.1, rms r 0.4; roundings reach 2^-21 of the results".
std::string ToString(const EnsembleResult& result);
void WriteJson(JsonWriter& json, const EnsembleResult& result);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_ENSEMBLE_H_
