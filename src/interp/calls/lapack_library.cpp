// Calls the system's LAPACK, which the first call opens.
#include <dlfcn.h>

#include "interp/calls/lapack.h"
#include "interp/calls/lapack_calls.h"

namespace hlo {
namespace {

// A Fortran routine. The lengths of character arguments (kLetter) follow at the end.
template <class... Parameters>
using Fortran = void (*)(Parameters...);

struct OpenLibrary {
  std::string file;
  void* handle = nullptr;
};

const OpenLibrary& OpenedLapack() {
  static const OpenLibrary library = [] {
    for (const char* file : {"liblapack.so.3", "libopenblas.so.0", "libopenblas.so", "liblapack.so"}) {
      if (void* const opened = dlopen(file, RTLD_NOW | RTLD_LOCAL); opened != nullptr) return OpenLibrary{file, opened};
    }
    return OpenLibrary();
  }();
  return library;
}

Result<void*> FindRoutine(const Instruction& inst, const std::string& name) {
  const OpenLibrary& library = OpenedLapack();
  if (library.handle == nullptr) {
    FAIL(UnsupportedCall(inst, "without LAPACK, which is not installed: no liblapack.so.3 and no libopenblas.so.0")
             .Hint("install liblapack3 or libopenblas0"));
  }
  void* const routine = dlsym(library.handle, name.c_str());
  if (routine == nullptr) FAIL(UnsupportedCall(inst, Str("with this LAPACK, which has no ", name)));
  return routine;
}

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
class Work {
 public:
  // A first run with size -1 returns the size of the workspace.
  template <class F>
  void Run(F&& run) {
    T wanted = T();
    run(&wanted, -1);
    const int size = std::max(1, static_cast<int>(std::real(wanted)));
    space_.resize(std::max(space_.size(), static_cast<size_t>(size)));
    run(space_.data(), size);
  }

 private:
  std::vector<T> space_;
};

constexpr size_t kLetter = 1;

int Stride(int64_t rows) { return static_cast<int>(std::max<int64_t>(1, rows)); }

Result<Literal> Workspace(const Call& call, size_t i) {
  const Shape& shape = call.e().inst.shape();
  if (!shape.IsTuple() || shape.elements().size() <= i)
    FAIL(
        UnsupportedCall(call.e().inst, Str("whose result is ", shape, " and not a tuple of more than ", i, " arrays")));
  return Literal(shape.element(static_cast<int64_t>(i)));
}

}  // namespace

std::string LapackVersion() {
  const OpenLibrary& library = OpenedLapack();
  if (library.handle == nullptr) return "";
  void* const routine = dlsym(library.handle, "ilaver_");
  if (routine == nullptr) return library.file;
  int major = 0, minor = 0, patch = 0;
  reinterpret_cast<Fortran<int*, int*, int*>>(routine)(&major, &minor, &patch);
  return Str(major, ".", minor, ".", patch, ", ", library.file);
}

// (a, pivots) -> (r above reflectors, pivots, tau[, info]). Columns with a nonzero pivot come first, others by size.
Result<Literal> CallGeqp3(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    Matrices<T> a(call.array(0));
    TRY(call.CheckVectors(1, a.batch(), a.columns(), PrimitiveType::kS32));
    const Library geqp3 = TRY(Library::Find(call, type, "geqp3"));
    const int rows = static_cast<int>(a.rows()), columns = static_cast<int>(a.columns()), stride = Stride(rows);
    const int64_t size = std::min(rows, columns);
    Literal pivots = call.array(1), tau = Vectors(type, a.batch(), size);
    Literal info = Vectors(PrimitiveType::kS32, a.batch(), -1);
    std::vector<Real<T>> real_work(2 * columns + 1);
    Work<T> work;
    for (int64_t i = 0; i < a.count(); ++i) {
      int32_t* const order = VectorOf<int32_t>(pivots, i, columns);
      T* const scales = VectorOf<T>(tau, i, size);
      int32_t* const status = VectorOf<int32_t>(info, i, 1);
      work.Run([&](T* space, int space_size) {
        if constexpr (kIsComplex<T>)
          geqp3.Run(&rows, &columns, a.matrix(i), &stride, order, scales, space, &space_size, real_work.data(), status);
        else geqp3.Run(&rows, &columns, a.matrix(i), &stride, order, scales, space, &space_size, status);
      });
    }
    return call.Results({a.Value(), pivots, tau, info});
  });
}

