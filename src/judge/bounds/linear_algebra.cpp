// Bounds of transforms, factorisations and triangular solves in the declared types.
//
// fft: each result is a sum of all elements times roots of unity. An algorithm with factors up to 13 rounds each
// element at most 7 times for each bit of a factor, even if it computes 13 by its definition. So length n has h = 8
// log2(n) + 8 roundings. For larger prime factors, a convolution with a chirp does this twice for up to four times the
// length, with a product before, between and after: h = 16 log2(4n) + 32. Each step keeps the norm, except for the norm
// of the chirp, sqrt(2n). With N elements of norm |x|, |error| <= gamma(h, u) sqrt(2N) |x|. The likely bound is a
// random walk of roundings: 6 sqrt(h) u |x|. Source: Higham, Accuracy and Stability, 24.1.
//
// Factorisations and solves are recurrences. Each step has the bounds of its operands and its own rounding, for any
// order of a sum. Source: Higham, 8.1, 9.3, 10.1.
//
// Such a bound may double with each row. If it becomes uninformative and the run's result is known
// (ShadowOptions::left), a property of all algorithms is checked: the product of the factors is the matrix, and the
// product of triangle and solution the other side, within gamma_n times the product of the moduli. So each element is
// compared with the value that the run's other elements determine. A pivot is right if no candidate is larger by more
// than this error. Source: Higham, 8.5, 9.3, 10.3.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <vector>

#include "interp/interpreter.h"
#include "ir/analysis/matrix_calls.h"
#include "ir/fft_primes.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {
namespace {

using Complex = std::complex<double>;

// `bound` is NaN if the number is undetermined.
struct Approx {
  Complex value;
  double bound = 0;

  double size() const { return std::abs(value); }
  bool is_decided() const { return std::isfinite(value.real()) && std::isfinite(value.imag()) && std::isfinite(bound); }
};

class Numbers {
 public:
  explicit Numbers(const ShadowValue& x) : x_(SplitComplex(x)) {}
  int64_t size() const { return x_.shape.NumElements(); }
  Approx operator[](int64_t i) const {
    if (x_.elements.empty()) return {Values(x_.value)[i], Bound(x_, i)};
    const ShadowValue &real = x_.elements[0], &imaginary = x_.elements[1];
    return {{Values(real.value)[i], Values(imaginary.value)[i]}, Bound(real, i) + Bound(imaginary, i)};
  }

