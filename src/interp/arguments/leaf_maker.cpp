#include "interp/arguments/leaf_maker.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/float_limits.h"
#include "base/parallel.h"
#include "ir/component_type.h"

namespace hlo {
namespace {

constexpr int64_t kGrain = 1 << 14;
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

int64_t LargestIntegerOf(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return 1;
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  return bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
}
int64_t SmallestIntegerOf(PrimitiveType type) { return IsSigned(type) ? -LargestIntegerOf(type) - 1 : 0; }

bool HasSign(PrimitiveType type) {
  return type == PrimitiveType::kF64 || type == PrimitiveType::kF32 || FormatOf(type).specials != Specials::kExponent;
}

// Position of `i` in a permutation. Repeats a Feistel network on the next power of four until the position is below
// `count`.
uint64_t Permuted(uint64_t i, uint64_t count, uint64_t key) {
  int half = 1;
  while (half < 32 && (uint64_t{1} << 2 * half) < count) ++half;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  do {
    uint64_t left = i >> half, right = i & mask;
    for (uint64_t round = 0; round < 6; ++round) {
      uint64_t mixed = (right + 1) * 0x9E3779B97F4A7C15 ^ (key + round * 0xD1B54A32D192ED03);
      mixed = (mixed ^ mixed >> 31) * 0xBF58476D1CE4E5B9;
      mixed ^= mixed >> 29;
      left = std::exchange(right, left ^ (mixed >> 7 & mask));
    }
    i = left << half | right;
  } while (i >= count);
  return i;
}

enum class Part : uint8_t { kReal, kImaginary };

class Maker {
 public:
  Maker(const Shape& shape, const LeafRange& range, const ArgumentOptions& options, int64_t parameter, int64_t leaf,
        double tighten)
      : shape_(shape),
        range_(range),
        options_(options),
        high_(CounterOf(parameter, leaf)),
        key_(Philox(options.seed, ~uint64_t{0}, high_).Wide()),
        // Leaves begin at different numbers, which reveals confused leaves.
        first_(static_cast<uint64_t>(parameter) * 7919 + static_cast<uint64_t>(leaf) * 104729),
        tighten_(tighten) {
    if (!shape.IsArray()) return;
    strides_ = RowMajorStrides(shape.dims());
    type_ = ComponentType(shape.type());
    if (IsFloat(type_)) PrepareFloats();
    if (range.rows_sorted || range.rows_unique) PrepareRows();
  }

  Literal Make() const {
    Literal literal(shape_);
    if (!shape_.IsArray()) return literal;
    literal.mutable_raw();  // Allocates before threads write.
    const PrimitiveType type = shape_.type();
    const int64_t count = shape_.NumElements();
    const bool plain = type == PrimitiveType::kF32 && IsPlain();
    ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      if (type == PrimitiveType::kF32) {
        float* out = reinterpret_cast<float*>(const_cast<std::byte*>(literal.raw()));
        if (plain) begin = MakePlain(out, begin, end);
        for (int64_t i = begin; i < end; ++i) out[i] = static_cast<float>(Float(i));
        return;
      }
      for (int64_t i = begin; i < end; ++i) {
        if (IsFloat(type)) {
          literal.SetDouble(i, Float(i));
        } else if (IsComplex(type)) {
          literal.SetComplex(i, {Float(i), Float(i, Part::kImaginary)});
        } else {
          literal.SetInt(i, Integer(i));
        }
      }
    });
    return literal;
  }

 private:
  PhiloxBlock Draw(int64_t i, Part part = Part::kReal) const {
    const PhiloxBlock real = Philox(options_.seed, static_cast<uint64_t>(i), high_);
    if (part == Part::kReal) return real;
    // Both parts share a random block, because most profiles need one word for each.
    PhiloxBlock imaginary = Philox(options_.seed, static_cast<uint64_t>(i) | uint64_t{1} << 63, high_);
    imaginary.words[0] = real.words[1];
    return imaginary;
  }

