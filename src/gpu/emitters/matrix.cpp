// A block holds a matrix in shared memory. After each column, all threads update the later columns. Types below f32 are
// computed in f32.
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "gpu/emitters/frame.h"
#include "gpu/plan/matrix_space.h"
#include "gpu/plan/scalar.h"

namespace hlo::gpu {
namespace {

struct Number {
  Value real, imag;  // A real number has no `imag`.
};
Number Conjugate(Number x) { return x.imag ? Number{x.real, -x.imag} : x; }
Number LessProduct(Number a, Number x, Number y) {
  if (!a.imag) return {Fma(-x.real, y.real, a.real), {}};
  return {Fma(x.imag, y.imag, Fma(-x.real, y.real, a.real)), Fma(-x.imag, y.real, Fma(-x.real, y.imag, a.imag))};
}
Number Over(Number x, Value y) { return x.imag ? Number{x.real / y, x.imag / y} : Number{x.real / y, {}}; }
// Smith's method (complex.cpp).
Number operator/(Number x, Number y) {
  if (!y.imag) return Over(x, y.real);
  const Value by_real = Abs(y.real) >= Abs(y.imag);
  const Value large = Select(by_real, y.real, y.imag), small = Select(by_real, y.imag, y.real);
  const Value first = Select(by_real, x.real, x.imag), second = Select(by_real, x.imag, x.real);
  const Value ratio = small / large, below = Fma(small, ratio, large);
  const Value imag = Fma(-first, ratio, second) / below;
  return {Fma(second, ratio, first) / below, Select(by_real, imag, -imag)};
}
Number Choose(Value condition, Number x, Number y) {
  return {Select(condition, x.real, y.real), x.imag ? Select(condition, x.imag, y.imag) : Value()};
}
// getrf's pivot is the largest by this measure.
Value Magnitude(Number x) { return x.imag ? Abs(x.real) + Abs(x.imag) : Abs(x.real); }

class MatrixKernel {
 public:
  MatrixKernel(MatrixSpace& space, const EmitRequest& request)
      : space_(space),
        declared_(KernelTypeOf(space.type)),
        type_(kernel::Bytes(declared_) < 4 ? Type::kF32 : declared_),
        n_(space.rows),
        frame_(space.graph, space.elements, {space.batch, static_cast<int>(request.plan.threads)}, request),
        k_(frame_.k()) {
    for (const FusionBody::Root& root : request.body.roots()) outputs_.push_back(frame_.Output(root));
    k_.CountsTo(2 * space.batch * space.rows * std::max(space.columns, space.others));
    a_ = MakeMatrix("a", space.rows, space.columns);
    if (space.work != MatrixWork::kSolve) return;
    x_ = space.others < kFewest ? MakeMatrix("x", space.others, n_) : MakeMatrix("x", n_, space.others);
  }

  EmittedKernel Emit() && {
    switch (space_.work) {
      case MatrixWork::kCholesky: Cholesky(); break;
      case MatrixWork::kSolve: Solve(); break;
      case MatrixWork::kPivoted: Pivoted(); break;
    }
    return std::move(frame_).Finish(Str("matrix, ", space_.rows, " x ", space_.columns, " in shared memory"));
  }

 private:
  struct Matrix {
    Array real, imag;
    bool is_complex;
    int64_t columns;
    Number Load(Value row, Value column) const {
      const Value at = row * columns + column;
      return {real.Load(at), is_complex ? imag.Load(at) : Value()};
    }
    void Store(Value row, Value column, Number x) const {
      const Value at = row * columns + column;
      real.Store(at, x.real);
      if (is_complex) imag.Store(at, x.imag);
    }
  };
  Matrix MakeMatrix(const std::string& name, int64_t rows, int64_t columns) {
    const bool is_complex = IsComplex(space_.type);
    const Array real = k_.Shared(name, type_, rows * columns);
    return {real, is_complex ? k_.Shared(Str(name, "_imag"), type_, rows * columns) : real, is_complex, columns};
  }

  void ForEach(Value rows, Value columns, const std::function<void(Value row, Value column)>& body) {
    const Value count = rows * columns;
    k_.Loop(k_.Index(0), count, int64_t{k_.threads()}, [&](Value begin) {
      k_.Tile(1, count - begin, [&](Value i) { body((begin + i) / columns, (begin + i) % columns); });
    });
  }
  void ForEach(int64_t rows, int64_t columns, const std::function<void(Value row, Value column)>& body) {
    ForEach(k_.Index(rows), k_.Index(columns), body);
  }

