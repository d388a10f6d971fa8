// One array of a comparison and the judge of its elements.
#ifndef HLO_JUDGE_COMPARE_LEAF_H_
#define HLO_JUDGE_COMPARE_LEAF_H_

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "judge/bounds/rules.h"
#include "judge/bounds/shadow.h"
#include "judge/compare/compare.h"

namespace hlo {

// Elements are doubles. Integers are compared by bits, and their doubles are for statistics.
struct Leaf {
  ShapeIndex index;
  Shape shape;
  Literal actual;         // In the declared type.
  Literal actual_values;  // f64.
  Literal expected;       // f64.
  Literal bound, likely;  // f64, or empty.
  Literal exact, open;    // Expected integers, and flags of undetermined ones.
  Literal interpreted;    // In the declared type, or empty.
  std::shared_ptr<const Choices> choices;
  // The class of each element with a decision. May be empty.
  std::vector<std::optional<ElementClass>> chosen;
  bool says_enough = false;  // All bounds are informative.
  // For a sample: row-major indices in `whole`.
  const std::vector<int64_t>* points = nullptr;
  const Shape* whole = nullptr;

  int64_t count() const { return shape.NumElements(); }
  int64_t PlaceOf(int64_t i) const { return points ? (*points)[i] : i; }
  const Shape& full() const { return points ? *whole : shape; }
};

struct Judgement {
  ElementClass element_class;
  double ratio;  // NaN if there is no ratio.
};

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

  Judgement operator()(int64_t i) const { return IsInterpreted(i) ? Is(true) : ByBounds(i); }
  // Whether the bound excludes the interpreter's value, which is permitted by definition.
  bool IsDisproved(int64_t i) const {
    return IsInterpreted(i) && ByBounds(i).element_class == ElementClass::kViolation;
  }

  // Whether each finite element with the expected bits is certainly exact.
  bool SameIsExact() const {
    const bool all_bits = IsFloat(leaf_.shape.type()) || BitWidth(leaf_.shape.type()) <= 32;
    const bool is_plain = leaf_.chosen.empty() && leaf_.open.byte_size() == 0 && leaf_.interpreted.byte_size() == 0;
    return all_bits && is_plain && specials_ != Specials::kFinite && (bound_ == nullptr || leaf_.says_enough);
  }

  // The class if candidate `c` is expected.
  ElementClass Against(int64_t i, const ShadowValue& candidates, int64_t c) const {
    if (!candidates.IsFloat()) {
      if (candidates.HasOpen() && candidates.open.GetInt(c) != 0) return ElementClass::kUndetermined;
      const int64_t width = ByteWidth(leaf_.shape.type());
      const bool same = std::memcmp(leaf_.actual.raw() + i * width, candidates.exact.raw() + c * width, width) == 0;
      return same ? ElementClass::kExact : ElementClass::kViolation;
    }
    const double value = shadow::Values(candidates.value)[c];
    if (value == actual_[i]) return ElementClass::kExact;
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
    // A bound of a few smallest steps is informative near zero.
    const double least = std::max(rounding_.least, std::numeric_limits<double>::min());
    if (e > kSaysNothing * std::max(std::fabs(v), rms_) && e > least) return {ElementClass::kVacuous, ratio};
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
    if (leaf_.exact.byte_size() == 0 && bound_ != nullptr) {  // The caller gave a tolerance.
      const double distance = std::fabs(actual_[i] - expected_[i]);
      return distance == 0 ? Is(true)
                           : Judgement{distance <= bound_[i] ? ElementClass::kWithin : ElementClass::kViolation,
                                       distance / bound_[i]};
    }
    const int64_t width = ByteWidth(leaf_.shape.type());
    return Is(std::memcmp(leaf_.actual.raw() + i * width, leaf_.exact.raw() + i * width, width) == 0);
  }

  // A bound that reaches the overflow threshold permits the format's overflow result on that side.
  bool MayOverflow(double t, double v, double e) const {
    if (!(std::fabs(v) + e >= rounding_.overflow)) return false;
    const bool on_its_side = (std::signbit(t) ? -v : v) + e >= rounding_.overflow;
    switch (specials_) {
      case Specials::kIeee: return std::isinf(t) && on_its_side;
      case Specials::kFinite: {  // The format saturates to its largest number, even if the sum is exact.
        const double size = std::fabs(t);
        return size + std::max(e, shadow::HalfUlp(rounding_, size)) >= rounding_.overflow && on_its_side;
      }
      default: return std::isnan(t);
    }
  }

  // Exact values keep their NaN payload in f64.
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

// Sets Leaf::chosen. All results of one reduction must come from the same candidate. A result is wrong if no candidate
// that fits the previous results permits it.
void JudgeChoices(std::vector<Leaf>& leaves);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_LEAF_H_
