// Compares results without bounds: by bits, or within a tolerance.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "judge/compare/compare.h"
#include "judge/compare/in_parts.h"
#include "judge/compare/leaves.h"
#include "judge/compare/tally.h"

namespace hlo {
namespace {

constexpr double kTiny = std::numeric_limits<double>::denorm_min();

Literal PieceOf(const Literal& literal, int64_t begin, int64_t end) {
  Literal piece = Literal::Uninitialized(Shape(literal.shape().type(), {end - begin}));
  const int64_t width = ByteWidth(literal.shape().type());
  std::memcpy(piece.mutable_raw(), literal.raw() + begin * width, static_cast<size_t>(piece.byte_size()));
  return piece;
}

Leaf LeafOf(ShapeIndex index, const Literal& expected, const Literal& actual) {
  std::vector<Leaf> leaves;
  Collect(ToShadow(expected), actual, std::move(index), leaves);
  return std::move(leaves.front());
}

// Sets the bounds of a leaf from the rms of the expected values. Null accepts only equal bits.
using Permit = std::function<void(Leaf& leaf, double rms)>;

TensorComparison CompareSizes(const ShapeIndex& index, const Shape& expected, const Shape& actual) {
  TensorComparison tensor{.output = index, .shape = actual};
  tensor.elements = tensor.checked = std::max<int64_t>(1, actual.NumElements());
  tensor.counts[static_cast<int>(ElementClass::kViolation)] = tensor.elements;
  tensor.max_abs = tensor.max_rel = tensor.rms_rel = tensor.norm_rel = tensor.worst_ratio = tensor.max_abs_bad =
      tensor.max_rel_bad = std::numeric_limits<double>::infinity();
  tensor.verdict = Verdict::kMismatch;
  tensor.reason = Str(actual, " at run time, expected ", expected);
  return tensor;
}

// Blocks limit memory for f64 copies. Patterns are searched in the whole array.
TensorComparison CompareArray(const ShapeIndex& index, const Literal& expected, const Literal& actual,
                              const Permit& permit, const CompareOptions& options) {
  constexpr int64_t kBlock = int64_t{1} << 18;
  const int64_t count = expected.shape().NumElements();
  const auto for_blocks = [&](auto&& f) {
    for (int64_t begin = 0; begin < count; begin += kBlock) f(begin, std::min(begin + kBlock, count));
  };
  double squares = 0;
  if (permit)
    for_blocks([&](int64_t begin, int64_t end) { squares += SquaresOf(WidenAny(PieceOf(expected, begin, end))); });
  const double rms = permit ? RmsOf(squares, count) : 0;
  Tally tally({.output = index, .shape = expected.shape(), .elements = count}, count);
  for_blocks([&](int64_t begin, int64_t end) {
    Leaf block = LeafOf(index, PieceOf(expected, begin, end), PieceOf(actual, begin, end));
    if (permit) permit(block, rms);
    tally.Add(block, Judge(block, rms, options.strict_nan), begin);
  });
  TensorComparison tensor = tally.Take();
  if (tally.bad().empty()) return tensor;
  Leaf whole = LeafOf(index, expected, actual);
  if (permit) permit(whole, rms);
  return CompareLeaf(whole, options);
}

Comparison CompareArrays(const Literal& expected, const Literal& actual, const Permit& permit,
                         const CompareOptions& options) {
  const Literal of_expected = InParts(expected), of_actual = InParts(actual);
  std::vector<TensorComparison> tensors;
  ForEachLeaf(of_expected.shape(), [&](const ShapeIndex& index, const Shape& shape) {
    if (!shape.IsArray()) return;
    const Literal& other = of_actual.At(index);
    CHECK(other.shape().type() == shape.type() && other.shape().rank() == shape.rank(), shape, " against ",
          other.shape());
    if (other.shape().dims() != shape.dims()) tensors.push_back(CompareSizes(index, shape, other.shape()));
    else tensors.push_back(CompareArray(index, of_expected.At(index), other, permit, options));
  });
  Comparison comparison = Together(std::move(tensors));
  MarkParts(expected, comparison);
  return comparison;
}

}  // namespace

Tolerance DefaultTolerance(PrimitiveType type, double rms) {
  const double scale = std::max(1.0, rms);
  switch (type) {
    case PrimitiveType::kF64:
    case PrimitiveType::kC128: return {.abs = 1e-12 * scale, .rel = 1e-12};
    case PrimitiveType::kF32:
    case PrimitiveType::kC64: return {.abs = 1e-6 * scale, .rel = 1e-5};
    case PrimitiveType::kF16: return {.abs = 1e-3 * scale, .rel = 4e-3};
    case PrimitiveType::kBF16: return {.abs = 8e-3 * scale, .rel = 3e-2};
    default: break;
  }
  if (!IsFloat(type)) return {};
  // Two representable steps, and one smallest step.
  const shadow::Rounding rounding = shadow::RoundingTo(type, false);
  return {.abs = 2 * rounding.least, .rel = 4 * rounding.relative};
}

Tolerance XlaTolerance() { return {.abs = 1e-3, .rel = 1e-3, .both = true}; }

Comparison CompareTolerance(const Literal& expected, const Literal& actual, const std::optional<Tolerance>& tolerance,
                            const CompareOptions& options) {
  const Permit permit = [&](Leaf& leaf, double rms) {
    const Tolerance t = tolerance ? *tolerance : DefaultTolerance(leaf.shape.type(), rms);
    if (!IsFloat(leaf.shape.type()) && t.abs == 0 && t.rel == 0) return;
    leaf.exact = Literal();
    leaf.bound = shadow::NewBuffer(leaf.shape);
    auto bound = leaf.bound.mutable_data<double>();
    const auto reference = leaf.expected.data<double>();
    auto got = leaf.actual_values.mutable_data<double>();
    leaf.says_enough = !t.both && t.abs + t.rel * rms <= kSaysNothing * rms;
    const double largest = IsFloat(leaf.shape.type()) ? shadow::RoundingTo(leaf.shape.type(), false).overflow : 0;
    for (size_t i = 0; i < bound.size(); ++i) {
      const double relative = t.rel * std::fabs(reference[i]);
      // The smallest number makes 0 and -0 equal.
      bound[i] =
          std::isfinite(reference[i]) ? std::max(t.both ? std::max(t.abs, relative) : t.abs + relative, kTiny) : 0;
      if (t.fewer_infs_ok && std::isinf(reference[i]) && std::fabs(got[i]) * 1.01 > largest)
        got[i] = std::copysign(std::fabs(reference[i]), got[i]);
      if (t.max_ulps && UlpsBetween(leaf.shape.type(), got[i], reference[i]) <= *t.max_ulps)
        bound[i] = std::max(bound[i], std::fabs(got[i] - reference[i]));
    }
  };
  return CompareArrays(expected, actual, permit, options);
}

Comparison CompareBitwise(const Literal& expected, const Literal& actual, const CompareOptions& options) {
  return CompareArrays(expected, actual, nullptr, options);
}

}  // namespace hlo
