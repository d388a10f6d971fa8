// Tests of linear algebra custom calls against their definitions: every target that JAX registers for CPU and XLA's
// own, for all four types, batches, and sizes that are empty, one, tall, wide and square.
// testdata/interp/custom-call-lapack.hlo has values worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "base/text.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

using Complex = std::complex<double>;

// One matrix of a batch, with its arithmetic.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<Complex> values;

  Matrix(int64_t rows, int64_t columns) : rows(rows), columns(columns), values(rows * columns) {}
  Complex& operator()(int64_t i, int64_t j) { return values[i * columns + j]; }
  Complex operator()(int64_t i, int64_t j) const { return values[i * columns + j]; }

  Matrix Adjoint() const {
    Matrix result(columns, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) result(j, i) = std::conj((*this)(i, j));
    }
    return result;
  }
  Matrix Part(int64_t row, int64_t height, int64_t column, int64_t width) const {
    Matrix result(height, width);
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t j = 0; j < width; ++j) result(i, j) = (*this)(row + i, column + j);
    }
    return result;
  }
  // The matrix with zeros below the diagonal that is `first` rows below the main one.
  Matrix Upper(int64_t first = 0) const {
    Matrix result = *this;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns && j + first < i; ++j) result(i, j) = 0;
    }
    return result;
  }
};

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  EXPECT_EQ(a.columns, b.rows);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.columns; ++j) {
      for (int64_t k = 0; k < a.columns; ++k) result(i, j) += a(i, k) * b(k, j);
    }
  }
  return result;
}

Matrix Identity(int64_t size) {
  Matrix result(size, size);
  for (int64_t i = 0; i < size; ++i) result(i, i) = 1;
  return result;
}

Matrix Diagonal(const std::vector<Complex>& values) {
  const auto size = static_cast<int64_t>(values.size());
  Matrix result(size, size);
  for (int64_t i = 0; i < size; ++i) result(i, i) = values[i];
  return result;
}

Complex At(const Literal& literal, int64_t i) {
  return IsComplex(literal.shape().type()) ? literal.GetComplex(i) : Complex(literal.GetDouble(i));
}
Matrix MatrixOf(const Literal& literal, int64_t batch) {
  const Shape& shape = literal.shape();
  Matrix result(shape.dim(shape.rank() - 2), shape.dim(shape.rank() - 1));
  for (int64_t i = 0; i < result.rows * result.columns; ++i)
    result.values[i] = At(literal, batch * result.rows * result.columns + i);
  return result;
}
std::vector<Complex> VectorOf(const Literal& literal, int64_t batch) {
  const int64_t size = literal.shape().dim(literal.shape().rank() - 1);
  std::vector<Complex> result;
  for (int64_t i = 0; i < size; ++i) result.push_back(At(literal, batch * size + i));
  return result;
}

class Lapack : public testing::TestWithParam<char> {
 protected:
  PrimitiveType type() const {
    switch (GetParam()) {
      case 's': return PrimitiveType::kF32;
      case 'd': return PrimitiveType::kF64;
      case 'c': return PrimitiveType::kC64;
      default: return PrimitiveType::kC128;
    }
  }
  bool is_complex() const { return IsComplex(type()); }
  bool is_single() const { return GetParam() == 's' || GetParam() == 'c'; }
  PrimitiveType real_type() const { return is_single() ? PrimitiveType::kF32 : PrimitiveType::kF64; }
  PrimitiveType complex_type() const { return is_single() ? PrimitiveType::kC64 : PrimitiveType::kC128; }
  std::string Name(std::string_view real, std::string_view complex) const {
    return Str("lapack_", std::string(1, GetParam()), is_complex() ? complex : real, "_ffi");
  }
  std::string Name(std::string_view name) const { return Name(name, name); }
  Shape Arrays(const std::vector<int64_t>& dims) const { return Shape(type(), dims); }

