// Custom calls of LAPACK as JAX makes them, batched over the leading dimensions. The names that end in _ffi take their
// options from backend_config ({uplo = 76 : ui8}: the letter's code), the older ones from scalars before the matrices.
// potrf, getrf and trsm are computed here; the others by the system's LAPACK, opened when the first one is called.
#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/json_reader.h"
#include "base/text.h"
#include "interp/contraction.h"
#include "interp/custom_call.h"
#include "interp/elements.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {
namespace {

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
template <class T>
using Real = typename RealOf<T>::Type;
template <class T>
constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

template <class T>
T Conjugate(T x) {
  if constexpr (kIsComplex<T>) return std::conj(x);
  else return x;
}
// What LAPACK looks for the largest of.
template <class T>
Real<T> Magnitude(T x) {
  if constexpr (kIsComplex<T>) return std::abs(x.real()) + std::abs(x.imag());
  else return std::abs(x);
}

// f<T>() for the four types of LAPACK.
template <class F>
Result<Literal> WithLapackType(const Evaluation& e, PrimitiveType type, F&& f) {
  switch (type) {
    case PrimitiveType::kF32: return f.template operator()<float>();
    case PrimitiveType::kF64: return f.template operator()<double>();
    case PrimitiveType::kC64: return f.template operator()<C64>();
    case PrimitiveType::kC128: return f.template operator()<C128>();
    default: FAIL(UnsupportedCall(e.inst, Str("of ", type)));
  }
}

// ---- Operands, options and results ---------------------------------------------------------------------------------

struct Routine {
  std::string_view name;  // "potrf"
  char type = 0;          // 's', 'd', 'c', 'z'; 0: what the operand says.
};

std::optional<Routine> RoutineOf(std::string_view target) {
  constexpr std::string_view kLapack[] = {"potrf", "getrf", "geqrf", "orgqr", "ungqr",
                                          "syevd", "heevd", "gesdd", "geev",  "trsm"};
  constexpr std::string_view kCusolver[] = {"potrf", "getrf", "geqrf", "orgqr", "syevd", "gesvd"};
  const auto has = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool ffi = target.ends_with("_ffi");
  if (ffi) target.remove_suffix(4);
  if (target.starts_with("cusolver_")) {
    target.remove_prefix(9);
    return ffi && has(kCusolver, target) ? std::optional(Routine{target, 0}) : std::nullopt;
  }
  const bool blas = target.starts_with("blas_");
  if (!blas && !target.starts_with("lapack_")) return std::nullopt;
  target.remove_prefix(blas ? 5 : 7);
  if (target.empty() || std::string_view("sdcz").find(target[0]) == std::string_view::npos) return std::nullopt;
  const Routine routine = {target.substr(1), target[0]};
  return has(kLapack, routine.name) && (!blas || routine.name == "trsm") ? std::optional(routine) : std::nullopt;
}

char LetterOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF32: return 's';
    case PrimitiveType::kF64: return 'd';
    case PrimitiveType::kC64: return 'c';
    case PrimitiveType::kC128: return 'z';
    default: return '?';
  }
}

class Call {
 public:
  Call(Evaluation& e, Routine routine) : e_(e), routine_(routine) {
    size_t matrices = 0;
    while (matrices < e.operands.size() && e.operands[matrices].shape().rank() == 0) ++matrices;
    for (size_t i = 0; i < matrices; ++i) {
      const PrimitiveType type = e.operands[i].shape().type();
      if (IsInteger(type)) scalars_.push_back(e.operands[i].GetInt(0));
    }
    for (size_t i = matrices; i < e.operands.size(); ++i) arrays_.push_back(&e.operands[i]);
    std::string_view text = text_ = ConfigText(e.inst);
    if (text.starts_with('{')) text = text.substr(1, text.size() - 2);
    for (const std::string_view field : Split(text, ',')) {
      const size_t equals = field.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view value = field.substr(equals + 1);
      options_.emplace_back(Trim(field.substr(0, equals)), Trim(value.substr(0, value.find(':'))));
    }
  }

