// cholesky, triangular-solve and batch normalisation: docs/ops.md#linear-algebra.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/contraction.h"
#include "interp/elements.h"
#include "interp/evaluation.h"
#include "interp/strided.h"

namespace hlo {
namespace {

template <class T>
T Conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) return x;
  else return std::conj(x);
}

template <class T>
auto RealPart(T x) {
  if constexpr (std::is_floating_point_v<T>) return x;
  else return x.real();
}

// Reads the lower triangle and writes L, with zeros above. False if a pivot is negative or NaN.
template <class T>
bool Cholesky(T* a, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    T pivot = a[j * n + j];
    for (int64_t k = 0; k < j; ++k) pivot -= a[j * n + k] * Conjugate(a[j * n + k]);
    const auto root = std::sqrt(RealPart(pivot));
    if (std::isnan(root)) return false;
    a[j * n + j] = pivot / root;
    for (int64_t i = j + 1; i < n; ++i) {
      T sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * Conjugate(a[j * n + k]);
      a[i * n + j] = sum / root;
    }
    for (int64_t i = 0; i < j; ++i) a[i * n + j] = T();
  }
  return true;
}

template <class T>
void TransposeInPlace(T* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
  }
}

// Returns false for types without a square root.
template <class F>
bool WithFieldType(PrimitiveType type, F&& f) {
  switch (ComputeOf(type)) {
    case Compute::kF32: f.template operator()<float>(); return true;
    case Compute::kF64: f.template operator()<double>(); return true;
    case Compute::kC64: f.template operator()<C64>(); return true;
    case Compute::kC128: f.template operator()<C128>(); return true;
    default: return false;
  }
}

Error NoField(const Instruction& inst) {
  return UnsupportedAt(
      inst, "U002",
      Str("'", inst.opcode(), "' of ", inst.operand(0).shape().type(), " is not supported by the interpreter"));
}

}  // namespace

Result<Literal> EvalCholesky(Evaluation& e) {
  const bool lower = e.inst.attrs<CholeskyAttrs>().lower;
  const Shape shape = e.inst.shape();
  const PrimitiveType type = shape.type();
  const int64_t n = shape.dims().back(), count = shape.NumElements(), batch = n == 0 ? 0 : count / (n * n);
  const WidenedElements elements(e.operands[0], type);
  Literal result = Literal::Uninitialized(shape);
  const bool known = WithFieldType(type, [&]<class T>() {
    const Scratch<T> a(count);
    std::copy_n(elements.data<T>(), count, a.data());
    ParallelFor(batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* matrix = a.data() + i * n * n;
        // The upper factor is the transposed lower factor of the transposed matrix.
        if (!lower) TransposeInPlace(matrix, n);
        if (!Cholesky(matrix, n)) std::fill_n(matrix, n * n, T(std::numeric_limits<float>::quiet_NaN()));
        if (!lower) TransposeInPlace(matrix, n);
      }
    });
    StoreElements(a.data(), type, result.mutable_raw(), count);
  });
  if (!known) FAIL(NoField(e.inst));
  return result;
}

// Solves op(a) x = b (left) or x op(a) = b by substitution.
Result<Literal> EvalTriangularSolve(Evaluation& e) {
  const TriangularSolveAttrs& attrs = e.inst.attrs<TriangularSolveAttrs>();
  const Shape shape = e.inst.shape();
  const PrimitiveType type = shape.type();
  const int64_t rows = shape.dim(shape.rank() - 2), columns = shape.dims().back(), count = shape.NumElements();
  const int64_t n = attrs.left_side ? rows : columns, others = attrs.left_side ? columns : rows;
  const int64_t batch = rows * columns == 0 ? 0 : count / (rows * columns);
  const bool transposed =
      attrs.transpose_a == TransposeKind::kTranspose || attrs.transpose_a == TransposeKind::kAdjoint;
  const bool adjoint = attrs.transpose_a == TransposeKind::kAdjoint;
  const WidenedElements left(e.operands[0], type), right(e.operands[1], type);
  Literal result = Literal::Uninitialized(shape);
  const bool known = WithFieldType(type, [&]<class T>() {
    const Scratch<T> x(count);
    std::copy_n(right.data<T>(), count, x.data());
    ParallelFor(batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) {
        const T* a = left.data<T>() + m * n * n;
        T* solution = x.data() + m * rows * columns;
        // x op(a) = b equals op(a)^T x^T = b^T: on the right, a is read transposed and x by columns.
        const bool by_column = transposed == attrs.left_side;
        const auto at = [&](int64_t i, int64_t j) {
          const T value = by_column ? a[j * n + i] : a[i * n + j];
          return adjoint ? Conjugate(value) : value;
        };
        const int64_t stride = attrs.left_side ? columns : 1, other_stride = attrs.left_side ? 1 : columns;
        const bool forward = attrs.lower != by_column;  // The matrix as read is lower triangular.
        for (int64_t step = 0; step < n; ++step) {
          const int64_t i = forward ? step : n - 1 - step;
          for (int64_t o = 0; o < others; ++o) {
            T sum = solution[i * stride + o * other_stride];
            for (int64_t k = 0; k < step; ++k) {
              const int64_t j = forward ? k : n - 1 - k;
              sum -= at(i, j) * solution[j * stride + o * other_stride];
            }
            solution[i * stride + o * other_stride] = attrs.unit_diagonal ? sum : sum / at(i, i);
          }
        }
      }
    });
    StoreElements(x.data(), type, result.mutable_raw(), count);
  });
  if (!known) FAIL(NoField(e.inst));
  return result;
}