  // A batch of matrices with random elements of about 1.
  Literal Some(const std::vector<int64_t>& dims, int seed) const {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    Literal literal(Arrays(dims));
    for (int64_t i = 0; i < literal.shape().NumElements(); ++i) {
      const double real = normal(generator), imag = normal(generator);
      if (is_complex()) literal.SetComplex(i, {real, imag});
      else literal.SetDouble(i, real);
    }
    return literal;
  }
  Literal SomeHermitian(int64_t n, int seed) const {
    Literal a = Some({2, n, n}, seed);
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
          const int64_t at = b * n * n + i * n + j, across = b * n * n + j * n + i;
          const Complex value = i == j ? Complex(At(a, at).real()) : At(a, at);
          if (is_complex()) a.SetComplex(at, value), a.SetComplex(across, std::conj(value));
          else a.SetDouble(at, value.real()), a.SetDouble(across, value.real());
        }
      }
    }
    return a;
  }

  // The elements of the result, or nothing if LAPACK is not installed.
  std::vector<Literal> Call(const std::string& target, const std::string& config, const std::vector<Literal>& operands,
                            const std::vector<Shape>& results) {
    std::string text = "HloModule m\nENTRY e {\n", names;
    for (size_t i = 0; i < operands.size(); ++i) {
      text += Str("  p", i, " = ", operands[i].shape(), " parameter(", i, ")\n");
      names += Str(i == 0 ? "p" : ", p", i);
    }
    const std::string shape = results.size() == 1 ? Str(results[0]) : Str("(", Join(results, ", "), ")");
    text += Str("  ROOT r = ", shape, " custom-call(", names, "), custom_call_target=\"", target, "\"",
                config.empty() ? "" : ", backend_config=", config, "\n}\n");
    auto value = Interpret(*ParseText(text), operands);
    if (!value) {
      const std::string error = Render(value.error(), "test");
      EXPECT_NE(error.find("liblapack3"), std::string::npos) << error;
      missing_ = true;
      return {};
    }
    if (results.size() == 1) return {*value};
    return std::move(value->mutable_elements());
  }

  // A backward stable method has a rounding error of a multiple of n epsilons of the norm. LAPACK's own tests permit a
  // multiple of 30. Here elements are about 1, and n is at most 8.
  void ExpectNear(const Matrix& a, const Matrix& b, const std::string& what, double scale = 1) const {
    ASSERT_EQ(a.rows, b.rows) << what;
    ASSERT_EQ(a.columns, b.columns) << what;
    const double epsilon = is_single() ? 0x1p-23 : 0x1p-52;
    for (size_t i = 0; i < a.values.size(); ++i)
      ASSERT_LE(std::abs(a.values[i] - b.values[i]), 30 * 8 * epsilon * scale) << what << " at " << i;
  }
  void ExpectOrthonormal(const Matrix& q, const std::string& what) const {
    ExpectNear(q.Adjoint() * q, Identity(q.columns), what);
  }

  bool missing_ = false;
};

#define SKIP_WITHOUT_LIBRARY(results) \
  if ((results).empty()) GTEST_SKIP() << "LAPACK is not installed"

constexpr std::pair<int64_t, int64_t> kSizes[] = {{1, 1}, {4, 4}, {6, 3}, {3, 6}, {0, 3}, {3, 0}, {0, 0}};

