#include "interp/arguments/arguments.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "base/text.h"
#include "interp/arguments/argument_files.h"
#include "interp/arguments/ranges.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr int64_t kGrain = 1 << 14;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::string_view kProfiles[] = {"normal", "exact", "fingerprint", "wide", "special", "edge", "ties",
                                          "cancel", "long",  "xla",         "ones", "zeros",   "iota"};

double Unit(uint32_t word) { return (word >> 8) * 0x1p-24; }

// Uniform in [low, high], by the high part of a product.
int64_t Between(uint64_t random, int64_t low, int64_t high) {
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  if (count == 0) return static_cast<int64_t>(random);
  return static_cast<int64_t>(static_cast<uint64_t>(low) +
                              static_cast<uint64_t>(static_cast<unsigned __int128>(random) * count >> 64));
}

uint64_t Wide(const PhiloxBlock& block) { return static_cast<uint64_t>(block.words[1]) << 32 | block.words[0]; }

double LargestOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF64: return std::numeric_limits<double>::max();
    case PrimitiveType::kF32: return std::numeric_limits<float>::max();
    default: break;
  }
  const FloatFormat format = FormatOf(type);
  double largest = 0;
  for (uint32_t bits = 0; bits < (1u << format.bits()); ++bits) {
    const double x = DecodeFloat(format, bits);
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  return largest;
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

// f8e8m0fnu has powers of two alone: no sign, no 0.
bool HasSign(PrimitiveType type) {
  return type == PrimitiveType::kF64 || type == PrimitiveType::kF32 || FormatOf(type).specials != Specials::kExponent;
}

// Where `i` goes in one of the many orders of 0 .. count - 1 that `key` names: a Feistel network on the next power of
// four, walked until it lands inside.
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

constexpr int kLanes = 16;

// The first words of kLanes consecutive counters: Philox below, in a form that compilers vectorise.
void PhiloxFirstWords(uint64_t key, uint64_t counter_low, uint64_t counter_high, uint32_t (&words)[kLanes]) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t x0[kLanes], x1[kLanes], x2[kLanes], x3[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint64_t counter = counter_low + static_cast<uint64_t>(lane);
    x0[lane] = static_cast<uint32_t>(counter);
    x1[lane] = static_cast<uint32_t>(counter >> 32);
    x2[lane] = static_cast<uint32_t>(counter_high);
    x3[lane] = static_cast<uint32_t>(counter_high >> 32);
  }
  for (int round = 0; round < 10; ++round) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t p0 = uint64_t{0xD2511F53} * x0[lane], p1 = uint64_t{0xCD9E8D57} * x2[lane];
      const uint32_t y0 = static_cast<uint32_t>(p1 >> 32) ^ x1[lane] ^ k0;
      const uint32_t y2 = static_cast<uint32_t>(p0 >> 32) ^ x3[lane] ^ k1;
      x1[lane] = static_cast<uint32_t>(p1);
      x3[lane] = static_cast<uint32_t>(p0);
      x0[lane] = y0;
      x2[lane] = y2;
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  std::copy(x0, x0 + kLanes, words);
}

// One leaf being made.
class Maker {
 public:
  Maker(const Shape& shape, const LeafRange& range, const ArgumentOptions& options, int64_t parameter, int64_t leaf,
        double tighten)
      : shape_(shape),
        range_(range),
        options_(options),
        high_(static_cast<uint64_t>(parameter) << 32 | static_cast<uint32_t>(leaf)),
        key_(Wide(Philox(options.seed, ~uint64_t{0}, high_))),
        // Leaves of one module begin at different numbers, so that one taken for another shows.
        first_(static_cast<uint64_t>(parameter) * 7919 + static_cast<uint64_t>(leaf) * 104729),
        tighten_(tighten) {
    if (!shape.IsArray()) return;
    strides_ = RowMajorStrides(shape.dims());
    if (IsFloat(shape.type())) PrepareFloats();
    if (range.rows_sorted || range.rows_unique) PrepareRows();
  }