// ---- Batch normalisation: in f64, each result rounded once ----------------------------------------------------------

namespace {

struct Features {
  int64_t outer = 1, features = 1, inner = 1;

  Features(const Shape& shape, int64_t feature_index) {
    for (int64_t d = 0; d < shape.rank(); ++d)
      (d < feature_index ? outer : d > feature_index ? inner : features) *= shape.dim(d);
  }
  double count() const { return static_cast<double>(outer * inner); }

  template <class F>
  void ForEach(int64_t c, F&& f) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) f((o * features + c) * inner + i);
    }
  }
};

class Wide {
 public:
  explicit Wide(const Literal& literal)
      : wide_(Converted(literal, PrimitiveType::kF64)), data_(wide_.data<double>().data()) {}
  double operator[](int64_t i) const { return data_[i]; }

 private:
  Literal wide_;
  const double* data_;
};

Literal Narrow(const Scratch<double>& values, const Shape& shape) {
  Literal wide = Literal::Uninitialized(Shape(PrimitiveType::kF64, shape.dims()));
  std::ranges::copy(values, wide.mutable_data<double>().begin());
  return Converted(wide, shape.type());
}

}  // namespace

Result<Literal> EvalBatchNormTraining(Evaluation& e) {
  const BatchNormAttrs& attrs = e.inst.attrs<BatchNormAttrs>();
  const Shape& shape = e.operands[0].shape();
  const Features features(shape, attrs.feature_index);
  const Wide x(e.operands[0]), scale(e.operands[1]), offset(e.operands[2]);
  const Scratch<double> y(shape.NumElements()), means(features.features), variances(features.features);
  ParallelFor(features.features, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      // The mean of squares less the squared mean would cancel, even in f64.
      double sum = 0, squares = 0;
      features.ForEach(c, [&](int64_t i) { sum += x[i]; });
      const double mean = sum / features.count();
      features.ForEach(c, [&](int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
      const double variance = squares / features.count();
      const double factor = scale[c] / std::sqrt(variance + attrs.epsilon);
      features.ForEach(c, [&](int64_t i) { y[i] = (x[i] - mean) * factor + offset[c]; });
      means[c] = mean;
      variances[c] = variance;
    }
  });
  const auto& shapes = e.inst.shape().elements();
  return Literal::Tuple({Narrow(y, shapes[0]), Narrow(means, shapes[1]), Narrow(variances, shapes[2])});
}

Result<Literal> EvalBatchNormInference(Evaluation& e) {
  const BatchNormAttrs& attrs = e.inst.attrs<BatchNormAttrs>();
  const Features features(e.inst.shape(), attrs.feature_index);
  const Wide x(e.operands[0]), scale(e.operands[1]), offset(e.operands[2]), mean(e.operands[3]),
      variance(e.operands[4]);
  const Scratch<double> y(e.inst.shape().NumElements());
  ParallelFor(features.features, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const double factor = scale[c] / std::sqrt(variance[c] + attrs.epsilon);
      features.ForEach(c, [&](int64_t i) { y[i] = (x[i] - mean[c]) * factor + offset[c]; });
    }
  });
  return Narrow(y, e.inst.shape());
}

Result<Literal> EvalBatchNormGrad(Evaluation& e) {
  const BatchNormAttrs& attrs = e.inst.attrs<BatchNormAttrs>();
  const Shape& shape = e.operands[0].shape();
  const Features features(shape, attrs.feature_index);
  const Wide x(e.operands[0]), scale(e.operands[1]), mean(e.operands[2]), variance(e.operands[3]), dy(e.operands[4]);
  const Scratch<double> dx(shape.NumElements()), dscale(features.features), doffset(features.features);
  ParallelFor(features.features, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      double sum = 0, centred = 0;
      features.ForEach(c, [&](int64_t i) { sum += dy[i], centred += dy[i] * (x[i] - mean[c]); });
      const double inverse = 1 / std::sqrt(variance[c] + attrs.epsilon), count = features.count();
      features.ForEach(c, [&](int64_t i) {
        dx[i] = scale[c] * inverse / count *
                (count * dy[i] - sum - (x[i] - mean[c]) * centred / (variance[c] + attrs.epsilon));
      });
      doffset[c] = sum;
      dscale[c] = centred * inverse;
    }
  });
  const auto& shapes = e.inst.shape().elements();
  return Literal::Tuple({Narrow(dx, shapes[0]), Narrow(dscale, shapes[1]), Narrow(doffset, shapes[2])});
}

}  // namespace hlo