TEST_P(Lapack, QrFactorsMultiplyToTheMatrix) {
  for (const auto& [m, n] : kSizes) {
    const int64_t k = std::min(m, n);
    const std::string what = Str(m, "x", n);
    const Literal a = Some({2, m, n}, 1);
    for (const bool native : {false, true}) {
      const auto qr = Call(native ? "Qr" : Name("geqrf"), native ? "" : "{}", {a}, {Arrays({2, m, n}), Arrays({2, k})});
      // The operand that gives all of Q: the reflections, followed by zero columns.
      Literal full(Arrays({2, m, m}));
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < k; ++j) {
            const Complex value = At(qr[0], (b * m + i) * n + j);
            if (is_complex()) full.SetComplex((b * m + i) * m + j, value);
            else full.SetDouble((b * m + i) * m + j, value.real());
          }
        }
      }
      const auto q = Call(native ? "ProductOfElementaryHouseholderReflectors" : Name("orgqr", "ungqr"),
                          native ? "" : "{}", {full, qr[1]}, {Arrays({2, m, m})});
      for (int64_t b = 0; b < 2; ++b) {
        ExpectOrthonormal(MatrixOf(q[0], b), what);
        ExpectNear(MatrixOf(q[0], b) * MatrixOf(qr[0], b).Upper(), MatrixOf(a, b), what);
      }
      if (native) continue;
      for (int bits = 0; bits < 4; ++bits) {
        const bool left = (bits & 1) != 0, adjoint = (bits & 2) != 0;
        const Literal c = left ? Some({2, m, 5}, 2) : Some({2, 5, m}, 2);
        const auto product = Call(Name("ormqr", "unmqr"), Str("{left = ", left, ", transpose = ", adjoint, "}"),
                                  {full, qr[1], c}, {c.shape()});
        for (int64_t b = 0; b < 2; ++b) {
          const Matrix factor = adjoint ? MatrixOf(q[0], b).Adjoint() : MatrixOf(q[0], b);
          ExpectNear(MatrixOf(product[0], b), left ? factor * MatrixOf(c, b) : MatrixOf(c, b) * factor, what, 2);
        }
      }
    }
  }
}

TEST_P(Lapack, PivotedQrFactorsMultiplyToThePermutedMatrix) {
  for (const auto& [m, n] : kSizes) {
    const int64_t k = std::min(m, n);
    const Literal a = Some({2, m, n}, 3), any(Shape(PrimitiveType::kS32, {2, n}));
    const auto qr = Call(Name("geqp3"), "{}", {a, any}, {a.shape(), any.shape(), Arrays({2, k})});
    SKIP_WITHOUT_LIBRARY(qr);
    if (m < n) continue;  // orgqr returns the first n columns of Q, which has only m.
    const auto q = Call(Name("orgqr", "ungqr"), "{}", {qr[0], qr[2]}, {a.shape()});
    for (int64_t b = 0; b < 2; ++b) {
      Matrix permuted(m, n);
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < m; ++i) permuted(i, j) = MatrixOf(a, b)(i, qr[1].GetInt(b * n + j) - 1);
      }
      const Matrix r = MatrixOf(qr[0], b).Upper().Part(0, n, 0, n);
      ExpectNear(MatrixOf(q[0], b) * r, permuted, Str(m, "x", n));
      for (int64_t i = 1; i < n; ++i) EXPECT_LE(std::abs(r(i, i)), std::abs(r(i - 1, i - 1)) * 1.001);
    }
  }
}

TEST_P(Lapack, SingularValuesAndVectorsMultiplyToTheMatrix) {
  for (const auto& [m, n] : kSizes) {
    const int64_t k = std::min(m, n);
    const Literal a = Some({2, m, n}, 4);
    const Shape s(real_type(), {2, k}), info(PrimitiveType::kS32, {2});
    std::vector<Complex> first;
    for (const char* routine : {"gesdd", "gesvd"}) {
      for (const char mode : {'A', 'S', 'N'}) {
        const std::string what = Str(routine, " ", std::string(1, mode), " ", m, "x", n);
        const int64_t left = mode == 'A' ? m : k, right = mode == 'A' ? n : k;
        const auto svd = Call(Name(routine), Str("{mode = ", int{mode}, " : ui8}"), {a},
                              {a.shape(), s, Arrays({2, m, left}), Arrays({2, right, n}), info});
        SKIP_WITHOUT_LIBRARY(svd);
        for (int64_t b = 0; b < 2; ++b) {
          const std::vector<Complex> values = VectorOf(svd[1], b);
          for (int64_t i = 1; i < k; ++i) EXPECT_LE(values[i].real(), values[i - 1].real()) << what;
          if (b == 0 && first.empty()) first = values;
          if (b == 0) ExpectNear(Diagonal(values), Diagonal(first), what, 4);
          if (mode == 'N' || k == 0) continue;
          const Matrix u = MatrixOf(svd[2], b), vt = MatrixOf(svd[3], b);
          ExpectOrthonormal(u, what);
          ExpectOrthonormal(vt.Adjoint(), what);
          ExpectNear(u.Part(0, m, 0, k) * Diagonal(values) * vt.Part(0, k, 0, n), MatrixOf(a, b), what, 4);
        }
      }
    }
  }
}