namespace {

// The returned vectors: all of u and vt ('A'), the first min(rows, columns) ('S'), or none ('N').
char VectorsOf(const Call& call) {
  if (call.has_scalars()) return call.scalar(1) == 0 ? 'N' : call.scalar(0) != 0 ? 'A' : 'S';
  if (call.Option("compute_uv", '-') == '-') return call.Option("mode", 'A');
  return call.Option("compute_uv", 'T') == 'F' ? 'N' : call.Option("full_matrices", 'F') == 'T' ? 'A' : 'S';
}

// (a) -> (workspace, s, u, v adjoint, info).
template <class T>
struct Svd {
  Matrices<T> a, u, vt;
  Literal values, info;
  char mode;
  int rows, columns, stride, u_stride, vt_stride;
  std::vector<Real<T>> real_work;

  static Result<Svd> Make(const Call& call) {
    if (call.Option("transposed", 'F') == 'T') FAIL(UnsupportedCall(call.e().inst, "with transposed=true"));
    const char mode = VectorsOf(call);
    if (mode != 'A' && mode != 'S' && mode != 'N')
      FAIL(UnsupportedCall(call.e().inst, Str("with mode '", std::string(1, mode), "' instead of A, S or N")));
    const Shape& shape = call.e().inst.shape();
    if (!shape.IsTuple() || shape.elements().size() < 5 || shape.element(2).rank() < 2 || shape.element(3).rank() < 2)
      FAIL(UnsupportedCall(call.e().inst, Str("whose result is ", shape,
                                              " and not a tuple of 5 arrays with matrices as elements 2 and 3")));
    Matrices<T> a(call.array(0));
    const PrimitiveType type = call.array(0).shape().type();
    const int rows = static_cast<int>(a.rows()), columns = static_cast<int>(a.columns());
    const int64_t size = std::min(rows, columns), largest = std::max(rows, columns);
    // Without vectors, u and vt keep the sizes in the text.
    const auto last = [&](int64_t i, int64_t from_end) {
      return shape.element(i).dim(shape.element(i).rank() - from_end);
    };
    Matrices<T> u(type, a.batch(), rows, mode == 'A' ? rows : mode == 'S' ? size : last(2, 1));
    Matrices<T> vt(type, a.batch(), mode == 'A' ? columns : mode == 'S' ? size : last(3, 2), columns);
    const int u_stride = Stride(rows), vt_stride = Stride(vt.rows());
    const int64_t real_size =
        kIsComplex<T> ? std::max<int64_t>(1, size * std::max<int64_t>(5 * size + 7, 2 * largest + 2 * size + 1)) : 1;
    Literal values = Vectors(kRealType<T>, a.batch(), size), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
    return Svd{a,    u,       vt,           values,   info,      mode,
               rows, columns, Stride(rows), u_stride, vt_stride, std::vector<Real<T>>(real_size)};
  }
  Real<T>* s(int64_t i) { return VectorOf<Real<T>>(values, i, std::min(rows, columns)); }
  int32_t* status(int64_t i) { return VectorOf<int32_t>(info, i, 1); }
  Result<Literal> Results(const Call& call) const {
    return call.Results({a.Value(), values, u.Value(), vt.Value(), info});
  }
};

}  // namespace