  Literal Make() const {
    Literal literal(shape_);
    if (!shape_.IsArray()) return literal;
    literal.mutable_raw();  // Its own bytes, before threads write to them.
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
          const PhiloxBlock block = Draw(i);
          literal.SetComplex(i, {Unit(block.words[0]) * 2 - 1, Unit(block.words[1]) * 2 - 1});
        } else {
          literal.SetInt(i, Integer(i));
        }
      }
    });
    return literal;
  }

 private:
  PhiloxBlock Draw(int64_t i) const { return Philox(options_.seed, static_cast<uint64_t>(i), high_); }

  void PrepareFloats() {
    largest_ = LargestOf(shape_.type());
    smallest_ = SmallestNormalOf(shape_.type());
    significand_ = SignificandOf(shape_.type());
    positive_ = range_.interval.low >= 0;
    // f16 and fp8 keep to a quarter of their range.
    const double scale = range_.scale * tighten_;
    low_ = -scale;
    high_end_ = scale;
    if (range_.interval.Bounded()) {
      low_ = range_.interval.low;
      high_end_ = range_.interval.high;
    } else if (positive_) {
      low_ = range_.interval.low;
      high_end_ = low_ + 1;
    } else {
      low_ = std::max(low_, range_.interval.low);
    }
    if (!HasSign(shape_.type())) {
      positive_ = true;
      low_ = std::max(low_, smallest_);
    }
    if (options_.range) std::tie(low_, high_end_) = *options_.range;
    low_ = std::max(low_, -largest_ / 4);
    high_end_ = std::min(high_end_, largest_ / 4);
  }

  double Normal(uint32_t word) const { return low_ + (high_end_ - low_) * Unit(word); }

  // Is each element Normal of its first word? So are most large arguments.
  bool IsPlain() const {
    if (range_.is_key || (range_.exactly && options_.constrain)) return false;
    return options_.profile == InputProfile::kNormal || options_.profile == InputProfile::kEdge ||
           options_.profile == InputProfile::kTies || options_.profile == InputProfile::kLong;
  }

  // What Float gives, many at once; returns the first that is left over.
  int64_t MakePlain(float* out, int64_t begin, int64_t end) const {
    uint32_t words[kLanes];
    for (; begin + kLanes <= end; begin += kLanes) {
      PhiloxFirstWords(options_.seed, static_cast<uint64_t>(begin), high_, words);
      // The signed conversion is one instruction; there are 24 bits.
      for (int lane = 0; lane < kLanes; ++lane) {
        const double unit = static_cast<int32_t>(words[lane] >> 8) * 0x1p-24;
        out[begin + lane] = static_cast<float>(low_ + (high_end_ - low_) * unit);
      }
    }
    return begin;
  }

  double Float(int64_t i) const {
    if (range_.exactly && options_.constrain) return *range_.exactly;
    const PhiloxBlock block = Draw(i);
    const double sign = positive_ || (block.words[1] & 1) == 0 ? 1 : -1;
    switch (options_.profile) {
      case InputProfile::kOnes: return 1;
      case InputProfile::kZeros: return 0;
      case InputProfile::kIota: return std::fmod(static_cast<double>(i), std::floor(largest_) + 1);
      case InputProfile::kXla: return options_.range ? Normal(block.words[0]) : -0.1 + 0.3 * Unit(block.words[0]);
      case InputProfile::kExact: return sign * static_cast<double>(SmallInteger(block));
      case InputProfile::kFingerprint: return Fingerprint(i);
      case InputProfile::kWide: return options_.range ? Normal(block.words[0]) : sign * AnyMagnitude(block);
      case InputProfile::kSpecial: return Special(block);
      case InputProfile::kCancel: return range_.is_key && range_.distinct ? Key(i) : Cancelling(i, block);
      default: return range_.is_key ? Key(i) : Normal(block.words[0]);
    }
  }

  // 1 .. exact_bound.
  int64_t SmallInteger(const PhiloxBlock& block) const {
    const int64_t most = std::min<int64_t>(options_.exact_bound, static_cast<int64_t>(std::min(largest_, 0x1p52)));
    return Between(Wide(block), 1, std::max<int64_t>(1, most));
  }

  // Integers that the type has, positive ones first; where the elements outnumber them, each run of as many has all of
  // them, in an order of its own.
  double Fingerprint(int64_t i) const {
    const auto whole = static_cast<uint64_t>(std::min(std::ldexp(1.0, std::min(significand_, 52)), largest_));
    const auto elements = static_cast<uint64_t>(shape_.NumElements());
    const bool both_signs = elements > whole && !positive_;
    const uint64_t place = PlaceOf(i, both_signs ? 2 * whole : whole);
    return place < whole ? 1 + static_cast<double>(place) : -1 - static_cast<double>(place - whole);
  }

  // As `count` values are given to the elements.
  uint64_t PlaceOf(int64_t i, uint64_t count) const {
    const auto place = static_cast<uint64_t>(i);
    if (static_cast<uint64_t>(shape_.NumElements()) <= count) return (place + first_) % count;
    return Permuted(place % count, count, key_ + place / count);
  }

  // All binades alike; that takes no logarithm, which machines differ in.
  double AnyMagnitude(const PhiloxBlock& block) const {
    const int64_t exponent = Between(Wide(block), std::ilogb(smallest_), std::ilogb(largest_));
    return std::min(largest_, std::ldexp(1 + Unit(block.words[2]), static_cast<int>(exponent)));
  }

  // x, -x + a little, neighbours along what is summed. What such terms are multiplied by comes as x, x + a little, so
  // that the products cancel too.
  double Cancelling(int64_t i, const PhiloxBlock& block) const {
    const int64_t d = range_.summed_dim;
    const bool known = d >= 0 && d < shape_.rank();
    const int64_t stride = known ? strides_[d] : 1, at = known ? i / stride % shape_.dim(d) : i;
    const double x = Normal(Draw(at % 2 == 0 ? i : i - stride).words[0]);
    if (at % 2 == 0) return x;
    return (range_.repeats ? x : -x) + 0x1p-10 * Normal(block.words[2]);
  }

  // ---- Keys of sorts and searches ----

  // The element whose key element `i` has: in profile `ties` 30 % take that of their neighbour.
  int64_t KeyOf(int64_t i) const {
    if (options_.profile != InputProfile::kTies) return i;
    const int64_t d = range_.key_dim;
    const bool known = d >= 0 && d < shape_.rank();
    const int64_t stride = known ? strides_[d] : 1;
    while ((known ? i / stride % shape_.dim(d) : i) > 0 && Draw(i).words[3] % 10 < 3) i -= stride;
    return i;
  }

  double Key(int64_t i) const {
    i = KeyOf(i);
    return range_.distinct && !range_.interval.Bounded() ? DistinctFloat(i) : Normal(Draw(i).words[0]);
  }

  // Odd multiples of a power of two, within the scale; where there are not enough, small ones come closer together.
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

  Interval IntervalAt(int64_t i) const {
    if (range_.components.empty()) return range_.interval;
    return HasComponents() ? range_.components[ComponentAt(i)] : range_.components.front();
  }

  // Rows of indices are numbers in a mixed radix: distinct ones are distinct rows, ascending ones ascending.
  void PrepareRows() {
    row_intervals_ = HasComponents() ? range_.components : std::vector<Interval>{IntervalAt(0)};
    rows_ = static_cast<uint64_t>(shape_.NumElements()) / row_intervals_.size();
    vectors_ = 1;
    for (const Interval& interval : row_intervals_) {
      const double width = interval.Bounded() ? interval.high - interval.low + 1 : 0;
      // Beyond 2^62 nothing is lost by taking fewer.
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
      // One of each part of `rows_` equal parts; the parts are empty where there are more rows than vectors.
      const auto border = [&](uint64_t part) {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(part) * vectors / rows_);
      };
      const uint64_t from = border(row), to = std::max(border(row + 1), from + 1);
      const PhiloxBlock block = Draw(static_cast<int64_t>(row));
      number = static_cast<uint64_t>(Between(Wide(block), static_cast<int64_t>(from), static_cast<int64_t>(to) - 1));
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
      if (range_.exactly)
        return std::isinf(*range_.exactly) ? (*range_.exactly < 0 ? smallest : largest)
                                           : static_cast<int64_t>(*range_.exactly);
      if (vectors_ >= 1) return RowElement(i);
      const Interval interval = IntervalAt(i);
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
      const int64_t x = Between(Wide(block), 1, std::min(largest, std::max<int64_t>(1, options_.exact_bound)));
      return IsSigned(type) && (block.words[2] & 1) != 0 ? -x : x;
    }
    if (BitWidth(type) <= 4 || block.words[3] % 20 == 0) return Between(Wide(block), smallest, largest);
    const int64_t bound = std::min<int64_t>(largest, int64_t{1} << std::min(BitWidth(type) - 1, 10));
    return Between(Wide(block), IsSigned(type) ? std::max(smallest, -bound) : 0, bound);
  }

  int64_t Within(int64_t i, const PhiloxBlock& block, const Interval& interval) const {
    const int64_t smallest = SmallestIntegerOf(shape_.type()), largest = LargestIntegerOf(shape_.type());
    if (options_.profile == InputProfile::kEdge && range_.is_index && !range_.is_promised && block.words[2] % 10 == 0)
      return OutOfRange(block, interval);
    // One end open: stay within a thousand of the other.
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
    // One start in four is at either end.
    if (range_.is_start && block.words[2] % 8 < 2) return block.words[2] % 8 == 0 ? from : to;
    return Between(Wide(block), from, to);
  }

  // -1, the first beyond, the smallest and the largest number.
  int64_t OutOfRange(const PhiloxBlock& block, const Interval& interval) const {
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
  std::vector<int64_t> strides_;
  std::vector<Interval> row_intervals_;
  uint64_t rows_ = 0;
  double vectors_ = 0;  // That a row of indices may be; 0: rows are not looked at as a whole.
  double low_ = -1, high_end_ = 1;
  double largest_ = 0, smallest_ = 0;
  int significand_ = 0;
  bool positive_ = false;
};