TEST_P(Lapack, EigenvectorsOfHermitianMatricesAreCorrect) {
  for (const int64_t n : {0, 1, 2, 5, 8}) {
    const Literal a = SomeHermitian(n, 5);
    const Shape w(real_type(), {2, n}), info(PrimitiveType::kS32, {2});
    for (int call = 0; call < 4; ++call) {
      const bool native = call < 2, lower = call % 2 == 0;
      const std::string what = Str(native ? "Eigh" : "evd", " ", lower ? "lower " : "upper ", n);
      // The routine must not read the other triangle.
      Literal half = a;
      for (int64_t at = 0; at < 2 * n * n; ++at) {
        const int64_t i = at % (n * n) / n, j = at % n;
        if (lower ? i >= j : i <= j) continue;
        if (is_complex()) half.SetComplex(at, {7, 7});
        else half.SetDouble(at, 7);
      }
      std::vector<Literal> result;
      if (native) result = Call("Eigh", Str("\"", int{lower}, ",1,100,1e-6\""), {half}, {a.shape(), w});
      else
        result = Call(Name("syevd", "heevd"), Str("{mode = 86 : ui8, uplo = ", lower ? 76 : 85, " : ui8}"), {half},
                      {a.shape(), w, info});
      SKIP_WITHOUT_LIBRARY(result);
      for (int64_t b = 0; b < 2; ++b) {
        const Matrix v = MatrixOf(result[0], b);
        const std::vector<Complex> values = VectorOf(result[1], b);
        ExpectOrthonormal(v, what);
        ExpectNear(MatrixOf(a, b) * v, v * Diagonal(values), what, 4);
        for (int64_t i = 1; i < n; ++i) EXPECT_LE(values[i - 1].real(), values[i].real()) << what;
      }
    }
  }
}

TEST_P(Lapack, EigenvectorsOfAnyMatrixAreCorrect) {
  for (const int64_t n : {0, 1, 2, 5, 8}) {
    const Literal a = Some({2, n, n}, 6);
    const Shape w = Arrays({2, n}), v(complex_type(), {2, n, n}), info(PrimitiveType::kS32, {2});
    for (const bool old : {false, true}) {
      const std::string what = Str(old ? "old " : "ffi ", n);
      std::vector<Shape> shapes;
      std::vector<Literal> operands;
      std::string name = Name("geev");
      if (old) {  // Operands are (batch, n, 'V', 'V', a). Workspaces precede the results of the new call.
        name.resize(name.size() - 4);
        for (const int64_t scalar : {int64_t{2}, n, int64_t{'V'}, int64_t{'V'}})
          operands.push_back(Literal::Scalar(PrimitiveType::kS32, static_cast<double>(scalar)));
        if (is_complex()) shapes = {Arrays({n, n}), Shape(real_type(), {2 * n})};
        else shapes = std::vector<Shape>(3, Arrays({n, n}));
      }
      const size_t first = shapes.size();
      shapes.push_back(w);
      if (!is_complex()) shapes.push_back(w);
      for (const Shape& shape : {v, v, info}) shapes.push_back(shape);
      operands.push_back(a);
      const auto result =
          Call(name, old ? "" : "{compute_left = 86 : ui8, compute_right = 86 : ui8}", operands, shapes);
      SKIP_WITHOUT_LIBRARY(result);
      for (int64_t b = 0; b < 2; ++b) {
        std::vector<Complex> values = VectorOf(result[first], b);
        if (!is_complex()) {
          for (int64_t i = 0; i < n; ++i) values[i] += Complex(0, 1) * VectorOf(result[first + 1], b)[i];
        }
        const size_t at = shapes.size() - 3;
        const Matrix left = MatrixOf(result[at], b).Adjoint(), right = MatrixOf(result[at + 1], b);
        ExpectNear(MatrixOf(a, b) * right, right * Diagonal(values), what, 4);
        ExpectNear(left * MatrixOf(a, b), Diagonal(values) * left, what, 4);
        for (int64_t j = 0; j < n; ++j) EXPECT_NEAR(std::abs((right.Adjoint() * right)(j, j)), 1, 1e-4) << what;
      }
    }
  }
}

