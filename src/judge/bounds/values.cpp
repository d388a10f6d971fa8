#include <algorithm>
#include <array>
#include <cstring>

#include "base/parallel.h"
#include "judge/bounds/rules.h"

namespace hlo {
namespace shadow {
namespace {

constexpr int64_t kGrain = 1 << 14;

constexpr int kWideMantissaBits = 52;

// Whether NaNs differ in more than their sign. f64 needs no conversion.
bool HasPayloads(PrimitiveType type) {
  if (type == PrimitiveType::kF64) return false;
  return type == PrimitiveType::kF32 || FormatOf(type).specials == Specials::kIeee;
}

template <class Bits>
Bits LoadBits(const Literal& literal, int64_t i) {
  Bits bits;
  std::memcpy(&bits, literal.raw() + i * sizeof bits, sizeof bits);
  return bits;
}

uint64_t BitsAt(const Literal& literal, int64_t i) {
  switch (ByteWidth(literal.shape().type())) {
    case 1: return LoadBits<uint8_t>(literal, i);
    case 2: return LoadBits<uint16_t>(literal, i);
    default: return LoadBits<uint32_t>(literal, i);
  }
}

// WideElement converts NaNs, which `convert` need not preserve.
template <class Stored, class Convert>
void WidenTo(double* out, const Literal& literal, Convert convert) {
  const auto* in = reinterpret_cast<const Stored*>(literal.raw());
  ParallelFor(literal.shape().NumElements(), kGrain, [&](int64_t begin, int64_t end) {
    bool any_nan = false;
    for (int64_t i = begin; i < end; ++i) {
      out[i] = convert(in[i]);
      any_nan |= out[i] != out[i];
    }
    for (int64_t i = begin; any_nan && i < end; ++i) {
      if (out[i] != out[i]) out[i] = WideElement(literal, i);
    }
  });
}

Literal Widen(const Literal& literal) {
  const PrimitiveType type = literal.shape().type();
  if (type == PrimitiveType::kF64) return literal;
  Literal wide = NewBuffer(literal.shape());
  double* const out = wide.mutable_data<double>().data();
  switch (type) {
    case PrimitiveType::kF32: WidenTo<float>(out, literal, [](float x) { return x; }); return wide;
    case PrimitiveType::kBF16: WidenTo<uint16_t>(out, literal, BF16ToFloat); return wide;
    case PrimitiveType::kF16: WidenTo<uint16_t>(out, literal, F16ToFloat); return wide;
    default: break;
  }
  std::array<double, 256> numbers;
  for (int bits = 0; bits < 256; ++bits)
    numbers[bits] = bits >> BitWidth(type) == 0 ? DecodeFloat(FormatOf(type), static_cast<uint8_t>(bits)) : 0;
  WidenTo<uint8_t>(out, literal, [&](uint8_t bits) { return numbers[bits]; });
  return wide;
}

}  // namespace

double WideElement(const Literal& literal, int64_t i) {
  const double x = literal.GetDouble(i);
  const PrimitiveType type = literal.shape().type();
  if (!std::isnan(x) || !HasPayloads(type)) return x;
  const uint64_t bits = BitsAt(literal, i);
  const int mantissa_bits = SignificandBits(type) - 1;
  const uint64_t sign = bits >> (BitWidth(type) - 1), payload = bits & ((uint64_t{1} << mantissa_bits) - 1);
  return std::bit_cast<double>(sign << 63 | uint64_t{0x7FF} << kWideMantissaBits |
                               payload << (kWideMantissaBits - mantissa_bits));
}

void SetWideElement(Literal& literal, int64_t i, double x) {
  literal.SetDouble(i, x);
  const PrimitiveType type = literal.shape().type();
  if (!std::isnan(x) || !HasPayloads(type)) return;
  const int mantissa_bits = SignificandBits(type) - 1,
            exponent_bits = static_cast<int>(BitWidth(type)) - 1 - mantissa_bits;
  const uint64_t wide = std::bit_cast<uint64_t>(x), sign = wide >> 63;
  const uint64_t payload = (wide & ((uint64_t{1} << kWideMantissaBits) - 1)) >> (kWideMantissaBits - mantissa_bits);
  if (payload == 0) return;  // The payload does not fit, and the conversion has chosen one.
  const uint64_t bits = ((sign << exponent_bits | ((uint64_t{1} << exponent_bits) - 1)) << mantissa_bits) | payload;
  std::memcpy(literal.mutable_raw() + i * ByteWidth(type), &bits, static_cast<size_t>(ByteWidth(type)));
}

Literal NewBuffer(const Shape& shape) { return Literal::Uninitialized(shape.WithType(PrimitiveType::kF64)); }
Literal Zeros(const Shape& shape) { return Literal(shape.WithType(PrimitiveType::kF64)); }

ShadowValue Undetermined(const Shape& shape) {
  ShadowValue value;
  value.shape = shape;
  if (shape.IsTuple()) {
    for (const Shape& element : shape.elements()) value.elements.push_back(Undetermined(element));
    return value;
  }
  if (!shape.IsArray()) {
    value.exact = Literal(shape);
    return value;
  }
  if (value.IsFloat()) {
    value.value = Zeros(shape);
    value.bound = NewBuffer(shape);
    std::ranges::fill(value.bound.mutable_data<double>(), kUndetermined);
    return value;
  }
  value.exact = Literal(shape);
  value.open = Literal(shape.WithType(PrimitiveType::kPred));
  std::ranges::fill(value.open.mutable_data<uint8_t>(), 1);
  return value;
}

void DropZeroBound(ShadowValue& value) {
  if (std::ranges::all_of(value.bound.data<double>(), [](double e) { return e == 0; }))
    value.bound = value.likely = Literal();
}

bool AnyOpen(const ShadowValue& x) {
  return x.HasOpen() && std::ranges::any_of(x.open.data<uint8_t>(), [](uint8_t mark) { return mark != 0; });
}

bool AnyUndetermined(const ShadowValue& x) {
  if (std::ranges::any_of(x.elements, AnyUndetermined)) return true;
  return AnyOpen(x) ||
         (x.HasBound() && std::ranges::any_of(x.bound.data<double>(), [](double e) { return !std::isfinite(e); }));
}

ShadowValue UndeterminedOf(ShadowValue value) {
  for (ShadowValue& element : value.elements) element = UndeterminedOf(std::move(element));
  value.choices = nullptr;
  if (!value.elements.empty() || !value.shape.IsArray()) return value;
  if (value.IsFloat()) {
    if (!value.HasBound()) value.bound = Zeros(value.shape);
    for (double& e : value.bound.mutable_data<double>()) e = IsComputed(e) ? kUndeterminedButComputed : kUndetermined;
    value.likely = Literal();
    return value;
  }
  if (!value.HasOpen()) value.open = Literal(value.shape.WithType(PrimitiveType::kPred));
  for (uint8_t& mark : value.open.mutable_data<uint8_t>()) mark = (mark & kLost) != 0 ? kLost : kComputed;
  return value;
}

ShadowValue AsComputed(ShadowValue x) {
  for (ShadowValue& element : x.elements) element = AsComputed(std::move(element));
  x.choices = nullptr;
  if (x.HasBound()) {
    for (double& e : x.bound.mutable_data<double>()) e = IsComputed(e) ? 0 : kUndetermined;
    DropZeroBound(x);
  }
  x.likely = Literal();
  if (x.HasOpen()) {
    for (uint8_t& mark : x.open.mutable_data<uint8_t>()) mark &= kLost;
    if (!AnyOpen(x)) x.open = Literal();
  }
  return x;
}

void TakeComputed(const ShadowValue& from, ShadowValue& to) {
  for (size_t i = 0; i < to.elements.size(); ++i) TakeComputed(from.elements[i], to.elements[i]);
  if (to.HasBound()) {
    auto value = to.value.mutable_data<double>(), bound = to.bound.mutable_data<double>();
    const double* other = Values(from.value);
    const double* e = BoundsOrNull(from.bound);
    for (size_t i = 0; i < bound.size(); ++i) {
      if (std::isfinite(bound[i])) continue;
      value[i] = other[i];
      bound[i] = e == nullptr || IsComputed(e[i]) ? kUndeterminedButComputed : kUndetermined;
    }
  }
  if (!to.HasOpen()) return;
  auto open = to.open.mutable_data<uint8_t>();
  const auto size = static_cast<size_t>(ByteWidth(to.exact.shape().type()));
  std::byte* value = to.exact.mutable_raw();
  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i] == 0) continue;
    std::memcpy(value + i * size, from.exact.raw() + i * size, size);
    const bool lost = from.HasOpen() && (from.open.data<uint8_t>()[i] & kLost) != 0;
    open[i] = lost ? kLost : kComputed;
  }
}

