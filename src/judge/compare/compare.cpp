#include "judge/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "interp/interpreter.h"
#include "interp/nan_bits.h"
#include "ir/component_type.h"
#include "ir/module.h"
#include "judge/bounds/rules.h"
#include "judge/bounds/shadow.h"
#include "judge/bounds/slice.h"
#include "judge/compare/joined.h"
#include "judge/compare/leaf.h"
#include "judge/compare/partial_bounds.h"
#include "judge/compare/patterns.h"

namespace hlo {
namespace {

constexpr double kTiny = std::numeric_limits<double>::denorm_min();

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

// Position among the type's numbers. Neighbours differ by one, and 0 equals -0.
int64_t Position(PrimitiveType type, double x) {
  int64_t magnitude;
  switch (type) {
    case PrimitiveType::kF64: magnitude = std::bit_cast<int64_t>(std::fabs(x)); break;
    case PrimitiveType::kF32: magnitude = std::bit_cast<int32_t>(static_cast<float>(std::fabs(x))); break;
    case PrimitiveType::kBF16: magnitude = FloatToBF16(static_cast<float>(std::fabs(x))); break;
    case PrimitiveType::kF16: magnitude = std::bit_cast<uint16_t>(static_cast<_Float16>(std::fabs(x))); break;
    default: magnitude = EncodeFloat(FormatOf(type), std::fabs(x));
  }
  return x < 0 ? -magnitude : magnitude;
}

int64_t UlpsBetween(PrimitiveType type, double a, double b) {
  if (!IsFloat(type)) return a == b ? 0 : static_cast<int64_t>(std::min(std::fabs(a - b), 0x1p62));
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<int64_t>::max();
  const int64_t x = Position(type, a), y = Position(type, b);
  return (x < 0) == (y < 0)
             ? std::abs(x - y)
             : static_cast<int64_t>(std::min<uint64_t>(static_cast<uint64_t>(std::abs(x)) + std::abs(y), INT64_MAX));
}

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

// Number of the bin: 0, 1, 2, 3-4, 5-8, ... Bin k > 0 ends at 2^(k-1).
int UlpBin(int64_t ulps) {
  return ulps == 0 ? 0 : std::min<int>(31, 1 + std::bit_width(static_cast<uint64_t>(ulps - 1)));
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

void Decide(TensorComparison& tensor) {
  const double checked = std::max<double>(1, static_cast<double>(tensor.checked));
  if (tensor.bad() > 0) {
    tensor.verdict = Verdict::kMismatch;
  } else if (tensor.Count(ElementClass::kUndetermined) > kMostUndetermined * checked) {
    tensor.verdict = Verdict::kInconclusive;
    tensor.reason = Str(Format("%.1f", 100.0 * tensor.Count(ElementClass::kUndetermined) / checked), " % undetermined");
  } else if (tensor.Count(ElementClass::kVacuous) > kMostVacuous * checked) {
    tensor.verdict = Verdict::kInconclusive;
    tensor.reason = Str(Format("%.1f", 100.0 * tensor.Count(ElementClass::kVacuous) / checked), " % vacuous");
  }
}

double RmsOf(double squares, int64_t count) {
  return std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, count)));
}
double SquaresOf(const Literal& values) {
  double squares = 0;
  for (const double x : values.data<double>()) squares += std::isfinite(x) ? x * x : 0;
  return squares;
}

// Statistics of a leaf, added in blocks.
class Tally {
 public:
  Tally(TensorComparison tensor, int64_t count)
      : tensor_(std::move(tensor)), ratio_step_(std::max<int64_t>(1, count / kMostRatios)) {}

  // `first` is the index of the block's first element.
  void Add(const Leaf& leaf, const Judge& judge, int64_t first = 0) {
    const double* t = shadow::Values(leaf.actual_values);
    const double* v = shadow::Values(leaf.expected);
    tensor_.checked += leaf.count();
    constexpr int64_t kChunk = 256;
    const bool same_is_exact = judge.SameIsExact();
    for (int64_t begin = 0; begin < leaf.count(); begin += kChunk) {
      const int64_t end = std::min(begin + kChunk, leaf.count());
      if (same_is_exact && AreSameAndFinite(t + begin, v + begin, end - begin)) {
        AddSame(leaf, judge, begin, end, v, first);
        continue;
      }
      for (int64_t i = begin; i < end; ++i) AddElement(leaf, judge, i, t[i], v[i], first);
    }
  }

  TensorComparison Take() {
    for (int k = 0; k < 32; ++k) {
      if (ulp_bins_[k] > 0) tensor_.ulp_bins[k == 0 ? 0 : 1 << (k - 1)] = ulp_bins_[k];
    }
    for (int k = 0; k < 2048; ++k) {
      if (ratio_bins_[k] > 0) tensor_.ratio_bins[k - 1023] = ratio_bins_[k];
    }
    if (relative_count_ > 0) tensor_.rms_rel = std::sqrt(relative_squares_ / static_cast<double>(relative_count_));
    if (error_squares_ > 0) tensor_.norm_rel = std::sqrt(error_squares_ / squares_);
    if (!ratios_.empty()) {
      const auto middle = ratios_.begin() + std::ssize(ratios_) / 2;
      std::nth_element(ratios_.begin(), middle, ratios_.end());
      tensor_.median_ratio = *middle;
    }
    Decide(tensor_);
    return std::move(tensor_);
  }