TEST_P(Lapack, SchurFormsMultiplyToTheMatrix) {
  for (const int64_t n : {0, 1, 2, 5, 8}) {
    const Literal a = Some({2, n, n}, 7);
    const Shape w = Arrays({2, n}), info(PrimitiveType::kS32, {2});
    std::vector<Shape> shapes = {a.shape(), a.shape(), w};
    if (!is_complex()) shapes.push_back(w);
    shapes.insert(shapes.end(), 2, info);
    const auto result = Call(Name("gees"), "{mode = 86 : ui8, sort = 78 : ui8}", {a}, shapes);
    SKIP_WITHOUT_LIBRARY(result);
    for (int64_t b = 0; b < 2; ++b) {
      const Matrix t = MatrixOf(result[0], b), q = MatrixOf(result[1], b);
      ExpectOrthonormal(q, Str(n));
      ExpectNear(q * t * q.Adjoint(), MatrixOf(a, b), Str(n), 8);
      ExpectNear(t, t.Upper(is_complex() ? 0 : 1), Str(n), 0);
    }
  }
}

// The first row and column of Q are those of the identity. The rest is the product of the reflections, which are stored
// below the first subdiagonal.
TEST_P(Lapack, HessenbergAndTridiagonalFormsMultiplyToTheMatrix) {
  for (const int64_t n : {1, 2, 5, 8}) {
    const Shape tau = Arrays({2, n - 1}), info(PrimitiveType::kS32, {2});
    for (const bool hermitian : {false, true}) {
      const std::string what = Str(hermitian ? "tridiagonal " : "Hessenberg ", n);
      const Literal a = hermitian ? SomeHermitian(n, 8) : Some({2, n, n}, 8);
      const Shape d(real_type(), {2, n}), e(real_type(), {2, n - 1});
      const auto result =
          hermitian ? Call(Name("sytrd", "hetrd"), "{uplo = 76 : ui8}", {a}, {a.shape(), d, e, tau, info})
                    : Call(Name("gehrd"), Str("{high = ", n, " : i32, low = 1 : i32}"), {a}, {a.shape(), tau, info});
      SKIP_WITHOUT_LIBRARY(result);
      Literal below(Arrays({2, n - 1, n - 1}));
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t i = 0; i + 1 < n; ++i) {
          for (int64_t j = 0; j + 1 < n; ++j) {
            const Complex value = At(result[0], (b * n + i + 1) * n + j);
            const int64_t at = (b * (n - 1) + i) * (n - 1) + j;
            if (is_complex()) below.SetComplex(at, value);
            else below.SetDouble(at, value.real());
          }
        }
      }
      const auto q = Call(Name("orgqr", "ungqr"), "{}", {below, result[hermitian ? 3 : 1]}, {below.shape()});
      for (int64_t b = 0; b < 2; ++b) {
        Matrix whole = Identity(n), form = MatrixOf(result[0], b).Upper(1);
        for (int64_t i = 1; i < n; ++i) {
          for (int64_t j = 1; j < n; ++j) whole(i, j) = MatrixOf(q[0], b)(i - 1, j - 1);
        }
        if (hermitian) {
          form = Diagonal(VectorOf(result[1], b));
          for (int64_t i = 0; i + 1 < n; ++i) form(i + 1, i) = form(i, i + 1) = VectorOf(result[2], b)[i];
        }
        ExpectNear(whole * form * whole.Adjoint(), MatrixOf(a, b), what, 8);
      }
    }
  }
}

