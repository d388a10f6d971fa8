// Ops whose result element i needs only elements i of the operands.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "base/text.h"
#include "interp/functions.h"
#include "ir/component_type.h"
#include "ir/opcode_set.h"
#include "judge/residues/decisions.h"

namespace hlo::residue {
namespace {

constexpr OpcodeSet kSteps = {Opcode::kFloor,           Opcode::kCeil,
                              Opcode::kRoundNearestAfz, Opcode::kRoundNearestEven,
                              Opcode::kReducePrecision, Opcode::kIsFinite};

// ---- Numbers -------------------------------------------------------------------------------------------------------

uint64_t FunctionOf(Context& context, Opcode op, uint64_t x) {
  const FloatFunction* const function = FloatFunctionOf(op);
  if (op == Opcode::kRsqrt) return Inverse(FunctionOf(context, Opcode::kSqrt, x));
  if (op == Opcode::kLogistic) return Inverse(Sum(1, FunctionOf(context, Opcode::kExp, Negative(x))));
  if (x <= 1 && function != nullptr) return Of(function->f64(static_cast<double>(x)));
  return context.ResidueOf(op, x);
}

uint64_t PowerResidue(Context& context, uint64_t x, uint64_t y, double exponent) {
  constexpr double kMost = 1 << 20;
  if (std::fabs(exponent) <= kMost && exponent == std::floor(exponent)) {
    const uint64_t power = PowerOf(x, static_cast<uint64_t>(std::fabs(exponent)));
    return exponent < 0 ? Inverse(power) : power;
  }
  if (exponent == 0.5) return FunctionOf(context, Opcode::kSqrt, x);
  if (exponent == -0.5) return FunctionOf(context, Opcode::kRsqrt, x);
  return context.ResidueOf(Opcode::kPower, x, y);
}

// The function of a number's value, and its largest distance from the function of the number itself. `is_open`:
// possibly only one of the two results is finite.
struct Image {
  double value, error;
  bool is_open;
};

Image ImageOf(double value, std::span<const double> others) {
  constexpr double kOfFunction = 0x1p-48;  // Relative error, larger than the error of f64 functions.
  const auto kind = [](double x) { return std::isnan(x) ? 3 : std::isfinite(x) ? 0 : x > 0 ? 1 : 2; };
  Image image{value, std::fabs(value) * kOfFunction, false};
  for (const double other : others) {
    image.is_open |= kind(other) != kind(value);
    image.error = std::fmax(image.error, 2 * std::fabs(other - value));
  }
  return image;
}

Image ImageOf(const FloatFunction& function, const Decider& x) {
  const double value = function.f64(x.value);
  if (x.IsExact() || !std::isfinite(x.value)) return ImageOf(value, {});
  const std::array ends = {function.f64(x.value - x.error), function.f64(x.value + x.error),
                           std::fabs(x.value) <= x.error ? function.f64(0) : value};
  Image image = ImageOf(value, ends);
  // Between the ends, a wave or pole may exceed their values.
  if (function.course == Course::kWaves) {
    image = ImageOf(value, {});
    image.error += std::fmin(2, function.facts.slope * x.error);
  }
  if (function.course == Course::kRisesBetweenPoles && x.error > function.facts.period / 4)
    image.error = std::numeric_limits<double>::infinity();
  return image;
}

Image ImageOf(double (*function)(double, double), const Decider& x, const Decider& y) {
  const double value = function(x.value, y.value);
  if ((x.IsExact() && y.IsExact()) || !std::isfinite(x.value) || !std::isfinite(y.value)) return ImageOf(value, {});
  const double left = x.value - x.error, right = x.value + x.error, low = y.value - y.error, high = y.value + y.error;
  const std::array corners = {function(left, low), function(left, high), function(right, low), function(right, high)};
  Image image = ImageOf(value, corners);
  // power and atan2 are monotone in each operand only on each side of 0.
  const bool meets_zero =
      (!x.IsExact() && std::fabs(x.value) <= x.error) || (!y.IsExact() && std::fabs(y.value) <= y.error);
  if (meets_zero) image.error = std::numeric_limits<double>::infinity();
  return image;
}

Number NumberOf(const Image& image, uint64_t finite, bool open) {
  if (!std::isfinite(image.value)) return Number::Exactly(image.value).Opened(open || image.is_open);
  return Number::Near(image.value, finite == Of(image.value) ? 0 : image.error, finite, open || image.is_open);
}

// ---- Rules ---------------------------------------------------------------------------------------------------------

class Rule {
 public:
  Rule(Context& context, const Instruction& inst, Operands operands, const Dims& dims)
      : context_(context), inst_(inst), operands_(operands), shape_(inst.shape().WithDims(dims)) {}