 private:
  static double Bound(const ShadowValue& x, int64_t i) { return x.HasBound() ? Values(x.bound)[i] : 0; }
  ShadowValue x_;
};

PrimitiveType PartOf(PrimitiveType type) {
  return type == PrimitiveType::kC64 ? PrimitiveType::kF32 : type == PrimitiveType::kC128 ? PrimitiveType::kF64 : type;
}

ShadowValue Declared(const Shape& shape, std::span<const Approx> numbers, std::span<const double> likely, bool ftz) {
  const auto part = [&](bool imaginary) {
    const Shape of_part = shape.WithType(PartOf(shape.type()));
    ShadowValue value;
    value.shape = of_part;
    value.held = of_part.type();
    value.value = NewBuffer(of_part);
    value.bound = NewBuffer(of_part);
    if (!likely.empty()) value.likely = NewBuffer(of_part);
    const Rounding rounding = RoundingTo(of_part.type(), ftz);
    auto values = value.value.mutable_data<double>(), bounds = value.bound.mutable_data<double>();
    for (size_t i = 0; i < numbers.size(); ++i) {
      values[i] = imaginary ? numbers[i].value.imag() : numbers[i].value.real();
      const auto rounded = [&](double bound) {
        const double size = (std::fabs(values[i]) + bound) * kUp;
        return size < rounding.overflow ? (bound + HalfUlp(rounding, size)) * kUp : kUndetermined;
      };
      bounds[i] = numbers[i].is_decided() ? rounded(numbers[i].bound) : kUndetermined;
      if (!likely.empty())
        value.likely.mutable_data<double>()[i] =
            std::isnan(bounds[i]) ? bounds[i] : std::min(bounds[i], rounded(likely[i]));
    }
    return value;
  };
  if (!IsComplex(shape.type())) return part(false);
  ShadowValue whole;
  whole.shape = shape;
  whole.elements = {part(false), part(true)};
  return whole;
}

// ---- fft ------------------------------------------------------------------------------------------------------------

Literal InDouble(const ShadowValue& x, bool complex) {
  const Numbers numbers(x);
  Literal wide(x.shape.WithType(complex ? PrimitiveType::kC128 : PrimitiveType::kF64));
  for (int64_t i = 0; i < numbers.size(); ++i) {
    if (complex) wide.SetComplex(i, numbers[i].value);
    else wide.SetDouble(i, numbers[i].value.real());
  }
  return wide;
}

double RoundingsOf(int64_t length) {
  const double bits = std::ceil(std::log2(static_cast<double>(length)));
  return HasOnlyFftPrimes(length) ? 8 * bits + 8 : 16 * (bits + 2) + 32;
}
// Growth of sums inside the algorithm, relative to the elements. A root of unity combines both parts. The transform of
// a chirp has as many terms as its length.
double GrowthOf(int64_t length) { return HasOnlyFftPrimes(length) ? 2 : 8.0 * static_cast<double>(length); }

Result<ShadowValue> Fft(Context& context, const Instruction& inst, Operands operands) {
  const auto& attrs = inst.attrs<FftAttrs>();
  const ShadowValue& x = *operands[0];
  const bool to_real = attrs.fft_type == FftType::kIrfft, from_real = attrs.fft_type == FftType::kRfft;
  Module module("wide");
  Computation& computation = module.AddComputation("wide");
  const Literal wide = InDouble(x, !from_real);
  Instruction& parameter = computation.AddParameter(0, wide.shape());
  Instruction& fft = computation.AddClone(
      inst, inst.shape().WithType(to_real ? PrimitiveType::kF64 : PrimitiveType::kC128), {&parameter});
  const Literal result = TRY(Evaluate(fft, std::span(&wide, 1)));
  double chain = 0, growth = 1;
  int64_t elements = 1, read = 1, written = 1;  // For one transform.
  for (size_t d = 0; d < attrs.fft_length.size(); ++d) {
    const int64_t length = attrs.fft_length[d];
    const int64_t at = inst.shape().rank() - std::ssize(attrs.fft_length) + static_cast<int64_t>(d);
    chain += RoundingsOf(length);
    growth *= GrowthOf(length);
    elements *= length;
    read *= x.shape.dim(at);
    written *= inst.shape().dim(at);
  }
  const double scale = to_real || attrs.fft_type == FftType::kIfft ? 1 / static_cast<double>(elements) : 1;
  const Rounding rounding = RoundingTo(PartOf(inst.shape().type()), context.ftz());
  const double u = rounding.relative + kOwn;
  const double gamma = chain * u / (1 - chain * u);
  // Each rounding below the smallest normal number is off by up to `least`.
  const double underflow = 4 * static_cast<double>(elements) * chain * rounding.least;
  const Numbers numbers(x);
  std::vector<Approx> values(inst.shape().NumElements());
  std::vector<double> likely(values.size());
  for (int64_t t = 0; t * written < std::ssize(values); ++t) {
    double norm = 0, bounds = 0, sizes = 0;
    for (int64_t i = t * read; i < (t + 1) * read; ++i) {
      const Approx number = numbers[i];
      // hypot avoids the underflow of squares.
      norm = std::hypot(norm, number.size());
      sizes += number.size();
      bounds += number.bound;
    }
    // Elements that are not stored are conjugates.
    if (to_real) norm *= std::numbers::sqrt2;
    // Whether an intermediate result overflows depends on the algorithm.
    const bool may_overflow = growth * (to_real ? 2 : 1) * sizes >= rounding.overflow;
    const double given = (to_real ? 2 : 1) * bounds + underflow;
    const double worst =
        (given * (1 + gamma) + gamma * std::sqrt(2.0 * static_cast<double>(elements)) * norm) * scale * kUp;
    for (int64_t i = t * written; i < (t + 1) * written; ++i) {
      values[i] = {to_real ? Complex(result.GetDouble(i)) : result.GetComplex(i), may_overflow ? kUndetermined : worst};
      likely[i] = may_overflow ? kUndetermined : (given + 6 * std::sqrt(chain) * u * norm) * scale * kUp;
    }
  }
  return Declared(inst.shape(), values, likely, context.ftz());
}

// ---- Factorisations and solves --------------------------------------------------------------------------------------

class Rounded {
 public:
  Rounded(PrimitiveType type, bool ftz) {
    const PrimitiveType part = PartOf(type);
    const Rounding rounding = RoundingTo(BitWidth(part) < 32 ? PrimitiveType::kF32 : part, ftz);
    // The computation of the f64 value has as many roundings.
    u_ = (IsComplex(type) ? 8 : 1) * rounding.relative + (IsComplex(type) ? 8 : 1) * kOwn;
    least_ = 8 * rounding.least;
    overflow_ = rounding.overflow;
  }

