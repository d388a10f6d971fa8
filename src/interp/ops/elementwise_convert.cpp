// convert and copy between all element types: docs/ops.md#convert.
#include <bit>
#include <cmath>
#include <limits>

#include "interp/ops/elementwise_rows.h"

namespace hlo {
namespace {

using rows::kIsComplex;

template <class From, class To>
void CastLoop(const ElementwiseOp&, const void* const* in, void* out, int64_t count) {
  const auto* x = static_cast<const From*>(in[0]);
  auto* r = static_cast<To*>(out);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<To, bool>) r[i] = x[i] != From(0);
    else if constexpr (kIsComplex<To> && !kIsComplex<From>) r[i] = To(static_cast<typename To::value_type>(x[i]));
    else r[i] = static_cast<To>(x[i]);
  }
}

template <class From, class To>
void SaturateLoop(const ElementwiseOp& op, const void* const* in, void* out, int64_t count) {
  const auto* x = static_cast<const From*>(in[0]);
  auto* r = static_cast<To*>(out);
  const To highest = static_cast<To>(op.highest_int), lowest = static_cast<To>(op.lowest_int);
  for (int64_t i = 0; i < count; ++i) {
    const double value = x[i];
    r[i] = value != value        ? To(0)
           : value >= op.highest ? highest
           : value <= op.lowest  ? lowest
                                 : static_cast<To>(value);
  }
}

// Converts to f64 and sets the last bit if this is inexact ("round to odd"), so that the next rounding is correct.
template <class From>
void ToOddLoop(const ElementwiseOp&, const void* const* in, void* out, int64_t count) {
  const auto* x = static_cast<const From*>(in[0]);
  auto* r = static_cast<double*>(out);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t size =
        std::is_signed_v<From> && x[i] < From(0) ? 0 - static_cast<uint64_t>(x[i]) : static_cast<uint64_t>(x[i]);
    const int extra = std::max(0, 64 - std::countl_zero(size) - 53);
    const uint64_t kept = size >> extra | ((size & ((uint64_t{1} << extra) - 1)) != 0);
    const double value = std::ldexp(static_cast<double>(kept), extra);
    r[i] = std::is_signed_v<From> && x[i] < From(0) ? -value : value;
  }
}

// Takes the real part of a complex number, as compiled XLA code does. XLA's evaluator rejects this.
template <class From, class To>
void RealPartLoop(const ElementwiseOp& op, const void* const* in, void* out, int64_t count) {
  const auto* x = static_cast<const From*>(in[0]);
  for (int64_t i = 0; i < count; ++i) {
    const double real = x[i].real();
    const void* one[] = {&real};
    if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>)
      SaturateLoop<double, To>(op, one, static_cast<To*>(out) + i, 1);
    else CastLoop<double, To>(op, one, static_cast<To*>(out) + i, 1);
  }
}

template <class From, class To>
ElementwiseOp::Kernel KernelFor() {
  constexpr bool kToInt = std::is_same_v<To, int64_t> || std::is_same_v<To, uint64_t>;
  if constexpr (kIsComplex<From> && std::is_same_v<To, bool>) return CastLoop<From, bool>;
  else if constexpr (kIsComplex<From> && !kIsComplex<To>) return RealPartLoop<From, To>;
  else if constexpr (std::is_floating_point_v<From> && kToInt) return SaturateLoop<From, To>;
  else return CastLoop<From, To>;
}

// For 64-bit types, `highest` is MAX rounded up to a power of two.
void SetRange(PrimitiveType type, ElementwiseOp& op) {
  if (!IsInteger(type)) return;
  const int bits = BitWidth(type);
  op.lowest_int = IsSigned(type) ? -1 - static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1) : 0;
  op.highest_int = IsSigned(type) ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits);
  op.lowest = static_cast<double>(op.lowest_int);
  op.highest = static_cast<double>(op.highest_int);
}

bool IsNarrowFloat(PrimitiveType type) {
  return IsFloat(type) && type != PrimitiveType::kF32 && type != PrimitiveType::kF64;
}

}  // namespace

void SetIntegerRange(PrimitiveType type, ElementwiseOp& op) { SetRange(type, op); }

void ConvertRow(const Instruction& inst, ElementwiseOp& op) {
  const PrimitiveType from = inst.operand(0).shape().type(), to = inst.shape().type();
  const Compute compute = ComputeOf(from);
  SetRange(to, op);
  if (IsNarrowFloat(to) && compute != Compute::kF32 && compute != Compute::kPred) {
    op.store = StorerFromDouble(to);
    switch (compute) {
      case Compute::kS64: op.kernel = ToOddLoop<int64_t>; break;
      case Compute::kU64: op.kernel = ToOddLoop<uint64_t>; break;
      case Compute::kF64: op.kernel = CastLoop<double, double>; break;
      case Compute::kC64: op.kernel = RealPartLoop<C64, double>; break;
      default: op.kernel = RealPartLoop<C128, double>; break;
    }
    return;
  }
  WithCompute(compute, [&]<class From>() {
    WithCompute(ComputeOf(to), [&]<class To>() { op.kernel = KernelFor<From, To>(); });
  });
}

void CopyRow(const Instruction& inst, ElementwiseOp& op) { ConvertRow(inst, op); }

}  // namespace hlo