  Result<Value> operator()() {
    switch (inst_.opcode()) {
      case Opcode::kCopy: return Renamed(*operands_[0]);
      case Opcode::kConvert: return Converted();
      case Opcode::kSelect: return Renamed(TRY(Selected(*operands_[0], *operands_[1], *operands_[2])));
      case Opcode::kCompare: return Compared(context_, inst_, operands_, shape_);
      case Opcode::kComplex:
      case Opcode::kReal:
      case Opcode::kImag: return Complex();
      default: break;
    }
    if (operands_[0]->IsComplex()) return Complex();
    switch (inst_.opcode()) {
      case Opcode::kMaximum:
      case Opcode::kMinimum: return Chosen(context_, shape_, *operands_[0], *operands_[1], inst_.Is(Opcode::kMaximum));
      case Opcode::kClamp: {
        const Value raised = Chosen(context_, shape_, *operands_[1], *operands_[0], true);
        return Chosen(context_, shape_, raised, *operands_[2], false);
      }
      case Opcode::kAbs:
      case Opcode::kSign: return BySign(context_, inst_, shape_, *operands_[0]);
      case Opcode::kRemainder: return Remainder(context_, shape_, *operands_[0], *operands_[1]);
      case Opcode::kAdd: return Zipped(*operands_[0], *operands_[1], std::plus());
      case Opcode::kSubtract: return Zipped(*operands_[0], *operands_[1], std::minus());
      case Opcode::kMultiply: return Zipped(*operands_[0], *operands_[1], std::multiplies());
      case Opcode::kDivide: return Divided(*operands_[0], *operands_[1]);
      case Opcode::kNegate: return Mapped(*operands_[0], std::negate());
      case Opcode::kPower:
      case Opcode::kAtan2: return OfTwo();
      default: break;
    }
    if (kSteps.Has(inst_.opcode())) return Stepped(context_, inst_, shape_, *operands_[0]);
    if (const FloatFunction* function = FloatFunctionOf(inst_.opcode())) return Function(*function);
    FAIL(UnsupportedAt(inst_, "U043", Str("no residues for '", inst_.opcode(), "'")));
  }

 private:
  int64_t count() const { return shape_.NumElements(); }

  bool TakeLacksLaw() const { return std::exchange(context_.lacks_law, false); }

  Value Renamed(Value value) const {
    value.shape = shape_;
    return value;
  }

  template <class F>
  Value Mapped(const Value& x, F&& f) const {
    Value result = NewNumbers(shape_.WithType(x.shape.type()));
    std::ranges::transform(x.numbers(), MutableNumbers(result).begin(), f);
    return result;
  }
  template <class F>
  Value Zipped(const Value& x, const Value& y, F&& f) const {
    Value result = NewNumbers(shape_.WithType(x.shape.type()));
    std::ranges::transform(x.numbers(), y.numbers(), MutableNumbers(result).begin(), f);
    return result;
  }
  Value Divided(const Value& x, const Value& y) const {
    std::vector<uint64_t> inverses;
    for (const Number& number : y.numbers()) inverses.push_back(number.residue());
    Invert(inverses);
    size_t next = 0;
    return Zipped(x, y, [&](const Number& a, const Number& b) { return Quotient(a, b, inverses[next++]); });
  }

  Value Function(const FloatFunction& function) const {
    // DeciderOf: both modules must agree on whether a number is in the domain.
    const bool has_domain = std::isfinite(function.facts.domain.low) || std::isfinite(function.facts.domain.high);
    return Mapped(*operands_[0], [&](const Number& x) {
      const Image image = ImageOf(function, has_domain ? context_.DeciderOf(x) : Decider{x.value, x.error()});
      // The residue of an infinity follows no law.
      const uint64_t residue =
          std::isfinite(x.value) ? FunctionOf(context_, function.opcode, x.residue()) : Of(image.value);
      return NumberOf(image, residue, x.open() || TakeLacksLaw());
    });
  }

  Value OfTwo() const {
    const bool is_power = inst_.Is(Opcode::kPower);
    return Zipped(*operands_[0], *operands_[1], [&](const Number& x, const Number& y) {
      const Decider of_x = context_.DeciderOf(x), of_y = context_.DeciderOf(y);
      double (*const function)(double, double) = std::atan2;
      double (*const power)(double, double) = std::pow;
      const Image image = ImageOf(is_power ? power : function, of_x, of_y);
      const double exponent = of_y.IsExact() ? of_y.value : std::numeric_limits<double>::quiet_NaN();
      const uint64_t residue = !AreFinite(x, y) ? Of(image.value)
                               : is_power       ? PowerResidue(context_, x.residue(), y.residue(), exponent)
                                                : context_.ResidueOf(Opcode::kAtan2, x.residue(), y.residue());
      return NumberOf(image, residue, x.open() || y.open() || TakeLacksLaw());
    });
  }

