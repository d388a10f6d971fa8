#include "judge/compare/ensemble_output.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "judge/bounds/rules.h"

namespace hlo {
namespace {

using shadow::HalfUlp;
using shadow::Rounding;
using shadow::RoundingTo;

// Limit on the largest r. For normal errors, r has Student's distribution with `runs` degrees of freedom. With V of the
// chi-squared distribution, P(r > x) = E[P(|Z| > x sqrt(V / runs))] <= E[exp(-x^2 V / (2 runs))] = (1 + x^2 /
// runs)^(-runs / 2). Some element exceeds the limit with a probability of 1 in 1000. It is at least 8, because errors
// after many functions are not normal.
constexpr double kLeastWorst = 8;
double MostWorst(int64_t elements, int runs) {
  constexpr double kChance = 1e-3;
  const double draws = static_cast<double>(std::max<int64_t>(1, elements)) / kChance, n = std::max(1, runs);
  return std::max(kLeastWorst, std::sqrt(n * (std::pow(draws, 2 / n) - 1)));
}

// Limit on the rms of r: kLeastWorst for one element, 2 for many.
double MostRms(int64_t elements) {
  constexpr double kOfMany = 2;
  const double n = static_cast<double>(std::max<int64_t>(1, elements));
  return std::sqrt(kOfMany * kOfMany + (kLeastWorst * kLeastWorst - kOfMany * kOfMany) / n);
}

// Counts differing elements. nullopt if one differs by more than `most`.
std::optional<int64_t> CountFlips(const Literal& m, const Literal& t, double most) {
  int64_t flips = 0;
  for (int64_t i = 0; i < m.shape().NumElements(); ++i) {
    if (m.GetInt(i) == t.GetInt(i)) continue;
    if (!(std::fabs(m.GetDouble(i) - t.GetDouble(i)) <= most)) return std::nullopt;
    ++flips;
  }
  return flips;
}

// Roundings can move a number across a step before it is converted to an integer. r is infinite if an element of t is
// more than 4 times as far from m as any element of a run. That is about 8 times the rms, as for floats, because
// integers may be the bits of floats.
EnsembleOutput JudgeIntegers(EnsembleOutput output, const Literal& m, std::span<const Literal> runs, const Literal& t) {
  double most = 0;
  int64_t most_flips = 0;
  for (const Literal& run : runs) {
    for (int64_t i = 0; i < output.elements; ++i) most = std::max(most, std::fabs(m.GetDouble(i) - run.GetDouble(i)));
  }
  for (const Literal& run : runs) most_flips = std::max(most_flips, *CountFlips(m, run, most));
  const std::optional<int64_t> flips = CountFlips(m, t, 4 * most);
  output.worst = !flips ? std::numeric_limits<double>::infinity()
                        : static_cast<double>(*flips) / static_cast<double>(std::max<int64_t>(1, most_flips));
  output.digits = -std::numeric_limits<double>::infinity();
  output.spread = most;
  double largest = -1;
  for (int64_t i = 0; i < output.elements; ++i) {
    const double distance = std::fabs(m.GetDouble(i) - t.GetDouble(i));
    if (distance <= largest) continue;
    largest = distance;
    output.worst_element = i;
    output.expected = m.GetDouble(i);
    output.actual = t.GetDouble(i);
  }
  return output;
}

// Whether element i overflows or is NaN only in declared types. `own` is the interpreter's value in these types, or
// null.
bool IsOverflow(const Literal* own, int64_t i, double middle) {
  return own != nullptr && std::isfinite(middle) && !std::isfinite(own->GetDouble(i));
}

}  // namespace

EnsembleOutput JudgeEnsemble(const ShapeIndex& index, const Shape& shape, const Literal& m,
                             std::span<const Literal> runs, const Literal& t, const Literal* own) {
  EnsembleOutput output{
      .output = index, .shape = m.shape().WithType(shape.type()), .runs = static_cast<int>(runs.size())};
  output.elements = m.shape().NumElements();
  const auto has_other_size = [&](const Literal& run) { return run.shape().dims() != m.shape().dims(); };
  if (has_other_size(t) || std::ranges::any_of(runs, has_other_size)) {
    output.elements = 0;
    output.worst = std::numeric_limits<double>::infinity();
    return output;
  }
  if (!IsFloat(shape.type())) return JudgeIntegers(std::move(output), m, runs, t);
  const Rounding rounding = RoundingTo(shape.type(), false);
  std::vector<double> spread(static_cast<size_t>(output.elements), 0);
  double deviations = 0, squares = 0;
  for (int64_t i = 0; i < output.elements; ++i) {
    const double middle = m.GetDouble(i);
    double sum = 0;
    for (const Literal& run : runs) sum += (run.GetDouble(i) - middle) * (run.GetDouble(i) - middle);
    spread[i] = std::sqrt(sum / static_cast<double>(runs.size()));
    if (!std::isfinite(spread[i])) continue;
    deviations += sum / static_cast<double>(runs.size());
    squares += middle * middle;
  }
  output.digits = std::log2(std::sqrt(deviations / squares));
  std::vector<double> sorted;
  for (const double s : spread) {
    if (std::isfinite(s)) sorted.push_back(s);
  }
  if (!sorted.empty()) std::ranges::nth_element(sorted, sorted.begin() + static_cast<int64_t>(sorted.size() / 2));
  const double least = sorted.empty() ? 0 : sorted[sorted.size() / 2] / 2;
  double sum = 0;
  int64_t counted = 0;
  for (int64_t i = 0; i < output.elements; ++i) {
    const double middle = m.GetDouble(i), actual = t.GetDouble(i);
    double s = std::max(std::isfinite(spread[i]) ? spread[i] : 0, least), r = 0;
    s = std::max(s, HalfUlp(rounding, std::fabs(middle)) / 2);
    // Errors of a sum of equal terms have one sign, unlike those that the runs draw. So all numbers between the middle
    // and the interpreter's value in the declared types are right.
    const bool has_own = own != nullptr && std::isfinite(own->GetDouble(i));
    const auto [least_right, most_right] = std::minmax({middle, has_own ? own->GetDouble(i) : middle});
    if (actual == middle || (std::isnan(actual) && std::isnan(middle)) || IsOverflow(own, i, middle)) {
      r = 0;
    } else if (std::isfinite(middle) && std::isfinite(actual)) {
      r = std::max({least_right - actual, actual - most_right, 0.0}) / s;
    } else {
      // The result is accepted if the interpreter in the declared types, or a run, is the same infinity, also NaN, or
      // also finite.
      const auto is_alike = [&](const Literal& run) {
        const double other = run.GetDouble(i);
        if (std::isinf(actual)) return other == actual;
        return std::isfinite(other) == std::isfinite(actual) && std::isnan(other) == std::isnan(actual);
      };
      const bool open = (own != nullptr && is_alike(*own)) || std::ranges::any_of(runs, is_alike);
      r = open ? 0 : std::numeric_limits<double>::infinity();
    }
    if (std::isnan(r)) r = std::numeric_limits<double>::infinity();
    ++counted;
    sum += r * r;
    if (r <= output.worst && i > 0) continue;
    output.worst = r;
    output.worst_element = i;
    output.expected = middle;
    output.actual = actual;
    output.spread = s;
  }
  output.rms = counted == 0 ? 0 : std::sqrt(sum / static_cast<double>(counted));
  return output;
}

bool EnsembleOutput::IsSuspect() const { return worst > MostWorst(elements, runs) || rms > MostRms(elements); }

}  // namespace hlo
