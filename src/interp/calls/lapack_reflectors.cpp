// QR by Householder reflections: H = 1 - tau v v*, the first element of v is 1 and is not stored, Q = H1 H2 ... Hk, and
// the diagonal of R is real. Source: LAPACK's geqr2, org2r, orm2r and larfg.
#include <limits>

#include "interp/calls/lapack_calls.h"

namespace hlo {
namespace {

// hypot avoids overflow and underflow.
template <class T>
Real<T> Norm(const T* x, int64_t count) {
  Real<T> norm = 0;
  for (int64_t i = 0; i < count; ++i) norm = std::hypot(norm, std::abs(x[i]));
  return norm;
}

// Makes H* x = (beta, 0, ...). x becomes beta and the rest of v. Returns tau.
template <class T>
T Reflect(T* x, int64_t count) {
  const Real<T> rest = Norm(x + 1, count - 1), real = std::real(x[0]), imag = std::imag(x[0]);
  if (rest == 0 && imag == 0) return T(0);
  const Real<T> size = std::hypot(std::hypot(real, imag), rest), beta = real < 0 ? size : -size;
  T tau;
  if constexpr (kIsComplex<T>) tau = T((beta - real) / beta, -imag / beta);
  else tau = (beta - real) / beta;
  const T scale = T(1) / (x[0] - T(beta));
  for (int64_t i = 1; i < count; ++i) x[i] *= scale;
  x[0] = T(beta);
  return tau;
}

// Sets c to (1 - tau v v*) c. v[0] counts as 1.
template <class T>
void Apply(const T* v, int64_t count, T tau, T* c, int64_t columns, int64_t stride) {
  for (int64_t j = 0; j < columns; ++j) {
    T* const column = c + j * stride;
    T sum = column[0];
    for (int64_t i = 1; i < count; ++i) sum += Conjugate(v[i]) * column[i];
    sum *= tau;
    column[0] -= sum;
    for (int64_t i = 1; i < count; ++i) column[i] -= sum * v[i];
  }
}

// Sets c to c (1 - tau v v*).
template <class T>
void ApplyRight(const T* v, int64_t count, T tau, T* c, int64_t rows, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    T sum = c[i];
    for (int64_t j = 1; j < count; ++j) sum += c[i + j * stride] * v[j];
    sum *= tau;
    c[i] -= sum;
    for (int64_t j = 1; j < count; ++j) c[i + j * stride] -= sum * Conjugate(v[j]);
  }
}

template <class T>
Status CheckReflections(const Call& call, const Matrices<T>& a, PrimitiveType type, int64_t* count) {
  TRY(call.CheckVectors(1, a.batch(), -1, type));
  const Shape& tau = call.array(1).shape();
  *count = tau.dim(tau.rank() - 1);
  if (*count <= std::min(a.rows(), a.columns())) return {};
  FAIL(UnsupportedCall(call.e().inst, Str("with ", *count, " reflections, which exceeds the smaller dimension of ",
                                          call.array(0).shape(), ",")));
}

}  // namespace

// (a) -> (r above reflectors, tau[, info])
Result<Literal> CallGeqrf(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    Matrices<T> a(call.array(0));
    const int64_t rows = a.rows(), columns = a.columns(), size = std::min(rows, columns);
    Literal tau = Vectors(type, a.batch(), size), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
    for (int64_t i = 0; i < a.count(); ++i) {
      for (int64_t k = 0; k < size; ++k) {
        T* const v = a.matrix(i) + k + k * rows;
        const T reflection = VectorOf<T>(tau, i, size)[k] = Reflect(v, rows - k);
        Apply(v, rows - k, Conjugate(reflection), v + rows, columns - k - 1, rows);
      }
    }
    return call.Results({a.Value(), tau, info});
  });
}

// (reflectors, tau) -> q or (q, info). q has the first columns of Q.
Result<Literal> CallOrgqr(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    Matrices<T> a(call.array(0));
    const int64_t rows = a.rows(), columns = a.columns();
    int64_t count = 0;
    TRY(CheckReflections(call, a, type, &count));
    if (columns > rows)
      FAIL(UnsupportedCall(call.e().inst, Str("with more columns than rows in ", call.array(0).shape())));
    Matrices<T> q(type, a.batch(), rows, columns);
    Literal tau = call.array(1), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
    for (int64_t i = 0; i < a.count(); ++i) {
      for (int64_t j = 0; j < columns; ++j) q.matrix(i)[j + j * rows] = T(1);
      for (int64_t k = count; k-- > 0;) {
        const int64_t corner = k + k * rows;
        Apply(a.matrix(i) + corner, rows - k, VectorOf<T>(tau, i, count)[k], q.matrix(i) + corner, columns - k, rows);
      }
    }
    return call.Results({q.Value(), info});
  });
}

// (reflectors, tau, c) -> Q c, Q* c, c Q or c Q*, and info
Result<Literal> CallOrmqr(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  const bool left = call.Option("left", 'T') == 'T', adjoint = call.Option("transpose", 'F') == 'T';
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    Matrices<T> a(call.array(0));
    int64_t count = 0;
    TRY(CheckReflections(call, a, type, &count));
    const Shape& shape = call.array(2).shape();
    const int64_t rank = shape.rank();
    if (rank < 2) FAIL(UnsupportedCall(call.e().inst, Str("with ", shape, " to apply reflections to")));
    TRY(call.CheckMatrices(2, a.batch(), left ? a.rows() : shape.dim(rank - 2), left ? shape.dim(rank - 1) : a.rows(),
                           type));
    Matrices<T> c(call.array(2));
    Literal tau = call.array(1), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
    const int64_t rows = c.rows(), length = a.rows();
    for (int64_t i = 0; i < a.count(); ++i) {
      for (int64_t step = 0; step < count; ++step) {
        // The reflection next to c is applied first: the last one in Q c, and the first one in c Q.
        const int64_t k = left == adjoint ? step : count - 1 - step;
        const T* const v = a.matrix(i) + k + k * length;
        const T scale = adjoint ? Conjugate(VectorOf<T>(tau, i, count)[k]) : VectorOf<T>(tau, i, count)[k];
        if (left) Apply(v, length - k, scale, c.matrix(i) + k, c.columns(), rows);
        else ApplyRight(v, length - k, scale, c.matrix(i) + k * rows, rows, rows);
      }
    }
    return call.Results({c.Value(), info});
  });
}

}  // namespace hlo
