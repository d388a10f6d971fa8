// Elementwise ops of two and three operands. Edges: docs/ops.md#elementwise.
#include <bit>
#include <cmath>
#include <limits>

#include "interp/ops/elementwise_rows.h"

namespace hlo {
namespace {

using rows::kIsComplex;

template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;
template <class T>
constexpr bool kIsSigned = std::is_same_v<T, int64_t>;
template <class T>
constexpr bool kIsPred = std::is_same_v<T, bool>;
template <class T>
constexpr bool kIsInt = std::is_integral_v<T> && !kIsPred<T>;

uint64_t Mask(int bits) { return ~uint64_t{0} >> (64 - bits); }
int64_t SignExtend(uint64_t x, int bits) { return static_cast<int64_t>(x << (64 - bits)) >> (64 - bits); }

// Unsigned, because signed overflow is undefined.
template <class T>
T AddOf(T x, T y) {
  if constexpr (kIsPred<T>) return x | y;
  else if constexpr (kIsInt<T>) return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  else return x + y;
}

template <class T>
T SubtractOf(T x, T y) {
  if constexpr (kIsInt<T>) return static_cast<T>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
  else return x - y;
}

template <class T>
T MultiplyOf(T x, T y) {
  if constexpr (kIsPred<T>) return x & y;
  else if constexpr (kIsInt<T>) return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  else return x * y;
}

// Integers: x / 0 has all bits set, and MIN / -1 is MIN. Complex numbers: the exponents of long double are large enough
// that no sum on the way to a finite quotient overflows.
template <class T>
T DivideOf(T x, T y) {
  if constexpr (kIsInt<T>) {
    if (y == 0) return static_cast<T>(~uint64_t{0});
    if constexpr (kIsSigned<T>) {
      if (y == -1) return static_cast<T>(0 - static_cast<uint64_t>(x));
    }
  }
  if constexpr (kIsComplex<T>) {
    using Wide = std::complex<long double>;
    return T(Wide(x) / Wide(y));
  } else {
    return x / y;
  }
}

#define FLOAT_FUNCTION_OF_TWO(Name, of_x_and_y, ...) \
  template <class T>                                 \
  T Float##Name(T x, T y) {                          \
    return of_x_and_y;                               \
  }
#include "interp/functions.def"

// The result has the sign of the dividend. For integers, x rem 0 is x.
template <class T>
T RemainderOf(T x, T y) {
  if constexpr (kIsFloat<T>) return FloatRemainder(x, y);
  if constexpr (kIsInt<T>) {
    if (y == 0) return x;
    if constexpr (kIsSigned<T>) {
      if (y == -1) return 0;
    }
    return x % y;
  }
}

template <class T>
T PowerOf(T x, T y) {
  if constexpr (kIsFloat<T>) return FloatPower(x, y);
  if constexpr (kIsInt<T>) {
    if constexpr (kIsSigned<T>) {
      if (y < 0) return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
    }
    uint64_t result = 1, base = static_cast<uint64_t>(x);
    for (uint64_t exponent = static_cast<uint64_t>(y); exponent != 0; exponent >>= 1, base *= base) {
      if (exponent & 1) result *= base;
    }
    return static_cast<T>(result);
  }
  if constexpr (kIsComplex<T>) {
    if (y == T(0) || x == T(1)) return T(1);
    if (y == T(1)) return x;
    const auto infinity = std::numeric_limits<typename T::value_type>::infinity();
    if (x.real() == infinity && x.imag() == 0 && y.imag() == 0) return y.real() > 0 ? T(infinity) : T(0);
    if (x == T(0) && y.imag() == 0 && y.real() > 0) return T(0);
    return std::pow(x, y);
  }
}

// Returns a NaN of x first, then of y. Bits of equal numbers are combined, so that -0 is below +0.
template <bool kMax, class T>
T ExtremeOf(T x, T y) {
  if constexpr (kIsPred<T>) {
    return kMax ? x | y : x & y;
  } else if constexpr (std::is_integral_v<T>) {
    return (kMax ? x > y : x < y) ? x : y;
  } else if constexpr (kIsComplex<T>) {
    const auto beats = [](auto a, auto b) { return kMax ? a > b : a < b; };
    if (x != x || y != y) return x != x ? x : y;
    if (x.real() != y.real()) return beats(x.real(), y.real()) ? x : y;
    if (x.imag() != y.imag()) return beats(x.imag(), y.imag()) ? x : y;
    return {ExtremeOf<kMax>(x.real(), y.real()), ExtremeOf<kMax>(x.imag(), y.imag())};
  } else {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const Bits xb = std::bit_cast<Bits>(x), yb = std::bit_cast<Bits>(y);
    const T equal = std::bit_cast<T>(kMax ? xb & yb : xb | yb);
    const T ordered = (kMax ? x > y : x < y) ? x : (kMax ? y > x : y < x) ? y : equal;
    return x != x ? x : y != y ? y : ordered;
  }
}

// The amount is unsigned: sign extension makes a negative amount huge.
template <class T>
T ShiftLeftOf(T x, T y, int bits) {
  return static_cast<uint64_t>(y) >= static_cast<uint64_t>(bits) ? 0 : static_cast<T>(static_cast<uint64_t>(x) << y);
}

template <class T>
T ShiftRightLogicalOf(T x, T y, int bits) {
  return static_cast<uint64_t>(y) >= static_cast<uint64_t>(bits)
             ? 0
             : static_cast<T>((static_cast<uint64_t>(x) & Mask(bits)) >> y);
}

template <class T>
T ShiftRightArithmeticOf(T x, T y, int bits) {
  const int64_t value = SignExtend(static_cast<uint64_t>(x), bits);
  return static_cast<T>(static_cast<uint64_t>(y) >= static_cast<uint64_t>(bits) ? value >> 63 : value >> y);
}

template <class T>
T MulhiOf(T x, T y, int bits) {
  if constexpr (kIsSigned<T>) return static_cast<T>((static_cast<__int128>(x) * y) >> bits);
  else return static_cast<T>((static_cast<unsigned __int128>(x) * y) >> bits);
}

template <class T>
T Atan2Of(T y, T x) {
  if constexpr (kIsFloat<T>) {
    return FloatAtan2(y, x);
  } else {
    const T i(0, 1);
    return -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
  }
}

// Returns a NaN of `low` first, then of `x`, then of `high`.
template <class T>
T ClampOf(T low, T x, T high) {
  return ExtremeOf<false>(ExtremeOf<true>(low, x), high);
}

enum Direction { kEq, kNe, kGe, kGt, kLe, kLt };

template <Direction kDirection, class T>
bool Compares(T x, T y) {
  if constexpr (kDirection == kEq) return x == y;
  if constexpr (kDirection == kNe) return x != y;
  if constexpr (kIsComplex<T>) return false;
  if constexpr (!kIsComplex<T>) {
    if constexpr (kDirection == kGe) return x >= y;
    if constexpr (kDirection == kGt) return x > y;
    if constexpr (kDirection == kLe) return x <= y;
    if constexpr (kDirection == kLt) return x < y;
  }
}

template <Direction kDirection>
void SetComparison(const Instruction& inst, ElementwiseOp& op) {
  constexpr unsigned kTypes = kDirection == kEq || kDirection == kNe ? rows::kAny : rows::kReal | rows::kPred;
  rows::SetKernel<kTypes, 2>(inst, op,
                             []<class T>(const ElementwiseOp&, T x, T y) { return Compares<kDirection>(x, y); });
}

// Compares bits as sign-magnitude numbers.
template <Direction kDirection>
void TotalOrderLoop(const ElementwiseOp&, const void* const* in, void* out, int64_t count) {
  const auto ordered = [](int64_t bits) { return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits; };
  const auto* x = static_cast<const int64_t*>(in[0]);
  const auto* y = static_cast<const int64_t*>(in[1]);
  auto* r = static_cast<bool*>(out);
  for (int64_t i = 0; i < count; ++i) r[i] = Compares<kDirection>(ordered(x[i]), ordered(y[i]));
}

template <Direction kDirection>
void CompareWithDirection(const Instruction& inst, ElementwiseOp& op) {
  const PrimitiveType type = inst.operand(0).shape().type();
  if (inst.attrs<CompareAttrs>().type != ComparisonType::kTotalOrder || !IsFloat(type))
    return SetComparison<kDirection>(inst, op);
  op.kernel = TotalOrderLoop<kDirection>;
  op.load[0] = op.load[1] = BitsLoaderOf(type);
}

template <class Word>
void SelectLoop(const ElementwiseOp&, const void* const* in, void* out, int64_t count) {
  const auto* chosen = static_cast<const uint8_t*>(in[0]);
  const auto* x = static_cast<const Word*>(in[1]);
  const auto* y = static_cast<const Word*>(in[2]);
  auto* r = static_cast<Word*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) r[i] = chosen[i] ? x[i] : y[i];
}

