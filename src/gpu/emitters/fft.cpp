// A block transforms lines in shared memory, which holds real and imaginary parts in two halves each. Each step of
// Stockham's algorithm reads one half and writes the other, without reordering. Each line is a matrix: first its
// columns are transformed, then its rows. Threads process adjacent elements of the columns of all lines, so that runs
// of accesses have the same root. Source: Van Loan, Computational Frameworks for the Fast Fourier Transform, 1.7, 3.3
// and 4.2.
#include <cmath>
#include <complex>
#include <numbers>

#include "base/text.h"
#include "gpu/emitters/frame.h"
#include "gpu/plan/fft_space.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

using Complex = std::complex<double>;

// e^(-2 pi i k / n), or its conjugate if `inverse`.
Complex Root(int64_t k, int64_t n, bool inverse) {
  const double angle = (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// e^(-pi i j^2 / n), or its conjugate if `inverse`.
Complex Chirp(int64_t j, int64_t n, bool inverse) {
  return Root(static_cast<int64_t>(static_cast<__int128>(j) * j % (2 * n)), 2 * n, inverse);
}

void Transform(std::vector<Complex>& x) {
  const int64_t n = std::ssize(x);
  for (int64_t i = 1, j = 0; i < n; ++i) {
    int64_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (int64_t size = 2; size <= n; size *= 2) {
    for (int64_t k = 0; k < size / 2; ++k) {
      const Complex root = Root(k, size, false);
      for (int64_t begin = k; begin < n; begin += size) {
        const Complex even = x[begin], odd = root * x[begin + size / 2];
        x[begin] = even + odd;
        x[begin + size / 2] = even - odd;
      }
    }
  }
}

struct Number {
  Value real, imag;
};
Number operator+(Number x, Number y) { return {x.real + y.real, x.imag + y.imag}; }
Number operator-(Number x, Number y) { return {x.real - y.real, x.imag - y.imag}; }
Number operator*(Number x, Number y) {
  return {Fma(x.real, y.real, -(x.imag * y.imag)), Fma(x.real, y.imag, x.imag * y.real)};
}
Number Conjugate(Number x) { return {x.real, -x.imag}; }
Number TimesI(Number x, bool inverse) { return inverse ? Number{-x.imag, x.real} : Number{x.imag, -x.real}; }

void Small(std::vector<Number>& x, bool inverse) {
  const int64_t n = std::ssize(x);
  if (n == 2) {
    x = {x[0] + x[1], x[0] - x[1]};
    return;
  }
  if (n == 4) {
    const Number even = x[0] + x[2], odd = x[1] + x[3], rest = x[0] - x[2], times_i = TimesI(x[1] - x[3], inverse);
    x = {even + odd, rest + times_i, even - odd, rest - times_i};
    return;
  }
  // For an odd prime size, the sum of elements t and n - t needs only a root's cosine, their difference only its sine.
  std::vector<Number> sums, differences, result(n);
  result[0] = x[0];
  for (int64_t t = 1; 2 * t < n; ++t) {
    sums.push_back(x[t] + x[n - t]);
    differences.push_back(x[t] - x[n - t]);
    result[0] = result[0] + sums.back();
  }
  for (int64_t k = 1; 2 * k < n; ++k) {
    Number common = x[0], own{kernel::ConstantLike(x[0].real, 0.0), kernel::ConstantLike(x[0].real, 0.0)};
    for (int64_t t = 1; 2 * t < n; ++t) {
      const Complex root = Root(t * k, n, inverse);
      const Value cosine = kernel::ConstantLike(x[0].real, root.real());
      const Value sine = kernel::ConstantLike(x[0].real, root.imag());
      common = {Fma(sums[t - 1].real, cosine, common.real), Fma(sums[t - 1].imag, cosine, common.imag)};
      own = {Fma(differences[t - 1].imag, sine, own.real), Fma(differences[t - 1].real, sine, own.imag)};
    }
    result[k] = {common.real - own.real, common.imag + own.imag};
    result[n - k] = {common.real + own.real, common.imag - own.imag};
  }
  x = std::move(result);
}

class Lines {
 public:
  Lines(FftSpace& space, const EmitRequest& request)
      : space_(space),
        request_(request),
        number_(request.number),
        step_(space.steps[request.number]),
        form_(step_.points()),
        lines_(request.plan.tile[0]),
        type_(KernelTypeOf(space.part)),
        needed_(number_ == 0 ? std::vector{space.element} : std::vector<NodeId>()),
        frame_(space.graph, needed_, {step_.lines() / lines_, static_cast<int>(request.plan.threads)}, request),
        k_(frame_.k()) {
    const int64_t elements = lines_ * form_.size;
    k_.CountsTo(2 * std::max(step_.lines() * step_.length, step_.outer * step_.whole) + elements);
    if (number_ > 0) from_ = frame_.Scratch(static_cast<int>(number_) - 1, type_, Between(number_ - 1));
    if (IsLast()) to_ = frame_.Output(request.body.roots()[0]);
    else to_ = frame_.Scratch(static_cast<int>(number_), type_, Between(number_));
    real_ = k_.Shared("real", type_, 2 * elements);
    imag_ = k_.Shared("imag", type_, 2 * elements);
    if (form_.size > 1)
      roots_ = MakeTable("roots", form_.size, [&](int64_t i) { return Root(i, form_.size, turns_back()); });
    first_ = k_.block() * lines_;
  }

  EmittedKernel Emit() && {
    // A convolution's transforms are always forward. Only the chirp depends on the direction.
    if (form_.chirps)
      chirp_ =
          MakeTable("chirp", step_.points(), [&](int64_t j) { return Chirp(j, step_.points(), space_.is_inverse); });
    if (step_.is_long() && !step_.is_rows)
      turns_ = MakeTable("turns", step_.whole, [&](int64_t i) { return Root(i, step_.whole, space_.is_inverse); });
    if (step_.is_halved())
      halves_ =
          MakeTable("halves", step_.points() + 1, [&](int64_t k) { return Root(k, step_.length, space_.is_inverse); });
    ReadLines();
    TransformLines();
    if (form_.chirps) {
      Filter();
      TransformLines();
    }
    WriteLines();
    const std::string how = form_.chirps ? Str("a convolution of ", form_.size) : Join(FactorsOf(), " x ");
    return std::move(frame_).Finish(Str("fft, ", lines_, " lines of ", step_.length, " by ", how));
  }

 private:
  struct Table {
    Array real, imag;
    Number Load(Value i) const { return {real.Load(i), imag.Load(i)}; }
  };

  bool IsLast() const { return number_ + 1 == std::ssize(space_.steps); }
  bool turns_back() const { return space_.is_inverse && !form_.chirps; }
  int64_t Between(int64_t i) const {
    const FftStep& step = space_.steps[i];
    const bool is_columns = step.is_long() && !step.is_rows;
    if (step.is_rows) return 2 * step.outer / step.rows * step.written;
    return 2 * step.outer * (is_columns ? step.whole : step.written * step.inner);
  }
  std::vector<std::string> FactorsOf() const {
    std::vector<std::string> factors;
    for (const auto* of : {&form_.of_first, &form_.of_second})
      for (const int64_t factor : *of) factors.push_back(Str(factor));
    if (factors.empty()) factors.emplace_back("1");
    return factors;
  }

  template <class F>
  Table MakeTable(const std::string& name, int64_t size, F element) {
    Literal real(Shape(space_.part, {size})), imag(Shape(space_.part, {size}));
    for (int64_t i = 0; i < size; ++i) {
      const Complex value = element(i);
      real.SetDouble(i, value.real());
      imag.SetDouble(i, value.imag());
    }
    return {frame_.Constant(Str(name, "_real"), real), frame_.Constant(Str(name, "_imag"), imag)};
  }

  void ForEach(int64_t count, const KernelBuilder::IndexBody& body) {
    constexpr int kVector = 1;
    const int64_t each = int64_t{k_.threads()} * kVector;
    k_.Loop(int64_t{0}, count, each,
            [&](Value begin) { TileOver(k_, kVector, count, begin, each, [&](Value i) { body(begin + i); }); });
  }

  Number Get(Value at) const { return {real_.Load(from_half() + at), imag_.Load(from_half() + at)}; }
  void StoreAt(Value at, Number x) {
    real_.Store(to_half() + at, x.real);
    imag_.Store(to_half() + at, x.imag);
  }
  int64_t from_half() const { return (1 - half_) * lines_ * form_.size; }
  int64_t to_half() const { return half_ * lines_ * form_.size; }
  void Swap() { half_ = 1 - half_; }

  // ---- The transform ----

  void Columns(int64_t length, int64_t width, const std::vector<int64_t>& factors) {
    int64_t done = 1;
    for (const int64_t radix : factors) {
      const int64_t rest = length / radix, before = done;
      ForEach(rest * width, [&](Value e) {
        const Value i = e / width, column = e % width, turn = i % before;
        std::vector<Number> x;
        for (int64_t t = 0; t < radix; ++t) {
          Number element = Get((i + t * rest) * width + column);
          if (t > 0 && before > 1) element = element * roots_.Load(turn * (t * (form_.size / (before * radix))));
          x.push_back(element);
        }
        Small(x, turns_back());
        for (int64_t t = 0; t < radix; ++t) StoreAt(((i - turn) * radix + turn + t * before) * width + column, x[t]);
      });
      Swap();
      done *= radix;
    }
  }

  // Transforms [j1][line][j2] to [k2][line][k1], where j = j1 * second + j2 and k = k2 * first + k1.
  void TransformLines() {
    Columns(form_.first, lines_ * form_.second, form_.of_first);
    if (form_.second == 1) return;
    const int64_t rows = form_.first, columns = form_.second;
    ForEach(lines_ * form_.size, [&](Value to) {
      const Value row = to % rows, line = to / rows % lines_, column = to / (rows * lines_);
      StoreAt(to, Get((row * lines_ + line) * columns + column) * roots_.Load(row * column));
    });
    Swap();
    Columns(columns, lines_ * rows, form_.of_second);
  }
  Value InOrder(Value line, Value k) const {
    if (form_.second == 1) return k * lines_ + line;
    return ((k / form_.first) * lines_ + line) * form_.first + k % form_.first;
  }
  // The line, and the element in it, of place `at`.
  std::pair<Value, Value> InputPosition(Value at) const {
    return {at / form_.second % lines_, at / (form_.second * lines_) * form_.second + at % form_.second};
  }

  // Multiplies by the spectrum of the conjugate chirp and stores the conjugate: the conjugate of its forward transform
  // is the inverse transform of the product.
  void Filter() {
    const int64_t n = step_.points(), size = form_.size;
    std::vector<Complex> filter(size);
    for (int64_t j = 0; j < n; ++j)
      filter[j] = filter[(size - j) % size] = Chirp(j, n, !space_.is_inverse) / static_cast<double>(size);
    Transform(filter);
    const Table spectrum = MakeTable("spectrum", size, [&](int64_t i) { return filter[i]; });
    ForEach(lines_ * size, [&](Value to) {
      const auto [line, k] = InputPosition(to);
      StoreAt(to, Conjugate(Get(InOrder(line, k)) * spectrum.Load(k)));
    });
    Swap();
  }

  // ---- Memory ----

  Number Read(Value line, Value j) {
    const Value g = first_ + line;
    const bool is_columns = step_.is_long() && !step_.is_rows;
    const Value outer = g / step_.inner, inner = g % step_.inner;
    if (number_ > 0 && step_.is_rows) return FromScratch(g * step_.length + j);
    const Value at = is_columns ? j * step_.inner + inner : j;
    const int64_t apart = is_columns ? 1 : step_.inner;
    const auto read = [&](Value i) {
      const Value element = is_columns ? outer * step_.read + i : (outer * step_.read + i) * apart + inner;
      return number_ > 0 ? FromScratch(element) : FromOperand(element);
    };
    if (!step_.mirrors || step_.is_halved()) return read(at);
    const Value is_stored = at < step_.read;
    const Number x = read(Select(is_stored, at, step_.whole - at));
    return {x.real, Select(is_stored, x.imag, -x.imag)};
  }
  Number ReadPoint(Value line, Value j) {
    if (!step_.is_halved()) return Read(line, j);
    if (step_.from_real) return {Read(line, j * 2).real, Read(line, j * 2 + 1).real};
    // 2 Z(j) = X(j) + X(n-j)* + i w^j (X(j) - X(n-j)*). The ends of X are real.
    const Number x = Read(line, j), mirrored = Conjugate(Read(line, step_.points() - j));
    const Value zero = kernel::ConstantLike(x.real, 0.0), is_real = j == 0;
    const Number a = {x.real, Select(is_real, zero, x.imag)}, b = {mirrored.real, Select(is_real, zero, mirrored.imag)};
    return a + b + TimesI((a - b) * halves_.Load(j), true);
  }
  Number Point(Value line, Value k) {
    const Number x = Get(InOrder(line, k));
    return form_.chirps ? Conjugate(x) * chirp_.Load(k) : x;
  }
  Number Result(Value line, Value k) {
    if (!step_.is_halved()) return Point(line, k);
    // 2 X(k) = Z(k) + Z(n-k)* - i w^k (Z(k) - Z(n-k)*).
    const int64_t n = step_.points();
    const Number z = Point(line, Select(k == n, k_.Index(0), k));
    const Number mirrored = Conjugate(Point(line, Select(k == 0, k_.Index(0), n - k)));
    const Number twice = z + mirrored + TimesI((z - mirrored) * halves_.Load(k), false);
    return {twice.real * 0.5, twice.imag * 0.5};
  }
  Number FromScratch(Value element) const { return {from_.Load(element * 2), from_.Load(element * 2 + 1)}; }
  Number FromOperand(Value element) {
    const Emission::Scope scope(frame_.emission());
    frame_.emission().Bind(space_.minor().e, element);
    std::vector<Value> parts;
    frame_.emission().EmitParts(space_.element, &parts);
    return {parts[0], parts.size() > 1 ? parts[1] : kernel::ConstantLike(parts[0], 0.0)};
  }

  void ReadLines() {
    const bool by_line = step_.inner > 1;
    const int64_t n = step_.points(), size = form_.size;
    ForEach(lines_ * size, [&](Value e) {
      const Value line = by_line ? e % lines_ : e / size, j = by_line ? e / lines_ : e % size;
      const Value at = (j / form_.second * lines_ + line) * form_.second + j % form_.second;
      Number x = ReadPoint(line, size > n ? Min(j, k_.Index(n - 1)) : j);
      if (form_.chirps) x = x * chirp_.Load(Min(j, k_.Index(n - 1)));
      if (size > n) {
        const Value zero = kernel::ConstantLike(x.real, 0.0), is_read = j < n;
        x = {Select(is_read, x.real, zero), Select(is_read, x.imag, zero)};
      }
      StoreAt(at, x);
    });
    Swap();
  }

  void WriteLines() {
    const bool is_columns = step_.is_long() && !step_.is_rows, by_line = step_.inner > 1 || step_.is_rows;
    const bool is_pair = step_.is_halved() && step_.to_real;
    const int64_t stored = is_pair ? step_.points() : step_.is_long() ? step_.length : step_.written;
    ForEach(lines_ * stored, [&](Value e) {
      const Value line = by_line ? e % lines_ : e / stored, k = by_line ? e / lines_ : e % stored;
      Number x = is_pair ? Point(line, k) : Result(line, k);
      if (space_.is_inverse) {
        const double scale = 1 / static_cast<double>(step_.length);
        x = {x.real * scale, x.imag * scale};
      }
      const Value g = first_ + line;
      if (is_pair) {
        const Value even = (g / step_.inner * step_.written + k * 2) * step_.inner + g % step_.inner;
        to_.Store(even, x.real);
        return to_.Store(even + step_.inner, x.imag);
      }
      if (is_columns) {
        const Value column = g % step_.inner;
        return Write((g / step_.inner * step_.length + k) * step_.inner + column, x * turns_.Load(k * column));
      }
      if (!step_.is_rows) return Write((g / step_.inner * step_.written + k) * step_.inner + g % step_.inner, x);
      const Value natural = k * step_.rows + g % step_.rows, to = g / step_.rows * step_.written + natural;
      if (step_.written == step_.whole) return Write(to, x);
      k_.If(natural < step_.written, [&] { Write(to, x); });
    });
  }
  void Write(Value element, Number x) {
    if (IsLast() && step_.to_real) return to_.Store(element, x.real);
    to_.Store(element * 2, x.real);
    to_.Store(element * 2 + 1, x.imag);
  }

  FftSpace& space_;
  const EmitRequest& request_;
  int64_t number_;
  const FftStep& step_;
  FftForm form_;
  int64_t lines_;
  Type type_;
  std::vector<NodeId> needed_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Array from_, to_, real_, imag_;
  Table roots_, chirp_, turns_, halves_;
  Value first_;
  int64_t half_ = 1;  // The half that is written next.
};

}  // namespace

Result<EmittedKernel> EmitFft(const EmitRequest& request) {
  const auto space = TRY(FftSpaceOf(request.body));
  TRY(request.Require(space != nullptr, "there is no fft at the root"));
  TRY(request.RequireBlock(2));
  TRY(request.Require(request.count == std::ssize(space->steps),
                      Str("it takes ", space->steps.size(), " kernels, one or two for each dimension")));
  const FftStep& step = space->steps[request.number];
  const int64_t lines = request.plan.tile[0], most = LinesOfBlock(*space, step);
  TRY(request.Require(
      lines >= 1 && most % lines == 0 && request.plan.tile[1] == step.length,
      Str("the lines of its tile must be a divisor of ", most, ", with ", step.length, " elements in each line")));
  return Lines(*space, request).Emit();
}

}  // namespace hlo::gpu
