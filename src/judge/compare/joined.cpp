#include "judge/compare/joined.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "judge/bounds/rules.h"

namespace hlo {
namespace {

// Whether only the order of combining chooses element i among exact candidates. Then another value is wrong.
bool IsOrdered(const ShadowValue& value, size_t i) {
  const int64_t decision = value.choices ? value.choices->DecisionOf(static_cast<int64_t>(i)) : -1;
  return decision >= 0 && value.choices->decisions->by_order[decision] != 0;
}

// Whether both modules choose the same element of the same set. A sum of hashes represents the set.
bool SameDecision(const ShadowValue& a, const ShadowValue& b, size_t i) {
  if (!IsOrdered(a, i) || !IsOrdered(b, i)) return false;
  const auto hash = [](const ShadowValue& x, int64_t at) {
    const uint64_t bits = x.IsFloat() ? std::bit_cast<uint64_t>(x.value.GetDouble(at)) : x.exact.GetInt(at);
    return Mix(0x9E3779B97F4A7C15 + bits);
  };
  const auto elements = [&](const Choices& choices) {
    const int64_t decision = choices.DecisionOf(static_cast<int64_t>(i));
    const std::vector<int64_t>& first = choices.decisions->first;
    uint64_t sum = 0;
    for (int64_t c = first[decision]; c < first[decision + 1]; ++c) sum += hash(choices.candidates, c);
    return sum;
  };
  const auto at = static_cast<int64_t>(i);
  return hash(a, at) == hash(b, at) && elements(*a.choices) == elements(*b.choices);
}

// Whether both sides computed element i from values of operands, and got the same bits.
bool IsSameComputed(const ShadowValue& a, const ShadowValue& b, int64_t i) {
  if (a.IsFloat()) {
    const auto computed = [i](const ShadowValue& x) {
      return !x.HasBound() || shadow::IsComputed(shadow::Values(x.bound)[i]);
    };
    const auto bits = [i](const ShadowValue& x) { return std::bit_cast<uint64_t>(shadow::Values(x.value)[i]); };
    return computed(a) && computed(b) && bits(a) == bits(b);
  }
  const auto computed = [i](const ShadowValue& x) {
    return !x.HasOpen() || (x.open.data<uint8_t>()[i] & shadow::kLost) == 0;
  };
  if (b.exact.shape().type() != a.exact.shape().type() || !computed(a) || !computed(b)) return false;
  const int64_t bytes = ByteWidth(a.exact.shape().type());
  return std::memcmp(a.exact.raw() + i * bytes, b.exact.raw() + i * bytes, bytes) == 0;
}

// Accepts elements without finite bounds if both modules computed the same bits from the same values. Returns their
// number.
int64_t DecideWhatIsEqual(ShadowValue& joined, const ShadowValue& expected, const ShadowValue& actual) {
  int64_t decided = 0;
  const int64_t count = joined.shape.NumElements();
  if (joined.IsFloat()) {
    auto bound = joined.bound.mutable_data<double>();
    for (int64_t i = 0; i < count; ++i) {
      if (std::isfinite(bound[i]) || !IsSameComputed(expected, actual, i)) continue;
      bound[i] = 0;
      ++decided;
    }
    return decided;
  }
  if (!joined.HasOpen()) return 0;
  auto open = joined.open.mutable_data<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    if (open[i] == 0 || !IsSameComputed(expected, actual, i)) continue;
    open[i] = 0;
    ++decided;
  }
  return decided;
}

bool IsComplexArray(const ShadowValue& x) { return x.shape.IsArray() && IsComplex(x.shape.type()); }

}  // namespace

ShadowValue PartsSideBySide(const ShadowValue& x) {
  const ShadowValue split = shadow::SplitComplex(x);
  const ShadowValue &real = split.elements[0], &imaginary = split.elements[1];
  std::vector<int64_t> dims = x.shape.dims();
  dims.push_back(2);
  ShadowValue parts;
  parts.shape = Shape(real.shape.type(), dims);
  const Shape wide = parts.shape.WithType(PrimitiveType::kF64);
  parts.value = shadow::Interleaved(real.value, imaginary.value, wide);
  if (!real.HasBound() && !imaginary.HasBound()) return parts;
  parts.bound = shadow::Interleaved(real.HasBound() ? real.bound : shadow::Zeros(real.shape),
                                    imaginary.HasBound() ? imaginary.bound : shadow::Zeros(real.shape), wide);
  if (!real.HasLikely() && !imaginary.HasLikely()) return parts;
  const auto likely = [](const ShadowValue& part) {
    return part.HasLikely() ? part.likely : part.HasBound() ? part.bound : shadow::Zeros(part.shape);
  };
  parts.likely = shadow::Interleaved(likely(real), likely(imaginary), wide);
  return parts;
}

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

bool HasParts(const ShadowValue& x) {
  return !x.elements.empty() && (IsComplexArray(x) || std::ranges::any_of(x.elements, HasParts));
}

