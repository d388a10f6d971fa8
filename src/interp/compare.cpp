#include "interp/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "interp/compare_patterns.h"
#include "interp/interpreter.h"
#include "interp/shadow.h"
#include "interp/shadow_rules.h"
#include "interp/shadow_slice.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr double kTiny = std::numeric_limits<double>::denorm_min();

// One leaf, ready for comparing: doubles side by side. Integers are compared by their bits; their doubles only serve
// the statistics.
struct Leaf {
  ShapeIndex index;
  Shape shape;
  Literal actual;         // In the declared type.
  Literal actual_values;  // f64.
  Literal expected;       // f64.
  Literal bound, likely;  // f64, or no bytes.
  Literal exact, open;    // Integers.
  Literal interpreted;    // The interpreter's, in the declared type, or no bytes.
  std::shared_ptr<const Choices> choices;
  // By element, or empty: what its choice says of it.
  std::vector<std::optional<ElementClass>> chosen;
  // Of a sample: which elements of `whole` the arrays hold, row-major.
  const std::vector<int64_t>* points = nullptr;
  const Shape* whole = nullptr;

  int64_t count() const { return shape.NumElements(); }
  int64_t PlaceOf(int64_t i) const { return points ? (*points)[i] : i; }
  const Shape& full() const { return points ? *whole : shape; }
};

Literal WidenAny(const Literal& literal) {
  if (IsFloat(literal.shape().type())) return ToShadow(literal).value;
  Literal wide = shadow::NewBuffer(literal.shape());
  auto out = wide.mutable_data<double>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = literal.GetDouble(i);
  return wide;
}

// A position on the line of the type's numbers: neighbours differ by one, 0 and -0 coincide.
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

struct Judgement {
  ElementClass element_class;
  double ratio;  // NaN: none.
};

// Judges the elements of one leaf.
class Judge {
 public:
  Judge(const Leaf& leaf, double rms, bool strict_nan)
      : leaf_(leaf),
        rms_(rms),
        strict_nan_(strict_nan),
        actual_(shadow::Values(leaf.actual_values)),
        expected_(shadow::Values(leaf.expected)),
        bound_(shadow::BoundsOrNull(leaf.bound)),
        likely_(shadow::BoundsOrNull(leaf.likely)) {
    if (!IsFloat(leaf.shape.type())) return;
    rounding_ = shadow::RoundingTo(leaf.shape.type(), false);
    if (BitWidth(leaf.shape.type()) < 32) specials_ = FormatOf(leaf.shape.type()).specials;
  }

  double Bound(int64_t i) const { return bound_ ? bound_[i] : 0; }

  // What bounds do not decide is right where it is the interpreter's.
  Judgement operator()(int64_t i) const {
    const Judgement judgement = ByBounds(i);
    const bool says_nothing =
        judgement.element_class == ElementClass::kUndetermined || judgement.element_class == ElementClass::kVacuous;
    return says_nothing && IsInterpreted(i) ? Is(true) : judgement;
  }