  std::vector<int64_t>& bad() { return bad_; }
  double worst_bad() const { return worst_bad_; }

 private:
  // The median uses at most this many ratios.
  static constexpr int64_t kMostRatios = int64_t{1} << 22;

  static bool AreSameAndFinite(const double* a, const double* b, int64_t count) {
    constexpr uint64_t kExponent = uint64_t{0x7FF} << 52;
    uint64_t different = 0, special = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<uint64_t>(a[i]);
      different |= bits ^ std::bit_cast<uint64_t>(b[i]);
      special |= static_cast<uint64_t>((bits & kExponent) == kExponent);
    }
    return (different | special) == 0;
  }

  void AddSame(const Leaf& leaf, const Judge& judge, int64_t begin, int64_t end, const double* v, int64_t first) {
    tensor_.counts[static_cast<int>(ElementClass::kExact)] += end - begin;
    ulp_bins_[0] += end - begin;
    int64_t zeros = 0;
    for (int64_t i = begin; i < end; ++i) {
      zeros += v[i] == 0 ? 1 : 0;
      squares_ += v[i] * v[i];
    }
    tensor_.zero_actual += zeros;
    tensor_.zero_expected += zeros;
    relative_count_ += end - begin - zeros;
    if (tensor_.worst_element < 0) tensor_.worst_element = first + leaf.PlaceOf(begin);
    const int64_t past = (first + begin) % ratio_step_;
    for (int64_t i = past == 0 ? begin : begin + ratio_step_ - past; i < end; i += ratio_step_) {
      if (judge.Bound(i) != 0) ratios_.push_back(0);
    }
  }

  void AddElement(const Leaf& leaf, const Judge& judge, int64_t i, double t, double v, int64_t first) {
    const Judgement judgement = judge(i);
    ++tensor_.counts[static_cast<int>(judgement.element_class)];
    tensor_.disproved += judge.IsDisproved(i);
    tensor_.nan_actual += std::isnan(t);
    tensor_.nan_expected += std::isnan(v);
    tensor_.inf_actual += std::isinf(t);
    tensor_.inf_expected += std::isinf(v);
    tensor_.nan_for_finite += std::isnan(t) && std::isfinite(v);
    tensor_.inf_for_finite += std::isinf(t) && std::isfinite(v);
    tensor_.zero_actual += t == 0;
    tensor_.zero_expected += v == 0;
    if (judgement.element_class == ElementClass::kUndetermined) return;
    const bool finite = std::isfinite(t) && std::isfinite(v);
    const double error = std::fabs(t - v);
    const int64_t ulps = error == 0 ? 0 : UlpsBetween(leaf.shape.type(), t, v);
    ++ulp_bins_[UlpBin(ulps)];
    if (finite) {
      tensor_.max_abs = std::max(tensor_.max_abs, error);
      error_squares_ += error * error;
      squares_ += v * v;
      if (v != 0) {
        const double relative = error / std::fabs(v);
        tensor_.max_rel = std::max(tensor_.max_rel, relative);
        relative_squares_ += relative * relative;
        ++relative_count_;
      }
      tensor_.max_ulps = std::max(tensor_.max_ulps, ulps);
    }
    if (!std::isnan(judgement.ratio)) {
      if (judgement.ratio > tensor_.worst_ratio || tensor_.worst_element < 0) {
        tensor_.worst_ratio = std::max(tensor_.worst_ratio, judgement.ratio);
        tensor_.worst_element = first + leaf.PlaceOf(i);
      }
      if (judge.Bound(i) != 0 && (first + i) % ratio_step_ == 0) ratios_.push_back(static_cast<float>(judgement.ratio));
      if (judgement.ratio > 0) ++ratio_bins_[std::bit_cast<uint64_t>(judgement.ratio) >> 52];
    }
    if (judgement.element_class != ElementClass::kViolation) return;
    bad_.push_back(first + i);
    if (std::isfinite(judgement.ratio)) worst_bad_ = std::max(worst_bad_, judgement.ratio);
    // No tolerance accepts an infinity or NaN on one side only, and no relative tolerance an error where 0 is expected.
    constexpr double kNone = std::numeric_limits<double>::infinity();
    tensor_.max_abs_bad = std::max(tensor_.max_abs_bad, finite ? error : kNone);
    tensor_.max_rel_bad = std::max(tensor_.max_rel_bad, finite && v != 0 ? error / std::fabs(v) : kNone);
    if (!finite) return;
    if (error > 0) ++tensor_.error_decades[static_cast<int>(std::floor(std::log10(error)))];
  }

  TensorComparison tensor_;
  int64_t ratio_step_;
  std::vector<int64_t> bad_;
  std::vector<float> ratios_;
  std::array<int64_t, 32> ulp_bins_ = {};      // Counts by UlpBin.
  std::array<int64_t, 2048> ratio_bins_ = {};  // Counts by exponent + 1023, with infinity last.
  double relative_squares_ = 0, error_squares_ = 0, squares_ = 0, worst_bad_ = 0;
  int64_t relative_count_ = 0;
};

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