  // ---- Complex numbers ----

  Result<Value> Complex() const {
    const Value &x = *operands_[0], &y = *operands_[operands_.size() - 1];
    const auto pair = [&](Value real, Value imaginary) {
      real.shape = imaginary.shape = shape_.WithType(ComponentType(shape_.type()));
      return TupleOf(shape_, {std::move(real), std::move(imaginary)});
    };
    const auto add = [&](const Value& a, const Value& b) { return Zipped(a, b, std::plus()); };
    const auto subtract = [&](const Value& a, const Value& b) { return Zipped(a, b, std::minus()); };
    const auto multiply = [&](const Value& a, const Value& b) { return Zipped(a, b, std::multiplies()); };
    const bool is_complex = x.IsComplex();
    const std::span<const Value> a = x.parts, b = y.parts;
    switch (inst_.opcode()) {
      case Opcode::kComplex: return pair(x, y);
      case Opcode::kReal: return Renamed(is_complex ? a[0] : x);
      case Opcode::kImag: return Renamed(is_complex ? a[1] : Mapped(x, [](const Number&) { return Number(); }));
      case Opcode::kNegate: return pair(Mapped(a[0], std::negate()), Mapped(a[1], std::negate()));
      case Opcode::kAdd: return pair(add(a[0], b[0]), add(a[1], b[1]));
      case Opcode::kSubtract: return pair(subtract(a[0], b[0]), subtract(a[1], b[1]));
      case Opcode::kMultiply:
        return pair(subtract(multiply(a[0], b[0]), multiply(a[1], b[1])),
                    add(multiply(a[0], b[1]), multiply(a[1], b[0])));
      case Opcode::kDivide: {
        const Value norm = add(multiply(b[0], b[0]), multiply(b[1], b[1]));
        return pair(Divided(add(multiply(a[0], b[0]), multiply(a[1], b[1])), norm),
                    Divided(subtract(multiply(a[1], b[0]), multiply(a[0], b[1])), norm));
      }
      case Opcode::kAbs: {
        const Value norm = add(multiply(a[0], a[0]), multiply(a[1], a[1]));
        return Renamed(Mapped(norm, [&](const Number& n) {
          if (!std::isfinite(n.value)) return n;
          const Image image = ImageOf(*FloatFunctionOf(Opcode::kSqrt), context_.DeciderOf(n));
          return NumberOf(image, FunctionOf(context_, Opcode::kSqrt, n.residue()), n.open() || TakeLacksLaw());
        }));
      }
      default: break;
    }
    const FloatFunction* const function = FloatFunctionOf(inst_.opcode());
    if (function == nullptr || !function->of_complex)
      FAIL(UnsupportedAt(inst_, "U043", Str("no residues for '", inst_.opcode(), "' of complex numbers")));
    return ComplexFunction(x, pair);
  }

  // The value is the interpreter's. Both residues are hashes of both parts of the operand.
  template <class F>
  Result<Value> ComplexFunction(const Value& x, F&& pair) const {
    Literal values(shape_.WithType(PrimitiveType::kC128));
    const std::span<const Number> real = x.parts[0].numbers(), imaginary = x.parts[1].numbers();
    for (int64_t i = 0; i < count(); ++i) values.SetComplex(i, {real[i].value, imaginary[i].value});
    const Literal result = TRY(EvaluateAs(inst_, std::vector{values}, values.shape()));
    std::array<Value, 2> parts = {x.parts[0], x.parts[1]};
    for (int64_t i = 0; i < count(); ++i) {
      const uint64_t hash = context_.ResidueOf(inst_.opcode(), real[i].residue(), imaginary[i].residue());
      const std::complex<double> value = result.GetComplex(i);
      const bool is_exact = AreExact(real[i], imaginary[i]);
      const bool open = real[i].open() || imaginary[i].open() || TakeLacksLaw();
      for (int part = 0; part < 2; ++part) {
        const double v = part == 0 ? value.real() : value.imag();
        const bool special = !AreFinite(real[i], imaginary[i]) || !std::isfinite(v);
        // The error of a part is relative to the magnitude of the complex value.
        const Image image{v, is_exact ? std::abs(value) * 0x1p-45 : std::numeric_limits<double>::infinity(), false};
        MutableNumbers(parts[part])[i] = NumberOf(image, special ? Of(v) : Hash(hash, part), open);
      }
    }
    return pair(std::move(parts[0]), std::move(parts[1]));
  }

  // ---- Conversions ----

