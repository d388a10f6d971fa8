#include "driver/run/tuning.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "interp/arguments/arguments.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "judge/compare/compare.h"

namespace hlo {
namespace {

using Answer = gpu::TuningHooks::Answer;

// Scalar steps, less than a tenth of a second. The largest results are judged by samples.
constexpr int64_t kWorkOfJudging = 20'000'000;
// The largest relative difference that roundings may cause, for any type.
constexpr double kRough = 0.1;

double SizeOf(const Literal& array) {
  constexpr int64_t kSamples = 4096;
  const int64_t elements = array.shape().NumElements(), step = std::max<int64_t>(1, elements / kSamples);
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < elements; i += step) {
    const double value = array.GetDouble(i);
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

std::string DifferenceFrom(const Literal& first, const Literal& actual) {
  if (!first.shape().IsArray()) {
    for (size_t i = 0; i < first.elements().size(); ++i) {
      if (std::string why = DifferenceFrom(first.elements()[i], actual.elements()[i]); !why.empty()) return why;
    }
    return "";
  }
  const bool is_exact = !IsFloat(first.shape().type()) && !IsComplex(first.shape().type());
  const Comparison comparison =
      is_exact
          ? CompareBitwise(first, actual)
          : CompareTolerance(first, actual, Tolerance{.abs = kRough * SizeOf(first), .rel = kRough, .max_ulps = {}});
  if (comparison.verdict != Verdict::kMismatch) return "";
  return Str(comparison.bad(), " of ", comparison.elements(), " elements differ from those of the first candidate");
}

Result<Answer> Judge(const gpu::StepInfo& step, std::span<const Literal> inputs, const Literal& actual,
                     const Literal* first, uint64_t seed) {
  Answer answer{.check = first == nullptr ? "none" : "rough",
                .wrong = first == nullptr ? "" : DifferenceFrom(*first, actual)};
  if (!answer.wrong.empty()) return answer;
  LocalOptions local;
  local.plan = &step.precision;
  local.work_limit = kWorkOfJudging;
  local.seed = seed;
  const auto comparison = CompareLocal(FusedComputation(*step.instruction), inputs, actual, local);
  if (!comparison && comparison.error().exit != ExitCode::kUnsupported) FAIL(comparison.error());
  if (!comparison) return answer;
  if (comparison->verdict == Verdict::kMatch) answer.check = "ok";
  if (comparison->verdict == Verdict::kMismatch)
    answer.wrong =
        Str(comparison->bad(), " of ", comparison->checked(), " elements are beyond their bounds, the worst ",
            Format("%.3g", comparison->worst_ratio()), " times");
  return answer;
}

// "NAME:FAULT"
std::string_view InDecision(std::string_view inject) { return inject.substr(kFaultOfDecision.size()); }

}  // namespace

Status CheckFaultOfDecision(std::string_view inject) {
  const Status of_kernel = gpu::CheckFault(Str("kernel:", InDecision(inject)));
  if (of_kernel || gpu::CheckFault(Str("library:", InDecision(inject)))) return {};
  FAIL(UsageError("F004", Str("--inject=", inject,
                              " is neither autotune:wrong nor autotune:NAME:FAULT: ", of_kernel.error().message())));
}

Result<std::string> FaultToPlant(const Module& module, std::string_view inject, const gpu::TuningReport* tuned) {
  if (!inject.starts_with(kFaultOfDecision)) return std::string(inject);
  const std::string_view name = InDecision(inject).substr(0, InDecision(inject).find(':'));
  if (tuned != nullptr) {
    for (const gpu::TunedStep& step : tuned->steps) {
      if (!step.was_cached || step.name != name) continue;
      const bool is_library = gpu::CheckFault(Str("library:", InDecision(inject))).has_value();
      return Str(is_library ? "library:" : "kernel:", InDecision(inject));
    }
  }
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->name() == name) return "";
    }
  }
  FAIL(UsageError("F004", Str("--inject=", inject, ": no step that can be tuned is called '", Escaped(name), "'")));
}

Result<gpu::TuningReport> TuneModule(Module& module, gpu::Device& device, const RunOptions& options) {
  const auto seed = static_cast<uint64_t>(options.seed);
  const gpu::TuningHooks hooks{
      .arguments = [&](const Module& alone, uint64_t more) { return MakeArguments(alone, {.seed = seed + more}); },
      .judge = [&](const gpu::StepInfo& step, std::span<const Literal> inputs, const Literal& actual,
                   const Literal* first) { return Judge(step, inputs, actual, first, seed); }};
  return gpu::Tune(module, device, CompilerOptions(options), options.tuning, hooks);
}

}  // namespace hlo