  Evaluation& e() const { return e_; }
  const Routine& routine() const { return routine_; }
  bool HasArrays(size_t count) const { return arrays_.size() >= count; }
  const Literal& array(size_t i) const { return *arrays_[i]; }
  // Of the older names; 0 when it is not there.
  int64_t scalar(size_t i) const { return i < scalars_.size() ? scalars_[i] : 0; }
  bool has_scalars() const { return !scalars_.empty(); }
  // The letter, or the boolean as 'T' and 'F', that backend_config gives to `key`; `missing` when there is none.
  char Option(std::string_view key, char missing) const {
    for (const auto& [name, value] : options_) {
      if (name != key) continue;
      int64_t code = 0;
      if (ParseInt(value, &code)) return static_cast<char>(code);
      return value == "true" ? 'T' : value == "false" ? 'F' : value.size() == 1 ? value[0] : missing;
    }
    return missing;
  }
  bool Lower() const {
    if (has_scalars()) return scalar(0) != 0;
    return Option("uplo", Option("lower", 'F') == 'T' ? 'L' : 'U') == 'L';
  }

  // The values of the call's first results; the others are workspace.
  Result<Literal> Results(std::vector<Literal> values) const {
    const Shape& shape = e_.inst.shape();
    if (!shape.IsTuple()) {
      if (!Compatible(values[0].shape(), shape)) FAIL(UnsupportedCall(e_.inst, Str("with result ", shape)));
      return std::move(values[0]);
    }
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      const Shape& written = shape.element(static_cast<int64_t>(i));
      if (i >= values.size()) values.emplace_back(written);
      else if (!Compatible(values[i].shape(), written))
        FAIL(UnsupportedCall(e_.inst, Str("whose result ", i, " is ", written, " and not ", values[i].shape())));
    }
    values.resize(shape.elements().size());
    return Literal::Tuple(std::move(values));
  }

 private:
  Evaluation& e_;
  Routine routine_;
  std::vector<int64_t> scalars_;
  std::vector<const Literal*> arrays_;
  std::string text_;
  std::vector<std::pair<std::string_view, std::string_view>> options_;
};

Literal WithMatricesTransposed(const Literal& literal) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < literal.shape().rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return Transposed(literal, order);
}

// A batch of matrices as Fortran has them, by columns.
template <class T>
class Matrices {
 public:
  Matrices(PrimitiveType type, Dims batch, int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), batch_(std::move(batch)) {
    Dims dims = batch_;
    for (const int64_t size : {columns, rows}) dims.push_back(size);
    transposed_ = Literal(Shape(type, dims));
    Count();
  }
  explicit Matrices(const Literal& literal) : transposed_(WithMatricesTransposed(literal)) {
    const auto dims = literal.shape().dims();
    rows_ = dims[dims.size() - 2];
    columns_ = dims[dims.size() - 1];
    batch_ = Dims(dims.begin(), dims.end() - 2);
    Count();
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t count() const { return count_; }
  const Dims& batch() const { return batch_; }
  T* matrix(int64_t i) { return transposed_.mutable_data<T>().data() + i * rows_ * columns_; }
  Literal Value() const { return WithMatricesTransposed(transposed_); }

 private:
  void Count() {
    for (const int64_t size : batch_) count_ *= size;
  }

  int64_t rows_ = 0, columns_ = 0, count_ = 1;
  Dims batch_;
  Literal transposed_;
};

// One vector of `size` for each matrix, or with size < 0 one number.
Literal Vectors(PrimitiveType type, const Dims& batch, int64_t size) {
  Dims dims = batch;
  if (size >= 0) dims.push_back(size);
  return Literal(Shape(type, dims));
}

// ---- What is computed here -----------------------------------------------------------------------------------------

// The factor goes into the triangle that is read; the other one stays. Gives 0, or the order of the first minor that is
// not positive.
template <class T>
int32_t Potrf(T* a, int64_t n, bool lower) {
  // Of a lower factor, L(i,j); of an upper one U(j,i), which is its conjugate.
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
    at(j, j) = T(root);
    for (int64_t i = j + 1; i < n; ++i) {
      T sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * Conjugate(at(j, k));
      at(i, j) = sum / root;
    }
  }
  return 0;
}

// Rows are exchanged for the largest pivot, the first of equal ones; `pivots` count from 1. Gives 0, or the place of
// the first pivot that is zero.
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