// Loops call this after each trip, so marked data is not copied.
void MarkComputed(ShadowValue& value) {
  for (ShadowValue& element : value.elements) MarkComputed(element);
  const auto mark = [](auto& literal, auto is_unmarked, auto marked) {
    using Element = std::remove_cvref_t<decltype(marked(0))>;
    const auto marks = literal.template data<Element>();
    const auto first = std::ranges::find_if(marks, is_unmarked) - marks.begin();
    if (first == std::ssize(marks)) return;
    for (Element& each : literal.template mutable_data<Element>().subspan(first))
      each = is_unmarked(each) ? marked(each) : each;
  };
  if (value.HasBound()) {
    mark(value.bound, [](double e) { return std::isinf(e); }, [](double) { return kUndeterminedButComputed; });
  }
  if (value.HasOpen()) {
    mark(
        value.open, [](uint8_t m) { return m != 0 && m != kLost && m != kComputed; },
        [](uint8_t m) { return (m & kLost) != 0 ? kLost : kComputed; });
  }
}

void TakeAsExact(ShadowValue& value) {
  for (ShadowValue& element : value.elements) TakeAsExact(element);
  if (value.HasBound()) value.bound = Literal();
  if (value.HasLikely()) value.likely = Literal();
  value.choices = nullptr;
}

}  // namespace shadow

