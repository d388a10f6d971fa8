// Compares two modules that are interpreted with all floats as f64. Used for values without bounds, such as arrays of
// dynamic size. A changed meaning differs by much more than f64 roundings.
#ifndef HLO_JUDGE_F64_RUNS_H_
#define HLO_JUDGE_F64_RUNS_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "interp/interpreter.h"
#include "ir/literal.h"
#include "judge/compare/compare.h"

namespace hlo {

class Module;

struct F64Runs {
  // kMismatch: a difference exceeds kFarOff times the spread of f64 roundings, or a size differs. kInconclusive:
  // roundings do not explain a smaller difference (ensemble.h). kUnsupported: the interpreter cannot run a module in
  // f64.
  Verdict verdict = Verdict::kMatch;
  std::string reason;      // Set unless the verdict is kMatch.
  bool is_silent = false;  // Some output of several elements has only zeros, infinities and NaNs.
  ShapeIndex output;       // Set for a mismatch, as is `comparison`, which has all outputs in f64.
  Comparison comparison;
};

// Differences up to this factor times the spread of f64 roundings, about 2^-30 of a value, do not count.
inline constexpr double kFarOff = 0x1p20;

// Precondition: the modules have the same parameters and results. Errors: interruptions.
Result<F64Runs> CompareF64Runs(const Module& before, const Module& after, std::span<const Literal> args,
                               const InterpretOptions& interpret, uint64_t seed);

}  // namespace hlo

#endif  // HLO_JUDGE_F64_RUNS_H_