  // Fewer columns do not keep a warp busy.
  static constexpr int64_t kFewest = 16;
  void ForEachRow(Value rows, const std::function<Value(Value row)>& columns,
                  const std::function<void(Value row, Value column)>& body) {
    k_.Warps([&] {
      k_.Loop(k_.warp(), rows, k_.warps(), [&](Value row) {
        const Value count = columns(row);
        k_.Loop(k_.Index(0), count, 32,
                [&](Value begin) { k_.Tile(1, count - begin, [&](Value i) { body(row, begin + i); }); });
      });
    });
  }

  void ForEachOfFew(int64_t rows, Value columns, const std::function<void(Value row, Value column)>& body) {
    k_.Loop(int64_t{0}, rows, 1, [&](Value row) {
      k_.Loop(k_.Index(0), columns, int64_t{k_.threads()},
              [&](Value begin) { k_.Tile(1, columns - begin, [&](Value i) { body(row, begin + i); }); });
    });
  }

  Number Read(size_t operand, Value row, Value column) {
    Emission& emission = frame_.emission();
    const Emission::Scope scope(emission);
    emission.Bind(space_.variables[0].e, k_.block());
    emission.Bind(space_.variables[1].e, row);
    emission.Bind(space_.variables[2].e, column);
    std::vector<Value> parts;
    emission.EmitParts(space_.elements[operand], &parts);
    if (!IsComplex(space_.type)) return {Convert(parts[0], type_), {}};
    return {parts[0], parts[1]};
  }
  void Write(Value row, Value column, Number x) {
    const MatrixSpace::Strides& strides = space_.results[0];
    const Value at = k_.block() * strides.matrix + row * strides.row + column * strides.column;
    if (!x.imag) return outputs_[0].Store(at, Convert(x.real, declared_));
    outputs_[0].Store(at * 2, x.real);
    outputs_[0].Store(at * 2 + 1, x.imag);
  }
  Value Int(int64_t value) { return k_.Constant(Type::kS32, value); }

  // Computes L(i,j). For an upper factor, the matrix is transposed when read and written; a LAPACK call also conjugates
  // it. If a pivot fails, a call keeps the input from this column on, except the pivot.
  void Cholesky() {
    const bool turns = !space_.lower;
    const bool conjugates = turns && space_.is_call;
    ForEach(n_, n_, [&](Value i, Value j) {
      const Number x = turns ? Read(0, j, i) : Read(0, i, j);
      a_.Store(i, j, conjugates ? Conjugate(x) : x);
    });
    const Variable failed = k_.MakeVariable(Int(0));
    k_.Loop(int64_t{0}, n_, 1, [&](Value j) {
      const Number pivot = a_.Load(j, j);
      const Value is_bad = space_.is_call ? ~(pivot.real > 0.0) : Sqrt(pivot.real) != Sqrt(pivot.real);
      failed.Set(Select((failed.Get() == 0) & is_bad, Convert(j, Type::kS32) + 1, failed.Get()));
      k_.If(failed.Get() == 0, [&] {
        const Value root = Sqrt(pivot.real), behind = n_ - 1 - j;
        ForEach(n_ - j, k_.Index(1), [&](Value i, Value) { a_.Store(j + i, j, Over(a_.Load(j + i, j), root)); });
        // Copies the pivot's column into its row, above the diagonal, where nothing else is read.
        ForEach(behind, k_.Index(1), [&](Value i, Value) { a_.Store(j, j + 1 + i, Conjugate(a_.Load(j + 1 + i, j))); });
        ForEachRow(
            behind, [](Value row) { return row + 1; },
            [&](Value row, Value column) {
              const Value i = j + 1 + row, k = j + 1 + column;
              a_.Store(i, k, LessProduct(a_.Load(i, k), a_.Load(i, j), a_.Load(j, k)));
            });
      });
    });
    WriteFactor(failed.Get(), turns, conjugates);
  }

  // `failed` is the first column that failed, counted from 1, or 0.
  void WriteFactor(Value failed, bool turns, bool conjugates) {
    const Value nan = k_.Constant(type_, std::numeric_limits<double>::quiet_NaN()), zero = k_.Constant(type_, 0.0);
    const Value at = Convert(failed, Type::kIndex) - 1;
    ForEach(n_, n_, [&](Value i, Value j) {
      Number x = a_.Load(i, j);
      if (space_.is_call) {
        if (x.imag) x.imag = Select(i == j, zero, x.imag);
        if (conjugates) x = Conjugate(x);
        const Value stays = (j > i) | ((failed != 0) & (j >= at) & ((i != at) | (j != at)));
        x = Choose(stays, turns ? Read(0, j, i) : Read(0, i, j), x);
      } else {
        const auto part = [&](Value value, Value none) {
          return Select(failed != 0, none, Select(j <= i, value, zero));
        };
        x = {part(x.real, nan), x.imag ? part(x.imag, zero) : Value()};
      }
      if (turns) Write(j, i, x);
      else Write(i, j, x);
    });
    if (space_.is_call) outputs_[1].Store(k_.block(), failed);
  }