  Approx LessProduct(Approx a, Approx x, Approx y) const {
    const Complex value = a.value - x.value * y.value;
    const double product = x.size() * y.size() * (1 + u_);
    const double given = a.bound + x.size() * y.bound + y.size() * x.bound + x.bound * y.bound;
    if (!(product < overflow_)) return Open(value);
    return Up(value, given + u_ * (product + a.size() + product) + least_);
  }
  // a - sum. `sizes` is the sum of the moduli of the products. Large results stay determined.
  Approx LessSum(Approx a, Complex sum, double sizes, int64_t products) const {
    const auto roundings = static_cast<double>(products + 3);
    return {a.value - sum, (a.bound + roundings * (u_ * (a.size() + sizes) + least_)) * kUp};
  }
  Approx Over(Approx x, Approx y) const {
    const double least = y.size() - y.bound;
    if (!(least > 0)) return Open(x.value / y.value);
    const Complex value = x.value / y.value;
    return Up(value, (x.bound + std::abs(value) * y.bound) / least + 2 * u_ * std::abs(value) + least_);
  }
  Approx Sqrt(Approx x) const {
    const double root = std::sqrt(x.value.real());
    if (!(x.value.real() - x.bound > 0)) return Open(root);
    return Up(root, x.bound / (root + std::sqrt(x.value.real() - x.bound)) + 2 * u_ * root);
  }
  static Approx Open(Complex value) { return {value, kUndetermined}; }

 private:
  // If an intermediate result may overflow, the order decides.
  Approx Up(Complex value, double bound) const {
    return std::abs(value) + bound * kUp < overflow_ ? Approx{value, bound * kUp} : Open(value);
  }
  double u_, least_, overflow_;
};

struct Products {
  Complex sum;
  double sizes = 0;
  int64_t count = 0;