  void PrepareFloats() {
    largest_ = LargestOf(type_);
    smallest_ = SmallestNormalOf(type_);
    significand_ = SignificandOf(type_);
    // Complex numbers have no order, and hence no interval.
    const ClosedInterval interval = IsComplex(shape_.type()) ? ClosedInterval() : range_.interval;
    positive_ = interval.low >= 0;
    // The scale keeps f16 and fp8 within a quarter of their range.
    const double scale = range_.scale * tighten_;
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
    if (options_.range) std::tie(low_, high_end_) = *options_.range;
    low_ = std::max(low_, -largest_ / 4);
    high_end_ = std::min(high_end_, largest_ / 4);
  }

  double Normal(uint32_t word) const { return low_ + (high_end_ - low_) * Unit(word); }

  bool IsPlain() const {
    if (range_.is_key || IsExactly()) return false;
    return options_.profile == InputProfile::kNormal || options_.profile == InputProfile::kEdge ||
           options_.profile == InputProfile::kTies || options_.profile == InputProfile::kLong;
  }

  bool IsExactly() const { return range_.exactly && options_.constrain && options_.profile != InputProfile::kEdge; }

  // Returns the first element that it did not compute.
  int64_t MakePlain(float* out, int64_t begin, int64_t end) const {
    uint32_t words[kPhiloxLanes];
    for (; begin + kPhiloxLanes <= end; begin += kPhiloxLanes) {
      PhiloxFirstWords(options_.seed, static_cast<uint64_t>(begin), high_, words);
      // Signed integers convert in one machine instruction.
      for (int lane = 0; lane < kPhiloxLanes; ++lane) {
        const double unit = static_cast<int32_t>(words[lane] >> 8) * 0x1p-24;
        out[begin + lane] = static_cast<float>(low_ + (high_end_ - low_) * unit);
      }
    }
    return begin;
  }

  double Float(int64_t i, Part part = Part::kReal) const {
    const bool real = part == Part::kReal;
    if (IsExactly()) return real ? *range_.exactly : 0;
    const PhiloxBlock block = Draw(i, part);
    const double sign = positive_ || (block.words[1] & 1) == 0 ? 1 : -1;
    switch (options_.profile) {
      case InputProfile::kOnes: return real ? 1 : 0;
      case InputProfile::kZeros: return 0;
      case InputProfile::kIota: return real ? std::fmod(static_cast<double>(i), std::floor(largest_) + 1) : 0;
      case InputProfile::kXla: return options_.range ? Normal(block.words[0]) : -0.1 + 0.3 * Unit(block.words[0]);
      case InputProfile::kExact: return sign * static_cast<double>(SmallInteger(block));
      case InputProfile::kFingerprint: return Fingerprint(real ? i : i + shape_.NumElements());
      case InputProfile::kWide: return options_.range ? Normal(block.words[0]) : sign * AnyMagnitude(block);
      case InputProfile::kSpecial: return Special(block);
      case InputProfile::kCancel: return range_.is_key && range_.distinct ? Key(i, part) : Cancelling(i, part, block);
      default: return range_.is_key ? Key(i, part) : Normal(block.words[0]);
    }
  }

  int64_t SmallInteger(const PhiloxBlock& block) const {
    const int64_t most = std::min<int64_t>(options_.exact_bound, static_cast<int64_t>(std::min(largest_, 0x1p52)));
    return Between(block, 1, std::max<int64_t>(1, most));
  }

  // Distinct integers of the type, negative ones only if necessary. If the type has only n of them, each n consecutive
  // elements are all of them in another order.
  double Fingerprint(int64_t i) const {
    const auto whole = static_cast<uint64_t>(std::min(std::ldexp(1.0, std::min(significand_, 52)), largest_));
    const bool both_signs = Numbers() > whole && !positive_;
    const uint64_t place = PlaceOf(i, both_signs ? 2 * whole : whole);
    return place < whole ? 1 + static_cast<double>(place) : -1 - static_cast<double>(place - whole);
  }

  uint64_t Numbers() const { return static_cast<uint64_t>(shape_.NumElements()) * (IsComplex(shape_.type()) ? 2 : 1); }

  uint64_t PlaceOf(int64_t i, uint64_t count) const {
    const auto place = static_cast<uint64_t>(i);
    if (Numbers() <= count) return (place + first_) % count;
    return Permuted(place % count, count, key_ + place / count);
  }