template <class T>
void ComplexLoop(const ElementwiseOp&, const void* const* in, void* out, int64_t count) {
  const auto* real = static_cast<const T*>(in[0]);
  const auto* imag = static_cast<const T*>(in[1]);
  auto* r = static_cast<std::complex<T>*>(out);
  for (int64_t i = 0; i < count; ++i) r[i] = {real[i], imag[i]};
}

// Rounds away from zero with a probability equal to the fraction. `random` has as many bits as x.
template <class T>
void StochasticConvertLoop(const ElementwiseOp& op, const void* const* in, void* out, int64_t count) {
  const auto* x = static_cast<const T*>(in[0]);
  const auto* random = static_cast<const uint64_t*>(in[1]);
  auto* r = static_cast<int64_t*>(out);
  for (int64_t i = 0; i < count; ++i) {
    const double value = x[i], size = std::fabs(value), whole = std::trunc(size);
    if (value != value) {
      r[i] = 0;
    } else if (value >= op.highest) {
      r[i] = static_cast<int64_t>(op.highest_int);
    } else if (value <= op.lowest) {
      r[i] = op.lowest_int;
    } else {
      // The product is below 2^bits, and exact for bits <= 53.
      const double threshold = std::floor(std::ldexp(size - whole, op.bits));
      const bool up = size != whole && static_cast<double>(random[i]) < threshold;
      const auto rounded = static_cast<uint64_t>(whole) + up;
      r[i] = up && rounded > op.highest_int ? op.lowest_int : static_cast<int64_t>(value < 0 ? 0 - rounded : rounded);
    }
  }
}

}  // namespace