Matrix TridiagonalOf(const std::vector<Literal>& diagonals, int64_t b) {
  Matrix a = Diagonal(VectorOf(diagonals[1], b));
  for (int64_t i = 1; i < a.rows; ++i) {
    a(i, i - 1) = VectorOf(diagonals[0], b)[i];
    a(i - 1, i) = VectorOf(diagonals[2], b)[i - 1];
  }
  return a;
}

TEST_P(Lapack, TridiagonalSystemsAreSolved) {
  for (const int64_t n : {0, 1, 2, 3, 8}) {
    std::vector<Literal> operands;
    for (int i = 0; i < 3; ++i) operands.push_back(Some({2, n}, 10 + i));
    operands.push_back(Some({2, n, 3}, 13));
    const Shape v = Arrays({2, n}), x = Arrays({2, n, 3}), info(PrimitiveType::kS32, {2});
    const auto plain = Call(Name("gtsv"), "{}", operands, {v, v, v, x, info});
    const auto perturbed = Call("tridiagonal_solve_perturbed_ffi", "{}", operands, {x});
    for (int64_t b = 0; b < 2; ++b) {
      const Matrix a = TridiagonalOf(operands, b);
      double largest = 1;  // The largest value of x. It scales the rounding error of the residual.
      for (const Complex& value : MatrixOf(plain[3], b).values) largest = std::max(largest, std::abs(value));
      EXPECT_EQ(plain[4].GetInt(b), 0);
      ExpectNear(a * MatrixOf(plain[3], b), MatrixOf(operands[3], b), Str(n), largest);
      ExpectNear(MatrixOf(perturbed[0], b), MatrixOf(plain[3], b), Str(n), largest * 100);
    }
  }
}

TEST_P(Lapack, SingularTridiagonalSystemsAreReportedOrPerturbed) {
  const Literal zeros(Arrays({2, 4})), b = Some({2, 4, 1}, 14);
  const Shape &v = zeros.shape(), info(PrimitiveType::kS32, {2});
  const auto plain = Call(Name("gtsv"), "{}", {zeros, zeros, zeros, b}, {v, v, v, b.shape(), info});
  EXPECT_EQ(plain[4].GetInt(0), 1);
  // Values for a matrix whose upper row is twice the lower one.
  const auto values = [&](const std::vector<double>& twice) {
    Literal literal(Arrays({1, 2}));
    for (int64_t i = 0; i < 2; ++i) {
      if (is_complex()) literal.SetComplex(i, twice[i]);
      else literal.SetDouble(i, twice[i]);
    }
    return literal;
  };
  const auto perturbed =
      Call("tridiagonal_solve_perturbed_ffi", "{}",
           {values({0, 1}), values({2, 2}), values({4, 0}), Some({1, 2, 1}, 15)}, {Arrays({1, 2, 1})});
  for (const Complex& value : MatrixOf(perturbed[0], 0).values) {
    EXPECT_TRUE(std::isfinite(std::abs(value)));
    EXPECT_GT(std::abs(value), 1e3);
  }
}