  // The bits choose the binade, because logarithms would differ between machines.
  double AnyMagnitude(const PhiloxBlock& block) const {
    const int64_t exponent = Between(block, std::ilogb(smallest_), std::ilogb(largest_));
    return std::min(largest_, std::ldexp(1 + Unit(block.words[2]), static_cast<int>(exponent)));
  }

  // Neighbours along the summed dimension are x and -x + a little. If the terms are products, one factor (`repeats`)
  // has neighbours x and x + a little.
  double Cancelling(int64_t i, Part part, const PhiloxBlock& block) const {
    const int64_t d = range_.summed_dim;
    const bool known = d >= 0 && d < shape_.rank();
    const int64_t stride = known ? strides_[d] : 1, at = known ? i / stride % shape_.dim(d) : i;
    const double x = Normal(Draw(at % 2 == 0 ? i : i - stride, part).words[0]);
    if (at % 2 == 0) return x;
    return (range_.repeats ? x : -x) + 0x1p-10 * Normal(block.words[2]);
  }

  // ---- Keys of sorts and searches ----

  // For the profile `ties`, returns an earlier element with the same key, otherwise `i`.
  int64_t KeyOf(int64_t i) const {
    if (options_.profile != InputProfile::kTies) return i;
    const int64_t d = range_.key_dim;
    const bool known = d >= 0 && d < shape_.rank();
    const int64_t stride = known ? strides_[d] : 1;
    while ((known ? i / stride % shape_.dim(d) : i) > 0 && Draw(i).words[3] % 10 < 3) i -= stride;
    return i;
  }

  double Key(int64_t i, Part part) const {
    i = KeyOf(i);
    const bool distinct = range_.distinct && !range_.interval.Bounded() && part == Part::kReal;
    return distinct ? DistinctFloat(i) : Normal(Draw(i, part).words[0]);
  }

  // Numbers are evenly spaced within the scale. If the significand is too short for that, all numbers in the binades
  // below the scale are used.
  double DistinctFloat(int64_t i) const {
    const auto count = static_cast<uint64_t>(std::max<int64_t>(2, shape_.NumElements()));
    const uint64_t rank = Permuted(static_cast<uint64_t>(i), count, key_);
    if (options_.range)
      return low_ + (high_end_ - low_) * (static_cast<double>(rank) + 0.5) / static_cast<double>(count);
    const int scale = std::min(0, std::ilogb(range_.scale * tighten_));
    const int bits = std::bit_width(count - 1);
    const auto r = static_cast<double>(rank), n = static_cast<double>(count);
    if (bits < significand_) return std::ldexp(positive_ ? r + 1 : 2 * r + 1 - n, scale - bits);
    const uint64_t magnitude = positive_ ? rank : rank / 2, binade = uint64_t{1} << (significand_ - 1);
    const uint64_t binades = static_cast<uint64_t>(std::max(1, scale - std::ilogb(smallest_)));
    const double x = std::ldexp(1 + static_cast<double>(magnitude % binade) / static_cast<double>(binade),
                                scale - 1 - static_cast<int>(magnitude / binade % binades));
    return positive_ || rank % 2 == 0 ? x : -x;
  }