ShadowValue Joined(const ShadowValue& expected, const ShadowValue& actual, int64_t* by_bits) {
  ShadowValue joined = expected;
  if (expected.shape.IsTuple()) {
    for (size_t i = 0; i < expected.elements.size(); ++i)
      joined.elements[i] = Joined(expected.elements[i], actual.elements[i], by_bits);
    std::vector<Shape> shapes;
    for (const ShadowValue& element : joined.elements) shapes.push_back(element.shape);
    joined.shape = Shape::Tuple(std::move(shapes));
    return joined;
  }
  if (IsComplexArray(expected)) return Joined(PartsSideBySide(expected), PartsSideBySide(actual), by_bits);
  joined.likely = Literal();
  joined.choices = nullptr;  // Passes may change choices.
  if (!expected.IsFloat()) {
    if (!actual.HasOpen()) {
      *by_bits += DecideWhatIsEqual(joined, expected, actual);
      return joined;
    }
    if (!joined.HasOpen()) joined.open = Literal(expected.shape.WithType(PrimitiveType::kPred));
    auto open = joined.open.mutable_data<uint8_t>();
    for (size_t i = 0; i < open.size(); ++i) open[i] = SameDecision(expected, actual, i) ? 0 : open[i];
    for (size_t i = 0; i < open.size(); ++i) open[i] |= IsOrdered(actual, i) ? 0 : actual.open.data<uint8_t>()[i];
    *by_bits += DecideWhatIsEqual(joined, expected, actual);
    return joined;
  }
  joined.shape = expected.shape.WithType(PrimitiveType::kF64);
  if (!actual.HasBound() && !expected.HasBound()) {
    // Without bounds, only the sign of zero may differ.
    joined.bound = shadow::NewBuffer(joined.shape);
    std::ranges::fill(joined.bound.mutable_data<double>(), std::numeric_limits<double>::denorm_min());
    return joined;
  }
  if (!joined.HasBound()) joined.bound = shadow::Zeros(joined.shape);
  auto bound = joined.bound.mutable_data<double>();
  for (size_t i = 0; i < bound.size(); ++i) bound[i] = SameDecision(expected, actual, i) ? 0 : bound[i];
  if (actual.HasBound()) {
    for (size_t i = 0; i < bound.size(); ++i) bound[i] += IsOrdered(actual, i) ? 0 : actual.bound.data<double>()[i];
  }
  for (double& e : bound) e = e * shadow::kUp + std::numeric_limits<double>::denorm_min();
  *by_bits += DecideWhatIsEqual(joined, expected, actual);
  return joined;
}

int64_t CountOpened(const ShadowValue& expected, const ShadowValue& joined) {
  int64_t opened = 0;
  if (expected.shape.IsTuple()) {
    for (size_t i = 0; i < expected.elements.size(); ++i)
      opened += CountOpened(expected.elements[i], joined.elements[i]);
    return opened;
  }
  if (IsComplexArray(expected)) return CountOpened(PartsSideBySide(expected), joined);
  const auto is_open = [](const ShadowValue& x, int64_t i) {
    if (x.IsFloat()) return x.HasBound() && !std::isfinite(x.bound.data<double>()[i]);
    return x.HasOpen() && x.open.data<uint8_t>()[i] != 0;
  };
  for (int64_t i = 0; i < expected.shape.NumElements(); ++i)
    opened += is_open(joined, i) && !is_open(expected, i) ? 1 : 0;
  return opened;
}

Literal AsLiteral(const ShadowValue& value) {
  if (value.shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const ShadowValue& element : value.elements) elements.push_back(AsLiteral(element));
    return Literal::Tuple(std::move(elements));
  }
  if (IsComplexArray(value)) return PartsSideBySide(value).value;
  return value.IsFloat() ? value.value : value.exact;
}

ShadowValue KeptOf(ShadowValue expected, const ShadowValue& from) {
  expected = shadow::SplitComplex(expected);
  const ShadowValue actual = shadow::SplitComplex(from);
  for (size_t i = 0; i < expected.elements.size(); ++i)
    expected.elements[i] = KeptOf(std::move(expected.elements[i]), actual.elements[i]);
  const ShadowValue both = std::move(expected);
  ShadowValue kept = DropBounds(both);
  if (both.IsFloat() && both.HasBound()) {
    const double* bound = shadow::BoundsOrNull(both.bound);
    auto value = kept.value.mutable_data<double>();
    for (size_t i = 0; i < value.size(); ++i) {
      if (std::isfinite(bound[i])) continue;
      const bool same = IsSameComputed(both, actual, static_cast<int64_t>(i)) || SameDecision(both, actual, i);
      value[i] = shadow::Values(actual.value)[i];
      if (same) continue;
      if (!kept.HasBound()) kept.bound = shadow::Zeros(kept.shape);
      kept.bound.mutable_data<double>()[i] = shadow::kUndeterminedButComputed;
    }
  }
  if (both.HasOpen()) {
    const bool same_type = actual.exact.shape().type() == both.exact.shape().type();
    const auto size = static_cast<size_t>(ByteWidth(both.exact.shape().type()));
    kept.open = both.open;
    auto open = kept.open.mutable_data<uint8_t>();
    std::byte* value = kept.exact.mutable_raw();
    for (size_t i = 0; i < open.size(); ++i) {
      if (open[i] == 0) continue;
      const bool same = IsSameComputed(both, actual, static_cast<int64_t>(i)) || SameDecision(both, actual, i);
      if (same_type) std::memcpy(value + i * size, actual.exact.raw() + i * size, size);
      open[i] = same ? 0 : shadow::kComputed;
    }
    if (!shadow::AnyOpen(kept)) kept.open = Literal();
  }
  return kept;
}

}  // namespace hlo
