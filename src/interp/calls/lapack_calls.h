// Operands, options and results of LAPACK's custom calls. Internal to interp/.
#ifndef HLO_INTERP_CALLS_LAPACK_CALLS_H_
#define HLO_INTERP_CALLS_LAPACK_CALLS_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "interp/custom_call.h"
#include "interp/elements.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {

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

char LetterOf(PrimitiveType type);

struct Routine {
  std::string_view name;
  char type = 0;  // LAPACK's letter, or 0 for the operand's type.
};

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
  // Scalar operand `i` of a call with an older name. 0 if missing.
  int64_t scalar(size_t i) const { return i < scalars_.size() ? scalars_[i] : 0; }
  bool has_scalars() const { return !scalars_.empty(); }
  // The value of an option: a number, the code of a character, or 'T' or 'F' for a boolean.
  int64_t Number(std::string_view key, int64_t missing) const {
    for (const auto& [name, value] : options_) {
      if (name != key) continue;
      int64_t number = 0;
      if (ParseInt(value, &number)) return number;
      return value == "true" ? 'T' : value == "false" ? 'F' : value.size() == 1 ? value[0] : missing;
    }
    return missing;
  }
  char Option(std::string_view key, char missing) const { return static_cast<char>(Number(key, missing)); }
  bool Lower() const {
    if (has_scalars()) return scalar(0) != 0;
    return Option("uplo", Option("lower", 'F') == 'T' ? 'L' : 'U') == 'L';
  }

  // A negative `size` allows any number of elements.
  Status CheckVectors(size_t i, const Dims& batch, int64_t size, PrimitiveType type) const {
    const Shape& shape = array(i).shape();
    Dims dims = batch;
    if (size < 0 && shape.rank() == 0)
      FAIL(UnsupportedCall(e_.inst, Str("whose operand ", i, " is ", shape, " and not vectors of ", type, ",")));
    if (size < 0) size = shape.dim(shape.rank() - 1);
    dims.push_back(size);
    if (shape.type() == type && shape.dims() == dims) return {};
    FAIL(UnsupportedCall(e_.inst, Str("whose operand ", i, " is ", shape, " and not ", Shape(type, dims), ",")));
  }
  Status CheckMatrices(size_t i, const Dims& batch, int64_t rows, int64_t columns, PrimitiveType type) const {
    Dims dims = batch;
    for (const int64_t size : {rows, columns}) dims.push_back(size);
    if (array(i).shape().type() == type && array(i).shape().dims() == dims) return {};
    FAIL(UnsupportedCall(e_.inst,
                         Str("whose operand ", i, " is ", array(i).shape(), " and not ", Shape(type, dims), ",")));
  }

  // Returns `values`, and zeros for workspace.
  Result<Literal> Results(std::vector<Literal> values) const {
    const Shape& shape = e_.inst.shape();
    if (!shape.IsTuple()) {
      if (!Compatible(values[0].shape(), shape))
        FAIL(UnsupportedCall(e_.inst, Str("whose result is ", shape, " and not ", values[0].shape())));
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

Literal WithMatricesTransposed(const Literal& literal);

// A batch of column-major matrices.
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

// Zeros: a vector for each matrix, or a number if size < 0.
Literal Vectors(PrimitiveType type, const Dims& batch, int64_t size);

template <class T>
constexpr PrimitiveType kRealType = sizeof(Real<T>) == 4 ? PrimitiveType::kF32 : PrimitiveType::kF64;
template <class T>
constexpr PrimitiveType kComplexType = sizeof(Real<T>) == 4 ? PrimitiveType::kC64 : PrimitiveType::kC128;

template <class T>
T* VectorOf(Literal& vectors, int64_t i, int64_t size) {
  return vectors.mutable_data<T>().data() + i * size;
}

// Callers have checked the type and rank of the first array.

// lapack_calls.cpp
Result<Literal> CallPotrf(const Call& call);
Result<Literal> CallGetrf(const Call& call);
Result<Literal> CallTrsm(const Call& call);
Result<Literal> CallGtsv(const Call& call);
Result<Literal> CallLu(const Call& call);
// jacobi.cpp
Result<Literal> CallEigh(const Call& call);
// lapack_reflectors.cpp
Result<Literal> CallGeqrf(const Call& call);
Result<Literal> CallOrgqr(const Call& call);
Result<Literal> CallOrmqr(const Call& call);
// lapack_library.cpp
Result<Literal> CallGeqp3(const Call& call);
Result<Literal> CallGesdd(const Call& call);
Result<Literal> CallGesvd(const Call& call);
Result<Literal> CallSyevd(const Call& call);
Result<Literal> CallGeev(const Call& call);
Result<Literal> CallGees(const Call& call);
Result<Literal> CallGehrd(const Call& call);
Result<Literal> CallSytrd(const Call& call);

}  // namespace hlo

#endif  // HLO_INTERP_CALLS_LAPACK_CALLS_H_
