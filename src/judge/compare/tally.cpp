#include "judge/compare/tally.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace hlo {
namespace {

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

// Number of the bin: 0, 1, 2, 3-4, 5-8, ... Bin k > 0 ends at 2^(k-1).
int UlpBin(int64_t ulps) {
  return ulps == 0 ? 0 : std::min<int>(31, 1 + std::bit_width(static_cast<uint64_t>(ulps - 1)));
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

bool AreSameAndFinite(const double* a, const double* b, int64_t count) {
  constexpr uint64_t kExponent = uint64_t{0x7FF} << 52;
  uint64_t different = 0, special = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<uint64_t>(a[i]);
    different |= bits ^ std::bit_cast<uint64_t>(b[i]);
    special |= static_cast<uint64_t>((bits & kExponent) == kExponent);
  }
  return (different | special) == 0;
}

}  // namespace

int64_t UlpsBetween(PrimitiveType type, double a, double b) {
  if (!IsFloat(type)) return a == b ? 0 : static_cast<int64_t>(std::min(std::fabs(a - b), 0x1p62));
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<int64_t>::max();
  const int64_t x = Position(type, a), y = Position(type, b);
  return (x < 0) == (y < 0)
             ? std::abs(x - y)
             : static_cast<int64_t>(std::min<uint64_t>(static_cast<uint64_t>(std::abs(x)) + std::abs(y), INT64_MAX));
}

void Tally::Add(const Leaf& leaf, const Judge& judge, int64_t first) {
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

TensorComparison Tally::Take() {
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

void Tally::AddSame(const Leaf& leaf, const Judge& judge, int64_t begin, int64_t end, const double* v, int64_t first) {
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

void Tally::AddElement(const Leaf& leaf, const Judge& judge, int64_t i, double t, double v, int64_t first) {
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

}  // namespace hlo
