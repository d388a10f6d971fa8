#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/arguments/leaf_values.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t LargestIntegerOf(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return 1;
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  return bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
}
int64_t SmallestIntegerOf(PrimitiveType type) { return IsSigned(type) ? -LargestIntegerOf(type) - 1 : 0; }

}  // namespace

LeafIntegers::LeafIntegers(const LeafDraws& draws) : draws_(draws) {
  if (draws.range.rows_sorted || draws.range.rows_unique) PrepareRows();
}

bool LeafIntegers::HasComponents() const {
  return !draws_.range.components.empty() && draws_.range.component_dim < draws_.shape.rank();
}
int64_t LeafIntegers::ComponentAt(int64_t i) const {
  return i / draws_.strides[draws_.range.component_dim] % draws_.shape.dim(draws_.range.component_dim);
}

ClosedInterval LeafIntegers::IntervalAt(int64_t i) const {
  if (draws_.range.components.empty()) return draws_.range.interval;
  return HasComponents() ? draws_.range.components[ComponentAt(i)] : draws_.range.components.front();
}

// A row of indices is a number in mixed radix, with the same order.
void LeafIntegers::PrepareRows() {
  row_intervals_ = HasComponents() ? draws_.range.components : std::vector<ClosedInterval>{IntervalAt(0)};
  rows_ = static_cast<uint64_t>(draws_.shape.NumElements()) / row_intervals_.size();
  vectors_ = 1;
  for (const ClosedInterval& interval : row_intervals_) {
    const double width = interval.Bounded() ? interval.high - interval.low + 1 : 0;
    vectors_ = std::min(vectors_ * std::max(width, 0.0), 0x1p62);
  }
}

int64_t LeafIntegers::RowElement(int64_t i) const {
  uint64_t row = static_cast<uint64_t>(i), component = 0;
  if (HasComponents()) {
    const auto stride = static_cast<uint64_t>(draws_.strides[draws_.range.component_dim]);
    component = static_cast<uint64_t>(ComponentAt(i));
    row = row / (stride * row_intervals_.size()) * stride + row % stride;
  }
  const auto vectors = static_cast<uint64_t>(vectors_);
  uint64_t number;
  if (draws_.range.rows_sorted) {
    // Row i draws from part i of `rows_` parts of [0, vectors). An empty part counts as one number.
    const auto border = [&](uint64_t part) {
      return static_cast<uint64_t>(static_cast<unsigned __int128>(part) * vectors / rows_);
    };
    const uint64_t from = border(row), to = std::max(border(row + 1), from + 1);
    const PhiloxBlock block = draws_.Draw(static_cast<int64_t>(row));
    number = static_cast<uint64_t>(Between(block, static_cast<int64_t>(from), static_cast<int64_t>(to) - 1));
  } else {
    number = Permuted(row % vectors, vectors, draws_.key);
  }
  for (size_t c = row_intervals_.size(); c-- > 0;) {
    const auto width = static_cast<uint64_t>(row_intervals_[c].high - row_intervals_[c].low + 1);
    if (c == component) return static_cast<int64_t>(row_intervals_[c].low) + static_cast<int64_t>(number % width);
    number /= width;
  }
  return 0;
}

int64_t LeafIntegers::At(int64_t i) const {
  const PrimitiveType type = draws_.shape.type();
  const int64_t smallest = SmallestIntegerOf(type), largest = LargestIntegerOf(type);
  const PhiloxBlock block = draws_.Draw(i);
  if (draws_.options.constrain) {
    if (draws_.IsExactly())
      return std::isinf(*draws_.range.exactly) ? (*draws_.range.exactly < 0 ? smallest : largest)
                                               : static_cast<int64_t>(*draws_.range.exactly);
    if (vectors_ >= 1) return RowElement(i);
    const ClosedInterval interval = IntervalAt(i);
    if (interval.low > -kInfinity || interval.high < kInfinity) return Within(i, block, interval);
  }
  switch (draws_.options.profile) {
    case InputProfile::kOnes: return 1;
    case InputProfile::kZeros: return 0;
    case InputProfile::kIota: return type == PrimitiveType::kPred ? i & 1 : i;
    case InputProfile::kFingerprint:
      if (type == PrimitiveType::kPred) return static_cast<int64_t>(draws_.Draw(i).words[0] & 1);
      if (BitWidth(type) >= 63) return static_cast<int64_t>(static_cast<uint64_t>(i) + draws_.first);
      return SignExtended(draws_.PlaceOf(i, uint64_t{1} << BitWidth(type)));
    default: break;
  }
  if (draws_.range.is_key && type != PrimitiveType::kPred && draws_.options.profile != InputProfile::kExact) {
    const int64_t key = draws_.KeyOf(i);
    if (draws_.range.distinct) {
      const auto count = static_cast<uint64_t>(draws_.shape.NumElements());
      const uint64_t rank = Permuted(static_cast<uint64_t>(key), std::max<uint64_t>(2, count), draws_.key);
      return BitWidth(type) >= 63 ? static_cast<int64_t>(rank) : SignExtended(rank % (uint64_t{1} << BitWidth(type)));
    }
    return Free(draws_.Draw(key));
  }
  return Free(block);
}