  // Element i as if candidate number `c` of its choice were expected.
  ElementClass Against(int64_t i, const ShadowValue& candidates, int64_t c) const {
    if (!candidates.IsFloat()) {
      if (candidates.HasOpen() && candidates.open.GetInt(c) != 0) return ElementClass::kUndetermined;
      const int64_t width = ByteWidth(leaf_.shape.type());
      const bool same = std::memcmp(leaf_.actual.raw() + i * width, candidates.exact.raw() + c * width, width) == 0;
      return same ? ElementClass::kExact : ElementClass::kViolation;
    }
    const double value = shadow::Values(candidates.value)[c];
    if (value == actual_[i]) return ElementClass::kExact;  // Of equals, which are 0 and -0 too.
    const double* const bound = shadow::BoundsOrNull(candidates.bound);
    return Float(i, value, bound ? bound[c] : 0).element_class;
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  bool IsInterpreted(int64_t i) const {
    if (leaf_.interpreted.byte_size() == 0) return false;
    if (IsFloat(leaf_.shape.type()) && std::isnan(actual_[i]) && std::isnan(leaf_.interpreted.GetDouble(i)))
      return !strict_nan_ || SameAsInterpreted(i);
    return SameAsInterpreted(i);
  }
  bool SameAsInterpreted(int64_t i) const {
    const int64_t width = ByteWidth(leaf_.shape.type());
    return std::memcmp(leaf_.actual.raw() + i * width, leaf_.interpreted.raw() + i * width, width) == 0;
  }

  Judgement ByBounds(int64_t i) const {
    if (!leaf_.chosen.empty() && leaf_.chosen[i]) {
      const bool wrong = *leaf_.chosen[i] == ElementClass::kViolation;
      return {*leaf_.chosen[i], wrong ? std::numeric_limits<double>::infinity() : kNone};
    }
    if (!IsFloat(leaf_.shape.type())) return Integer(i);
    return Float(i, expected_[i], Bound(i));
  }

  Judgement Float(int64_t i, double v, double e) const {
    const double t = actual_[i];
    if (!std::isfinite(e)) return {ElementClass::kUndetermined, kNone};
    if (std::isnan(v)) return Is(std::isnan(t) && (!strict_nan_ || e != 0 || SameBits(i)));
    if (std::isinf(v)) return Is(t == v);
    if (MayOverflow(t, v, e)) return {ElementClass::kWithin, kNone};
    if (!std::isfinite(t)) return {ElementClass::kViolation, std::numeric_limits<double>::infinity()};
    const double distance = std::fabs(t - v);
    if (e == 0) {
      if (distance != 0) return {ElementClass::kViolation, std::numeric_limits<double>::infinity()};
      return Is(v != 0 || std::signbit(t) == std::signbit(v));
    }
    const double ratio = distance / e;
    if (distance > e) return {ElementClass::kViolation, ratio};
    if (e > 0.25 * std::max(std::fabs(v), rms_) && e > rounding_.least) return {ElementClass::kVacuous, ratio};
    if (distance == 0) return {ElementClass::kExact, 0};
    if (likely_ != nullptr && distance > likely_[i]) return {ElementClass::kSuspicious, ratio};
    return {ElementClass::kWithin, ratio};
  }

  static Judgement Is(bool right) {
    return {right ? ElementClass::kExact : ElementClass::kViolation,
            right ? 0 : std::numeric_limits<double>::infinity()};
  }

  Judgement Integer(int64_t i) const {
    if (leaf_.open.byte_size() != 0 && leaf_.open.GetInt(i) != 0) return {ElementClass::kUndetermined, kNone};
    if (leaf_.exact.byte_size() == 0 && bound_ != nullptr) {  // A stated tolerance.
      const double distance = std::fabs(actual_[i] - expected_[i]);
      return distance == 0 ? Is(true)
                           : Judgement{distance <= bound_[i] ? ElementClass::kWithin : ElementClass::kViolation,
                                       distance / bound_[i]};
    }
    const int64_t width = ByteWidth(leaf_.shape.type());
    return Is(std::memcmp(leaf_.actual.raw() + i * width, leaf_.exact.raw() + i * width, width) == 0);
  }

  // Where the bound reaches the overflow threshold, the format's way to overflow is as right as a finite neighbour.
  bool MayOverflow(double t, double v, double e) const {
    if (!(std::fabs(v) + e >= rounding_.overflow)) return false;
    switch (specials_) {
      case Specials::kIeee: return std::isinf(t) && std::signbit(t) == std::signbit(v);
      case Specials::kFinite: return std::fabs(t) + e >= rounding_.overflow && std::signbit(t) == std::signbit(v);
      default: return std::isnan(t);
    }
  }

  // Strict NaN: exact values keep their payload in f64 (f32 widened keeps the top bits).
  bool SameBits(int64_t i) const {
    return std::bit_cast<uint64_t>(actual_[i]) == std::bit_cast<uint64_t>(expected_[i]);
  }

  const Leaf& leaf_;
  double rms_;
  bool strict_nan_;
  const double* actual_;
  const double* expected_;
  const double* bound_;
  const double* likely_;
  shadow::Rounding rounding_;
  Specials specials_ = Specials::kIeee;
};

// 0, 1, 2, 3-4, 5-8, ...: bin k > 0 ends at 2^(k-1).
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

// What the rows are sorted by; NaN and infinity come first.
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

TensorComparison CompareLeaf(const Leaf& leaf, const CompareOptions& options) {
  TensorComparison tensor{.output = leaf.index, .shape = leaf.full()};
  tensor.elements = leaf.full().NumElements();
  tensor.checked = leaf.count();
  const double* t = shadow::Values(leaf.actual_values);
  const double* v = shadow::Values(leaf.expected);
  double squares = 0;
  for (int64_t i = 0; i < tensor.checked; ++i) squares += std::isfinite(v[i]) ? v[i] * v[i] : 0;
  const Judge judge(leaf, std::sqrt(squares / std::max<int64_t>(1, tensor.checked)), options.strict_nan);

  std::vector<int64_t> bad;
  std::vector<float> ratios;
  std::array<int64_t, 32> ulp_bins = {};      // By UlpBin.
  std::array<int64_t, 2048> ratio_bins = {};  // By exponent + 1023; the last: infinite.
  double relative_squares = 0, worst_bad = 0;
  int64_t relative_count = 0;
  const auto check = [&](int64_t i) {
    const Judgement judgement = judge(i);
    ++tensor.counts[static_cast<int>(judgement.element_class)];
    tensor.nan_actual += std::isnan(t[i]);
    tensor.nan_expected += std::isnan(v[i]);
    tensor.inf_actual += std::isinf(t[i]);
    tensor.inf_expected += std::isinf(v[i]);
    tensor.zero_actual += t[i] == 0;
    tensor.zero_expected += v[i] == 0;
    if (judgement.element_class == ElementClass::kUndetermined) return;
    const bool finite = std::isfinite(t[i]) && std::isfinite(v[i]);
    const double error = std::fabs(t[i] - v[i]);
    const int64_t ulps = error == 0 ? 0 : UlpsBetween(leaf.shape.type(), t[i], v[i]);
    ++ulp_bins[UlpBin(ulps)];
    if (finite) {
      tensor.max_abs = std::max(tensor.max_abs, error);
      if (v[i] != 0) {
        const double relative = error / std::fabs(v[i]);
        tensor.max_rel = std::max(tensor.max_rel, relative);
        relative_squares += relative * relative;
        ++relative_count;
      }
      tensor.max_ulps = std::max(tensor.max_ulps, ulps);
    }
    if (!std::isnan(judgement.ratio)) {
      if (judgement.ratio > tensor.worst_ratio || tensor.worst_element < 0) {
        tensor.worst_ratio = std::max(tensor.worst_ratio, judgement.ratio);
        tensor.worst_element = leaf.PlaceOf(i);
      }
      if (judge.Bound(i) != 0) ratios.push_back(static_cast<float>(judgement.ratio));
      if (judgement.ratio > 0) ++ratio_bins[std::bit_cast<uint64_t>(judgement.ratio) >> 52];
    }
    if (judgement.element_class != ElementClass::kViolation) return;
    bad.push_back(i);
    if (std::isfinite(judgement.ratio)) worst_bad = std::max(worst_bad, judgement.ratio);
    if (!finite) return;
    tensor.max_abs_bad = std::max(tensor.max_abs_bad, error);
    if (v[i] != 0) tensor.max_rel_bad = std::max(tensor.max_rel_bad, error / std::fabs(v[i]));
    if (error > 0) ++tensor.error_decades[static_cast<int>(std::floor(std::log10(error)))];
  };
  for (int64_t i = 0; i < tensor.checked; ++i) check(i);
  for (int k = 0; k < 32; ++k) {
    if (ulp_bins[k] > 0) tensor.ulp_bins[k == 0 ? 0 : 1 << (k - 1)] = ulp_bins[k];
  }
  for (int k = 0; k < 2048; ++k) {
    if (ratio_bins[k] > 0) tensor.ratio_bins[k - 1023] = ratio_bins[k];
  }
  if (relative_count > 0) tensor.rms_rel = std::sqrt(relative_squares / relative_count);
  if (!ratios.empty()) {
    std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
    tensor.median_ratio = ratios[ratios.size() / 2];
  }
  Decide(tensor);
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
    const Mistakes mistakes{leaf.shape, {v, count}, {t, count}, bad, worst_bad};
    tensor.where = WhereIs(mistakes);
    tensor.looks_like = LooksLike(mistakes);
    return tensor;
  }
  // Where they lie is known; what their neighbours are is not.
  for (int64_t& i : bad) i = leaf.PlaceOf(i);
  tensor.where = WhereIs({leaf.full(), {}, {}, bad, worst_bad});
  return tensor;
}

