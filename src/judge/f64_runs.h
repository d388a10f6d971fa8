// Compares two modules by runs of the interpreter in which every float is f64. No bounds are derived, so it judges
// values that have none, such as arrays of dynamic size. Roundings in f64 are small. A module
// with another meaning differs by much more.
#ifndef HLO_JUDGE_F64_RUNS_H_
#define HLO_JUDGE_F64_RUNS_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "interp/compare/compare.h"
#include "interp/interpreter.h"
#include "ir/literal.h"

namespace hlo {

class Module;

struct F64Runs {
  // kMismatch: the size of a result differs, or a difference exceeds kFarOff times the spread of f64 roundings.
  // kInconclusive: a difference exceeds the spread, but not so much. kUnsupported: the interpreter cannot run one of
  // the modules in f64.
  Verdict verdict = Verdict::kMatch;
  std::string reason;      // In a sentence, unless the verdict is kMatch.
  bool is_silent = false;  // All elements of some output are zero, infinite or NaN, so a match says little.
  ShapeIndex output;       // The output that differs, for a mismatch.
  Comparison comparison;   // The comparison of all outputs in f64, for a mismatch.
};

// Differences of less than this factor times the spread of f64 roundings, about 2^-30 of a value, remain unseen.
inline constexpr double kFarOff = 0x1p20;

// `before` and `after` have the same parameters and results. Errors: internal errors and interruptions.
Result<F64Runs> CompareF64Runs(const Module& before, const Module& after, std::span<const Literal> args,
                               const InterpretOptions& interpret, uint64_t seed);

}  // namespace hlo

#endif  // HLO_JUDGE_F64_RUNS_H_
