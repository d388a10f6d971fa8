// Elementwise ops of one operand. Edges: docs/ops.md#elementwise.
#include <bit>
#include <cmath>
#include <limits>

#include "interp/ops/elementwise_rows.h"
#include "interp/ops/reduce_precision.h"
#include "ir/literal.h"

namespace hlo {
namespace {

using rows::kIsComplex;

template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;
template <class T>
constexpr bool kIsSigned = std::is_same_v<T, int64_t>;

template <class T>
uint64_t LowBits(T x, int bits) {
  return static_cast<uint64_t>(x) & (~uint64_t{0} >> (64 - bits));
}

template <class T>
auto AbsOf(T x) {
  if constexpr (kIsSigned<T>) return static_cast<T>(x < 0 ? 0 - static_cast<uint64_t>(x) : x);
  if constexpr (std::is_same_v<T, C64>) return static_cast<float>(std::hypot(double{x.real()}, double{x.imag()}));
  if constexpr (std::is_same_v<T, C128>) return std::hypot(x.real(), x.imag());
  if constexpr (kIsFloat<T>) return std::fabs(x);
}

template <class T>
T NegateOf(T x) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(0 - static_cast<uint64_t>(x));
  if constexpr (!std::is_integral_v<T>) return -x;
}

template <class T>
T SignOf(T x) {
  if constexpr (std::is_integral_v<T>) return (x > 0) - (x < 0);
  if constexpr (kIsFloat<T>) return x != x ? x : std::copysign(static_cast<T>(x != 0), x);
  if constexpr (kIsComplex<T>) {
    if (x == T(0)) return x;
    const C128 z = x;
    return static_cast<T>(z / std::hypot(z.real(), z.imag()));
  }
}

// exp(z) - 1 without cancellation where z is small: expm1(x) cos(y) - 2 sin(y/2)^2 + i exp(x) sin(y).
template <class T>
T Expm1Of(T z) {
  if constexpr (kIsFloat<T>) return std::expm1(z);
  if constexpr (kIsComplex<T>) {
    const auto x = z.real(), y = z.imag();
    if (y == 0) return T(std::expm1(x), y);
    const auto half = std::sin(y / 2);
    return T(std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y));
  }
}

// log|1 + z| = log1p(x * (2 + x) + y * y) / 2 near zero, where 1 + z would lose what is small.
template <class T>
T Log1pOf(T z) {
  if constexpr (kIsFloat<T>) return std::log1p(z);
  if constexpr (kIsComplex<T>) {
    const auto x = z.real(), y = z.imag();
    const auto imag = std::atan2(y, 1 + x);
    if (std::fabs(x) < 0.5 && std::fabs(y) < 0.5) return T(std::log1p(x * (2 + x) + y * y) / 2, imag);
    return T(std::log(std::hypot(1 + x, y)), imag);
  }
}

// 1 / (1 + e^-x); where e^-x overflows that is e^x, which does not underflow yet.
template <class T>
T LogisticOf(T x) {
  const T e = std::exp(-x);
  if constexpr (kIsFloat<T>) {
    if (std::isinf(e)) return std::exp(x);
  }
  return T(1) / (T(1) + e);
}

template <class T>
T Exp2Of(T x) {
  if constexpr (kIsFloat<T>) return std::exp2(x);
  if constexpr (kIsComplex<T>) return std::exp(x * std::log(2.0));
}

template <class T>
T Log2Of(T x) {
  if constexpr (kIsFloat<T>) return std::log2(x);
  if constexpr (kIsComplex<T>) return std::log(x) / std::log(2.0);
}

template <class T>
auto RealOf(T x) {
  if constexpr (kIsComplex<T>) return x.real();
  if constexpr (!kIsComplex<T>) return x;
}

template <class T>
auto ImagOf(T x) {
  if constexpr (kIsComplex<T>) return x.imag();
  if constexpr (!kIsComplex<T>) return T(0);
}

}  // namespace

