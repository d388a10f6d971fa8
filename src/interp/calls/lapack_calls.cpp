// Custom calls of LAPACK as JAX makes them, batched over the leading dimensions. Names with _ffi have options in
// backend_config, such as {uplo = 76 : ui8} for a letter. Older names have scalars before the matrices. Source:
// jaxlib/lapack.py of 0.4.14 and jax/_src/lax/linalg.py of 0.10.
#include "interp/calls/lapack_calls.h"

#include <limits>

#include "base/json_reader.h"
#include "interp/contraction.h"

namespace hlo {
namespace {

struct Row {
  std::string_view name;
  std::string_view types;
  size_t arrays;
  bool square;
  bool cusolver;  // cusolver_NAME_ffi exists for all types.
  Result<Literal> (*handler)(const Call& call);
};
constexpr Row kRows[] = {
    {"potrf", "sdcz", 1, true, true, CallPotrf},   {"getrf", "sdcz", 1, false, true, CallGetrf},
    {"geqrf", "sdcz", 1, false, true, CallGeqrf},  {"orgqr", "sd", 2, false, true, CallOrgqr},
    {"ungqr", "cz", 2, false, false, CallOrgqr},   {"ormqr", "sd", 3, false, true, CallOrmqr},
    {"unmqr", "cz", 3, false, false, CallOrmqr},   {"geqp3", "sdcz", 2, false, false, CallGeqp3},
    {"gesdd", "sdcz", 1, false, false, CallGesdd}, {"gesvd", "sdcz", 1, false, true, CallGesvd},
    {"syevd", "sd", 1, true, true, CallSyevd},     {"heevd", "cz", 1, true, false, CallSyevd},
    {"geev", "sdcz", 1, true, false, CallGeev},    {"gees", "sdcz", 1, true, false, CallGees},
    {"gehrd", "sdcz", 1, true, false, CallGehrd},  {"sytrd", "sd", 1, true, true, CallSytrd},
    {"hetrd", "cz", 1, true, false, CallSytrd},    {"trsm", "sdcz", 2, false, false, CallTrsm},
    {"gtsv", "sdcz", 4, false, false, CallGtsv},
};

constexpr std::string_view kPerturbed = "tridiagonal_solve_perturbed_ffi";

// XLA's own targets. TensorFlow uses them, and so does JAX on devices without LAPACK.
struct NamedRow {
  std::string_view target;
  Row row;
};
constexpr NamedRow kNamed[] = {
    {kPerturbed, {"gtsv", "", 4, false, false, CallGtsv}},
    {"Qr", {"geqrf", "", 1, false, false, CallGeqrf}},
    {"ProductOfElementaryHouseholderReflectors", {"orgqr", "", 2, false, false, CallOrgqr}},
    {"LuDecomposition", {"getrf", "", 1, false, false, CallLu}},
    {"Eigh", {"syevd", "", 1, true, false, CallEigh}},
};

struct Target {
  const Row* row = nullptr;
  char type = 0;
};

Target TargetOf(std::string_view target) {
  const auto find = [](std::string_view name) -> const Row* {
    const auto* const row = std::ranges::find(kRows, name, &Row::name);
    return row == std::end(kRows) ? nullptr : row;
  };
  const auto* const named = std::ranges::find(kNamed, target, &NamedRow::target);
  if (named != std::end(kNamed)) return {&named->row, 0};
  const bool ffi = target.ends_with("_ffi");
  if (ffi) target.remove_suffix(4);
  if (target.starts_with("cusolver_")) {
    const Row* const row = find(target.substr(9));
    return ffi && row != nullptr && row->cusolver ? Target{row, 0} : Target();
  }
  const bool blas = target.starts_with("blas_");
  if (!blas && !target.starts_with("lapack_")) return {};
  target.remove_prefix(blas ? 5 : 7);
  if (target.empty()) return {};
  const Row* const row = find(target.substr(1));
  const bool known = row != nullptr && row->types.find(target[0]) != std::string_view::npos;
  return known && (!blas || row->name == "trsm") ? Target{row, target[0]} : Target();
}

}  // namespace

char LetterOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF32: return 's';
    case PrimitiveType::kF64: return 'd';
    case PrimitiveType::kC64: return 'c';
    case PrimitiveType::kC128: return 'z';
    default: return '?';
  }
}

Literal WithMatricesTransposed(const Literal& literal) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < literal.shape().rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return Transposed(literal, order);
}

Literal Vectors(PrimitiveType type, const Dims& batch, int64_t size) {
  Dims dims = batch;
  if (size >= 0) dims.push_back(size);
  return Literal(Shape(type, dims));
}

// ---- Cholesky, LU and triangular systems ---------------------------------------------------------------------------