WORD_BINARY(Add, kAny, AddOf(x, y))
WORD_BINARY(And, kInt | rows::kPred, static_cast<T>(x& y))
WORD_BINARY(Multiply, kAny, MultiplyOf(x, y))
WORD_BINARY(Or, kInt | rows::kPred, static_cast<T>(x | y))
WORD_BINARY(ShiftLeft, kInt, ShiftLeftOf(x, y, op.bits))
WORD_BINARY(ShiftRightArithmetic, kInt, ShiftRightArithmeticOf(x, y, op.bits))
WORD_BINARY(ShiftRightLogical, kInt, ShiftRightLogicalOf(x, y, op.bits))
WORD_BINARY(Subtract, kArith, SubtractOf(x, y))
WORD_BINARY(Xor, kInt | rows::kPred, static_cast<T>(x ^ y))

BINARY(Divide, kArith, DivideOf(x, y))
BINARY(Maximum, kAny, (ExtremeOf<true>(x, y)))
BINARY(Minimum, kAny, (ExtremeOf<false>(x, y)))
BINARY(Mulhi, kInt, MulhiOf(x, y, op.bits))
BINARY(Remainder, kReal, RemainderOf(x, y))
BINARY_FUNCTION(Atan2, kFloat | rows::kComplex, Atan2Of(x, y))
BINARY_FUNCTION(Power, kArith, PowerOf(x, y))

void ClampRow(const Instruction& inst, ElementwiseOp& op) {
  rows::SetKernel<rows::kReal | rows::kPred, 3>(
      inst, op, []<class T>(const ElementwiseOp&, T low, T x, T high) { return ClampOf(low, x, high); });
}

void CompareRow(const Instruction& inst, ElementwiseOp& op) {
  switch (inst.attrs<CompareAttrs>().direction) {
    case ComparisonDirection::kEq: return CompareWithDirection<kEq>(inst, op);
    case ComparisonDirection::kNe: return CompareWithDirection<kNe>(inst, op);
    case ComparisonDirection::kGe: return CompareWithDirection<kGe>(inst, op);
    case ComparisonDirection::kGt: return CompareWithDirection<kGt>(inst, op);
    case ComparisonDirection::kLe: return CompareWithDirection<kLe>(inst, op);
    case ComparisonDirection::kLt: return CompareWithDirection<kLt>(inst, op);
  }
}

// Operands of other types than the result are floats no wider than f32.
void SelectRow(const Instruction& inst, ElementwiseOp& op) {
  const PrimitiveType type = inst.shape().type();
  if (inst.operand(1).shape().type() != type || inst.operand(2).shape().type() != type) {
    op.kernel = SelectLoop<float>;
    return;
  }
  op.load[1] = op.load[2] = nullptr;
  op.store = nullptr;
  switch (ByteWidth(type)) {
    case 1: op.kernel = SelectLoop<uint8_t>; break;
    case 2: op.kernel = SelectLoop<uint16_t>; break;
    case 4: op.kernel = SelectLoop<uint32_t>; break;
    case 8: op.kernel = SelectLoop<uint64_t>; break;
    default: op.kernel = SelectLoop<C128>; break;
  }
}

void ComplexRow(const Instruction& inst, ElementwiseOp& op) {
  op.kernel = inst.shape().type() == PrimitiveType::kC64 ? ComplexLoop<float> : ComplexLoop<double>;
}

void StochasticConvertRow(const Instruction& inst, ElementwiseOp& op) {
  if (!IsSigned(inst.shape().type())) return;
  op.kernel = ComputeOf(inst.operand(0).shape().type()) == Compute::kF32 ? StochasticConvertLoop<float>
                                                                         : StochasticConvertLoop<double>;
}

}  // namespace hlo