// `f(shape, leaf number)` for each leaf, put together again.
template <class F>
Result<Literal> ByLeaf(const Shape& shape, int64_t& leaf, F&& f) {
  if (!shape.IsTuple()) return f(shape, leaf++);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(TRY(ByLeaf(element, leaf, f)));
  return Literal::Tuple(std::move(elements));
}

Result<int64_t> ParameterOf(const Module& module, const std::string& which) {
  const auto parameters = module.entry().parameters();
  int64_t number;
  if (ParseInt(which, &number)) {
    if (number >= 0 && number < static_cast<int64_t>(parameters.size())) return number;
    FAIL(UsageError("A005", Str("--arg=", which, "=...: the module has ", parameters.size(),
                                parameters.size() == 1 ? " parameter" : " parameters", ", counted from 0")));
  }
  std::vector<std::string_view> names;
  for (const Instruction* parameter : parameters) {
    if (parameter->name() == which) return parameter->parameter_number();
    names.push_back(parameter->name());
  }
  // "x" is the program's name of what XLA made "x.1".
  const auto is_numbered = [&](std::string_view name) {
    return name.size() > which.size() + 1 && name.starts_with(which) && name[which.size()] == '.' &&
           name.find_first_not_of("0123456789", which.size() + 1) == std::string_view::npos;
  };
  if (std::ranges::count_if(names, is_numbered) == 1) return std::ranges::find_if(names, is_numbered) - names.begin();
  const std::vector<std::string> near = NearNames(which, names);
  Error error =
      UsageError("A005", Str("--arg=", Escaped(which), "=...: no parameter is called '", Escaped(which), "'"));
  if (!near.empty()) return std::unexpected(std::move(error).Hint(Str("did you mean ", Join(near, ", "), "?")));
  FAIL(std::move(error));
}