namespace {

template <class T>
Real<T> Magnitude(T x) {
  if constexpr (kIsComplex<T>) return std::abs(x.real()) + std::abs(x.imag());
  else return std::abs(x);
}

// Factors one triangle and keeps the other. Returns 0, or the order of the first minor that is not positive.
template <class T>
int32_t Potrf(T* a, int64_t n, bool lower) {
  // L(i,j) of a lower factor, or U(j,i), its conjugate.
  const auto at = [&](int64_t i, int64_t j) -> T& { return lower ? a[i + j * n] : a[j + i * n]; };
  for (int64_t j = 0; j < n; ++j) {
    T pivot = at(j, j);
    for (int64_t k = 0; k < j; ++k) pivot -= at(j, k) * Conjugate(at(j, k));
    const Real<T> value = std::real(pivot);
    if (!(value > 0)) {
      at(j, j) = T(value);
      return static_cast<int32_t>(j + 1);
    }
    const Real<T> root = std::sqrt(value);
    // The op cholesky divides by the root, too, so gpusolver-rewriter may replace the op by a call.
    at(j, j) = T(value / root);
    for (int64_t i = j + 1; i < n; ++i) {
      T sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * Conjugate(at(j, k));
      at(i, j) = sum / root;
    }
  }
  return 0;
}

// `pivots` count from 1. Returns 0, or the number of the first zero pivot.
template <class T>
int32_t Getrf(T* a, int64_t rows, int64_t columns, int32_t* pivots) {
  int32_t info = 0;
  for (int64_t j = 0; j < std::min(rows, columns); ++j) {
    T* const column = a + j * rows;
    int64_t best = j;
    for (int64_t i = j + 1; i < rows; ++i) {
      if (Magnitude(column[i]) > Magnitude(column[best])) best = i;
    }
    pivots[j] = static_cast<int32_t>(best + 1);
    if (column[best] == T(0)) {
      if (info == 0) info = static_cast<int32_t>(j + 1);
      continue;
    }
    for (int64_t k = 0; best != j && k < columns; ++k) std::swap(a[j + k * rows], a[best + k * rows]);
    for (int64_t i = j + 1; i < rows; ++i) column[i] /= column[j];
    for (int64_t k = j + 1; k < columns; ++k) {
      for (int64_t i = j + 1; i < rows; ++i) a[i + k * rows] -= column[i] * a[j + k * rows];
    }
  }
  return info;
}

// (a) -> (factor, info)
template <class T>
std::vector<Literal> Factored(const Call& call, bool lower) {
  Matrices<T> a(call.array(0));
  Literal info = Vectors(PrimitiveType::kS32, a.batch(), -1);
  for (int64_t i = 0; i < a.count(); ++i) info.mutable_data<int32_t>()[i] = Potrf(a.matrix(i), a.rows(), lower);
  return {a.Value(), info};
}

}  // namespace

Result<Literal> CallPotrf(const Call& call) {
  return WithLapackType(call.e(), call.array(0).shape().type(),
                        [&]<class T>() -> Result<Literal> { return call.Results(Factored<T>(call, call.Lower())); });
}

Result<Literal> CallGetrf(const Call& call) {
  return WithLapackType(call.e(), call.array(0).shape().type(), [&]<class T>() -> Result<Literal> {
    Matrices<T> a(call.array(0));
    const int64_t size = std::min(a.rows(), a.columns());
    Literal pivots = Vectors(PrimitiveType::kS32, a.batch(), size), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
    for (int64_t i = 0; i < a.count(); ++i) {
      *VectorOf<int32_t>(info, i, 1) = Getrf(a.matrix(i), a.rows(), a.columns(), VectorOf<int32_t>(pivots, i, size));
    }
    return call.Results({a.Value(), pivots, info});
  });
}

// (a) -> (l below u, pivots that count from 0, source row of each row of l u)
Result<Literal> CallLu(const Call& call) {
  return WithLapackType(call.e(), call.array(0).shape().type(), [&]<class T>() -> Result<Literal> {
    Matrices<T> a(call.array(0));
    const int64_t rows = a.rows(), size = std::min(rows, a.columns());
    Literal pivots = Vectors(PrimitiveType::kS32, a.batch(), size),
            from = Vectors(PrimitiveType::kS32, a.batch(), rows);
    for (int64_t i = 0; i < a.count(); ++i) {
      int32_t *const pivot = VectorOf<int32_t>(pivots, i, size), *const row = VectorOf<int32_t>(from, i, rows);
      Getrf(a.matrix(i), rows, a.columns(), pivot);
      for (int64_t k = 0; k < rows; ++k) row[k] = static_cast<int32_t>(k);
      for (int64_t k = 0; k < size; ++k) std::swap(row[k], row[--pivot[k]]);
    }
    return call.Results({a.Value(), pivots, from});
  });
}

