#include "judge/compare/leaves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "judge/compare/patterns.h"
#include "judge/compare/tally.h"

namespace hlo {
namespace {

std::string BitsOf(const Literal& literal, int64_t i) {
  const int64_t width = ByteWidth(literal.shape().type());
  std::string text = "0x";
  for (int64_t k = width - 1; k >= 0; --k) text += Format("%02x", static_cast<unsigned>(literal.raw()[i * width + k]));
  return text;
}

std::vector<int64_t> IndexOf(const Shape& shape, int64_t linear) {
  std::vector<int64_t> index(shape.rank());
  for (int64_t d = shape.rank() - 1; d >= 0; --d) {
    index[d] = linear % shape.dim(d);
    linear /= shape.dim(d);
  }
  return index;
}

ElementReport ReportOf(const Leaf& leaf, const Judge& judge, int64_t i) {
  const double t = leaf.actual_values.GetDouble(i), v = leaf.expected.GetDouble(i);
  const Judgement judgement = judge(i);
  ElementReport report{.linear = leaf.PlaceOf(i),
                       .index = IndexOf(leaf.full(), leaf.PlaceOf(i)),
                       .element_class = judgement.element_class,
                       .expected = v,
                       .actual = t};
  report.bound = judge.Bound(i);
  report.abs_error = std::fabs(t - v);
  report.rel_error = report.abs_error / std::fabs(v);
  report.ratio = judgement.ratio;
  report.ulps = UlpsBetween(leaf.shape.type(), t, v);
  report.actual_bits = BitsOf(leaf.actual, i);
  return report;
}

// NaN and infinity come first.
double SortKey(const ElementReport& r, TopBy by) {
  if (!std::isfinite(r.actual)) return std::numeric_limits<double>::infinity();
  switch (by) {
    case TopBy::kAbs: return r.abs_error;
    case TopBy::kUlp: return static_cast<double>(r.ulps);
    case TopBy::kIndex: return -static_cast<double>(r.linear);
    case TopBy::kRatio: return r.ratio;
    case TopBy::kRel: return r.rel_error;
  }
  return 0;
}

}  // namespace

Literal WidenAny(const Literal& literal) {
  if (IsFloat(literal.shape().type())) return ToShadow(literal).value;
  Literal wide = shadow::NewBuffer(literal.shape());
  auto out = wide.mutable_data<double>();
  const auto copy = [&]<class T>(T) {
    std::ranges::copy(literal.data<T>(), out.begin());
    return wide;
  };
  switch (literal.shape().type()) {
    case PrimitiveType::kS32: return copy(int32_t());
    case PrimitiveType::kU32: return copy(uint32_t());
    case PrimitiveType::kS64: return copy(int64_t());
    default: break;
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = literal.GetDouble(i);
  return wide;
}

double RmsOf(double squares, int64_t count) {
  return std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, count)));
}
double SquaresOf(const Literal& values) {
  double squares = 0;
  for (const double x : values.data<double>()) squares += std::isfinite(x) ? x * x : 0;
  return squares;
}

void Collect(const ShadowValue& expected, const Literal& actual, ShapeIndex index, std::vector<Leaf>& leaves) {
  if (expected.shape.IsTuple()) {
    for (size_t i = 0; i < expected.elements.size(); ++i) {
      ShapeIndex inner = index;
      inner.push_back(i);
      Collect(expected.elements[i], actual.elements()[i], std::move(inner), leaves);
    }
    return;
  }
  if (!expected.shape.IsArray()) return;
  Leaf leaf{.index = std::move(index), .shape = expected.shape, .actual = actual, .actual_values = WidenAny(actual)};
  leaf.bound = expected.bound;
  leaf.likely = expected.likely;
  leaf.open = expected.open;
  leaf.exact = expected.exact;
  leaf.choices = expected.choices;
  leaf.expected = expected.IsFloat() ? expected.value : WidenAny(expected.exact);
  leaves.push_back(std::move(leaf));
}

TensorComparison CompareLeaf(const Leaf& leaf, const CompareOptions& options) {
  const double* t = shadow::Values(leaf.actual_values);
  const double* v = shadow::Values(leaf.expected);
  const Judge judge(leaf, RmsOf(SquaresOf(leaf.expected), leaf.count()), options.strict_nan);
  Tally tally({.output = leaf.index, .shape = leaf.full(), .elements = leaf.full().NumElements()}, leaf.count());
  tally.Add(leaf, judge);
  TensorComparison tensor = tally.Take();
  std::vector<int64_t>& bad = tally.bad();
  if (bad.empty()) return tensor;

  std::vector<ElementReport> rows;
  for (const int64_t i : bad) {
    rows.push_back(ReportOf(leaf, judge, i));
    if (rows.size() < 2 * static_cast<size_t>(options.max_mismatches) + 64 && i != bad.back()) continue;
    std::ranges::stable_sort(rows, [&](const ElementReport& a, const ElementReport& b) {
      return SortKey(a, options.top_by) > SortKey(b, options.top_by);
    });
    if (rows.size() > static_cast<size_t>(options.max_mismatches)) rows.resize(options.max_mismatches);
  }
  tensor.worst = std::move(rows);
  const size_t count = static_cast<size_t>(tensor.checked);
  if (leaf.points == nullptr) {
    const Mistakes mistakes{leaf.shape, {v, count}, {t, count}, bad, tally.worst_bad()};
    tensor.where = WhereIs(mistakes);
    tensor.looks_like = LooksLike(mistakes);
    return tensor;
  }
  for (int64_t& i : bad) i = leaf.PlaceOf(i);
  tensor.where = WhereIs({leaf.full(), {}, {}, bad, tally.worst_bad()});
  return tensor;
}

Comparison Together(std::vector<TensorComparison> tensors) {
  Comparison comparison{.outputs = std::move(tensors)};
  for (const TensorComparison& tensor : comparison.outputs) {
    if (Worse(comparison.verdict, tensor.verdict) == comparison.verdict) continue;
    comparison.verdict = tensor.verdict;
    comparison.reason = tensor.reason;
  }
  return comparison;
}

void MarkParts(const Literal& literal, Comparison& comparison) {
  for (TensorComparison& tensor : comparison.outputs)
    tensor.of_complex = IsComplex(SubShape(literal.shape(), tensor.output).type());
}

}  // namespace hlo
