// Compares the result of a kernel with its computation.
#include <algorithm>
#include <optional>

#include "base/check.h"
#include "interp/interpreter.h"
#include "interp/nan_bits.h"
#include "ir/module.h"
#include "judge/bounds/slice.h"
#include "judge/compare/compare.h"
#include "judge/compare/joined.h"
#include "judge/compare/partial_bounds.h"

namespace hlo {
namespace {

Literal TakeFrom(const Literal& literal, std::span<const std::vector<int64_t>> points) {
  if (!literal.shape().IsTuple()) return shadow::TakeFrom(literal, points[0]);
  std::vector<Literal> elements;
  for (size_t i = 0; i < literal.elements().size(); ++i)
    elements.push_back(TakeFrom(literal.elements()[i], points.subspan(i, 1)));
  return Literal::Tuple(std::move(elements));
}

bool HaveSameBits(Literal a, Literal b, bool strict_nan) {
  if (a.BitEquals(b)) return true;
  if (strict_nan) return false;
  UnifyNans(a, NanBits::kPositive);
  UnifyNans(b, NanBits::kPositive);
  return a.BitEquals(b);
}

Literal AsDeclared(const ShadowValue& value);
std::vector<Literal> AsDeclared(std::span<const ShadowValue> values) {
  std::vector<Literal> literals;
  for (const ShadowValue& value : values) literals.push_back(AsDeclared(value));
  return literals;
}
Literal AsDeclared(const ShadowValue& value) {
  if (value.shape.IsTuple()) return Literal::Tuple(AsDeclared(value.elements));
  if (IsComplex(value.shape.type())) {
    const Literal parts = PartsSideBySide(value).value;
    Literal literal(value.shape);
    for (int64_t i = 0; i < value.shape.NumElements(); ++i)
      literal.SetComplex(i, {parts.GetDouble(2 * i), parts.GetDouble(2 * i + 1)});
    return literal;
  }
  if (!value.IsFloat()) return value.exact;
  Literal literal(value.shape);
  if (value.shape.type() == PrimitiveType::kF32) {
    std::ranges::transform(value.value.data<double>(), literal.mutable_data<float>().begin(),
                           [](double x) { return static_cast<float>(x); });
    return literal;
  }
  for (int64_t i = 0; i < value.shape.NumElements(); ++i) literal.SetDouble(i, value.value.GetDouble(i));
  return literal;
}

// Limits steps, because a kernel may contain a long loop.
InterpretOptions InterpretingWithin(const LocalOptions& options) {
  constexpr int64_t kMostSteps = 1'000'000;  // About a second of instructions.
  return {.max_loop_iterations = options.max_loop_iterations, .max_steps = options.meter == nullptr ? 0 : kMostSteps};
}

Result<Shadow> ShadowOfSlice(const shadow::Slice& slice, const LocalOptions& options) {
  return EvaluateShadow(slice.module->entry(), std::span<const ShadowValue>(slice.args),
                        {.plan = options.plan ? &slice.plan : nullptr,
                         .max_loop_iterations = options.max_loop_iterations,
                         .meter = options.meter,
                         .wanted = &slice.wanted});
}

Result<Shadow> ShadowOf(const Computation& computation, std::span<const Literal> inputs, const Literal& actual,
                        const Literal* interpreted, const LocalOptions& options) {
  if (interpreted != nullptr) {
    if (const auto slice = SliceOfDifferences(computation, inputs, actual, *interpreted, options))
      return Spread(TRY(ShadowOfSlice(*slice, options)), slice->points, *interpreted);
  }
  return EvaluateShadow(computation, inputs,
                        {.plan = options.plan,
                         .max_loop_iterations = options.max_loop_iterations,
                         .meter = options.meter,
                         .left = &actual});
}

}  // namespace

Result<Comparison> CompareLocal(const Computation& computation, std::span<const Literal> inputs, const Literal& actual,
                                const LocalOptions& options) {
  CHECK(Compatible(computation.root().shape(), actual.shape()), computation.root().shape(), " against ",
        actual.shape());
  std::optional<shadow::Slice> slice;
  if (options.work_limit > 0 && shadow::StepsOf(computation) > options.work_limit) {
    std::vector<shadow::ConeArgument> arguments;
    for (const Literal& input : inputs) arguments.push_back({.literal = &input});
    const shadow::Cone cone = shadow::ConeOf(computation.root(), arguments, options.plan, nullptr);
    slice = TRY(shadow::SliceOf(cone, options.work_limit, options.seed));
  }
  const Literal sample = slice ? TakeFrom(actual, slice->points) : Literal();
  std::optional<Literal> interpreted;
  if (options.interpret && (!slice || slice->wanted.empty())) {
    const InterpretOptions limits = InterpretingWithin(options);
    auto value = slice ? EvaluateComputation(slice->module->entry(), AsDeclared(slice->args), limits)
                       : EvaluateComputation(computation, inputs, limits);
    if (value) interpreted = std::move(*value);  // If the interpreter fails, bounds decide.
  }
  if (interpreted && !slice && HaveSameBits(*interpreted, actual, options.strict_nan))
    return CompareBitwise(*interpreted, actual, options);
  const Literal* const right = interpreted ? &*interpreted : nullptr;
  const auto shadow = slice ? ShadowOfSlice(*slice, options) : ShadowOf(computation, inputs, actual, right, options);
  if (!shadow) {
    if (shadow.error().exit != ExitCode::kUnsupported && !IsBeyondWork(shadow.error())) FAIL(shadow.error());
    return Comparison{.verdict = Verdict::kUnsupported, .reason = shadow.error().message()};
  }
  Comparison comparison = slice ? CompareSample(shadow->value, sample, actual.shape(), slice->points, options, right)
                                : CompareWithBounds(shadow->value, actual, options, right);
  for (TensorComparison& tensor : comparison.outputs) tensor.heuristic = shadow->heuristic;
  return comparison;
}

}  // namespace hlo