// (a, b[, alpha]) or (left, lower, transposed, unit, m, n, batch, alpha, a, b) -> x
Result<Literal> CallTrsm(const Call& call) {
  Evaluation& e = call.e();
  TriangularSolveAttrs attrs;
  char transposed = call.Option("trans_x", 'N');
  if (call.has_scalars()) {
    attrs.left_side = call.scalar(0) != 0;
    attrs.lower = call.scalar(1) != 0;
    attrs.unit_diagonal = call.scalar(3) != 0;
    transposed = call.scalar(2) == 0 ? 'N' : call.scalar(2) == 1 ? 'T' : 'C';
  } else {
    attrs.left_side = call.Option("side", 'L') == 'L';
    attrs.lower = call.Lower();
    attrs.unit_diagonal = call.Option("diag", 'N') == 'U';
  }
  attrs.transpose_a = transposed == 'N'   ? TransposeKind::kNoTranspose
                      : transposed == 'T' ? TransposeKind::kTranspose
                                          : TransposeKind::kAdjoint;
  const Literal &a = call.array(0), &b = call.array(1);
  for (const Literal& operand : e.operands) {
    if (operand.shape().rank() == 0 && !IsInteger(operand.shape().type()) && !operand.IsAll(1))
      FAIL(UnsupportedCall(e.inst, "with alpha other than 1"));
  }
  Module scratch("trsm");
  Computation& computation = scratch.AddComputation("trsm");
  Instruction& left = computation.AddParameter(0, a.shape());
  Instruction& right = computation.AddParameter(1, b.shape());
  const Instruction& solve = computation.Add(Opcode::kTriangularSolve, b.shape(), {&left, &right}, attrs);
  const auto shape = RowOf(Opcode::kTriangularSolve).shape_rule(solve);
  if (!shape) FAIL(UnsupportedCall(e.inst, Str("whose operands do not fit together (", shape.error().message(), ")")));
  Literal operands[] = {a, b};
  Evaluation inner = {solve, operands, e.session};
  return call.Results({TRY(EvalTriangularSolve(inner))});
}

// ---- Tridiagonal systems -------------------------------------------------------------------------------------------

namespace {

// A tridiagonal matrix. Eliminate makes it upper triangular by exchanging rows.
template <class T>
struct Tridiagonal {
  T* lower;  // lower[i] is a(i + 1, i), and later u(i, i + 2).
  T *diagonal, *upper;
  int64_t size;

  // Stops at the first zero pivot and returns its number, unless `perturbed`. Otherwise returns 0.
  int32_t Eliminate(T* b, int64_t columns, bool perturbed) {
    for (int64_t k = 0; k + 1 < size; ++k) {
      const bool exchange = Magnitude(diagonal[k]) < Magnitude(lower[k]);
      if (!exchange && diagonal[k] == T(0) && !perturbed) return static_cast<int32_t>(k + 1);
      T second = T(0);
      if (exchange) {
        std::swap(diagonal[k], lower[k]);
        std::swap(upper[k], diagonal[k + 1]);
        if (k + 2 < size) std::swap(second, upper[k + 1]);
        for (int64_t j = 0; j < columns; ++j) std::swap(b[k + j * size], b[k + 1 + j * size]);
      }
      const T factor = diagonal[k] == T(0) ? T(0) : lower[k] / diagonal[k];
      diagonal[k + 1] -= factor * upper[k];
      if (k + 2 < size) upper[k + 1] -= factor * second;
      for (int64_t j = 0; j < columns; ++j) b[k + 1 + j * size] -= factor * b[k + j * size];
      lower[k] = second;
    }
    return size > 0 && diagonal[size - 1] == T(0) && !perturbed ? static_cast<int32_t>(size) : 0;
  }

  // Raises small pivots to the rounding error of the largest element.
  void Perturb() {
    Real<T> largest = 0;
    for (int64_t k = 0; k < size; ++k) {
      largest = std::max(largest, std::abs(diagonal[k]));
      if (k + 1 < size) largest = std::max({largest, std::abs(upper[k]), std::abs(lower[k])});
    }
    const Real<T> least = std::max(largest * std::numeric_limits<Real<T>>::epsilon(),
                                   std::numeric_limits<Real<T>>::min() / std::numeric_limits<Real<T>>::epsilon());
    for (int64_t k = 0; k < size; ++k) {
      if (std::abs(diagonal[k]) < least) diagonal[k] = std::real(diagonal[k]) < 0 ? T(-least) : T(least);
    }
  }

  void Substitute(T* b, int64_t columns) const {
    for (int64_t j = 0; j < columns; ++j) {
      T* const x = b + j * size;
      for (int64_t k = size; k-- > 0;) {
        if (k + 1 < size) x[k] -= upper[k] * x[k + 1];
        if (k + 2 < size) x[k] -= lower[k] * x[k + 2];
        x[k] /= diagonal[k];
      }
    }
  }
};

}  // namespace