Result<Literal> CallGesdd(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    Svd<T> svd = TRY(Svd<T>::Make(call));
    const Library gesdd = TRY(Library::Find(call, type, "gesdd"));
    std::vector<int> int_work(std::max(1, 8 * std::min(svd.rows, svd.columns)));
    Work<T> work;
    for (int64_t i = 0; i < svd.a.count(); ++i) {
      work.Run([&](T* space, int size) {
        if constexpr (kIsComplex<T>) {
          gesdd.Run(&svd.mode, &svd.rows, &svd.columns, svd.a.matrix(i), &svd.stride, svd.s(i), svd.u.matrix(i),
                    &svd.u_stride, svd.vt.matrix(i), &svd.vt_stride, space, &size, svd.real_work.data(),
                    int_work.data(), svd.status(i), kLetter);
        } else {
          gesdd.Run(&svd.mode, &svd.rows, &svd.columns, svd.a.matrix(i), &svd.stride, svd.s(i), svd.u.matrix(i),
                    &svd.u_stride, svd.vt.matrix(i), &svd.vt_stride, space, &size, int_work.data(), svd.status(i),
                    kLetter);
        }
      });
    }
    return svd.Results(call);
  });
}

Result<Literal> CallGesvd(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    Svd<T> svd = TRY(Svd<T>::Make(call));
    const Library gesvd = TRY(Library::Find(call, type, "gesvd"));
    Work<T> work;
    for (int64_t i = 0; i < svd.a.count(); ++i) {
      work.Run([&](T* space, int size) {
        if constexpr (kIsComplex<T>) {
          gesvd.Run(&svd.mode, &svd.mode, &svd.rows, &svd.columns, svd.a.matrix(i), &svd.stride, svd.s(i),
                    svd.u.matrix(i), &svd.u_stride, svd.vt.matrix(i), &svd.vt_stride, space, &size,
                    svd.real_work.data(), svd.status(i), kLetter, kLetter);
        } else {
          gesvd.Run(&svd.mode, &svd.mode, &svd.rows, &svd.columns, svd.a.matrix(i), &svd.stride, svd.s(i),
                    svd.u.matrix(i), &svd.u_stride, svd.vt.matrix(i), &svd.vt_stride, space, &size, svd.status(i),
                    kLetter, kLetter);
        }
      });
    }
    return svd.Results(call);
  });
}

// (a) -> (eigenvectors, eigenvalues, info)
Result<Literal> CallSyevd(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    Matrices<T> a(call.array(0));
    const Library syevd = TRY(Library::Find(call, type, kIsComplex<T> ? "heevd" : "syevd"));
    const int n = static_cast<int>(a.rows()), stride = Stride(n);
    const char mode = call.Option("mode", 'V'), triangle = call.Lower() ? 'L' : 'U';
    Literal values = Vectors(kRealType<T>, a.batch(), n), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
    for (int64_t i = 0; i < a.count(); ++i) {
      Real<T>* const w = VectorOf<Real<T>>(values, i, n);
      int32_t* const status = VectorOf<int32_t>(info, i, 1);
      const auto run = [&](T* work, int work_size, Real<T>* real_work, int real_size, int* int_work, int int_size) {
        if constexpr (kIsComplex<T>) {
          syevd.Run(&mode, &triangle, &n, a.matrix(i), &stride, w, work, &work_size, real_work, &real_size, int_work,
                    &int_size, status, kLetter, kLetter);
        } else {
          syevd.Run(&mode, &triangle, &n, a.matrix(i), &stride, w, work, &work_size, int_work, &int_size, status,
                    kLetter, kLetter);
        }
      };
      T wanted = T();
      Real<T> real_wanted = 0;
      int int_wanted = 0;
      run(&wanted, -1, &real_wanted, -1, &int_wanted, -1);
      std::vector<T> work(std::max(1, static_cast<int>(std::real(wanted))));
      std::vector<Real<T>> real_work(std::max(1, static_cast<int>(real_wanted)));
      std::vector<int> int_work(std::max(1, int_wanted));
      run(work.data(), static_cast<int>(work.size()), real_work.data(), static_cast<int>(real_work.size()),
          int_work.data(), static_cast<int>(int_work.size()));
    }
    return call.Results({a.Value(), values, info});
  });
}

namespace {

// The vectors of a pair of conjugate eigenvalues are two columns: real parts and imaginary parts.
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

}  // namespace