UNARY(Abs, kSigned | rows::kFloat | rows::kComplex, AbsOf(x))
UNARY(Ceil, kFloat, std::ceil(x))
UNARY(CountLeadingZeros, kInt, static_cast<T>(std::countl_zero(LowBits(x, op.bits)) - (64 - op.bits)))
UNARY(Floor, kFloat, std::floor(x))
UNARY(Imag, kFloat | rows::kComplex, ImagOf(x))
UNARY(IsFinite, kFloat, std::fabs(x) < std::numeric_limits<T>::infinity())
UNARY(Negate, kArith, NegateOf(x))
UNARY(PopulationCount, kInt, static_cast<T>(std::popcount(LowBits(x, op.bits))))
UNARY(Real, kFloat | rows::kComplex, RealOf(x))
UNARY(RoundNearestAfz, kFloat, std::round(x))
UNARY(RoundNearestEven, kFloat, std::nearbyint(x))
UNARY(Sign, kSigned | rows::kFloat | rows::kComplex, SignOf(x))

FUNCTION(Acos, kFloat | rows::kComplex, std::acos(x))
FUNCTION(Acosh, kFloat | rows::kComplex, std::acosh(x))
FUNCTION(Asin, kFloat | rows::kComplex, std::asin(x))
FUNCTION(Asinh, kFloat | rows::kComplex, std::asinh(x))
FUNCTION(Atanh, kFloat | rows::kComplex, std::atanh(x))
FUNCTION(Cbrt, kFloat, std::cbrt(x))
FUNCTION(Cosh, kFloat | rows::kComplex, std::cosh(x))
FUNCTION(Exp2, kFloat | rows::kComplex, Exp2Of(x))
FUNCTION(Rsqrt, kFloat | rows::kComplex, decltype(x)(1) / std::sqrt(x))
FUNCTION(Sinh, kFloat | rows::kComplex, std::sinh(x))
FUNCTION(Sqrt, kFloat | rows::kComplex, std::sqrt(x))
FUNCTION(Tan, kFloat | rows::kComplex, std::tan(x))

WIDE_FUNCTION(Cos, kFloat | rows::kComplex, std::cos(x))
WIDE_FUNCTION(Erf, kFloat, std::erf(x))
WIDE_FUNCTION(Exp, kFloat | rows::kComplex, std::exp(x))
WIDE_FUNCTION(Expm1, kFloat | rows::kComplex, Expm1Of(x))
WIDE_FUNCTION(Log, kFloat | rows::kComplex, std::log(x))
WIDE_FUNCTION(Log1p, kFloat | rows::kComplex, Log1pOf(x))
WIDE_FUNCTION(Log2, kFloat | rows::kComplex, Log2Of(x))
WIDE_FUNCTION(Logistic, kFloat | rows::kComplex, LogisticOf(x))
WIDE_FUNCTION(Sin, kFloat | rows::kComplex, std::sin(x))
WIDE_FUNCTION(Tanh, kFloat | rows::kComplex, std::tanh(x))

void NotRow(const Instruction& inst, ElementwiseOp& op) {
  rows::SetKernel<rows::kInt | rows::kPred, 1>(inst, op, []<class T>(const ElementwiseOp&, T x) {
    if constexpr (std::is_same_v<T, bool>) return !x;
    if constexpr (!std::is_same_v<T, bool>) return static_cast<T>(~x);
  });
}

ReducedPrecision ReducedPrecisionOf(const Instruction& inst) {
  const auto& attrs = inst.attrs<ReducePrecisionAttrs>();
  const PrimitiveType type = inst.shape().type();
  const int64_t own = !IsFloat(type)                ? 0
                      : type == PrimitiveType::kF64 ? 11
                      : type == PrimitiveType::kF32 ? 8
                                                    : FormatOf(type).exponent_bits;
  return {attrs.exponent_bits, attrs.mantissa_bits, own};
}

void ReducePrecisionRow(const Instruction& inst, ElementwiseOp& op) {
  op.reduced = ReducedPrecisionOf(inst);
  rows::SetKernel<rows::kFloat, 1>(inst, op,
                                   []<class T>(const ElementwiseOp& op, T x) { return Reduced(op.reduced, x); });
}

}  // namespace hlo
