#include "interp/ops/gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/parallel.h"
#include "interp/scratch.h"

namespace hlo {
namespace {

// 6 x 16 floats take 12 of 16 registers. b takes two and a takes one. The packed block of b (kDepth x kColumns floats,
// 16 KiB) takes half of the first-level cache.
constexpr int64_t kRows = 6;
constexpr int64_t kDepth = 256;
constexpr int64_t kBand = kRows * 8;
constexpr int64_t kFewRows = 4;

typedef float Float8 __attribute__((vector_size(32)));
typedef double Double4 __attribute__((vector_size(32)));

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = Float8;
};
template <>
struct VectorOf<double> {
  using Type = Double4;
};
template <class T>
constexpr bool kHasVector = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class T>
constexpr int64_t kColumns = kHasVector<T> ? 64 / sizeof(T) : 8;

int64_t BandRows(int64_t m) { return std::min(kBand, (m + kRows - 1) / kRows * kRows); }

// sums[kRows][kColumns] += a (depth x kRows) * b (depth x kColumns), both packed.
template <class T>
void Tile(int64_t depth, const T* a, const T* b, T* sums) {
  if constexpr (kHasVector<T>) {
    using V = typename VectorOf<T>::Type;
    constexpr int kLanes = sizeof(V) / sizeof(T);
    V tile[kRows][2];
    for (int r = 0; r < kRows; ++r) std::memcpy(tile[r], sums + r * kColumns<T>, sizeof tile[r]);
#pragma GCC unroll 1
    for (int64_t p = 0; p < depth; ++p) {
      V b0, b1;
      std::memcpy(&b0, b + p * kColumns<T>, sizeof b0);
      std::memcpy(&b1, b + p * kColumns<T> + kLanes, sizeof b1);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const V x = a[p * kRows + r] - V{};
        tile[r][0] += x * b0;
        tile[r][1] += x * b1;
      }
    }
    for (int r = 0; r < kRows; ++r) std::memcpy(sums + r * kColumns<T>, tile[r], sizeof tile[r]);
  } else {
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t j = 0; j < kColumns<T>; ++j) {
          sums[r * kColumns<T> + j] = MultiplyAdd(sums[r * kColumns<T> + j], a[p * kRows + r], b[p * kColumns<T> + j]);
        }
      }
    }
  }
}

// For few rows, packing b would cost more than the product.
template <class T>
void FewRows(int64_t m, int64_t n, int64_t k, const PackRows<T>& a, const T* b, int64_t b_stride, T* c,
             int64_t c_stride) {
  const Scratch<T> left(m * k);
  for (int64_t r = 0; r < m; ++r) a(r, 1, 0, k, left.data() + r * k);
  constexpr int64_t kBlock = 256;
  ParallelFor((n + kBlock - 1) / kBlock, std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, kBlock * k * m)),
              [&](int64_t begin, int64_t end) {
                for (int64_t block = begin; block < end; ++block) {
                  const int64_t column = block * kBlock, columns = std::min(kBlock, n - column);
                  for (int64_t r = 0; r < m; ++r) {
                    T sums[kBlock] = {};
                    for (int64_t p = 0; p < k; ++p) {
                      const T x = left[r * k + p];
                      const T* row = b + p * b_stride + column;
                      for (int64_t j = 0; j < columns; ++j) sums[j] = MultiplyAdd(sums[j], x, row[j]);
                    }
                    std::copy_n(sums, columns, c + r * c_stride + column);
                  }
                }
              });
}

}  // namespace