// "uniform(-1,1)": the numbers in the parentheses, when the text is `name` and two of them.
bool ParseCall(std::string_view text, std::string_view name, double* a, double* b) {
  if (!text.starts_with(name) || !text.ends_with(")")) return false;
  text.remove_prefix(name.size());
  if (!text.starts_with("(")) return false;
  const auto parts = Split(text.substr(1, text.size() - 2), ',');
  return parts.size() == 2 && ParseDouble(Trim(parts[0]), a) && ParseDouble(Trim(parts[1]), b);
}

// The sum of twelve uniforms less 6: mean 0, variance 1, tails cut at 6. Sums of multiples of 2^-16 are exact, so every
// machine makes the same bytes, which a logarithm from its C library would not.
double StandardNormal(uint64_t seed, int64_t i, uint64_t high) {
  double sum = -6;
  for (int part = 0; part < 2; ++part) {
    const PhiloxBlock block = Philox(seed, static_cast<uint64_t>(2 * i + part), high);
    for (int k = 0; k < 3; ++k)
      sum += (static_cast<double>(block.words[k] & 0xFFFF) + static_cast<double>(block.words[k] >> 16) + 1) * 0x1p-16;
  }
  return sum;
}

struct Finiteness {
  int64_t floats = 0, non_finite = 0, constant_outputs = 0;
};