ShadowValue ToShadow(const Literal& literal) {
  ShadowValue value;
  value.shape = literal.shape();
  if (literal.shape().IsTuple()) {
    for (const Literal& element : literal.elements()) value.elements.push_back(ToShadow(element));
    return value;
  }
  if (!value.IsFloat()) {
    value.exact = literal;
    return value;
  }
  value.held = literal.shape().type();
  value.value = shadow::Widen(literal);
  return value;
}

Literal Splat(const Literal& element, const Shape& shape) {
  Literal splat = Literal::Uninitialized(shape.WithType(element.shape().type()));
  const auto size = static_cast<size_t>(element.byte_size());
  std::byte* const to = splat.mutable_raw();
  const auto bytes = static_cast<size_t>(splat.byte_size());
  if (bytes == 0) return splat;
  std::memcpy(to, element.raw(), size);
  for (size_t done = size; done < bytes; done *= 2) std::memcpy(to + done, to, std::min(done, bytes - done));
  return splat;
}

ShadowValue Splat(const ShadowValue& element, const Shape& shape) {
  ShadowValue splat;
  splat.shape = shape;
  for (const ShadowValue& part : element.elements)
    splat.elements.push_back(Splat(part, shape.WithType(part.shape.type())));
  splat.held = element.held;
  for (Literal ShadowValue::* part :
       {&ShadowValue::value, &ShadowValue::bound, &ShadowValue::likely, &ShadowValue::exact, &ShadowValue::open}) {
    if ((element.*part).byte_size() != 0) splat.*part = Splat(element.*part, shape);
  }
  return splat;
}

ShadowValue DropBounds(ShadowValue value) {
  shadow::TakeAsExact(value);
  return value;
}

}  // namespace hlo
