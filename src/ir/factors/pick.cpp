#include "ir/factors/pick.h"

#include <cmath>
#include <vector>

#include "ir/module.h"

namespace hlo {
namespace {

using Values = std::vector<double>;  // Values of accumulators, or of elements.

bool Compares(ComparisonDirection direction, double a, double b) {
  switch (direction) {
    case ComparisonDirection::kEq: return a == b;
    case ComparisonDirection::kNe: return a != b;
    case ComparisonDirection::kGe: return a >= b;
    case ComparisonDirection::kGt: return a > b;
    case ComparisonDirection::kLe: return a <= b;
    case ComparisonDirection::kLt: return a < b;
  }
  return false;
}

double ParameterValue(const Instruction& parameter, const Values& accumulators, const Values& elements) {
  const auto number = static_cast<size_t>(parameter.parameter_number());
  return number < accumulators.size() ? accumulators[number] : elements[number - accumulators.size()];
}

bool IsPredicate(const Instruction& inst) {
  const auto all = [&](auto&& fits) {
    return std::ranges::all_of(inst.operands(), [&](const Instruction* operand) { return fits(*operand); });
  };
  switch (inst.opcode()) {
    case Opcode::kCompare:
      return inst.attrs<CompareAttrs>().type != ComparisonType::kTotalOrder &&
             all([](const Instruction& operand) { return operand.Is(Opcode::kParameter); });
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kNot: return inst.shape().type() == PrimitiveType::kPred && all(IsPredicate);
    default: return false;
  }
}

bool Holds(const Instruction& predicate, const Values& a, const Values& b) {
  const auto of = [&](int64_t i) { return Holds(predicate.operand(i), a, b); };
  switch (predicate.opcode()) {
    case Opcode::kAnd: return of(0) && of(1);
    case Opcode::kOr: return of(0) || of(1);
    case Opcode::kNot: return !of(0);
    default:
      return Compares(predicate.attrs<CompareAttrs>().direction, ParameterValue(predicate.operand(0), a, b),
                      ParameterValue(predicate.operand(1), a, b));
  }
}

// Whether `result` selects one of the two parameters of pair `i`.
bool PicksPair(const Instruction& result, int64_t i, int64_t count) {
  const auto is_parameter = [&](const Instruction& inst, int64_t number) {
    return inst.Is(Opcode::kParameter) && inst.parameter_number() == number;
  };
  if (!result.Is(Opcode::kSelect) || !IsPredicate(result.operand(0))) return false;
  const Instruction &a = result.operand(1), &b = result.operand(2);
  return (is_parameter(a, i) && is_parameter(b, count + i)) || (is_parameter(a, count + i) && is_parameter(b, i));
}

Values Pick(std::span<const Instruction* const> results, const Values& a, const Values& b) {
  Values picked;
  for (const Instruction* result : results)
    picked.push_back(ParameterValue(result->operand(Holds(result->operand(0), a, b) ? 1 : 2), a, b));
  return picked;
}

bool AreEqual(const Values& a, const Values& b) {
  return std::ranges::equal(a, b, [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

// All tuples of `count` values, each one of three different numbers or, for floats, NaN.
std::vector<Values> SamplesOf(const Computation& reducer, int64_t count) {
  std::vector<Values> samples = {{}};
  for (int64_t i = 0; i < count; ++i) {
    Values values = {0, 1, 2};
    if (IsFloat(reducer.parameter(i).shape().type())) values.push_back(NAN);
    std::vector<Values> longer;
    for (const Values& sample : samples) {
      for (const double value : values) {
        longer.push_back(sample);
        longer.back().push_back(value);
      }
    }
    samples = std::move(longer);
  }
  return samples;
}

}  // namespace

std::optional<PickLaws> LawsOfPick(const Computation& reducer) {
  const auto count = std::ssize(reducer.parameters()) / 2;
  std::vector<const Instruction*> results = {&reducer.root()};
  if (reducer.root().Is(Opcode::kTuple))
    results.assign(reducer.root().operands().begin(), reducer.root().operands().end());
  if (count < 1 || count > 2 || std::ssize(results) != count) return std::nullopt;
  for (int64_t i = 0; i < count; ++i) {
    if (!PicksPair(*results[i], i, count)) return std::nullopt;
  }
  const std::vector<Values> samples = SamplesOf(reducer, count);
  PickLaws laws{true, true};
  for (const Values& a : samples) {
    for (const Values& b : samples) {
      const Values ab = Pick(results, a, b);
      laws.commutative &= AreEqual(ab, Pick(results, b, a));
      for (const Values& c : samples)
        laws.associative &= AreEqual(Pick(results, ab, c), Pick(results, a, Pick(results, b, c)));
    }
  }
  return laws;
}

}  // namespace hlo