void Count(const Literal& literal, Finiteness& counts) {
  for (const Literal& element : literal.elements()) Count(element, counts);
  if (!literal.shape().IsArray() || !IsFloat(literal.shape().type())) return;
  const int64_t count = literal.shape().NumElements();
  counts.floats += count;
  for (int64_t i = 0; i < count; ++i) counts.non_finite += std::isfinite(literal.GetDouble(i)) ? 0 : 1;
  if (count > 1 && literal.IsSplat()) ++counts.constant_outputs;
}

// Rows of indices that the op takes for unique, and that are too many to be.
std::string TooManyRows(const Instruction& parameter, const LeafRange& range, const Shape& shape) {
  if (!range.rows_unique || !shape.IsArray()) return "";
  const bool vectors = !range.components.empty() && range.component_dim < shape.rank();
  const std::vector<Interval> components =
      vectors ? range.components
              : std::vector<Interval>{range.components.empty() ? range.interval : range.components.front()};
  double possible = 1;
  for (const Interval& interval : components) possible *= std::max(0.0, interval.high - interval.low + 1);
  const int64_t rows = shape.NumElements() / static_cast<int64_t>(components.size());
  if (static_cast<double>(rows) <= possible) return "";
  return Str("'", parameter.name(), "' has ", rows, " rows of indices that are to be unique, of ", possible,
             " that are in range");
}

// What is left of the wishes without --constrain_inputs: what a profile makes worse on purpose.
LeafRange Unconstrained(const LeafRange& range) {
  LeafRange free;
  free.is_key = range.is_key;
  free.key_dim = range.key_dim;
  free.is_summed = range.is_summed;
  free.repeats = range.repeats;
  free.summed_dim = range.summed_dim;
  return free;
}

Result<std::vector<Literal>> MakeAll(const Module& module, const std::vector<std::vector<LeafRange>>& ranges,
                                     const std::map<int64_t, Literal>& given, const ArgumentOptions& options,
                                     double scale) {
  std::vector<Literal> values;
  for (const Instruction* parameter : module.entry().parameters()) {
    const int64_t number = parameter->parameter_number();
    if (const auto found = given.find(number); found != given.end()) {
      values.push_back(found->second);
      continue;
    }
    int64_t leaf = 0;
    values.push_back(TRY(ByLeaf(parameter->shape(), leaf, [&](const Shape& shape, int64_t i) -> Result<Literal> {
      const LeafRange& range = ranges[number][i];
      return Maker(shape, options.constrain ? range : Unconstrained(range), options, number, i, scale).Make();
    })));
  }
  return values;
}

