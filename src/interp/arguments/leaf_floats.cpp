#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/float_limits.h"
#include "interp/arguments/leaf_values.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Unit(uint32_t word) { return (word >> 8) * 0x1p-24; }

double LargestOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF64: return std::numeric_limits<double>::max();
    case PrimitiveType::kF32: return std::numeric_limits<float>::max();
    default: return LargestFinite(FormatOf(type));
  }
}

double SmallestNormalOf(PrimitiveType type) {
  if (type == PrimitiveType::kF64) return 0x1p-1022;
  if (type == PrimitiveType::kF32) return 0x1p-126;
  return std::ldexp(1.0, 1 - FormatOf(type).bias);
}

int SignificandOf(PrimitiveType type) {
  if (type == PrimitiveType::kF64) return 53;
  if (type == PrimitiveType::kF32) return 24;
  return FormatOf(type).mantissa_bits + 1;
}

bool HasSign(PrimitiveType type) {
  return type == PrimitiveType::kF64 || type == PrimitiveType::kF32 || FormatOf(type).specials != Specials::kExponent;
}

}  // namespace

LeafFloats::LeafFloats(const LeafDraws& draws, double tighten)
    : draws_(draws), tighten_(tighten), type_(ComponentType(draws.shape.type())) {
  largest_ = LargestOf(type_);
  smallest_ = SmallestNormalOf(type_);
  significand_ = SignificandOf(type_);
  // Complex numbers have no order, and hence no interval.
  const ClosedInterval interval = IsComplex(draws_.shape.type()) ? ClosedInterval() : draws_.range.interval;
  positive_ = interval.low >= 0;
  // The scale keeps f16 and fp8 within a quarter of their range.
  const double scale = draws_.range.scale * tighten_;
  low_ = -scale;
  high_end_ = scale;
  if (interval.Bounded()) {
    low_ = interval.low;
    high_end_ = interval.high;
  } else if (positive_) {
    low_ = interval.low;
    high_end_ = low_ + 1;
  } else {
    low_ = std::max(low_, interval.low);
  }
  if (!HasSign(type_)) {
    positive_ = true;
    low_ = std::max(low_, smallest_);
  }
  if (draws_.options.range) std::tie(low_, high_end_) = *draws_.options.range;
  low_ = std::max(low_, -largest_ / 4);
  high_end_ = std::min(high_end_, largest_ / 4);
}

double LeafFloats::Normal(uint32_t word) const { return low_ + (high_end_ - low_) * Unit(word); }

bool LeafFloats::IsPlain() const {
  if (draws_.range.is_key || draws_.IsExactly()) return false;
  return draws_.options.profile == InputProfile::kNormal || draws_.options.profile == InputProfile::kEdge ||
         draws_.options.profile == InputProfile::kTies || draws_.options.profile == InputProfile::kLong;
}

int64_t LeafFloats::MakePlain(float* out, int64_t begin, int64_t end) const {
  if (!IsPlain()) return begin;
  uint32_t words[kPhiloxLanes];
  for (; begin + kPhiloxLanes <= end; begin += kPhiloxLanes) {
    PhiloxFirstWords(draws_.options.seed, static_cast<uint64_t>(begin), draws_.high, words);
    // Signed integers convert in one machine instruction.
    for (int lane = 0; lane < kPhiloxLanes; ++lane) {
      const double unit = static_cast<int32_t>(words[lane] >> 8) * 0x1p-24;
      out[begin + lane] = static_cast<float>(low_ + (high_end_ - low_) * unit);
    }
  }
  return begin;
}

double LeafFloats::At(int64_t i, Part part) const {
  const bool real = part == Part::kReal;
  if (draws_.IsExactly()) return real ? *draws_.range.exactly : 0;
  const PhiloxBlock block = draws_.Draw(i, part);
  const double sign = positive_ || (block.words[1] & 1) == 0 ? 1 : -1;
  switch (draws_.options.profile) {
    case InputProfile::kOnes: return real ? 1 : 0;
    case InputProfile::kZeros: return 0;
    case InputProfile::kIota: return real ? std::fmod(static_cast<double>(i), std::floor(largest_) + 1) : 0;
    case InputProfile::kXla: return draws_.options.range ? Normal(block.words[0]) : -0.1 + 0.3 * Unit(block.words[0]);
    case InputProfile::kExact: return sign * static_cast<double>(SmallInteger(block));
    case InputProfile::kFingerprint: return Fingerprint(real ? i : i + draws_.shape.NumElements());
    case InputProfile::kWide: return draws_.options.range ? Normal(block.words[0]) : sign * AnyMagnitude(block);
    case InputProfile::kSpecial: return Special(block);
    case InputProfile::kCancel:
      return draws_.range.is_key && draws_.range.distinct ? Key(i, part) : Cancelling(i, part, block);
    default: return draws_.range.is_key ? Key(i, part) : Normal(block.words[0]);
  }
}

