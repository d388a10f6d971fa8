// Is a difference between two results what rounding does? The module is interpreted without the roundings of its types
// (m), and N times with roundings drawn at random: up or down by chance, to the declared type or kept wider, functions
// as far off as their rows allow, sums over chains of a random length. The runs' deviations s from m say what an honest
// implementation may come to: t is suspect when it is further from m than they account for. It explains, and decides
// nothing.
//
// The roundings inside a sum are not carried out but drawn: over a chain of h additions their variance is h times that
// of one rounding of a partial sum, whose mean square is S^2 / 3 + Q / 6 for a sum S of terms with squares adding up
// to Q (a walk from 0 to S). h is n - 1 in half of the runs, between log2 n and n in the others.
#ifndef HLO_INTERP_COMPARE_ENSEMBLE_H_
#define HLO_INTERP_COMPARE_ENSEMBLE_H_

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

// The spread of one element in n runs has a relative standard error of 1 / sqrt(2 n), which is 0.29 for 6 runs.
inline constexpr int kLeastRuns = 6;

// The module, or a value, with every float in f64. Ids are kept. Error kUnsupported: an instruction reads the bits of a
// type, or is an op of its own in that type.
Result<std::unique_ptr<Module>> WidenedModule(const Module& module);
Literal WidenedLiteral(const Literal& literal);

struct EnsembleOptions {
  int runs = 24;
  uint64_t seed = 0;
  InterpretOptions interpret;
  // As many runs as fit in this time by the time of the first one; no result if fewer than kLeastRuns fit. 0: no limit.
  double most_seconds = 0;
};

struct EnsembleOutput {
  ShapeIndex output;
  Shape shape;  // As declared.
  int64_t elements = 0;
  int runs = 0;
  // Floats: the largest r = |t - m| / max(s, half the median s), and the root mean square of r. Integers: the number of
  // elements that differ from m, over the largest such number in a run.
  double worst = 0, rms = 0;
  int64_t worst_element = 0;                    // Row-major.
  double expected = 0, actual = 0, spread = 0;  // m, t and what r divides by, there.
  double digits = 0;                            // log2 of the runs' rms deviation over the rms of m; -inf: none at all.
  bool IsSuspect() const;                       // Roundings do not account for it.
};

struct EnsembleResult {
  int runs = 0;
  std::vector<EnsembleOutput> outputs;
  bool suspect = false;
  std::string unsupported;  // Why there are no runs; empty: there are.

  double worst() const;
};

Result<EnsembleResult> CompareEnsemble(const Module& module, std::span<const Literal> args, const Literal& actual,
                                       const EnsembleOptions& options = {});

// "24 runs, worst r 1.1, rms r 0.4; roundings reach 2^-21 of the results".
std::string ToString(const EnsembleResult& result);
void WriteJson(JsonWriter& json, const EnsembleResult& result);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_ENSEMBLE_H_