// Gives each decision of a sort's line an element of its own, among those that are not ruled out; those that none is
// left for. Augmenting paths, as long as a line has places.
class Placing {
 public:
  Placing(const Decisions& decisions, const std::vector<uint8_t>& ruled_out)
      : decisions_(decisions), ruled_out_(ruled_out) {}

  std::vector<int64_t> WithoutElement() {
    std::vector<int64_t> without;
    for (int64_t d = 0; d < static_cast<int64_t>(decisions_.line.size()); ++d) {
      if (decisions_.first[d] == decisions_.first[d + 1]) continue;
      seen_.clear();
      if (!Place(d)) without.push_back(d);
    }
    return without;
  }

 private:
  bool Place(int64_t decision) {
    for (int64_t c = decisions_.first[decision]; c < decisions_.first[decision + 1]; ++c) {
      const int64_t element = decisions_.element[c];
      if (ruled_out_[c] != 0 || taken_.contains(element)) continue;
      taken_[element] = decision;
      return true;
    }
    for (int64_t c = decisions_.first[decision]; c < decisions_.first[decision + 1]; ++c) {
      const int64_t element = decisions_.element[c];
      if (ruled_out_[c] != 0 || !seen_.insert(element).second) continue;
      if (!Place(taken_.at(element))) continue;
      taken_[element] = decision;
      return true;
    }
    return false;
  }

