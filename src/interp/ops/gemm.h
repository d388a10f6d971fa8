// Matrix products with sequential semantics: c[m][n] = sum over k in order of a[m][k] * b[k][n], each product and sum
// rounded in T. Vectorised over n and m, never over k, without fused multiply-adds.
#ifndef HLO_INTERP_OPS_GEMM_H_
#define HLO_INTERP_OPS_GEMM_H_

#include <cstdint>
#include <functional>

#include "interp/elements.h"

namespace hlo {

template <class T>
T MultiplyAdd(T sum, T x, T y) {
  if constexpr (std::is_same_v<T, bool>) return sum | (x & y);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  else return sum + x * y;
}

// Packs rows [m, m + rows) and columns [k, k + depth), with element (r, p) at to[p * rows + r].
template <class T>
using PackRows = std::function<void(int64_t m, int64_t rows, int64_t k, int64_t depth, T* to)>;

// Overwrites c. T is float, double, int64_t, uint64_t, bool, C64 or C128.
template <class T>
void Gemm(int64_t m, int64_t n, int64_t k, const PackRows<T>& a, const T* b, int64_t b_stride, T* c, int64_t c_stride);

template <class T>
int64_t GemmScratchBytes(int64_t m, int64_t n, int64_t k, int threads);

template <class T>
PackRows<T> RowsOf(const T* a, int64_t stride);

}  // namespace hlo

#endif  // HLO_INTERP_OPS_GEMM_H_