  double Special(const PhiloxBlock& block) const {
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

  // ---- Integers ----

  bool HasComponents() const { return !range_.components.empty() && range_.component_dim < shape_.rank(); }
  int64_t ComponentAt(int64_t i) const { return i / strides_[range_.component_dim] % shape_.dim(range_.component_dim); }

  ClosedInterval IntervalAt(int64_t i) const {
    if (range_.components.empty()) return range_.interval;
    return HasComponents() ? range_.components[ComponentAt(i)] : range_.components.front();
  }

  // A row of indices is a number in mixed radix, with the same order.
  void PrepareRows() {
    row_intervals_ = HasComponents() ? range_.components : std::vector<ClosedInterval>{IntervalAt(0)};
    rows_ = static_cast<uint64_t>(shape_.NumElements()) / row_intervals_.size();
    vectors_ = 1;
    for (const ClosedInterval& interval : row_intervals_) {
      const double width = interval.Bounded() ? interval.high - interval.low + 1 : 0;
      vectors_ = std::min(vectors_ * std::max(width, 0.0), 0x1p62);
    }
  }

  int64_t RowElement(int64_t i) const {
    uint64_t row = static_cast<uint64_t>(i), component = 0;
    if (HasComponents()) {
      const auto stride = static_cast<uint64_t>(strides_[range_.component_dim]);
      component = static_cast<uint64_t>(ComponentAt(i));
      row = row / (stride * row_intervals_.size()) * stride + row % stride;
    }
    const auto vectors = static_cast<uint64_t>(vectors_);
    uint64_t number;
    if (range_.rows_sorted) {
      // Row i draws from part i of `rows_` parts of [0, vectors). An empty part counts as one number.
      const auto border = [&](uint64_t part) {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(part) * vectors / rows_);
      };
      const uint64_t from = border(row), to = std::max(border(row + 1), from + 1);
      const PhiloxBlock block = Draw(static_cast<int64_t>(row));
      number = static_cast<uint64_t>(Between(block, static_cast<int64_t>(from), static_cast<int64_t>(to) - 1));
    } else {
      number = Permuted(row % vectors, vectors, key_);
    }
    for (size_t c = row_intervals_.size(); c-- > 0;) {
      const auto width = static_cast<uint64_t>(row_intervals_[c].high - row_intervals_[c].low + 1);
      if (c == component) return static_cast<int64_t>(row_intervals_[c].low) + static_cast<int64_t>(number % width);
      number /= width;
    }
    return 0;
  }

  int64_t Integer(int64_t i) const {
    const PrimitiveType type = shape_.type();
    const int64_t smallest = SmallestIntegerOf(type), largest = LargestIntegerOf(type);
    const PhiloxBlock block = Draw(i);
    if (options_.constrain) {
      if (IsExactly())
        return std::isinf(*range_.exactly) ? (*range_.exactly < 0 ? smallest : largest)
                                           : static_cast<int64_t>(*range_.exactly);
      if (vectors_ >= 1) return RowElement(i);
      const ClosedInterval interval = IntervalAt(i);
      if (interval.low > -kInfinity || interval.high < kInfinity) return Within(i, block, interval);
    }
    switch (options_.profile) {
      case InputProfile::kOnes: return 1;
      case InputProfile::kZeros: return 0;
      case InputProfile::kIota: return type == PrimitiveType::kPred ? i & 1 : i;
      case InputProfile::kFingerprint:
        if (type == PrimitiveType::kPred) return static_cast<int64_t>(Draw(i).words[0] & 1);
        if (BitWidth(type) >= 63) return static_cast<int64_t>(static_cast<uint64_t>(i) + first_);
        return SignExtended(PlaceOf(i, uint64_t{1} << BitWidth(type)));
      default: break;
    }
    if (range_.is_key && type != PrimitiveType::kPred && options_.profile != InputProfile::kExact) {
      const int64_t key = KeyOf(i);
      if (range_.distinct) {
        const auto count = static_cast<uint64_t>(shape_.NumElements());
        const uint64_t rank = Permuted(static_cast<uint64_t>(key), std::max<uint64_t>(2, count), key_);
        return BitWidth(type) >= 63 ? static_cast<int64_t>(rank) : SignExtended(rank % (uint64_t{1} << BitWidth(type)));
      }
      return Free(Draw(key));
    }
    return Free(block);
  }

  int64_t SignExtended(uint64_t value) const {
    const int64_t largest = LargestIntegerOf(shape_.type());
    const auto number = static_cast<int64_t>(value);
    return number > largest ? number - (int64_t{1} << BitWidth(shape_.type())) : number;
  }

  int64_t Free(const PhiloxBlock& block) const {
    const PrimitiveType type = shape_.type();
    const int64_t smallest = SmallestIntegerOf(type), largest = LargestIntegerOf(type);
    if (options_.profile == InputProfile::kExact && type != PrimitiveType::kPred) {
      const int64_t x = Between(block, 1, std::min(largest, std::max<int64_t>(1, options_.exact_bound)));
      return IsSigned(type) && (block.words[2] & 1) != 0 ? -x : x;
    }
    if (BitWidth(type) <= 4 || block.words[3] % 20 == 0) return Between(block, smallest, largest);
    const int64_t bound = std::min<int64_t>(largest, int64_t{1} << std::min(BitWidth(type) - 1, 10));
    return Between(block, IsSigned(type) ? std::max(smallest, -bound) : 0, bound);
  }