  // For few right-hand sides, both matrices are transposed, so that a column's rows are contiguous.
  void Solve() {
    const bool by_column = space_.transposed == space_.left;
    const bool forward = space_.lower != by_column;
    const int64_t others = space_.others;
    const bool few = others < kFewest;
    const auto x = [&](Value i, Value o) { return few ? x_.Load(o, i) : x_.Load(i, o); };
    const auto set_x = [&](Value i, Value o, Number value) { few ? x_.Store(o, i, value) : x_.Store(i, o, value); };
    const auto a = [&](Value i, Value j) { return few ? a_.Load(j, i) : a_.Load(i, j); };
    ForEach(n_, n_, [&](Value i, Value j) {
      const Number value = by_column != few ? Read(0, j, i) : Read(0, i, j);
      a_.Store(i, j, space_.conjugated ? Conjugate(value) : value);
    });
    ForEach(n_, others, [&](Value i, Value o) { set_x(i, o, space_.left ? Read(1, i, o) : Read(1, o, i)); });
    k_.Loop(int64_t{0}, n_, 1, [&](Value step) {
      const Value i = forward ? step : n_ - 1 - step, rows = n_ - 1 - step;
      if (!space_.unit_diagonal) {
        const Number pivot = a_.Load(i, i);
        ForEach(1, others, [&](Value, Value o) { set_x(i, o, x(i, o) / pivot); });
      }
      const auto update = [&](Value behind, Value o) {
        const Value row = forward ? step + 1 + behind : behind;
        set_x(row, o, LessProduct(x(row, o), a(row, i), x(i, o)));
      };
      if (few) {
        ForEachOfFew(others, rows, [&](Value o, Value behind) { update(behind, o); });
      } else {
        const Value columns = k_.Index(others);
        ForEachRow(rows, [&](Value) { return columns; }, update);
      }
    });
    ForEach(n_, others, [&](Value i, Value o) {
      if (space_.left) Write(i, o, x(i, o));
      else Write(o, i, x(i, o));
    });
  }

  void Pivoted() {
    const int64_t rows = space_.rows, columns = space_.columns;
    ForEach(rows, columns, [&](Value i, Value j) { a_.Store(i, j, Read(0, i, j)); });
    const Variable info = k_.MakeVariable(Int(0));
    k_.Loop(int64_t{0}, std::min(rows, columns), 1, [&](Value j) {
      const Variable best = k_.MakeVariable(j), size = k_.MakeVariable(Magnitude(a_.Load(j, j)));
      k_.Loop(j + 1, k_.Index(rows), 1, [&](Value i) {
        const Value candidate = Magnitude(a_.Load(i, j)), is_larger = candidate > size.Get();
        best.Set(Select(is_larger, i, best.Get()));
        size.Set(Select(is_larger, candidate, size.Get()));
      });
      const Value number = Convert(j, Type::kS32), with = best.Get();
      outputs_[1].Store(k_.block() * std::min(rows, columns) + j, Convert(with, Type::kS32) + 1);
      const Value is_zero = size.Get() == 0.0;
      info.Set(Select((info.Get() == 0) & is_zero, number + 1, info.Get()));
      k_.If(~is_zero, [&] {
        ForEach(1, columns, [&](Value, Value column) {
          const Number upper = a_.Load(j, column), lower = a_.Load(with, column);
          a_.Store(j, column, lower);
          a_.Store(with, column, upper);
        });
        const Number pivot = a_.Load(j, j);
        ForEach(rows - 1 - j, k_.Index(1),
                [&](Value i, Value) { a_.Store(j + 1 + i, j, a_.Load(j + 1 + i, j) / pivot); });
        const Value behind = columns - 1 - j;
        ForEachRow(
            rows - 1 - j, [&](Value) { return behind; },
            [&](Value row, Value column) {
              const Value i = j + 1 + row, k = j + 1 + column;
              a_.Store(i, k, LessProduct(a_.Load(i, k), a_.Load(i, j), a_.Load(j, k)));
            });
      });
    });
    ForEach(rows, columns, [&](Value i, Value j) { Write(i, j, a_.Load(i, j)); });
    outputs_[2].Store(k_.block(), info.Get());
  }

  MatrixSpace& space_;
  Type declared_, type_;
  int64_t n_;
  KernelFrame frame_;
  KernelBuilder& k_;
  std::vector<Array> outputs_;
  Matrix a_, x_;
};

}  // namespace

Result<EmittedKernel> EmitMatrix(const EmitRequest& request) {
  const auto space = TRY(MatrixSpaceOf(request.body));
  TRY(request.Require(space != nullptr, "its root is neither a factorization nor a solve"));
  TRY(request.RequireBlock(0));
  return MatrixKernel(*space, request).Emit();
}

}  // namespace hlo::gpu