  void Add(Complex x, Complex y) {
    sum += x * y;
    sizes += std::abs(x * y);
    ++count;
  }
};

Approx Conjugate(Approx x) { return {std::conj(x.value), x.bound}; }

struct MatrixOf {
  int64_t batch = 1, rows, columns;
  explicit MatrixOf(const Shape& shape) : rows(shape.dim(shape.rank() - 2)), columns(shape.dim(shape.rank() - 1)) {
    for (int64_t d = 0; d < shape.rank() - 2; ++d) batch *= shape.dim(d);
  }
  int64_t At(int64_t matrix, int64_t i, int64_t j) const { return (matrix * rows + i) * columns + j; }
};

bool TellEnough(std::span<const Approx> numbers) {
  constexpr double kEnough = 0.01;
  double largest = 0, bound = 0;
  for (const Approx& x : numbers) {
    if (!x.is_decided()) return false;
    largest = std::max(largest, x.size());
    bound = std::max(bound, x.bound);
  }
  return bound <= kEnough * largest;
}

// `count` numbers of the run's result. Empty if it is unknown or not finite.
std::vector<Complex> LeftOf(const std::optional<Numbers>& left, int64_t first, int64_t count) {
  std::vector<Complex> numbers;
  for (int64_t i = first; left && i < first + count; ++i) {
    const Approx x = (*left)[i];
    if (!x.is_decided()) return {};
    numbers.push_back(x.value);
  }
  return numbers;
}

// The run's result at tuple index `index`, or nullopt if `inst` is not the root.
std::optional<Literal> LeftBy(const Context& context, const Instruction& inst, const ShapeIndex& index) {
  const Literal* left = context.options.left;
  if (left == nullptr || context.top == nullptr || &inst != &context.top->root()) return std::nullopt;
  return left->At(index);
}

std::optional<Numbers> NumbersOf(const std::optional<Literal>& left) {
  return left ? std::optional<Numbers>(ToShadow(*left)) : std::nullopt;
}

void OpenAll(std::span<Approx> numbers) {
  for (Approx& x : numbers) x.bound = kUndetermined;
}

// Cholesky factorisation in place. `turns` selects the upper triangle. Nullopt if a pivot is undetermined. Otherwise
// returns the order of the first minor that is not positive, or 0. Later elements are not changed.
std::optional<int32_t> Factor(std::span<Approx> a, int64_t n, bool turns, bool conjugates, const Rounded& rounded) {
  const auto at = [&](int64_t i, int64_t j) -> Approx& { return turns ? a[j * n + i] : a[i * n + j]; };
  const auto read = [&](int64_t i, int64_t j) { return conjugates ? Conjugate(at(i, j)) : at(i, j); };
  const auto write = [&](int64_t i, int64_t j, Approx x) { at(i, j) = conjugates ? Conjugate(x) : x; };
  for (int64_t j = 0; j < n; ++j) {
    Approx pivot = read(j, j);
    for (int64_t k = 0; k < j; ++k) pivot = rounded.LessProduct(pivot, read(j, k), Conjugate(read(j, k)));
    pivot.value = pivot.value.real();
    if (!pivot.is_decided() || std::fabs(pivot.value.real()) <= pivot.bound) return std::nullopt;
    if (pivot.value.real() <= 0) {
      at(j, j) = pivot;
      return static_cast<int32_t>(j + 1);
    }
    const Approx root = rounded.Sqrt(pivot);
    at(j, j) = root;
    for (int64_t i = j + 1; i < n; ++i) {
      Approx sum = read(i, j);
      for (int64_t k = 0; k < j; ++k) sum = rounded.LessProduct(sum, read(i, k), Conjugate(read(j, k)));
      write(i, j, rounded.Over(sum, root));
    }
  }
  return 0;
}

void FactorAsLeft(std::span<Approx> a, std::span<const Complex> left, int64_t n, bool turns, bool conjugates,
                  const Rounded& rounded) {
  const auto place = [&](int64_t i, int64_t j) { return turns ? j * n + i : i * n + j; };
  const auto own = [&](Complex x) { return conjugates ? std::conj(x) : x; };
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      Products products;
      for (int64_t k = 0; k < j; ++k) products.Add(own(left[place(i, k)]), std::conj(own(left[place(j, k)])));
      Approx& element = a[place(i, j)];
      const Approx given = conjugates ? Conjugate(element) : element;
      const Approx rest = rounded.LessSum(given, products.sum, products.sizes, products.count);
      Approx expected;
      if (i == j) {
        const double square = std::max(rest.value.real(), 0.0);
        expected = square > rest.bound ? rounded.Sqrt({square, rest.bound})
                                       : Approx{std::sqrt(square), std::sqrt(square + rest.bound)};
      } else {
        expected = rounded.Over(rest, {left[place(j, j)].real()});
      }
      element = conjugates ? Conjugate(expected) : expected;
    }
  }
}

std::optional<int32_t> FactorOrAsLeft(std::span<Approx> a, std::span<const Complex> left, int64_t n, bool turns,
                                      bool conjugates, const Rounded& rounded) {
  const std::vector<Approx> given(a.begin(), a.end());
  const auto failed = Factor(a, n, turns, conjugates, rounded);
  if (left.empty() || (failed && (*failed != 0 || TellEnough(a)))) return failed;
  std::ranges::copy(given, a.begin());
  FactorAsLeft(a, left, n, turns, conjugates, rounded);
  return 0;
}

ShadowValue Integers(const Shape& shape, std::span<const int32_t> values, std::span<const uint8_t> open) {
  Literal literal(shape);
  for (size_t i = 0; i < values.size(); ++i) literal.mutable_data<int32_t>()[i] = values[i];
  ShadowValue result = ToShadow(literal);
  result.shape = shape;
  if (std::ranges::find(open, 1) == open.end()) return result;
  result.open = Literal(shape.WithType(PrimitiveType::kPred));
  std::ranges::copy(open, result.open.mutable_data<uint8_t>().begin());
  return result;
}

ShadowValue TupleOf(const Shape& shape, std::vector<ShadowValue> elements) {
  ShadowValue tuple;
  tuple.shape = shape;
  tuple.elements = std::move(elements);
  return tuple;
}