  int64_t Within(int64_t i, const PhiloxBlock& block, const ClosedInterval& interval) const {
    const int64_t smallest = SmallestIntegerOf(shape_.type()), largest = LargestIntegerOf(shape_.type());
    if (options_.profile == InputProfile::kEdge && range_.is_index && !range_.is_promised && block.words[2] % 10 == 0)
      return OutOfRange(block, interval);
    // If one end is infinite, numbers stay within a thousand of the other end.
    double low = interval.low > -kInfinity ? interval.low : interval.high - 1000;
    double high = interval.high < kInfinity ? interval.high : interval.low + 1000;
    if (options_.profile == InputProfile::kLong && range_.is_trip_count && !range_.is_index)
      high = std::max(high, 1000.0);
    const int64_t from = low <= static_cast<double>(smallest) ? smallest : static_cast<int64_t>(low);
    const int64_t to = high >= static_cast<double>(largest) ? largest : static_cast<int64_t>(high);
    if (to <= from) return from;
    const uint64_t width = static_cast<uint64_t>(to) - static_cast<uint64_t>(from) + 1;
    const auto elements = static_cast<uint64_t>(shape_.NumElements());
    if (options_.profile == InputProfile::kFingerprint && elements > 1 && width > 0)
      return from + static_cast<int64_t>(PlaceOf(i, width));
    if (range_.is_key && range_.distinct && elements > 1 && width >= elements && width < 1ull << 62)
      return from + static_cast<int64_t>(Permuted(static_cast<uint64_t>(KeyOf(i)), width, key_));
    if (range_.is_start && block.words[2] % 8 < 2) return block.words[2] % 8 == 0 ? from : to;
    return Between(block, from, to);
  }

  int64_t OutOfRange(const PhiloxBlock& block, const ClosedInterval& interval) const {
    const int64_t beyond = static_cast<int64_t>(interval.high) + 1;
    switch (block.words[3] % 4) {
      case 0: return IsSigned(shape_.type()) ? -1 : LargestIntegerOf(shape_.type());
      case 1: return beyond;
      case 2: return SmallestIntegerOf(shape_.type());
      default: return LargestIntegerOf(shape_.type());
    }
  }

  const Shape& shape_;
  const LeafRange range_;
  const ArgumentOptions& options_;
  uint64_t high_, key_, first_;
  double tighten_;
  PrimitiveType type_{};  // For complex elements, the type of their parts.
  std::vector<int64_t> strides_;
  std::vector<ClosedInterval> row_intervals_;
  uint64_t rows_ = 0;
  double vectors_ = 0;  // Possible rows of indices, or 0 if rows are not made as a whole.
  double low_ = -1, high_end_ = 1;
  double largest_ = 0, smallest_ = 0;
  int significand_ = 0;
  bool positive_ = false;
};

// Keeps the facts by which profiles make inputs difficult.
LeafRange Unconstrained(const LeafRange& range) {
  LeafRange free;
  free.is_key = range.is_key;
  free.key_dim = range.key_dim;
  free.is_summed = range.is_summed;
  free.repeats = range.repeats;
  free.summed_dim = range.summed_dim;
  return free;
}

}  // namespace

int64_t Between(const PhiloxBlock& random, int64_t low, int64_t high) {
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  if (count == 0) return static_cast<int64_t>(random.Wide());
  return static_cast<int64_t>(static_cast<uint64_t>(low) +
                              static_cast<uint64_t>(static_cast<unsigned __int128>(random.Wide()) * count >> 64));
}

Literal MakeLeaf(const Shape& shape, const LeafRange& range, const ArgumentOptions& options, int64_t parameter,
                 int64_t leaf, double tighten) {
  return Maker(shape, options.constrain ? range : Unconstrained(range), options, parameter, leaf, tighten).Make();
}

}  // namespace hlo