Comparison Together(std::vector<TensorComparison> tensors) {
  Comparison comparison{.outputs = std::move(tensors)};
  for (const TensorComparison& tensor : comparison.outputs) {
    if (Worse(comparison.verdict, tensor.verdict) == comparison.verdict) continue;
    comparison.verdict = tensor.verdict;
    comparison.reason = tensor.reason;
  }
  return comparison;
}

Comparison CompareLeaves(const std::vector<Leaf>& leaves, const CompareOptions& options) {
  std::vector<TensorComparison> tensors;
  for (const Leaf& leaf : leaves) tensors.push_back(CompareLeaf(leaf, options));
  return Together(std::move(tensors));
}

Shape PartsOf(const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Shape> shapes;
    for (const Shape& element : shape.elements()) shapes.push_back(PartsOf(element));
    return Shape::Tuple(std::move(shapes));
  }
  if (!shape.IsArray() || !IsComplex(shape.type())) return shape;
  std::vector<int64_t> dims = shape.dims();
  dims.push_back(2);
  return Shape(ComponentType(shape.type()), dims);
}
Literal Parts(const Literal& literal) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements()) elements.push_back(Parts(element));
    return Literal::Tuple(std::move(elements));
  }
  if (!IsComplex(literal.shape().type())) return literal;
  Literal parts(PartsOf(literal.shape()));
  std::copy_n(literal.raw(), literal.byte_size(), parts.mutable_raw());
  return parts;
}

ShadowValue PartsOf(const ShadowValue& value) {
  if (value.shape.IsArray() && IsComplex(value.shape.type())) return PartsSideBySide(value);
  if (!value.shape.IsTuple()) return value;
  ShadowValue parts = value;
  std::vector<Shape> shapes;
  for (ShadowValue& element : parts.elements) {
    element = PartsOf(element);
    shapes.push_back(element.shape);
  }
  parts.shape = Shape::Tuple(std::move(shapes));
  return parts;
}

void MarkParts(const Literal& literal, Comparison& comparison) {
  for (TensorComparison& tensor : comparison.outputs)
    tensor.of_complex = IsComplex(SubShape(literal.shape(), tensor.output).type());
}

Literal TakeFrom(const Literal& literal, std::span<const std::vector<int64_t>> points) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < literal.elements().size(); ++i)
      elements.push_back(TakeFrom(literal.elements()[i], points.subspan(i, 1)));
    return Literal::Tuple(std::move(elements));
  }
  Literal taken(Shape(literal.shape().type(), {std::ssize(points[0])}));
  const int64_t width = ByteWidth(literal.shape().type());
  std::byte* to = taken.mutable_raw();
  for (const int64_t i : points[0]) {
    std::memcpy(to, literal.raw() + i * width, width);
    to += width;
  }
  return taken;
}

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
  const Literal of_expected = Parts(expected), of_actual = Parts(actual);
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
  if (HasParts(expected)) {
    const std::optional<Literal> of_interpreted = interpreted ? std::optional(Parts(*interpreted)) : std::nullopt;
    Comparison comparison =
        CompareWithBounds(PartsOf(expected), Parts(actual), options, of_interpreted ? &*of_interpreted : nullptr);
    MarkParts(actual, comparison);
    return comparison;
  }
  std::vector<Leaf> leaves;
  Collect(expected, actual, {}, leaves);
  for (Leaf& leaf : leaves) leaf.interpreted = interpreted != nullptr ? interpreted->At(leaf.index) : Literal();
  JudgeChoices(leaves);
  return CompareLeaves(leaves, options);
}

Comparison CompareSample(const ShadowValue& expected, const Literal& actual, const Shape& shape,
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
    const std::optional<Literal> of_interpreted = interpreted ? std::optional(Parts(*interpreted)) : std::nullopt;
    Comparison comparison = CompareSample(PartsOf(expected), Parts(actual), PartsOf(shape), of_parts, options,
                                          of_interpreted ? &*of_interpreted : nullptr);
    MarkParts(actual, comparison);
    return comparison;
  }
  std::vector<Leaf> leaves;
  Collect(expected, actual, {}, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (interpreted != nullptr) leaves[i].interpreted = interpreted->At(leaves[i].index);
    leaves[i].points = &points[i];
    leaves[i].whole = &SubShape(shape, leaves[i].index);
  }
  JudgeChoices(leaves);
  return CompareLeaves(leaves, options);
}

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