template <class T>
Result<Literal> CallGetrf(const Call& call) {
  Matrices<T> a(call.array(0));
  const int64_t size = std::min(a.rows(), a.columns());
  Literal pivots = Vectors(PrimitiveType::kS32, a.batch(), size), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
  for (int64_t i = 0; i < a.count(); ++i) {
    info.mutable_data<int32_t>()[i] =
        Getrf(a.matrix(i), a.rows(), a.columns(), pivots.mutable_data<int32_t>().data() + i * size);
  }
  return call.Results({a.Value(), pivots, info});
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
      FAIL(UnsupportedCall(e.inst, "with alpha that is not 1"));
  }
  Module scratch("trsm");
  Computation& computation = scratch.AddComputation("trsm");
  Instruction& left = computation.AddParameter(0, a.shape());
  Instruction& right = computation.AddParameter(1, b.shape());
  const Instruction& solve = computation.Add(Opcode::kTriangularSolve, b.shape(), {&left, &right}, attrs);
  const auto shape = RowOf(Opcode::kTriangularSolve).shape_rule(solve);
  if (!shape) FAIL(UnsupportedCall(e.inst, Str("whose parts do not fit: ", shape.error().message())));
  Literal operands[] = {a, b};
  Evaluation inner = {solve, operands, e.session};
  return call.Results({TRY(EvalTriangularSolve(inner))});
}

// ---- What a library computes ---------------------------------------------------------------------------------------

// The routine of the system's LAPACK with the Fortran name of this type's version; a length goes with each letter.
template <class... Parameters>
using Fortran = void (*)(Parameters...);

Result<void*> FindRoutine(const Instruction& inst, const std::string& name) {
  static void* const library = [] {
    for (const char* file : {"liblapack.so.3", "libopenblas.so.0", "libopenblas.so", "liblapack.so"}) {
      if (void* const opened = dlopen(file, RTLD_NOW | RTLD_LOCAL); opened != nullptr) return opened;
    }
    return static_cast<void*>(nullptr);
  }();
  if (library == nullptr) {
    FAIL(UnsupportedCall(inst, "without LAPACK, which is not installed: no liblapack.so.3 and no libopenblas.so.0")
             .Hint("install liblapack3 or libopenblas0"));
  }
  void* const routine = dlsym(library, name.c_str());
  if (routine == nullptr) FAIL(UnsupportedCall(inst, Str("with this LAPACK, which has no ", name)));
  return routine;
}

// Calls it twice: the first time it tells in `work` how much workspace it wants.
class Library {
 public:
  static Result<Library> Find(const Call& call, PrimitiveType type, std::string_view routine) {
    return Library(TRY(FindRoutine(call.e().inst, Str(LetterOf(type), routine, "_"))));
  }
  template <class... Arguments>
  void Run(Arguments... arguments) const {
    reinterpret_cast<Fortran<Arguments...>>(routine_)(arguments...);
  }

 private:
  explicit Library(void* routine) : routine_(routine) {}
  void* routine_;
};

template <class T>
int WorkSize(T wanted) {
  return std::max(1, static_cast<int>(std::real(wanted)));
}

// (a) -> (r above reflectors, tau[, info])
template <class T>
Result<Literal> CallGeqrf(const Call& call) {
  Matrices<T> a(call.array(0));
  const PrimitiveType type = call.array(0).shape().type();
  const Library geqrf = TRY(Library::Find(call, type, "geqrf"));
  const int rows = static_cast<int>(a.rows()), columns = static_cast<int>(a.columns()), stride = std::max(1, rows);
  const int64_t size = std::min(rows, columns);
  Literal tau = Vectors(type, a.batch(), size), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
  for (int64_t i = 0; i < a.count(); ++i) {
    T* const reflectors = tau.mutable_data<T>().data() + i * size;
    int* const status = info.mutable_data<int32_t>().data() + i;
    T wanted = T();
    const int query = -1;
    geqrf.Run(&rows, &columns, a.matrix(i), &stride, reflectors, &wanted, &query, status);
    const int work_size = WorkSize(wanted);
    std::vector<T> work(work_size);
    geqrf.Run(&rows, &columns, a.matrix(i), &stride, reflectors, work.data(), &work_size, status);
  }
  return call.Results({a.Value(), tau, info});
}