// (a) -> (real parts, imaginary parts, left vectors, right vectors, info). The eigenvalues of a complex matrix are one
// result. The older name has workspace first.
Result<Literal> CallGeev(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    using R = Real<T>;
    Matrices<T> a(call.array(0));
    const Library geev = TRY(Library::Find(call, type, "geev"));
    const int n = static_cast<int>(a.rows()), stride = Stride(n);
    const char left = call.has_scalars() ? static_cast<char>(call.scalar(2)) : call.Option("compute_left", 'V');
    const char right = call.has_scalars() ? static_cast<char>(call.scalar(3)) : call.Option("compute_right", 'V');
    Literal values = Vectors(type, a.batch(), n), imaginary = Vectors(type, a.batch(), n);
    Literal info = Vectors(PrimitiveType::kS32, a.batch(), -1);
    Matrices<std::complex<R>> left_vectors(kComplexType<T>, a.batch(), n, n), right_vectors = left_vectors;
    std::vector<T> vl(static_cast<size_t>(n) * n + 1), vr(vl.size());
    std::vector<R> real_work(2 * n + 1);
    Work<T> work;
    for (int64_t i = 0; i < a.count(); ++i) {
      T *const w = VectorOf<T>(values, i, n), *const wi = VectorOf<T>(imaginary, i, n);
      int32_t* const status = VectorOf<int32_t>(info, i, 1);
      work.Run([&](T* space, int size) {
        if constexpr (kIsComplex<T>) {
          geev.Run(&left, &right, &n, a.matrix(i), &stride, w, vl.data(), &stride, vr.data(), &stride, space, &size,
                   real_work.data(), status, kLetter, kLetter);
        } else {
          geev.Run(&left, &right, &n, a.matrix(i), &stride, w, wi, vl.data(), &stride, vr.data(), &stride, space, &size,
                   status, kLetter, kLetter);
        }
      });
      const auto keep = [&](char wants, const std::vector<T>& from, Matrices<std::complex<R>>& to) {
        if (wants != 'V') return;
        if constexpr (kIsComplex<T>) std::copy_n(from.data(), static_cast<int64_t>(n) * n, to.matrix(i));
        else Unpack<R>(from.data(), wi, n, to.matrix(i));
      };
      keep(left, vl, left_vectors);
      keep(right, vr, right_vectors);
    }
    std::vector<Literal> results;
    for (size_t i = 0; call.has_scalars() && i < (kIsComplex<T> ? 2 : 3); ++i)
      results.push_back(TRY(Workspace(call, i)));
    results.push_back(values);
    if (!kIsComplex<T>) results.push_back(imaginary);
    for (const Literal& last : {left_vectors.Value(), right_vectors.Value(), info}) results.push_back(last);
    return call.Results(std::move(results));
  });
}

// (a) -> (Schur form, vectors, real parts, imaginary parts, 0, info). The eigenvalues of a complex matrix are one
// result. The older name has the vectors after the eigenvalues, and for complex matrices workspace before them.
Result<Literal> CallGees(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    const char mode = call.has_scalars() ? static_cast<char>(call.scalar(2)) : call.Option("mode", 'V');
    const char sort = call.has_scalars() ? static_cast<char>(call.scalar(3)) : call.Option("sort", 'N');
    if (sort != 'N') FAIL(UnsupportedCall(call.e().inst, "with sorted eigenvalues"));
    Matrices<T> a(call.array(0));
    const Library gees = TRY(Library::Find(call, type, "gees"));
    const int n = static_cast<int>(a.rows()), stride = Stride(n);
    Literal values = Vectors(type, a.batch(), n), imaginary = Vectors(type, a.batch(), n);
    Literal selected = Vectors(PrimitiveType::kS32, a.batch(), -1), info = selected;
    Matrices<T> vectors(type, a.batch(), n, n);
    std::vector<Real<T>> real_work(n + 1);
    std::vector<int> logicals(n + 1);
    void* const select = nullptr;
    Work<T> work;
    for (int64_t i = 0; i < a.count(); ++i) {
      T *const w = VectorOf<T>(values, i, n), *const wi = VectorOf<T>(imaginary, i, n);
      int32_t *const count = VectorOf<int32_t>(selected, i, 1), *const status = VectorOf<int32_t>(info, i, 1);
      work.Run([&](T* space, int size) {
        if constexpr (kIsComplex<T>) {
          gees.Run(&mode, &sort, select, &n, a.matrix(i), &stride, count, w, vectors.matrix(i), &stride, space, &size,
                   real_work.data(), logicals.data(), status, kLetter, kLetter);
        } else {
          gees.Run(&mode, &sort, select, &n, a.matrix(i), &stride, count, w, wi, vectors.matrix(i), &stride, space,
                   &size, logicals.data(), status, kLetter, kLetter);
        }
      });
    }
    const Literal form = a.Value(), q = vectors.Value();
    if (!call.has_scalars()) {
      if (kIsComplex<T>) return call.Results({form, q, values, selected, info});
      return call.Results({form, q, values, imaginary, selected, info});
    }
    return call.Results({form, kIsComplex<T> ? TRY(Workspace(call, 1)) : values, kIsComplex<T> ? values : imaginary, q,
                         selected, info});
  });
}