  const Decisions& decisions_;
  const std::vector<uint8_t>& ruled_out_;
  std::unordered_map<int64_t, int64_t> taken_;  // By element: its decision.
  std::unordered_set<int64_t> seen_;
};

// Judges the elements that a reducer left of several. All places of one reduction must come from one candidate; an
// element that none of those has which agree with the places before it is wrong.
void JudgeChoices(std::vector<Leaf>& leaves) {
  std::unordered_map<const Decisions*, std::vector<uint8_t>> ruled_out;  // By candidate.
  for (Leaf& leaf : leaves) {
    if (leaf.choices == nullptr) continue;
    const ShadowValue& candidates = leaf.choices->candidates;
    const std::vector<int64_t>& first = leaf.choices->decisions->first;
    std::vector<uint8_t>& out = ruled_out[leaf.choices->decisions.get()];
    out.resize(candidates.shape.NumElements());
    leaf.chosen.resize(leaf.shape.NumElements());
    const Judge judge(leaf, 0, false);
    for (int64_t i = 0; i < leaf.shape.NumElements(); ++i) {
      const int64_t decision = leaf.choices->DecisionOf(i);
      if (decision < 0 || first[decision] == first[decision + 1]) continue;
      std::vector<int64_t> others;
      bool found = false, undetermined = false;
      for (int64_t c = first[decision]; c < first[decision + 1]; ++c) {
        if (out[c] != 0) continue;
        const ElementClass against = judge.Against(i, candidates, c);
        if (against == ElementClass::kViolation) others.push_back(c);
        found = found || against != ElementClass::kViolation;
        undetermined = undetermined || against == ElementClass::kUndetermined;
      }
      leaf.chosen[i] = !found         ? ElementClass::kViolation
                       : undetermined ? ElementClass::kUndetermined
                                      : ElementClass::kWithin;
      if (!found) continue;
      for (const int64_t c : others) out[c] = 1;
    }
  }
  for (const auto& [decisions, out] : ruled_out) {
    if (decisions->element.empty()) continue;
    std::unordered_set<int64_t> without;
    for (const int64_t d : Placing(*decisions, out).WithoutElement()) without.insert(d);
    for (Leaf& leaf : leaves) {
      if (leaf.choices == nullptr || leaf.choices->decisions.get() != decisions) continue;
      for (int64_t i = 0; i < leaf.shape.NumElements(); ++i) {
        if (without.contains(leaf.choices->DecisionOf(i))) leaf.chosen[i] = ElementClass::kViolation;
      }
    }
  }
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

Comparison CompareLeaves(const std::vector<Leaf>& leaves, const CompareOptions& options) {
  Comparison comparison;
  for (const Leaf& leaf : leaves) {
    comparison.outputs.push_back(CompareLeaf(leaf, options));
    const TensorComparison& tensor = comparison.outputs.back();
    if (Worse(comparison.verdict, tensor.verdict) == comparison.verdict) continue;
    comparison.verdict = tensor.verdict;
    comparison.reason = tensor.reason;
  }
  return comparison;
}

// Complex arrays as arrays of their parts, [.., 2]; everything else as it is.
Literal Parts(const Literal& literal) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements()) elements.push_back(Parts(element));
    return Literal::Tuple(std::move(elements));
  }
  if (!IsComplex(literal.shape().type())) return literal;
  std::vector<int64_t> dims = literal.shape().dims();
  dims.push_back(2);
  Literal parts(Shape(literal.shape().type() == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64, dims));
  std::memcpy(parts.mutable_raw(), literal.raw(), literal.byte_size());
  return parts;
}

// Says so of the tensors that Parts made of `literal`.
void MarkParts(const Literal& literal, Comparison& comparison) {
  for (TensorComparison& tensor : comparison.outputs)
    tensor.of_complex = IsComplex(SubShape(literal.shape(), tensor.output).type());
}

// Elements `points` of an array, or of each of a tuple's.
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

