#include "judge/compare/compare.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "judge/compare/in_parts.h"
#include "judge/compare/joined.h"
#include "judge/compare/leaves.h"

namespace hlo {
namespace {

// `whole` is null if all elements are compared.
Comparison CompareValues(const ShadowValue& expected, const Literal& actual, const Shape* whole,
                         std::span<const std::vector<int64_t>> points, const CompareOptions& options,
                         const Literal* interpreted) {
  if (HasParts(expected)) {
    std::vector<std::vector<int64_t>> of_parts(points.begin(), points.end());
    for (size_t i = 0; i < of_parts.size(); ++i) {
      const ShadowValue& leaf = expected.shape.IsTuple() ? expected.elements[i] : expected;
      if (!IsComplex(leaf.shape.type())) continue;
      of_parts[i].clear();
      for (const int64_t at : points[i]) of_parts[i].insert(of_parts[i].end(), {2 * at, 2 * at + 1});
    }
    const std::optional<Literal> of_interpreted = interpreted ? std::optional(InParts(*interpreted)) : std::nullopt;
    const Shape whole_parts = whole ? InParts(*whole) : Shape();
    Comparison comparison = CompareValues(InParts(expected), InParts(actual), whole ? &whole_parts : nullptr, of_parts,
                                          options, of_interpreted ? &*of_interpreted : nullptr);
    MarkParts(actual, comparison);
    return comparison;
  }
  std::vector<Leaf> leaves;
  Collect(expected, actual, {}, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (interpreted != nullptr) leaves[i].interpreted = interpreted->At(leaves[i].index);
    if (whole == nullptr) continue;
    leaves[i].points = &points[i];
    leaves[i].whole = &SubShape(*whole, leaves[i].index);
  }
  JudgeChoices(leaves);
  std::vector<TensorComparison> tensors;
  for (const Leaf& leaf : leaves) tensors.push_back(CompareLeaf(leaf, options));
  return Together(std::move(tensors));
}

}  // namespace

std::string_view ToString(ElementClass element_class) {
  static constexpr std::string_view kWords[] = {"exact",     "within",       "suspicious",
                                                "VIOLATION", "undetermined", "vacuous"};
  return kWords[static_cast<int>(element_class)];
}

Verdict Worse(Verdict a, Verdict b) {
  const auto rank = [](Verdict v) {
    return v == Verdict::kUnsupported ? 3 : v == Verdict::kMismatch ? 2 : v == Verdict::kInconclusive ? 1 : 0;
  };
  return rank(b) > rank(a) ? b : a;
}

ExitCode ExitCodeOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMatch: return ExitCode::kOk;
    case Verdict::kMismatch: return ExitCode::kNo;
    case Verdict::kInconclusive: return ExitCode::kInconclusive;
    case Verdict::kUnsupported: return ExitCode::kUnsupported;
  }
  return ExitCode::kInternal;
}

int64_t Comparison::elements() const {
  return std::accumulate(outputs.begin(), outputs.end(), int64_t{0},
                         [](int64_t n, const TensorComparison& t) { return n + t.elements; });
}
int64_t Comparison::checked() const {
  return std::accumulate(outputs.begin(), outputs.end(), int64_t{0},
                         [](int64_t n, const TensorComparison& t) { return n + t.checked; });
}
int64_t Comparison::Count(ElementClass c) const {
  return std::accumulate(outputs.begin(), outputs.end(), int64_t{0},
                         [&](int64_t n, const TensorComparison& t) { return n + t.Count(c); });
}
double Comparison::worst_ratio() const {
  double worst = 0;
  for (const TensorComparison& tensor : outputs) worst = std::max(worst, tensor.worst_ratio);
  return worst;
}

Comparison CompareWithBounds(const ShadowValue& expected, const Literal& actual, const CompareOptions& options,
                             const Literal* interpreted) {
  return CompareValues(expected, actual, nullptr, {}, options, interpreted);
}

Comparison CompareSample(const ShadowValue& expected, const Literal& actual, const Shape& shape,
                         std::span<const std::vector<int64_t>> points, const CompareOptions& options,
                         const Literal* interpreted) {
  return CompareValues(expected, actual, &shape, points, options, interpreted);
}

}  // namespace hlo