int64_t LeafFloats::SmallInteger(const PhiloxBlock& block) const {
  const int64_t most = std::min<int64_t>(draws_.options.exact_bound, static_cast<int64_t>(std::min(largest_, 0x1p52)));
  return Between(block, 1, std::max<int64_t>(1, most));
}

// Distinct integers of the type, negative ones only if necessary. If the type has only n of them, each n consecutive
// elements are all of them in another order.
double LeafFloats::Fingerprint(int64_t i) const {
  const auto whole = static_cast<uint64_t>(std::min(std::ldexp(1.0, std::min(significand_, 52)), largest_));
  const bool both_signs = draws_.Numbers() > whole && !positive_;
  const uint64_t place = draws_.PlaceOf(i, both_signs ? 2 * whole : whole);
  return place < whole ? 1 + static_cast<double>(place) : -1 - static_cast<double>(place - whole);
}

// The bits choose the binade, because logarithms would differ between machines.
double LeafFloats::AnyMagnitude(const PhiloxBlock& block) const {
  const int64_t exponent = Between(block, std::ilogb(smallest_), std::ilogb(largest_));
  return std::min(largest_, std::ldexp(1 + Unit(block.words[2]), static_cast<int>(exponent)));
}

// Neighbours along the summed dimension are x and -x + a little. If the terms are products, one factor (`repeats`)
// has neighbours x and x + a little.
double LeafFloats::Cancelling(int64_t i, Part part, const PhiloxBlock& block) const {
  const int64_t d = draws_.range.summed_dim;
  const bool known = d >= 0 && d < draws_.shape.rank();
  const int64_t stride = known ? draws_.strides[d] : 1, at = known ? i / stride % draws_.shape.dim(d) : i;
  const double x = Normal(draws_.Draw(at % 2 == 0 ? i : i - stride, part).words[0]);
  if (at % 2 == 0) return x;
  return (draws_.range.repeats ? x : -x) + 0x1p-10 * Normal(block.words[2]);
}

double LeafFloats::Key(int64_t i, Part part) const {
  i = draws_.KeyOf(i);
  const bool distinct = draws_.range.distinct && !draws_.range.interval.Bounded() && part == Part::kReal;
  return distinct ? DistinctFloat(i) : Normal(draws_.Draw(i, part).words[0]);
}

// Numbers are evenly spaced within the scale. If the significand is too short for that, all numbers in the binades
// below the scale are used.
double LeafFloats::DistinctFloat(int64_t i) const {
  const auto count = static_cast<uint64_t>(std::max<int64_t>(2, draws_.shape.NumElements()));
  const uint64_t rank = Permuted(static_cast<uint64_t>(i), count, draws_.key);
  if (draws_.options.range)
    return low_ + (high_end_ - low_) * (static_cast<double>(rank) + 0.5) / static_cast<double>(count);
  const int scale = std::min(0, std::ilogb(draws_.range.scale * tighten_));
  const int bits = std::bit_width(count - 1);
  const auto r = static_cast<double>(rank), n = static_cast<double>(count);
  if (bits < significand_) return std::ldexp(positive_ ? r + 1 : 2 * r + 1 - n, scale - bits);
  const uint64_t magnitude = positive_ ? rank : rank / 2, binade = uint64_t{1} << (significand_ - 1);
  const uint64_t binades = static_cast<uint64_t>(std::max(1, scale - std::ilogb(smallest_)));
  const double x = std::ldexp(1 + static_cast<double>(magnitude % binade) / static_cast<double>(binade),
                              scale - 1 - static_cast<int>(magnitude / binade % binades));
  return positive_ || rank % 2 == 0 ? x : -x;
}

double LeafFloats::Special(const PhiloxBlock& block) const {
  const double sign = block.words[1] & 1 ? -1 : 1;
  switch (block.words[2] % 50) {
    case 0: return std::numeric_limits<double>::quiet_NaN();
    case 1: return sign * kInfinity;
    case 2: return sign * 0.0;
    case 3: return sign * smallest_ * 0.5;
    case 4: return sign * largest_;
    case 5: return sign * smallest_;
    default: return Normal(block.words[0]);
  }
}

}  // namespace hlo