double RmsOf(std::span<const double> values) {
  double squares = 0;
  for (const double x : values) squares += std::isfinite(x) ? x * x : 0;
  return std::sqrt(squares / std::max<size_t>(1, values.size()));
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
  std::vector<Leaf> leaves;
  Collect(expected, actual, {}, leaves);
  for (Leaf& leaf : leaves) leaf.interpreted = interpreted != nullptr ? interpreted->At(leaf.index) : Literal();
  JudgeChoices(leaves);
  return CompareLeaves(leaves, options);
}

Comparison CompareSample(const ShadowValue& expected, const Literal& actual, const Shape& shape,
                         std::span<const std::vector<int64_t>> points, const CompareOptions& options) {
  std::vector<Leaf> leaves;
  Collect(expected, actual, {}, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
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
  const auto shadow = slice ? EvaluateShadow(slice->module->entry(), std::span<const ShadowValue>(slice->args),
                                             {.plan = options.plan ? &slice->plan : nullptr, .wanted = &slice->wanted})
                            : EvaluateShadow(computation, inputs, {.plan = options.plan});
  if (!shadow) {
    if (shadow.error().exit != ExitCode::kUnsupported) FAIL(shadow.error());
    return Comparison{.verdict = Verdict::kUnsupported, .reason = shadow.error().message()};
  }
  Comparison comparison =
      slice ? CompareSample(shadow->value, TakeFrom(actual, slice->points), actual.shape(), slice->points, options)
            : CompareWithBounds(shadow->value, actual, options);
  if (options.interpret && !slice && comparison.verdict == Verdict::kInconclusive) {
    // The interpreter's is one of the permitted results, whatever the bounds are.
    const auto interpreted = EvaluateComputation(computation, inputs);
    if (interpreted) comparison = CompareWithBounds(shadow->value, actual, options, &*interpreted);
  }
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
  // Two representable steps, one smallest step.
  const shadow::Rounding rounding = shadow::RoundingTo(type, false);
  return {.abs = 2 * rounding.least, .rel = 4 * rounding.relative};
}

Tolerance XlaTolerance() { return {.abs = 1e-3, .rel = 1e-3, .both = true}; }

Comparison CompareTolerance(const Literal& expected, const Literal& actual, const std::optional<Tolerance>& tolerance,
                            const CompareOptions& options) {
  CHECK(Compatible(expected.shape(), actual.shape()), expected.shape(), " against ", actual.shape());
  std::vector<Leaf> leaves;
  Collect(ToShadow(Parts(expected)), Parts(actual), {}, leaves);
  for (Leaf& leaf : leaves) {
    const std::span<const double> values = leaf.expected.data<double>();
    const Tolerance t = tolerance ? *tolerance : DefaultTolerance(leaf.shape.type(), RmsOf(values));
    if (!IsFloat(leaf.shape.type()) && t.abs == 0 && t.rel == 0) continue;
    leaf.exact = Literal();
    leaf.bound = shadow::NewBuffer(leaf.shape);
    auto bound = leaf.bound.mutable_data<double>();
    auto reference = leaf.expected.mutable_data<double>();
    auto got = leaf.actual_values.mutable_data<double>();
    const double largest = IsFloat(leaf.shape.type()) ? shadow::RoundingTo(leaf.shape.type(), false).overflow : 0;
    for (size_t i = 0; i < bound.size(); ++i) {
      const double relative = t.rel * std::fabs(reference[i]);
      // At least the smallest number, so that 0 and -0 are equal.
      bound[i] =
          std::isfinite(reference[i]) ? std::max(t.both ? std::max(t.abs, relative) : t.abs + relative, kTiny) : 0;
      if (t.fewer_infs_ok && std::isinf(reference[i]) && std::fabs(got[i]) * 1.01 > largest)
        got[i] = std::copysign(std::fabs(reference[i]), got[i]);
      if (t.max_ulps && UlpsBetween(leaf.shape.type(), got[i], reference[i]) <= *t.max_ulps)
        bound[i] = std::max(bound[i], std::fabs(got[i] - reference[i]));
    }
  }
  Comparison comparison = CompareLeaves(leaves, options);
  MarkParts(expected, comparison);
  return comparison;
}

Comparison CompareBitwise(const Literal& expected, const Literal& actual, const CompareOptions& options) {
  CHECK(Compatible(expected.shape(), actual.shape()), expected.shape(), " against ", actual.shape());
  std::vector<Leaf> leaves;
  Collect(ToShadow(Parts(expected)), Parts(actual), {}, leaves);
  Comparison comparison = CompareLeaves(leaves, options);
  MarkParts(expected, comparison);
  return comparison;
}

}  // namespace hlo
