// Eigh by Jacobi rotations. Source: Golub and Van Loan, Matrix Computations, 8.5, and openxla/xla eigh_expander.cc for
// the configuration.
#include <limits>
#include <numeric>

#include "interp/calls/lapack_calls.h"

namespace hlo {
namespace {

// Far fewer rounds are needed, because convergence is quadratic.
constexpr int kMostRounds = 100;

template <class T>
void RotateColumns(T* v, int64_t n, int64_t p, int64_t q, Real<T> c, Real<T> s, T phase) {
  for (int64_t i = 0; i < n; ++i) {
    const T x = v[i + p * n], y = phase * v[i + q * n];
    v[i + p * n] = c * x - s * y;
    v[i + q * n] = s * x + c * y;
  }
}

template <class T>
void Diagonalise(T* a, T* v, int64_t n) {
  constexpr Real<T> kEpsilon = std::numeric_limits<Real<T>>::epsilon();
  bool rotated = true;
  for (int round = 0; rotated && round < kMostRounds; ++round) {
    rotated = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const Real<T> size = std::abs(a[p + q * n]), low = std::real(a[p + p * n]), high = std::real(a[q + q * n]);
        // Comparing with the diagonal keeps the digits of small eigenvalues. A NaN ends the rotations.
        if (!(size > kEpsilon * std::sqrt(std::abs(low)) * std::sqrt(std::abs(high)))) continue;
        rotated = true;
        const T phase = a[p + q * n] / size;
        const Real<T> ratio = (high - low) / (2 * size);
        const Real<T> t = (ratio < 0 ? -1 : 1) / (std::abs(ratio) + std::hypot(Real<T>(1), ratio));
        const Real<T> c = 1 / std::hypot(Real<T>(1), t), s = t * c;
        RotateColumns(a, n, p, q, c, s, Conjugate(phase));
        RotateColumns(v, n, p, q, c, s, Conjugate(phase));
        for (int64_t j = 0; j < n; ++j) {
          const T x = a[p + j * n], y = phase * a[q + j * n];
          a[p + j * n] = c * x - s * y;
          a[q + j * n] = s * x + c * y;
        }
        a[p + q * n] = a[q + p * n] = T(0);
      }
    }
  }
}

// Reads "lower,sort,rounds,tolerance", but ignores rounds and tolerance.
Status ReadEigh(const Call& call, bool* lower, bool* sort) {
  const std::string text = ConfigText(call.e().inst);
  const std::vector<std::string_view> words = Split(text, ',');
  const auto flag = [&](size_t i, bool* value) {
    int64_t number = 0;
    if (i >= words.size() || !ParseInt(Trim(words[i]), &number)) return false;
    *value = number != 0;
    return true;
  };
  if (flag(0, lower) && flag(1, sort)) return {};
  FAIL(UnsupportedCall(call.e().inst, Str("with backend_config \"", Escaped(text), "\" and not \"lower,sort,...\"")));
}

}  // namespace

// (a) -> (eigenvectors, eigenvalues).
Result<Literal> CallEigh(const Call& call) {
  bool lower = true, sort = true;
  TRY(ReadEigh(call, &lower, &sort));
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    Matrices<T> a(call.array(0));
    const int64_t n = a.rows();
    Matrices<T> vectors(type, a.batch(), n, n);
    Literal values = Vectors(kRealType<T>, a.batch(), n);
    for (int64_t i = 0; i < a.count(); ++i) {
      T* const matrix = a.matrix(i);
      std::vector<T> v(n * n);
      for (int64_t p = 0; p < n; ++p) {
        v[p + p * n] = T(1);
        matrix[p + p * n] = T(std::real(matrix[p + p * n]));
        for (int64_t q = p + 1; q < n; ++q) {
          T &below = matrix[q + p * n], &above = matrix[p + q * n];
          (lower ? above : below) = Conjugate(lower ? below : above);
        }
      }
      Diagonalise(matrix, v.data(), n);
      std::vector<int64_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      const auto value = [&](int64_t k) { return std::real(matrix[k + k * n]); };
      if (sort) std::ranges::stable_sort(order, [&](int64_t x, int64_t y) { return value(x) < value(y); });
      for (int64_t k = 0; k < n; ++k) {
        VectorOf<Real<T>>(values, i, n)[k] = value(order[k]);
        std::copy_n(v.data() + order[k] * n, n, vectors.matrix(i) + k * n);
      }
    }
    return call.Results({vectors.Value(), values});
  });
}

}  // namespace hlo