std::vector<Approx> All(const ShadowValue& x) {
  const Numbers numbers(x);
  std::vector<Approx> all(numbers.size());
  for (int64_t i = 0; i < numbers.size(); ++i) all[i] = numbers[i];
  return all;
}

Result<ShadowValue> Cholesky(Context& context, const Instruction& inst, Operands operands) {
  const Shape& shape = inst.shape();
  const MatrixOf m(shape);
  const int64_t n = m.rows;
  const bool lower = inst.attrs<CholeskyAttrs>().lower;
  std::vector<Approx> a = All(*operands[0]);
  const auto left = NumbersOf(LeftBy(context, inst, {}));
  const Rounded rounded(shape.type(), context.ftz());
  for (int64_t b = 0; b < m.batch; ++b) {
    const std::span<Approx> matrix(a.data() + b * n * n, n * n);
    const auto failed = FactorOrAsLeft(matrix, LeftOf(left, b * n * n, n * n), n, !lower, false, rounded);
    if (!failed || *failed != 0) {
      for (Approx& x : matrix) x = Rounded::Open(x.value);
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) matrix[lower ? i * n + j : j * n + i] = {};
    }
  }
  return Declared(shape, a, {}, context.ftz());
}

void Solve(const TriangularSolveAttrs& attrs, const Shape& shape, std::span<const Approx> a, std::span<Approx> x,
           const std::optional<Numbers>& left, const Rounded& rounded) {
  const MatrixOf m(shape);
  const int64_t n = attrs.left_side ? m.rows : m.columns, others = attrs.left_side ? m.columns : m.rows;
  const bool adjoint = attrs.transpose_a == TransposeKind::kAdjoint;
  const bool transposed = adjoint || attrs.transpose_a == TransposeKind::kTranspose;
  const bool by_column = transposed == attrs.left_side, forward = attrs.lower != by_column;
  for (int64_t b = 0; b < m.batch; ++b) {
    const auto at = [&](int64_t i, int64_t j) {
      const Approx element = a[(b * n + (by_column ? j : i)) * n + (by_column ? i : j)];
      return adjoint ? Conjugate(element) : element;
    };
    const std::span<Approx> matrix = x.subspan(m.At(b, 0, 0), m.rows * m.columns);
    const std::vector<Approx> given(matrix.begin(), matrix.end());
    for (int64_t o = 0; o < others; ++o) {
      const auto solution = [&](int64_t i) -> Approx& { return x[attrs.left_side ? m.At(b, i, o) : m.At(b, o, i)]; };
      for (int64_t step = 0; step < n; ++step) {
        const int64_t i = forward ? step : n - 1 - step;
        Approx sum = solution(i);
        for (int64_t k = 0; k < step; ++k) {
          const int64_t j = forward ? k : n - 1 - k;
          sum = rounded.LessProduct(sum, at(i, j), solution(j));
        }
        solution(i) = attrs.unit_diagonal ? sum : rounded.Over(sum, at(i, i));
      }
    }
    if (TellEnough(matrix)) continue;
    const std::vector<Complex> of_run = LeftOf(left, m.At(b, 0, 0), std::ssize(matrix));
    for (int64_t e = 0; e < std::ssize(of_run); ++e) {
      const int64_t i = attrs.left_side ? e / m.columns : e % m.columns,
                    o = attrs.left_side ? e % m.columns : e / m.columns;
      Products products;
      double open = 0;
      for (int64_t j = forward ? 0 : i + 1; j < (forward ? i : n); ++j) {
        const Complex x_j = of_run[attrs.left_side ? m.At(0, j, o) : m.At(0, o, j)];
        products.Add(at(i, j).value, x_j);
        open += at(i, j).bound * std::abs(x_j);
      }
      Approx rest = rounded.LessSum(given[e], products.sum, products.sizes, products.count);
      rest.bound += open;
      matrix[e] = attrs.unit_diagonal ? rest : rounded.Over(rest, at(i, i));
    }
  }
}