// (a) -> (Hessenberg form above reflectors, tau, info)
Result<Literal> CallGehrd(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    Matrices<T> a(call.array(0));
    const int n = static_cast<int>(a.rows()), stride = Stride(n);
    const auto low = static_cast<int>(call.has_scalars() ? call.scalar(1) : call.Number("low", 1));
    const auto high = static_cast<int>(call.has_scalars() ? call.scalar(2) : call.Number("high", n));
    if (n == 0 ? low != 1 || high != 0 : low < 1 || low > high || high > n)
      FAIL(UnsupportedCall(call.e().inst, Str("with low=", low, " and high=", high, " for ", n, " rows")));
    const Library gehrd = TRY(Library::Find(call, type, "gehrd"));
    const int64_t size = std::max(0, n - 1);
    Literal tau = Vectors(type, a.batch(), size), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
    Work<T> work;
    for (int64_t i = 0; i < a.count(); ++i) {
      work.Run([&](T* space, int space_size) {
        gehrd.Run(&n, &low, &high, a.matrix(i), &stride, VectorOf<T>(tau, i, size), space, &space_size,
                  VectorOf<int32_t>(info, i, 1));
      });
    }
    return call.Results({a.Value(), tau, info});
  });
}

// (a) -> (reflectors around the tridiagonal form, diagonal, adjacent diagonal, tau, info)
Result<Literal> CallSytrd(const Call& call) {
  const PrimitiveType type = call.array(0).shape().type();
  return WithLapackType(call.e(), type, [&]<class T>() -> Result<Literal> {
    Matrices<T> a(call.array(0));
    const int n = static_cast<int>(a.rows()), stride = Stride(n);
    const bool lower = call.has_scalars() ? call.scalar(1) != 0 : call.Lower();
    const char triangle = lower ? 'L' : 'U';
    const Library sytrd = TRY(Library::Find(call, type, kIsComplex<T> ? "hetrd" : "sytrd"));
    const int64_t size = std::max(0, n - 1);
    Literal diagonal = Vectors(kRealType<T>, a.batch(), n), beside = Vectors(kRealType<T>, a.batch(), size);
    Literal tau = Vectors(type, a.batch(), size), info = Vectors(PrimitiveType::kS32, a.batch(), -1);
    Work<T> work;
    for (int64_t i = 0; i < a.count(); ++i) {
      work.Run([&](T* space, int space_size) {
        sytrd.Run(&triangle, &n, a.matrix(i), &stride, VectorOf<Real<T>>(diagonal, i, n),
                  VectorOf<Real<T>>(beside, i, size), VectorOf<T>(tau, i, size), space, &space_size,
                  VectorOf<int32_t>(info, i, 1), kLetter);
      });
    }
    return call.Results({a.Value(), diagonal, beside, tau, info});
  });
}

}  // namespace hlo