Result<Literal> Given(const Instruction& parameter, std::string_view spec, const ArgumentOptions& options) {
  if (NamesTensor(spec)) return ReadTensor(std::string(spec), parameter, options.cast);
  // A tuple's literal is written whole, "({1,2}, 3)"; a generator makes each leaf.
  if (parameter.shape().IsTuple() && spec.starts_with('(') && options.parse_literal)
    return options.parse_literal(parameter.shape(), spec);
  int64_t leaf = 0;
  return ByLeaf(parameter.shape(), leaf, [&](const Shape& part, int64_t i) {
    return MakeLiteral(part, spec, options.seed, parameter.parameter_number(), i, options);
  });
}

}  // namespace

std::string_view ToString(InputProfile profile) { return kProfiles[static_cast<int>(profile)]; }

std::span<const std::string_view> InputProfileNames() { return kProfiles; }

std::optional<InputProfile> InputProfileFromText(std::string_view text) {
  for (size_t i = 0; i < std::size(kProfiles); ++i) {
    if (kProfiles[i] == text) return static_cast<InputProfile>(i);
  }
  return {};
}

PhiloxBlock Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t x0 = static_cast<uint32_t>(counter_low), x1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t x2 = static_cast<uint32_t>(counter_high), x3 = static_cast<uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * x0, p1 = uint64_t{0xCD9E8D57} * x2;
    const uint32_t y0 = static_cast<uint32_t>(p1 >> 32) ^ x1 ^ k0, y2 = static_cast<uint32_t>(p0 >> 32) ^ x3 ^ k1;
    x1 = static_cast<uint32_t>(p1);
    x3 = static_cast<uint32_t>(p0);
    x0 = y0;
    x2 = y2;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{x0, x1, x2, x3}};
}

namespace {

constexpr std::string_view kSpecs =
    "it may be zeros, ones, iota, special, replica_id, uniform(a,b), normal(m,s), randint(a,b), x.npy, x.npz:KEY, "
    "@x.bin or a literal: {1,2}";

// Numbers and braces, or a shape in front of them; not a generator that is misspelt.
bool IsLiteralText(std::string_view spec) {
  if (spec.empty() || spec.find_first_of("{[") != std::string_view::npos) return !spec.empty();
  for (const std::string_view word : {"inf", "nan", "true", "false"}) {
    if (spec.starts_with(word)) return true;
  }
  return std::string_view("+-.(0123456789").find(spec[0]) != std::string_view::npos;
}

}  // namespace