// LU factorisation in place. False if a pivot is undetermined.
bool Exchanged(std::span<Approx> a, int64_t rows, int64_t columns, const Rounded& rounded, std::span<int32_t> pivots,
               int32_t* info) {
  const auto size = [](const Approx& x) { return std::fabs(x.value.real()) + std::fabs(x.value.imag()); };
  // The bound is of the modulus. The sum of the parts may be off by sqrt(2) times the bound and by its own rounding.
  const auto off = [&](const Approx& x) { return x.bound == 0 ? 0 : 2 * x.bound; };
  for (int64_t j = 0; j < std::min(rows, columns); ++j) {
    int64_t best = j;
    for (int64_t i = j; i < rows; ++i) {
      const Approx &x = a[i * columns + j], &most = a[best * columns + j];
      if (!x.is_decided()) return false;
      if (size(x) > size(most)) best = i;
    }
    const Approx most = a[best * columns + j];
    for (int64_t i = j; i < rows; ++i) {
      const Approx& x = a[i * columns + j];
      if (i != best && off(x) + off(most) > 0 && size(x) + off(x) >= size(most) - off(most)) return false;
    }
    pivots[j] = static_cast<int32_t>(best + 1);
    if (size(most) <= off(most)) {
      if (off(most) > 0) return false;
      if (*info == 0) *info = static_cast<int32_t>(j + 1);
      continue;
    }
    for (int64_t k = 0; k < columns; ++k) std::swap(a[j * columns + k], a[best * columns + k]);
    for (int64_t i = j + 1; i < rows; ++i) {
      Approx& factor = a[i * columns + j];
      factor = rounded.Over(factor, most);
      for (int64_t k = j + 1; k < columns; ++k)
        a[i * columns + k] = rounded.LessProduct(a[i * columns + k], factor, a[j * columns + k]);
    }
  }
  return true;
}

// Returns false if the run's pivots are not a permutation.
bool ExchangedAsLeft(std::span<Approx> a, std::span<const Approx> given, std::span<const Complex> left,
                     std::span<const int32_t> left_pivots, int64_t rows, int64_t columns, const Rounded& rounded,
                     std::span<int32_t> pivots, int32_t* info) {
  const auto size = [](const Approx& x) { return std::fabs(x.value.real()) + std::fabs(x.value.imag()); };
  std::vector<int64_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::vector<int64_t> now = order;
  for (size_t j = 0; j < pivots.size(); ++j) {
    const int64_t with = left_pivots[j] - 1;
    if (with < static_cast<int64_t>(j) || with >= rows) return false;
    std::swap(order[j], order[with]);
  }
  *info = 0;
  const auto rest = [&](int64_t i, int64_t j, int64_t count) {
    Products products;
    for (int64_t k = 0; k < count; ++k) products.Add(left[i * columns + k], left[k * columns + j]);
    return rounded.LessSum(given[order[i] * columns + j], products.sum, products.sizes, products.count);
  };
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < std::min(j, rows); ++i) a[i * columns + j] = rest(i, j, i);
    if (j >= rows) continue;
    std::vector<Approx> column(rows);
    for (int64_t i = j; i < rows; ++i) column[i] = rest(i, j, j);
    int64_t best = j;
    for (int64_t i = j + 1; i < rows; ++i) {
      const bool is_larger = size(column[i]) - 2 * column[i].bound > size(column[j]) + 2 * column[j].bound;
      if (is_larger && size(column[i]) > size(column[best])) best = i;
    }
    pivots[j] = static_cast<int32_t>(std::ranges::find(now, order[best]) - now.begin() + 1);
    std::swap(now[j], now[left_pivots[j] - 1]);
    const Complex pivot = left[j * columns + j];
    if (pivot == 0.0 && *info == 0) *info = static_cast<int32_t>(j + 1);
    a[j * columns + j] = column[j];
    for (int64_t i = j + 1; i < rows; ++i)
      a[i * columns + j] = pivot == 0.0 ? column[i] : rounded.Over(column[i], {pivot});
  }
  return true;
}