// (lower, diagonal, upper, b) -> (diagonals of the triangular factor, x, info), or only x. The first lower and last
// upper elements are outside the matrix.
Result<Literal> CallGtsv(const Call& call) {
  const bool perturbed = call.e().inst.attrs<CustomCallAttrs>().target == kPerturbed;
  const Shape& shape = call.array(3).shape();
  if (shape.rank() < 2) FAIL(UnsupportedCall(call.e().inst, "without matrices"));
  return WithLapackType(call.e(), shape.type(), [&]<class T>() -> Result<Literal> {
    Matrices<T> b(call.array(3));
    const int64_t size = b.rows();
    for (size_t i = 0; i < 3; ++i) TRY(call.CheckVectors(i, b.batch(), size, shape.type()));
    Literal lower = call.array(0), diagonal = call.array(1), upper = call.array(2);
    Literal info = Vectors(PrimitiveType::kS32, b.batch(), -1);
    for (int64_t i = 0; i < b.count(); ++i) {
      Tridiagonal<T> matrix = {VectorOf<T>(lower, i, size) + 1, VectorOf<T>(diagonal, i, size),
                               VectorOf<T>(upper, i, size), size};
      const int32_t status = matrix.Eliminate(b.matrix(i), b.columns(), perturbed);
      if (perturbed) matrix.Perturb();
      if (status == 0) matrix.Substitute(b.matrix(i), b.columns());
      *VectorOf<int32_t>(info, i, 1) = status;
    }
    if (perturbed) return call.Results({b.Value()});
    return call.Results({lower, diagonal, upper, b.Value(), info});
  });
}

// ---- Targets -------------------------------------------------------------------------------------------------------

bool IsLapackTarget(std::string_view target) { return TargetOf(target).row != nullptr; }

std::vector<std::string> LapackTargets() {
  std::vector<std::string> targets;
  for (const NamedRow& named : kNamed) targets.emplace_back(named.target);
  for (const Row& row : kRows) {
    for (const char type : row.types) targets.push_back(Str("lapack_", type, row.name, "_ffi"));
  }
  return targets;
}

Result<Literal> CallLapack(Evaluation& e) {
  const auto [row, type] = TargetOf(e.inst.attrs<CustomCallAttrs>().target);
  const Call call(e, {row->name, type});
  const std::string arrays = Str(row->arrays, row->arrays == 1 ? " array" : " arrays");
  if (!call.HasArrays(row->arrays)) FAIL(UnsupportedCall(e.inst, Str("of fewer than ", arrays)));
  // Scalars may follow the arrays, such as the factor of trsm.
  if (call.HasArrays(row->arrays + 1) && call.array(row->arrays).shape().rank() > 0)
    FAIL(UnsupportedCall(e.inst, Str("of more than ", arrays)));
  const Shape& shape = call.array(0).shape();
  const int64_t rank = row->handler == CallGtsv ? 1 : 2;
  if (shape.rank() < rank) FAIL(UnsupportedCall(e.inst, "without matrices"));
  if (type != 0 && type != LetterOf(shape.type())) FAIL(UnsupportedCall(e.inst, Str("of element type ", shape.type())));
  if (shape.HasDynamicDims()) FAIL(UnsupportedCall(e.inst, "of dynamic sizes"));
  if (row->square && shape.dim(shape.rank() - 1) != shape.dim(shape.rank() - 2))
    FAIL(UnsupportedCall(e.inst, Str("of matrices that are not square, ", shape, ",")));
  return row->handler(call);
}

Result<Literal> CallCusolverCholesky(Evaluation& e) {
  if (e.operands.size() != 1 || e.operands[0].shape().rank() < 2) FAIL(UnsupportedCall(e.inst, "without matrices"));
  const Dims& dims = e.operands[0].shape().dims();
  if (dims[dims.size() - 1] != dims[dims.size() - 2]) FAIL(UnsupportedCall(e.inst, "of matrices that are not square"));
  const std::string text = ConfigText(e.inst);
  const auto config = ReadJson(text.empty() ? "{\"lower\":true}" : text);
  if (!config) FAIL(UnsupportedCall(e.inst, Str("whose backend_config is not JSON (", config.error().message(), ")")));
  const Shape& shape = e.inst.shape();
  if (!shape.IsTuple() || shape.elements().size() != 3)
    FAIL(UnsupportedCall(e.inst, Str("whose result ", shape, " is not a tuple of 3 arrays")));
  const Call call(e, {"potrf", 0});
  return WithLapackType(e, e.operands[0].shape().type(), [&]<class T>() -> Result<Literal> {
    std::vector<Literal> results = Factored<T>(call, (*config)["lower"].IsTrue());
    results.insert(results.begin() + 1, Literal(shape.element(1)));
    return call.Results(std::move(results));
  });
}

}  // namespace hlo