Result<Literal> MakeLiteral(const Shape& shape, std::string_view spec, uint64_t seed, int64_t parameter, int64_t leaf,
                            const ArgumentOptions& options) {
  ArgumentOptions own;
  own.seed = seed;
  own.constrain = false;
  LeafRange range;
  double a = 0, b = 0;
  const auto make = [&] { return Maker(shape, range, own, parameter, leaf, 1).Make(); };
  if (spec == "zeros" || spec == "ones" || spec == "iota" || spec == "special") {
    own.profile = *InputProfileFromText(spec);
    return make();
  }
  if (spec == "replica_id") {
    Literal literal(shape);
    for (int64_t i = 0; i < shape.NumElements(); ++i) literal.SetDouble(i, static_cast<double>(options.replica));
    return literal;
  }
  if (ParseCall(spec, "uniform", &a, &b)) {
    if (!IsFloat(shape.type()) || !(a <= b))
      FAIL(UsageError("A006", Str("uniform(a,b) needs floats and a <= b; the parameter is ", shape)));
    own.range = {{a, b}};
    return make();
  }
  const uint64_t high = static_cast<uint64_t>(parameter) << 32 | static_cast<uint32_t>(leaf);
  if (ParseCall(spec, "normal", &a, &b)) {
    if (!IsFloat(shape.type()) || !(b >= 0))
      FAIL(UsageError("A006", Str("normal(m,s) needs floats and s >= 0; the parameter is ", shape)));
    Literal literal(shape);
    for (int64_t i = 0; i < shape.NumElements(); ++i) literal.SetDouble(i, a + b * StandardNormal(seed, i, high));
    return literal;
  }
  if (ParseCall(spec, "randint", &a, &b)) {
    if (a != std::trunc(a) || b != std::trunc(b) || a > b || std::max(-a, b) >= 0x1p63)
      FAIL(UsageError("A006", "randint(a,b) needs integers of 64 bits, a <= b"));
    Literal literal(shape);
    for (int64_t i = 0; i < shape.NumElements(); ++i) {
      literal.SetInt(i, Between(Wide(Philox(seed, i, high)), static_cast<int64_t>(a), static_cast<int64_t>(b)));
    }
    return literal;
  }
  if (IsLiteralText(spec) && options.parse_literal) {
    auto literal = options.parse_literal(shape, spec);
    if (literal) return literal;
    FAIL(std::move(literal).error().Hint(Str("--arg was taken for the elements of ", shape, "; ", kSpecs)));
  }
  FAIL(UsageError("A006", Str("'", Escaped(spec), "' is no argument")).Hint(std::string(kSpecs)));
}

Result<std::map<int64_t, Literal>> GivenArguments(const Module& module, const ArgumentOptions& options) {
  std::map<int64_t, Literal> given;
  for (const ArgumentSpec& spec : options.specs) {
    const int64_t number = TRY(ParameterOf(module, spec.which));
    const Instruction& parameter = module.entry().parameter(number);
    if (given.contains(number))
      FAIL(UsageError("A005", Str("--arg gives parameter ", number, " ('", parameter.name(), "') twice")));
    given.emplace(number, TRY(Given(parameter, Trim(spec.spec), options)));
  }
  return given;
}

// ---- Elided constants ----

namespace {

int64_t UnknownBytes(const Literal& literal) {
  if (literal.IsKnown()) return 0;
  if (literal.elements().empty()) return literal.shape().ByteSize();
  int64_t bytes = 0;
  for (const Literal& element : literal.elements()) bytes += UnknownBytes(element);
  return bytes;
}

// `literal` with its unknown parts made; `leaf` counts all parts.
Literal Filled(const Literal& literal, std::span<const LeafRange> ranges, const ArgumentOptions& options,
               int64_t number, int64_t& leaf) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements())
      elements.push_back(Filled(element, ranges, options, number, leaf));
    return Literal::Tuple(std::move(elements));
  }
  const LeafRange range = ranges.empty() ? LeafRange() : ranges[leaf];
  ++leaf;
  if (literal.IsKnown()) return literal;
  return Maker(literal.shape(), options.constrain ? range : Unconstrained(range), options, number, leaf - 1, 1).Make();
}

// The literal of an instruction that has one in the text; null otherwise.
Literal* LiteralIn(Instruction& inst) {
  if (inst.Is(Opcode::kElidedConstant)) return &inst.mutable_attrs<ConstantAttrs>().literal;
  if (!inst.Is(Opcode::kCustomCall)) return nullptr;
  std::optional<Literal>& literal = inst.mutable_attrs<CustomCallAttrs>().literal.value;
  return literal && !literal->IsKnown() ? &*literal : nullptr;
}

}  // namespace