int64_t LeafIntegers::SignExtended(uint64_t value) const {
  const int64_t largest = LargestIntegerOf(draws_.shape.type());
  const auto number = static_cast<int64_t>(value);
  return number > largest ? number - (int64_t{1} << BitWidth(draws_.shape.type())) : number;
}

int64_t LeafIntegers::Free(const PhiloxBlock& block) const {
  const PrimitiveType type = draws_.shape.type();
  const int64_t smallest = SmallestIntegerOf(type), largest = LargestIntegerOf(type);
  if (draws_.options.profile == InputProfile::kExact && type != PrimitiveType::kPred) {
    const int64_t x = Between(block, 1, std::min(largest, std::max<int64_t>(1, draws_.options.exact_bound)));
    return IsSigned(type) && (block.words[2] & 1) != 0 ? -x : x;
  }
  if (BitWidth(type) <= 4 || block.words[3] % 20 == 0) return Between(block, smallest, largest);
  const int64_t bound = std::min<int64_t>(largest, int64_t{1} << std::min(BitWidth(type) - 1, 10));
  return Between(block, IsSigned(type) ? std::max(smallest, -bound) : 0, bound);
}

int64_t LeafIntegers::Within(int64_t i, const PhiloxBlock& block, const ClosedInterval& interval) const {
  const int64_t smallest = SmallestIntegerOf(draws_.shape.type()), largest = LargestIntegerOf(draws_.shape.type());
  if (draws_.options.profile == InputProfile::kEdge && draws_.range.is_index && !draws_.range.is_promised &&
      block.words[2] % 10 == 0)
    return OutOfRange(block, interval);
  // If one end is infinite, numbers stay within a thousand of the other end.
  double low = interval.low > -kInfinity ? interval.low : interval.high - 1000;
  double high = interval.high < kInfinity ? interval.high : interval.low + 1000;
  if (draws_.options.profile == InputProfile::kLong && draws_.range.is_trip_count && !draws_.range.is_index)
    high = std::max(high, 1000.0);
  const int64_t from = low <= static_cast<double>(smallest) ? smallest : static_cast<int64_t>(low);
  const int64_t to = high >= static_cast<double>(largest) ? largest : static_cast<int64_t>(high);
  if (to <= from) return from;
  const uint64_t width = static_cast<uint64_t>(to) - static_cast<uint64_t>(from) + 1;
  const auto elements = static_cast<uint64_t>(draws_.shape.NumElements());
  if (draws_.options.profile == InputProfile::kFingerprint && elements > 1 && width > 0)
    return from + static_cast<int64_t>(draws_.PlaceOf(i, width));
  if (draws_.range.is_key && draws_.range.distinct && elements > 1 && width >= elements && width < 1ull << 62)
    return from + static_cast<int64_t>(Permuted(static_cast<uint64_t>(draws_.KeyOf(i)), width, draws_.key));
  if (draws_.range.is_start && block.words[2] % 8 < 2) return block.words[2] % 8 == 0 ? from : to;
  return Between(block, from, to);
}

int64_t LeafIntegers::OutOfRange(const PhiloxBlock& block, const ClosedInterval& interval) const {
  const int64_t beyond = static_cast<int64_t>(interval.high) + 1;
  switch (block.words[3] % 4) {
    case 0: return IsSigned(draws_.shape.type()) ? -1 : LargestIntegerOf(draws_.shape.type());
    case 1: return beyond;
    case 2: return SmallestIntegerOf(draws_.shape.type());
    default: return LargestIntegerOf(draws_.shape.type());
  }
}

}  // namespace hlo