template <class T>
void Gemm(int64_t m, int64_t n, int64_t k, const PackRows<T>& a, const T* b, int64_t b_stride, T* c, int64_t c_stride) {
  if (m == 0 || n == 0) return;
  if (m < kFewRows) return FewRows(m, n, k, a, b, b_stride, c, c_stride);
  constexpr int64_t kWide = kColumns<T>;
  const int64_t panels = (n + kWide - 1) / kWide;
  const Scratch<T> packed(panels * k * kWide);
  ParallelFor(panels, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, k * kWide)),
              [&](int64_t begin, int64_t end) {
                for (int64_t panel = begin; panel < end; ++panel) {
                  const int64_t columns = std::min(kWide, n - panel * kWide);
                  T* to = packed.data() + panel * k * kWide;
                  for (int64_t p = 0; p < k; ++p, to += kWide) {
                    std::copy_n(b + p * b_stride + panel * kWide, columns, to);
                    std::fill_n(to + columns, kWide - columns, T());
                  }
                }
              });

  ParallelFor((m + kBand - 1) / kBand, 1, [&](int64_t begin, int64_t end) {
    const Scratch<T> left(BandRows(m) * std::min(kDepth, k));
    const Scratch<T> sums(BandRows(m) * panels * kWide);
    for (int64_t band = begin; band < end; ++band) {
      const int64_t first = band * kBand, rows = std::min(kBand, m - first), strips = (rows + kRows - 1) / kRows;
      std::fill_n(sums.data(), strips * kRows * panels * kWide, T());
      for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
        const int64_t depth = std::min(kDepth, k - k0);
        for (int64_t strip = 0; strip < strips; ++strip) {
          const int64_t strip_rows = std::min(kRows, rows - strip * kRows);
          T* to = left.data() + strip * kRows * depth;
          if (strip_rows == kRows) {
            a(first + strip * kRows, kRows, k0, depth, to);
            continue;
          }
          std::fill_n(to, kRows * depth, T());
          const std::unique_ptr<T[]> some(new T[strip_rows * depth]);
          a(first + strip * kRows, strip_rows, k0, depth, some.get());
          for (int64_t p = 0; p < depth; ++p) std::copy_n(some.get() + p * strip_rows, strip_rows, to + p * kRows);
        }
        for (int64_t panel = 0; panel < panels; ++panel) {
          const T* right = packed.data() + (panel * k + k0) * kWide;
          for (int64_t strip = 0; strip < strips; ++strip) {
            Tile(depth, left.data() + strip * kRows * depth, right,
                 sums.data() + (panel * strips + strip) * kRows * kWide);
          }
        }
      }
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t panel = 0; panel < panels; ++panel) {
          const T* from = sums.data() + ((panel * strips + r / kRows) * kRows + r % kRows) * kWide;
          std::copy_n(from, std::min(kWide, n - panel * kWide), c + (first + r) * c_stride + panel * kWide);
        }
      }
    }
  });
}

template <class T>
int64_t GemmScratchBytes(int64_t m, int64_t n, int64_t k, int threads) {
  if (m == 0 || n == 0) return 0;
  const auto bytes = static_cast<int64_t>(sizeof(T));
  if (m < kFewRows) return m * k * bytes;
  const int64_t columns = (n + kColumns<T> - 1) / kColumns<T> * kColumns<T>;
  const int64_t bands = std::min<int64_t>(threads, (m + kBand - 1) / kBand);
  return (k * columns + bands * BandRows(m) * (std::min(kDepth, k) + columns)) * bytes;
}

template <class T>
PackRows<T> RowsOf(const T* a, int64_t stride) {
  return [a, stride](int64_t m, int64_t rows, int64_t k, int64_t depth, T* to) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = a + (m + r) * stride + k;
      for (int64_t p = 0; p < depth; ++p) to[p * rows + r] = from[p];
    }
  };
}

#define FOR_TYPE(T)                                                                                     \
  template void Gemm<T>(int64_t, int64_t, int64_t, const PackRows<T>&, const T*, int64_t, T*, int64_t); \
  template int64_t GemmScratchBytes<T>(int64_t, int64_t, int64_t, int);                                 \
  template PackRows<T> RowsOf<T>(const T*, int64_t);
FOR_TYPE(float)
FOR_TYPE(double)
FOR_TYPE(int64_t)
FOR_TYPE(uint64_t)
FOR_TYPE(bool)
FOR_TYPE(C64)
FOR_TYPE(C128)
#undef FOR_TYPE

}  // namespace hlo