Result<int64_t> FillElidedConstants(Module& module, const ElidedFill& fill) {
  std::vector<Instruction*> elided;
  double bytes = 0;
  const Instruction* largest = nullptr;
  int64_t largest_bytes = -1;
  for (Computation* computation : module.Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      const Literal* const literal = LiteralIn(*inst);
      if (literal == nullptr) continue;
      elided.push_back(inst);
      const int64_t its_bytes = UnknownBytes(*literal);
      bytes += static_cast<double>(its_bytes);
      if (its_bytes > largest_bytes) largest = inst, largest_bytes = its_bytes;
    }
  }
  if (elided.empty()) return 0;
  if (bytes > static_cast<double>(fill.memory_limit)) {
    Error error = ErrorAt(
        *largest, "P093",
        Str("the values of ", elided.size(), elided.size() == 1 ? " elided constant" : " elided constants",
            " would take ", HumanBytes(bytes), ", the limit is ", HumanBytes(static_cast<double>(fill.memory_limit)),
            " (--memory_limit); the largest is '", largest->name(), "'"),
        ExitCode::kLimit);
    error.diagnostics.front().flag = "memory_limit";
    return std::unexpected(std::move(error));
  }
  const Ranges ranges = CollectRanges(module);
  ArgumentOptions options;
  options.seed = fill.seed;
  options.profile = fill.profile;
  options.constrain = fill.profile == InputProfile::kNormal;
  // Numbered after the parameters, so that no two have the same values.
  int64_t number = static_cast<int64_t>(module.entry().parameters().size());
  for (Instruction* inst : elided) {
    int64_t leaf = 0;
    Literal& literal = *LiteralIn(*inst);
    Literal filled = Filled(literal, ranges.elided[inst->id()], options, number++, leaf);
    if (inst->Is(Opcode::kElidedConstant)) inst->SetLiteral(std::move(filled));
    else literal = std::move(filled);
  }
  return static_cast<int64_t>(elided.size());
}

Result<Arguments> MakeArgumentsChecked(const Module& module, const ArgumentOptions& options) {
  const std::map<int64_t, Literal> given = TRY(GivenArguments(module, options));
  const std::vector<std::vector<LeafRange>> ranges = CollectRanges(module).parameters;
  Arguments made;
  for (const Instruction* parameter : module.entry().parameters()) {
    size_t leaf = 0;
    ForEachLeaf(parameter->shape(), [&](const ShapeIndex&, const Shape& shape) {
      const LeafRange& range = ranges[parameter->parameter_number()][leaf++];
      if (!range.conflict.empty()) made.notes.push_back(range.conflict);
      if (std::string text = TooManyRows(*parameter, range, shape); !text.empty())
        made.notes.push_back(std::move(text));
    });
  }
  for (made.tries = 1;; ++made.tries) {
    made.values = TRY(MakeAll(module, ranges, given, options, made.scale));
    if (!options.interpret) return made;
    made.reference = TRY(options.interpret(made.values));
    Finiteness counts;
    Count(*made.reference, counts);
    made.non_finite_share =
        counts.floats == 0 ? 0 : static_cast<double>(counts.non_finite) / static_cast<double>(counts.floats);
    const bool tightenable = !made.values.empty() && !options.range &&
                             (options.profile == InputProfile::kNormal || options.profile == InputProfile::kEdge ||
                              options.profile == InputProfile::kTies || options.profile == InputProfile::kCancel ||
                              options.profile == InputProfile::kLong);
    if (made.non_finite_share <= 0.01 || !tightenable || made.tries > options.max_tries) {
      if (counts.constant_outputs > 0 && !made.values.empty())
        made.notes.push_back(
            Str(counts.constant_outputs, counts.constant_outputs == 1 ? " output is" : " outputs are", " constant"));
      if (made.scale != 1) made.notes.push_back(Str("floats scaled by ", made.scale, " to keep results finite"));
      return made;
    }
    made.scale /= 2;
  }
}

Result<std::vector<Literal>> MakeArguments(const Module& module, const ArgumentOptions& options) {
  return TRY(MakeArgumentsChecked(module, options)).values;
}

}  // namespace hlo