TEST_P(Lapack, LuFactorsMultiplyToThePermutedMatrix) {
  for (const auto& [m, n] : kSizes) {
    const int64_t k = std::min(m, n);
    const Literal a = Some({2, m, n}, 16);
    const auto lu = Call("LuDecomposition", "", {a},
                         {a.shape(), Shape(PrimitiveType::kS32, {2, k}), Shape(PrimitiveType::kS32, {2, m})});
    for (int64_t b = 0; b < 2; ++b) {
      const Matrix factors = MatrixOf(lu[0], b);
      Matrix lower(m, k), rows(m, n);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < k; ++j) lower(i, j) = i > j ? factors(i, j) : Complex(i == j ? 1 : 0);
        for (int64_t j = 0; j < n; ++j) rows(i, j) = MatrixOf(a, b)(lu[2].GetInt(b * m + i), j);
      }
      ExpectNear(lower * factors.Upper().Part(0, k, 0, n), rows, Str(m, "x", n), 4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Lapack, testing::Values('s', 'd', 'c', 'z'));

// ---- What does not fit ----------------------------------------------------------------------------------------------

TEST(LapackErrors, NameOperandsThatDoNotFitTheTarget) {
  const auto error = [](const std::string& operands, const std::string& call) {
    const auto module = ParseText(Str("HloModule m\nENTRY e {\n", operands, "  ROOT r = ", call, "\n}\n"));
    const auto result = Interpret(*module, RandomArguments(*module));
    EXPECT_FALSE(result.has_value()) << call;
    if (result) return std::string();
    EXPECT_EQ(result.error().exit, ExitCode::kUnsupported);
    return Render(result.error(), "test");
  };
  const std::string wide = "  a = f32[2,3] parameter(0)\n", tau = "  t = f32[3] parameter(1)\n";
  const auto expect = [&](const std::string& operands, const std::string& call, std::string_view says) {
    const std::string text = error(operands, call);
    EXPECT_NE(text.find(says), std::string::npos) << text;
    EXPECT_TRUE(text.starts_with("test:")) << text;
  };
  expect(wide, "(f32[2,3], s32[]) custom-call(a), custom_call_target=\"lapack_spotrf_ffi\"", "not square");
  expect(wide, "(f32[2,3], f32[2]) custom-call(a), custom_call_target=\"lapack_dgeqrf_ffi\"", "of element type f32");
  expect(wide, "(f32[2,3], f32[3]) custom-call(a), custom_call_target=\"lapack_sgeqrf_ffi\"", "f32[2]");
  expect(wide, "f32[2,3] custom-call(a), custom_call_target=\"lapack_sorgqr_ffi\"", "fewer than 2 arrays");
  expect(wide + tau, "(f32[2,3], f32[2]) custom-call(a, t), custom_call_target=\"lapack_sgeqrf_ffi\"",
         "more than 1 array");
  expect(wide + tau, "f32[2,3] custom-call(a, t), custom_call_target=\"lapack_sorgqr_ffi\"", "3 reflections");
  expect(wide + tau, "f32[2,3] custom-call(a, t, a), custom_call_target=\"lapack_sormqr_ffi\"", "reflections");
  expect("  a = f32[3,3] parameter(0)\n",
         "(f32[3,3], f32[2], s32[]) custom-call(a), "
         "custom_call_target=\"lapack_sgehrd_ffi\", backend_config={low = 0 : i32, high = 7 : i32}",
         "low=0 and high=7");
  expect("  a = f32[3,3] parameter(0)\n", "(f32[3,3], f32[3]) custom-call(a), custom_call_target=\"Eigh\"",
         "lower,sort");
  expect("  a = f32[3] parameter(0)\n  b = f32[4,1] parameter(1)\n",
         "f32[4,1] custom-call(a, a, a, b), custom_call_target=\"tridiagonal_solve_perturbed_ffi\"", "f32[4]");
  // LAPACK does not have these names.
  expect(wide, "f32[2,3] custom-call(a), custom_call_target=\"lapack_sungqr_ffi\"", "no implementation");
  expect(wide, "f32[2,3] custom-call(a), custom_call_target=\"lapack_sgeqrx_ffi\"", "lapack_sgeqrf_ffi");
}

}  // namespace
}  // namespace hlo
