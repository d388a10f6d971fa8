// Matrix products with sequential semantics: c[m][n] = sum over k in order of a[m][k] * b[k][n], each product and each
// sum rounded in T. Vectorised across n and m, never along k, and never contracted to fused multiply-adds.
#ifndef HLO_INTERP_OPS_GEMM_H_
#define HLO_INTERP_OPS_GEMM_H_

#include <cstdint>
#include <functional>

#include "interp/elements.h"

namespace hlo {

// The product and the sum are rounded in T, or wrap.
template <class T>
T MultiplyAdd(T sum, T x, T y) {
  if constexpr (std::is_same_v<T, bool>) return sum | (x & y);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  else return sum + x * y;
}

// Writes rows [m, m + rows) and products [k, k + depth) of the left matrix to `to`: element (r, p) at to[p * rows + r].
template <class T>
using PackRows = std::function<void(int64_t m, int64_t rows, int64_t k, int64_t depth, T* to)>;

// c has row stride `c_stride` and is overwritten. b is row-major with row stride `b_stride`. T: float, double, int64_t,
// uint64_t, bool, C64, C128.
template <class T>
void Gemm(int64_t m, int64_t n, int64_t k, const PackRows<T>& a, const T* b, int64_t b_stride, T* c, int64_t c_stride);

// What Gemm takes for itself when it has `threads` threads.
template <class T>
int64_t GemmScratchBytes(int64_t m, int64_t n, int64_t k, int threads);

// PackRows of a row-major matrix.
template <class T>
PackRows<T> RowsOf(const T* a, int64_t stride);

}  // namespace hlo

#endif  // HLO_INTERP_OPS_GEMM_H_