  Result<Value> Converted() const {
    const Value& x = *operands_[0];
    const bool from_numbers = x.IsFloat() || x.IsComplex(), to_complex = hlo::IsComplex(shape_.type());
    if (x.IsComplex() && to_complex) return Renamed(x);
    if (x.IsComplex()) return Narrowed(x.parts[0]);
    if (!to_complex) return from_numbers ? Narrowed(x) : Widened(x, shape_);
    const Shape part =
        shape_.WithType(shape_.type() == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64);
    Value imaginary = NewNumbers(part);
    std::ranges::fill(MutableNumbers(imaginary), Number());
    Value real = from_numbers ? x : Widened(x, part);
    real.shape = part;
    return TupleOf(shape_, {std::move(real), std::move(imaginary)});
  }

  Result<Value> Narrowed(const Value& numbers) const {
    if (IsFloat(shape_.type())) return Renamed(numbers);
    return Stepped(context_, inst_, shape_, numbers);
  }

  static Value Widened(const Value& integers, const Shape& shape) {
    Value numbers = NewNumbers(shape);
    const bool is_unsigned = integers.shape.type() == PrimitiveType::kU64;
    for (int64_t i = 0; i < shape.NumElements(); ++i) {
      const int64_t x = integers.data.GetInt(i);
      const auto u = static_cast<uint64_t>(x);
      const double value = is_unsigned ? static_cast<double>(u) : static_cast<double>(x);
      const uint64_t residue = is_unsigned ? OfInteger(u) : OfInteger(x);
      MutableNumbers(numbers)[i] =
          Number::Near(value, Of(value) == residue ? 0 : std::fabs(value) * kUnit, residue, integers.IsOpen(i));
    }
    return numbers;
  }

  Context& context_;
  const Instruction& inst_;
  const Operands operands_;
  const Shape shape_;
};

}  // namespace

Result<Value> Selected(const Value& pred, const Value& on_true, const Value& on_false) {
  Value result = on_true;
  for (size_t i = 0; i < result.parts.size(); ++i)
    result.parts[i] = TRY(Selected(pred, on_true.parts[i], on_false.parts[i]));
  if (!result.parts.empty()) return result;
  const std::span<const uint8_t> takes_true = pred.data.data<uint8_t>();
  if (result.IsFloat()) {
    const std::span<Number> out = MutableNumbers(result);
    for (size_t i = 0; i < out.size(); ++i) {
      if (takes_true[i] == 0) out[i] = on_false.numbers()[i];
      if (pred.IsOpen(i) && on_true.numbers()[i].residue() != on_false.numbers()[i].residue())
        out[i].bits |= Number::kOpen;
    }
    return result;
  }
  const int64_t width = ByteWidth(result.shape.type());
  Literal open(result.shape.WithType(PrimitiveType::kPred));
  for (int64_t i = 0; i < result.shape.NumElements(); ++i) {
    const std::byte* const other = on_false.data.raw() + i * width;
    const bool same = std::memcmp(on_true.data.raw() + i * width, other, width) == 0;
    open.mutable_data<bool>()[i] =
        (pred.IsOpen(i) && !same) || (takes_true[i] != 0 ? on_true.IsOpen(i) : on_false.IsOpen(i));
    if (takes_true[i] == 0) std::memcpy(result.data.mutable_raw() + i * width, other, width);
  }
  result.open = std::move(open);
  return result;
}

Result<Value> Elementwise(Context& context, const Instruction& inst, Operands operands, const Dims& dims) {
  // Scalars beside arrays, as in select and clamp, become arrays.
  std::vector<Value> splat(operands.size());
  std::vector<const Value*> all(operands.begin(), operands.end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]->shape.IsScalar() || dims.empty()) continue;
    splat[i] = Splat(*all[i], dims);
    all[i] = &splat[i];
  }
  const bool exact = IsExactType(inst.shape()) &&
                     std::ranges::all_of(all, [](const Value* operand) { return IsExactType(operand->shape); });
  if (!exact || inst.Is(Opcode::kSelect)) return Rule(context, inst, all, dims)();
  std::vector<Literal> literals;
  for (const Value* operand : all) literals.push_back(operand->data);
  Value result = OfExact(TRY(EvaluateAs(inst, literals, inst.shape().WithDims(dims))));
  if (std::ranges::none_of(all, &Value::HasOpen)) return result;
  result.open = Literal(result.shape.WithType(PrimitiveType::kPred));
  for (int64_t i = 0; i < result.shape.NumElements(); ++i)
    result.open.mutable_data<bool>()[i] = std::ranges::any_of(all, [&](const Value* v) { return v->IsOpen(i); });
  return result;
}

}  // namespace hlo::residue