// (reflectors, tau) -> q or (q, info)
template <class T>
Result<Literal> CallOrgqr(const Call& call) {
  if (!call.HasArrays(2)) FAIL(UnsupportedCall(call.e().inst, "with one operand"));
  Matrices<T> a(call.array(0));
  Literal tau = call.array(1);
  const PrimitiveType type = call.array(0).shape().type();
  const Library orgqr = TRY(Library::Find(call, type, kIsComplex<T> ? "ungqr" : "orgqr"));
  const int rows = static_cast<int>(a.rows()), columns = static_cast<int>(a.columns()), stride = std::max(1, rows);
  const int count = static_cast<int>(tau.shape().rank() == 0 ? 0 : tau.shape().dims().back());
  if (tau.shape().type() != type || tau.shape().NumElements() != a.count() * count || columns > rows || count > columns)
    FAIL(UnsupportedCall(call.e().inst, Str("with reflectors ", tau.shape())));
  Literal info = Vectors(PrimitiveType::kS32, a.batch(), -1);
  for (int64_t i = 0; i < a.count(); ++i) {
    T* const reflectors = tau.mutable_data<T>().data() + i * count;
    int* const status = info.mutable_data<int32_t>().data() + i;
    T wanted = T();
    const int query = -1;
    orgqr.Run(&rows, &columns, &count, a.matrix(i), &stride, reflectors, &wanted, &query, status);
    const int work_size = WorkSize(wanted);
    std::vector<T> work(work_size);
    orgqr.Run(&rows, &columns, &count, a.matrix(i), &stride, reflectors, work.data(), &work_size, status);
  }
  return call.Results({a.Value(), info});
}

// (a) -> (eigenvectors, eigenvalues, info)
template <class T>
Result<Literal> CallSyevd(const Call& call) {
  Matrices<T> a(call.array(0));
  const PrimitiveType type = call.array(0).shape().type();
  const PrimitiveType real = sizeof(Real<T>) == 4 ? PrimitiveType::kF32 : PrimitiveType::kF64;
  const Library syevd = TRY(Library::Find(call, type, kIsComplex<T> ? "heevd" : "syevd"));
  const int n = static_cast<int>(a.rows()), stride = std::max(1, n);
  const char mode = call.Option("mode", 'V'), triangle = call.Lower() ? 'L' : 'U';
  const size_t length = 1;
  Literal values = Vectors(real, a.batch(), n), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
  for (int64_t i = 0; i < a.count(); ++i) {
    Real<T>* const w = values.mutable_data<Real<T>>().data() + i * n;
    int* const status = info.mutable_data<int32_t>().data() + i;
    const auto run = [&](T* work, const int* work_size, Real<T>* real_work, const int* real_size, int* int_work,
                         const int* int_size) {
      if constexpr (kIsComplex<T>) {
        syevd.Run(&mode, &triangle, &n, a.matrix(i), &stride, w, work, work_size, real_work, real_size, int_work,
                  int_size, status, length, length);
      } else {
        syevd.Run(&mode, &triangle, &n, a.matrix(i), &stride, w, work, work_size, int_work, int_size, status, length,
                  length);
      }
    };
    T wanted = T();
    Real<T> real_wanted = 0;
    int int_wanted = 0;
    const int query = -1;
    run(&wanted, &query, &real_wanted, &query, &int_wanted, &query);
    const int work_size = WorkSize(wanted), real_size = WorkSize(real_wanted), int_size = std::max(1, int_wanted);
    std::vector<T> work(work_size);
    std::vector<Real<T>> real_work(real_size);
    std::vector<int> int_work(int_size);
    run(work.data(), &work_size, real_work.data(), &real_size, int_work.data(), &int_size);
  }
  return call.Results({a.Value(), values, info});
}

