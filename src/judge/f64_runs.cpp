#include "judge/f64_runs.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ir/module.h"
#include "judge/compare/ensemble.h"
#include "judge/compare/widened_module.h"

namespace hlo {
namespace {

bool SaysSomething(const Literal& array) {
  const int64_t count = array.shape().NumElements();
  if (count == 1) return true;
  for (int64_t i = 0; i < count; ++i) {
    const double size = std::abs(array.GetComplex(i));
    if (size != 0 && std::isfinite(size)) return true;
  }
  return false;
}

}  // namespace

Result<F64Runs> CompareF64Runs(const Module& before, const Module& after, std::span<const Literal> args,
                               const InterpretOptions& interpret, uint64_t seed) {
  constexpr int kRuns = 12;  // Few runs suffice to estimate the spread, because kFarOff is large.
  F64Runs result;
  const auto unsupported = [&](std::string_view why) {
    result.verdict = Verdict::kUnsupported;
    result.reason = why;
    return result;
  };
  const auto wide_before = WidenedModule(before), wide_after = WidenedModule(after);
  if (!wide_before || !wide_after) return unsupported((wide_before ? wide_after : wide_before).error().message());
  std::vector<Literal> wide_args;
  for (const Literal& arg : args) wide_args.push_back(WidenedLiteral(arg));
  const auto actual = Interpret(**wide_after, wide_args, interpret);
  if (!actual && actual.error().exit == ExitCode::kInterrupted) FAIL(actual.error());
  if (!actual) return unsupported(actual.error().message());
  const auto ensemble =
      CompareEnsemble(**wide_before, wide_args, *actual, {.runs = kRuns, .seed = seed, .interpret = interpret});
  if (!ensemble && ensemble.error().exit == ExitCode::kInterrupted) FAIL(ensemble.error());
  if (!ensemble) return unsupported(ensemble.error().message());
  if (!ensemble->unsupported.empty()) return unsupported(ensemble->unsupported);
  for (const EnsembleOutput& output : ensemble->outputs) {
    const std::string name = Str("output {", Join(output.output, ","), "}");
    if (output.worst > kFarOff) {
      const Literal expected = TRY(Interpret(**wide_before, wide_args, interpret));
      result.verdict = Verdict::kMismatch;
      result.output = output.output;
      result.comparison = CompareTolerance(expected, *actual);
      result.reason = Str(name, " differs in f64 by much more than roundings explain");
      return result;
    }
    if (output.IsSuspect() && result.reason.empty())
      result.reason = Str(name, " differs in f64 by more than roundings explain");
    result.is_silent |= !SaysSomething(actual->At(output.output));
  }
  if (!result.reason.empty()) result.verdict = Verdict::kInconclusive;
  return result;
}

}  // namespace hlo
