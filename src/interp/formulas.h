// Formulas of interp/functions.def that the C++ library lacks, or has only for floats.
#ifndef HLO_INTERP_FORMULAS_H_
#define HLO_INTERP_FORMULAS_H_

#include <cmath>
#include <complex>
#include <type_traits>

namespace hlo {

template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;

// exp(z) - 1 without cancellation for small z: expm1(x) cos(y) - 2 sin(y/2)^2 + i exp(x) sin(y)
template <class T>
T Expm1Of(T z) {
  if constexpr (kIsFloat<T>) return std::expm1(z);
  if constexpr (!kIsFloat<T>) {
    const auto x = z.real(), y = z.imag();
    if (y == 0) return T(std::expm1(x), y);
    const auto half = std::sin(y / 2);
    return T(std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y));
  }
}

// log|1 + z| = log1p(x * (2 + x) + y * y) / 2 near zero, where 1 + z loses digits.
template <class T>
T Log1pOf(T z) {
  if constexpr (kIsFloat<T>) return std::log1p(z);
  if constexpr (!kIsFloat<T>) {
    const auto x = z.real(), y = z.imag();
    const auto imag = std::atan2(y, 1 + x);
    if (std::fabs(x) < 0.5 && std::fabs(y) < 0.5) return T(std::log1p(x * (2 + x) + y * y) / 2, imag);
    return T(std::log(T(1 + x, y)).real(), imag);
  }
}

// 1 / (1 + e^-x). Where e^-x overflows, the result is e^x.
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
  if constexpr (!kIsFloat<T>) return std::exp(x * std::log(2.0));
}

template <class T>
T Log2Of(T x) {
  if constexpr (kIsFloat<T>) return std::log2(x);
  if constexpr (!kIsFloat<T>) return std::log(x) / std::log(2.0);
}

template <class T>
T RsqrtOf(T x) {
  return T(1) / std::sqrt(x);
}

}  // namespace hlo

#endif  // HLO_INTERP_FORMULAS_H_