// (a) -> (workspace in the place of a, s, u, v adjoint, info)
template <class T>
Result<Literal> CallGesdd(const Call& call) {
  Matrices<T> a(call.array(0));
  const PrimitiveType type = call.array(0).shape().type();
  const PrimitiveType real = sizeof(Real<T>) == 4 ? PrimitiveType::kF32 : PrimitiveType::kF64;
  if (call.Option("transposed", 'F') == 'T') FAIL(UnsupportedCall(call.e().inst, "with transposed"));
  char mode = call.Option("mode", 'A');
  if (call.has_scalars()) mode = call.scalar(1) == 0 ? 'N' : call.scalar(0) != 0 ? 'A' : 'S';
  if (call.Option("compute_uv", '-') != '-')
    mode = call.Option("compute_uv", 'T') == 'F' ? 'N' : call.Option("full_matrices", 'F') == 'T' ? 'A' : 'S';
  const Library gesdd = TRY(Library::Find(call, type, "gesdd"));
  const int rows = static_cast<int>(a.rows()), columns = static_cast<int>(a.columns());
  const int size = std::min(rows, columns), stride = std::max(1, rows);
  const Shape& shape = call.e().inst.shape();
  if (!shape.IsTuple() || shape.elements().size() < 5 || shape.element(2).rank() < 2 || shape.element(3).rank() < 2)
    FAIL(UnsupportedCall(call.e().inst, Str("with result ", shape)));
  // Without vectors these results are not written, and have the sizes that the caller gave them.
  const auto last = [&](int64_t i, int64_t from_end) {
    return shape.element(i).dim(shape.element(i).rank() - from_end);
  };
  Matrices<T> u(type, a.batch(), rows, mode == 'A' ? rows : mode == 'S' ? size : last(2, 1));
  Matrices<T> vt(type, a.batch(), mode == 'A' ? columns : mode == 'S' ? size : last(3, 2), columns);
  const int u_stride = std::max(1, rows), vt_stride = std::max<int>(1, static_cast<int>(vt.rows()));
  const size_t length = 1;
  Literal values = Vectors(real, a.batch(), size), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
  std::vector<int> int_work(std::max(1, 8 * size));
  // The most that any version of LAPACK asks for.
  const int64_t largest = std::max(rows, columns);
  std::vector<Real<T>> real_work(
      kIsComplex<T> ? std::max<int64_t>(1, size * std::max<int64_t>(5 * size + 7, 2 * largest + 2 * size + 1)) : 1);
  for (int64_t i = 0; i < a.count(); ++i) {
    Real<T>* const s = values.mutable_data<Real<T>>().data() + i * size;
    int* const status = info.mutable_data<int32_t>().data() + i;
    const auto run = [&](T* work, const int* work_size) {
      if constexpr (kIsComplex<T>) {
        gesdd.Run(&mode, &rows, &columns, a.matrix(i), &stride, s, u.matrix(i), &u_stride, vt.matrix(i), &vt_stride,
                  work, work_size, real_work.data(), int_work.data(), status, length);
      } else {
        gesdd.Run(&mode, &rows, &columns, a.matrix(i), &stride, s, u.matrix(i), &u_stride, vt.matrix(i), &vt_stride,
                  work, work_size, int_work.data(), status, length);
      }
    };
    T wanted = T();
    const int query = -1;
    run(&wanted, &query);
    const int work_size = WorkSize(wanted);
    std::vector<T> work(work_size);
    run(work.data(), &work_size);
  }
  return call.Results({a.Value(), values, u.Value(), vt.Value(), info});
}

// Columns of real vectors as complex ones: a pair of conjugate eigenvalues shares two columns, real and imaginary part.
template <class R>
void Unpack(const R* packed, const R* imaginary, int64_t n, std::complex<R>* vectors) {
  for (int64_t j = 0; j < n; ++j) {
    const bool pair = imaginary[j] != 0 && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const R real = packed[i + j * n], other = pair ? packed[i + (j + 1) * n] : R(0);
      vectors[i + j * n] = {real, other};
      if (pair) vectors[i + (j + 1) * n] = {real, -other};
    }
    if (pair) ++j;
  }
}

// (a) -> (real parts, imaginary parts, left vectors, right vectors, info); the eigenvalues of complex matrices are one
// result.
template <class T>
Result<Literal> CallGeev(const Call& call) {
  using R = Real<T>;
  if (call.has_scalars()) FAIL(UnsupportedCall(call.e().inst, "of the older kind, with scalars before the matrix"));
  Matrices<T> a(call.array(0));
  const PrimitiveType type = call.array(0).shape().type();
  const bool narrow = sizeof(R) == 4;
  const PrimitiveType complex_type = narrow ? PrimitiveType::kC64 : PrimitiveType::kC128;
  const Library geev = TRY(Library::Find(call, type, "geev"));
  const int n = static_cast<int>(a.rows()), stride = std::max(1, n);
  const char left = call.Option("compute_left", 'V'), right = call.Option("compute_right", 'V');
  const size_t length = 1;
  Literal values = Vectors(type, a.batch(), n), imaginary = Vectors(type, a.batch(), n);
  Literal info = Vectors(PrimitiveType::kS32, a.batch(), -1);
  Matrices<std::complex<R>> left_vectors(complex_type, a.batch(), n, n), right_vectors(complex_type, a.batch(), n, n);
  std::vector<T> vl(static_cast<size_t>(n) * n + 1), vr(vl.size());
  std::vector<R> real_work(2 * n + 1);
  for (int64_t i = 0; i < a.count(); ++i) {
    T* const w = values.mutable_data<T>().data() + i * n;
    T* const wi = imaginary.mutable_data<T>().data() + i * n;
    int* const status = info.mutable_data<int32_t>().data() + i;
    const auto run = [&](T* work, const int* work_size) {
      if constexpr (kIsComplex<T>) {
        geev.Run(&left, &right, &n, a.matrix(i), &stride, w, vl.data(), &stride, vr.data(), &stride, work, work_size,
                 real_work.data(), status, length, length);
      } else {
        geev.Run(&left, &right, &n, a.matrix(i), &stride, w, wi, vl.data(), &stride, vr.data(), &stride, work,
                 work_size, status, length, length);
      }
    };
    T wanted = T();
    const int query = -1;
    run(&wanted, &query);
    const int work_size = WorkSize(wanted);
    std::vector<T> work(work_size);
    run(work.data(), &work_size);
    const auto keep = [&](char wants, const std::vector<T>& from, Matrices<std::complex<R>>& to) {
      if (wants != 'V') return;
      if constexpr (kIsComplex<T>) std::copy_n(from.data(), static_cast<int64_t>(n) * n, to.matrix(i));
      else Unpack<R>(from.data(), wi, n, to.matrix(i));
    };
    keep(left, vl, left_vectors);
    keep(right, vr, right_vectors);
  }
  if (kIsComplex<T>) return call.Results({values, left_vectors.Value(), right_vectors.Value(), info});
  return call.Results({values, imaginary, left_vectors.Value(), right_vectors.Value(), info});
}

}  // namespace