ShadowValue Getrf(Context& context, const Instruction& inst, Operands operands) {
  const Shape& shape = inst.operand(0).shape();
  const MatrixOf m(shape);
  const int64_t size = std::min(m.rows, m.columns);
  std::vector<Approx> a = All(*operands[0]);
  const std::vector<Approx> given = a;
  const auto left = NumbersOf(LeftBy(context, inst, {0}));
  const auto left_pivots = LeftBy(context, inst, {1});
  std::vector<int32_t> pivots(m.batch * size), info(m.batch);
  std::vector<uint8_t> open_pivots(pivots.size()), open_info(m.batch);
  const Rounded rounded(shape.type(), context.ftz());
  for (int64_t b = 0; b < m.batch; ++b) {
    const std::span<Approx> matrix(a.data() + b * m.rows * m.columns, m.rows * m.columns);
    const std::span<int32_t> of_matrix(pivots.data() + b * size, size);
    const bool decided = Exchanged(matrix, m.rows, m.columns, rounded, of_matrix, &info[b]);
    if (decided && TellEnough(matrix)) continue;
    const std::vector<Complex> of_run = LeftOf(left, b * m.rows * m.columns, m.rows * m.columns);
    if (!of_run.empty()) {
      const auto of_given = std::span(given).subspan(b * m.rows * m.columns, m.rows * m.columns);
      const auto exchanges = left_pivots->data<int32_t>().subspan(b * size, size);
      if (ExchangedAsLeft(matrix, of_given, of_run, exchanges, m.rows, m.columns, rounded, of_matrix, &info[b]))
        continue;
    }
    if (decided) continue;
    OpenAll(matrix);
    std::fill_n(open_pivots.begin() + b * size, size, 1);
    open_info[b] = 1;
  }
  const Shape& results = inst.shape();
  return TupleOf(results,
                 {Declared(results.element(0), a, {}, context.ftz()), Integers(results.element(1), pivots, open_pivots),
                  Integers(results.element(2), info, open_info)});
}

ShadowValue Potrf(Context& context, const Instruction& inst, bool lower, Operands operands) {
  const Shape& shape = inst.operand(0).shape();
  const MatrixOf m(shape);
  std::vector<Approx> a = All(*operands[0]);
  const auto left = NumbersOf(LeftBy(context, inst, {0}));
  const auto left_info = LeftBy(context, inst, {1});
  std::vector<int32_t> info(m.batch);
  std::vector<uint8_t> open(m.batch);
  const Rounded rounded(shape.type(), context.ftz());
  for (int64_t b = 0; b < m.batch; ++b) {
    const std::span<Approx> matrix(a.data() + b * m.rows * m.rows, m.rows * m.rows);
    const bool is_factor = left_info && left_info->data<int32_t>()[b] == 0;
    const auto of_run = is_factor ? LeftOf(left, b * m.rows * m.rows, m.rows * m.rows) : std::vector<Complex>();
    const auto failed = FactorOrAsLeft(matrix, of_run, m.rows, !lower, !lower, rounded);
    if (failed) {
      info[b] = *failed;
    } else {
      OpenAll(matrix);
      open[b] = 1;
    }
  }
  const Shape& results = inst.shape();
  return TupleOf(results,
                 {Declared(results.element(0), a, {}, context.ftz()), Integers(results.element(1), info, open)});
}

}  // namespace

bool HasMatrixRule(const Instruction& inst) {
  const bool is_op = inst.Is(Opcode::kFft) || inst.Is(Opcode::kCholesky) || inst.Is(Opcode::kTriangularSolve);
  return is_op || MatrixCallOf(inst).has_value();
}

Result<ShadowValue> OfMatrices(Context& context, const Instruction& inst, Operands operands) {
  if (inst.Is(Opcode::kFft)) return Fft(context, inst, operands);
  if (inst.Is(Opcode::kCholesky)) return Cholesky(context, inst, operands);
  std::optional<TriangularSolveAttrs> solve;
  if (inst.Is(Opcode::kTriangularSolve)) {
    solve = inst.attrs<TriangularSolveAttrs>();
  } else {
    const MatrixCall call = *MatrixCallOf(inst);
    if (call.routine == MatrixRoutine::kGetrf) return Getrf(context, inst, operands);
    if (call.routine == MatrixRoutine::kPotrf) return Potrf(context, inst, call.solve.lower, operands);
    solve = call.solve;
  }
  const Rounded rounded(inst.shape().type(), context.ftz());
  const std::vector<Approx> a = All(*operands[0]);
  std::vector<Approx> x = All(*operands[1]);
  Solve(*solve, inst.shape(), a, x, NumbersOf(LeftBy(context, inst, {})), rounded);
  return Declared(inst.shape(), x, {}, context.ftz());
}

}  // namespace hlo::shadow
