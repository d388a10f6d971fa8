// Elementwise ops of one operand. Edges: docs/ops.md#elementwise.
#include <bit>
#include <cmath>
#include <limits>

#include "interp/formulas.h"
#include "interp/ops/elementwise_rows.h"
#include "interp/ops/reduce_precision.h"
#include "ir/literal.h"

namespace hlo {
namespace {

using rows::kIsComplex;

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

// A root of f64 that is rounded to long double and then to f64 may be off by an ulp.
template <class T>
constexpr bool IsRoundedOnce(Opcode opcode) {
  return opcode == Opcode::kSqrt && std::is_floating_point_v<T>;
}

// x has the type Wide<T>, and the result is rounded once. f32 uses wide_math.h if it has the function.
#define FLOAT_FUNCTION(Name, types, of_x, ...)                                                                \
  void Name##Row(const Instruction& inst, ElementwiseOp& op) {                                                \
    rows::SetFunction<Opcode::k##Name, (rows::types)>(inst, op, []<class T>(const ElementwiseOp&, T narrow) { \
      if constexpr (IsRoundedOnce<T>(Opcode::k##Name)) return std::sqrt(narrow);                              \
      const auto x = static_cast<rows::Wide<T>>(narrow);                                                      \
      return static_cast<T>(of_x);                                                                            \
    });                                                                                                       \
  }
#include "interp/functions.def"

void NotRow(const Instruction& inst, ElementwiseOp& op) {
  rows::SetKernel<rows::kInt | rows::kPred, 1>(inst, op, []<class T>(const ElementwiseOp&, T x) {
    if constexpr (std::is_same_v<T, bool>) return !x;
    if constexpr (!std::is_same_v<T, bool>) return static_cast<T>(~x);
  });
}

ReducedPrecision ReducedPrecisionOf(const Instruction& inst) {
  const auto& attrs = inst.attrs<ReducePrecisionAttrs>();
  ReducedPrecision to{.exponent_bits = attrs.exponent_bits, .mantissa_bits = attrs.mantissa_bits};
  const PrimitiveType type = inst.shape().type();
  if (!IsFloat(type)) return to;
  const bool is_small = type != PrimitiveType::kF64 && type != PrimitiveType::kF32;
  const FloatFormat own = is_small                      ? FormatOf(type)
                          : type == PrimitiveType::kF64 ? FloatFormat{11, 52, 1023, Specials::kIeee}
                                                        : FloatFormat{8, 23, 127, Specials::kIeee};
  to.own_exponent_bits = own.exponent_bits;
  if (to.mantissa_bits < own.mantissa_bits) {
    to.least_normal = std::ldexp(1.0, 1 - own.bias);
    to.step = std::ldexp(to.least_normal, -static_cast<int>(to.mantissa_bits));
  }
  return to;
}

void ReducePrecisionRow(const Instruction& inst, ElementwiseOp& op) {
  op.reduced = ReducedPrecisionOf(inst);
  rows::SetKernel<rows::kFloat, 1>(inst, op,
                                   []<class T>(const ElementwiseOp& op, T x) { return Reduced(op.reduced, x); });
}

}  // namespace hlo