bool IsLapackTarget(std::string_view target) { return RoutineOf(target).has_value(); }

Result<Literal> CallLapack(Evaluation& e) {
  const Routine routine = *RoutineOf(e.inst.attrs<CustomCallAttrs>().target);
  const Call call(e, routine);
  const bool solves = routine.name == "trsm";
  if (!call.HasArrays(solves ? 2 : 1) || call.array(0).shape().rank() < 2)
    FAIL(UnsupportedCall(e.inst, "without matrices"));
  const PrimitiveType type = call.array(0).shape().type();
  if (routine.type != 0 && routine.type != LetterOf(type)) FAIL(UnsupportedCall(e.inst, Str("of ", type)));
  if (call.array(0).shape().HasDynamicDims()) FAIL(UnsupportedCall(e.inst, "of dynamic sizes"));
  if (solves) return CallTrsm(call);
  const auto dims = call.array(0).shape().dims();
  const bool any = routine.name == "getrf" || routine.name == "geqrf" || routine.name == "orgqr" ||
                   routine.name == "ungqr" || routine.name == "gesdd" || routine.name == "gesvd";
  if (!any && dims[dims.size() - 1] != dims[dims.size() - 2])
    FAIL(UnsupportedCall(e.inst, "of matrices that are not square"));
  return WithLapackType(e, type, [&]<class T>() -> Result<Literal> {
    if (routine.name == "potrf") return call.Results(Factored<T>(call, call.Lower()));
    if (routine.name == "getrf") return CallGetrf<T>(call);
    if (routine.name == "geqrf") return CallGeqrf<T>(call);
    if (routine.name == "orgqr" || routine.name == "ungqr") return CallOrgqr<T>(call);
    if (routine.name == "syevd" || routine.name == "heevd") return CallSyevd<T>(call);
    if (routine.name == "gesdd" || routine.name == "gesvd") return CallGesdd<T>(call);
    return CallGeev<T>(call);
  });
}

Result<Literal> CallCusolverCholesky(Evaluation& e) {
  if (e.operands.size() != 1 || e.operands[0].shape().rank() < 2) FAIL(UnsupportedCall(e.inst, "without matrices"));
  const Dims& dims = e.operands[0].shape().dims();
  if (dims[dims.size() - 1] != dims[dims.size() - 2]) FAIL(UnsupportedCall(e.inst, "of matrices that are not square"));
  // Without a configuration: lower.
  const std::string text = ConfigText(e.inst);
  const auto config = ReadJson(text.empty() ? "{\"lower\":true}" : text);
  if (!config) FAIL(UnsupportedCall(e.inst, Str("whose backend_config is no JSON: ", config.error().message())));
  const Shape& shape = e.inst.shape();
  if (!shape.IsTuple() || shape.elements().size() != 3) FAIL(UnsupportedCall(e.inst, Str("with result ", shape)));
  const Call call(e, {"potrf", 0});
  return WithLapackType(e, e.operands[0].shape().type(), [&]<class T>() -> Result<Literal> {
    std::vector<Literal> results = Factored<T>(call, (*config)["lower"].IsTrue());
    results.insert(results.begin() + 1, Literal(shape.element(1)));
    return call.Results(std::move(results));
  });
}

}  // namespace hlo
