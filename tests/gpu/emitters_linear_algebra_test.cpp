// Tests of Fourier transforms, factorisations and triangular solves as kernels, of every length and form, within the
// bounds of the shadow.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>

#include "base/text.h"
#include "gpu/plan/fft_space.h"
#include "interp/interpreter.h"
#include "judge/compare/compare.h"
#include "tests/gpu/emitters_harness.h"

namespace hlo::gpu {
namespace {

// Expects that kernels on the host are within the bounds of the shadow, and that the emulator has the host's bits.
void Judge(const std::string& text, std::vector<Literal> inputs = {}, const FusionPlan* plan = nullptr) {
  SCOPED_TRACE(text);
  const auto module = Parsed(text);
  if (plan != nullptr) SetPlan(module->entry().root(), *plan);
  if (inputs.empty()) inputs = MakeInputs(*module, Inputs::kPlain);
  const auto host = RunKernels(*module, inputs, On::kHost);
  ASSERT_TRUE(host) << host.error().message();
  const auto emulated = RunKernels(*module, inputs, On::kEmulator);
  ASSERT_TRUE(emulated) << emulated.error().message();
  EXPECT_EQ(CompareBitwise(*host, *emulated, {}).verdict, Verdict::kMatch);
  const auto comparison = CompareLocal(module->entry(), inputs, *host, {});
  ASSERT_TRUE(comparison) << comparison.error().message();
  EXPECT_EQ(comparison->verdict, Verdict::kMatch) << comparison->reason << " " << comparison->worst_ratio();
}

TEST(EmitFft, ComputesAllLengths) {
  for (const int n : {1,  2,  3,  4,  5,   6,   7,   8,   9,   11,  12,  13,  16,  17,  24,  30,   31,
                      45, 60, 64, 97, 100, 128, 143, 169, 210, 243, 251, 256, 360, 509, 512, 1000, 1024})
    Judge(Str("ENTRY e { x = c64[3,", n, "] parameter(0) ROOT r = c64[3,", n, "] fft(x), fft_type=FFT, fft_length={", n,
              "} }"));
  for (const int n : {1, 2, 7, 12, 17, 64, 120, 251})
    Judge(Str("ENTRY e { x = c128[2,", n, "] parameter(0) ROOT r = c128[2,", n, "] fft(x), fft_type=IFFT, fft_length={",
              n, "} }"));
}

TEST(EmitFft, TransformsRealNumbers) {
  for (const int n : {1, 2, 3, 4, 6, 8, 9, 17, 30, 64, 96, 194, 251, 1000}) {  // Half of 194 is a prime.
    Judge(Str("ENTRY e { x = f32[5,", n, "] parameter(0) ROOT r = c64[5,", n / 2 + 1,
              "] fft(x), fft_type=RFFT, fft_length={", n, "} }"));
    Judge(Str("ENTRY e { x = c64[5,", n / 2 + 1, "] parameter(0) ROOT r = f32[5,", n,
              "] fft(x), fft_type=IRFFT, fft_length={", n, "} }"));
  }
}

TEST(EmitFft, TransformsSeveralDimensions) {
  Judge("ENTRY e { x = c64[2,6,10] parameter(0) ROOT r = c64[2,6,10] fft(x), fft_type=FFT, fft_length={6,10} }");
  Judge("ENTRY e { x = c128[3,4,5] parameter(0) ROOT r = c128[3,4,5] fft(x), fft_type=IFFT, fft_length={3,4,5} }");
  Judge("ENTRY e { x = f32[2,17,12] parameter(0) ROOT r = c64[2,17,7] fft(x), fft_type=RFFT, fft_length={17,12} }");
  Judge("ENTRY e { x = c64[2,17,7] parameter(0) ROOT r = f32[2,17,12] fft(x), fft_type=IRFFT, fft_length={17,12} }");
}

// A line that is longer than the memory of a block takes two kernels.
TEST(EmitFft, TransformsLongLines) {
  for (const char* text :
       {"ENTRY e { x = c64[2,16384] parameter(0) ROOT r = c64[2,16384] fft(x), fft_type=FFT, fft_length={16384} }",
        "ENTRY e { x = f32[1,40000] parameter(0) ROOT r = c64[1,20001] fft(x), fft_type=RFFT, fft_length={40000} }",
        "ENTRY e { x = c64[1,20001] parameter(0) ROOT r = f32[1,40000] fft(x), fft_type=IRFFT, fft_length={40000} }"}) {
    const auto module = Parsed(text);
    EXPECT_EQ(PlanKernels(module->entry().root(), DefaultDevice())->kernels.size(), 2u);
    Judge(text);
  }
}

TEST(EmitFft, RejectsLengthsThatDoNotFit) {
  // The length is a prime whose convolution does not fit into shared memory.
  const auto module =
      Parsed("ENTRY e { x = c64[15013] parameter(0) ROOT r = c64[15013] fft(x), fft_type=FFT, fft_length={15013} }");
  const auto plan = PlanKernels(module->entry().root(), DefaultDevice());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().exit, ExitCode::kUnsupported);
}

// Positive definite n x n matrices a a^H + n I. If `definite` is false, one element of the diagonal is too small.
Literal Definite(const Shape& shape, bool definite = true) {
  Literal a(shape), result(shape);
  const int64_t n = shape.dims().back(), count = shape.NumElements() / (n * n);
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    const double x = std::sin(static_cast<double>(i * i + 1)), y = std::cos(3.0 * static_cast<double>(i));
    if (IsComplex(shape.type())) a.SetComplex(i, {x, y});
    else a.SetDouble(i, x);
  }
  const auto at = [&](int64_t m, int64_t i, int64_t j) {
    const int64_t k = (m * n + i) * n + j;
    return IsComplex(shape.type()) ? a.GetComplex(k) : std::complex<double>(a.GetDouble(k));
  };
  for (int64_t m = 0; m < count; ++m) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        std::complex<double> sum = i == j ? static_cast<double>(definite || i != n / 2 ? n : -n * n) : 0;
        for (int64_t k = 0; k < n; ++k) sum += at(m, i, k) * std::conj(at(m, j, k));
        if (IsComplex(shape.type())) result.SetComplex((m * n + i) * n + j, sum);
        else result.SetDouble((m * n + i) * n + j, sum.real());
      }
    }
  }
  return result;
}

TEST(EmitMatrix, ComputesCholesky) {
  for (const PrimitiveType type :
       {PrimitiveType::kF32, PrimitiveType::kF64, PrimitiveType::kC64, PrimitiveType::kF16}) {
    for (const int n : {1, 2, 3, 7, 33}) {
      for (const char* lower : {"true", "false"}) {
        const std::string shape = Str(ToString(type), "[3,", n, ",", n, "]");
        Judge(Str("ENTRY e { x = ", shape, " parameter(0) ROOT r = ", shape, " cholesky(x), lower=", lower, " }"),
              {Definite(Shape(type, {3, n, n}))});
      }
    }
  }
}

TEST(EmitMatrix, CholeskyOfAnIndefiniteMatrixIsNan) {
  const auto module = Parsed("ENTRY e { x = f32[5,5] parameter(0) ROOT r = f32[5,5] cholesky(x), lower=true }");
  const std::vector<Literal> inputs = {Definite(Shape(PrimitiveType::kF32, {5, 5}), false)};
  const auto host = RunKernels(*module, inputs, On::kHost);
  ASSERT_TRUE(host) << host.error().message();
  for (int64_t i = 0; i < 25; ++i) EXPECT_TRUE(std::isnan(host->GetDouble(i))) << i;
}

TEST(EmitMatrix, ComputesTriangularSolves) {
  int64_t form = 0;
  for (const char* left : {"true", "false"}) {
    for (const char* lower : {"true", "false"}) {
      for (const char* transposed : {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}) {
        for (const char* unit : {"true", "false"}) {
          const PrimitiveType type = ++form % 3 == 0 ? PrimitiveType::kC64
                                     : form % 3 == 1 ? PrimitiveType::kF32
                                                     : PrimitiveType::kF64;
          const std::string t(ToString(type)), b = *left == 't' ? "[2,5,3]" : "[2,3,5]";
          Judge(Str("ENTRY e { a = ", t, "[2,5,5] parameter(0) b = ", t, b, " parameter(1) ROOT r = ", t, b,
                    " triangular-solve(a, b), left_side=", left, ", lower=", lower, ", transpose_a=", transposed,
                    ", unit_diagonal=", unit, " }"),
                {Definite(Shape(type, {2, 5, 5})),
                 MakeInputs(*Parsed(Str("ENTRY e { b = ", t, b, " parameter(0) ROOT r = ", t, b, " copy(b) }")),
                            Inputs::kPlain)[0]});
        }
      }
    }
  }
}

TEST(EmitMatrix, ComputesCallsOfLapack) {
  for (const char* n : {"5", "1", "20"}) {
    const std::string a = Str("f64[2,", n, ",", n, "]");
    Judge(Str("ENTRY e { a = ", a, " parameter(0) ROOT r = (", a, ", s32[2,", n,
              "], s32[2]) custom-call(a), custom_call_target=\"lapack_dgetrf_ffi\", backend_config={} }"));
    Judge(Str("ENTRY e { a = ", a, " parameter(0) ROOT r = (", a,
              ", s32[2]) custom-call(a), custom_call_target=\"lapack_dpotrf_ffi\", backend_config={uplo = 76 : ui8} }"),
          {Definite(Parsed(Str("ENTRY e { ROOT a = ", a, " parameter(0) }"))->entry().root().shape())});
  }
  Judge(
      "ENTRY e { a = f32[4,7] parameter(0) ROOT r = (f32[4,7], s32[4], s32[]) custom-call(a), "
      "custom_call_target=\"lapack_sgetrf_ffi\", backend_config={} }");
  Judge(
      "ENTRY e { a = c64[6,3] parameter(0) ROOT r = (c64[6,3], s32[3], s32[]) custom-call(a), "
      "custom_call_target=\"lapack_cgetrf_ffi\", backend_config={} }");
  Judge(
      "ENTRY e { a = f32[3,3] parameter(0) b = f32[3,2] parameter(1) ROOT r = f32[3,2] custom-call(a, b), "
      "custom_call_target=\"lapack_strsm_ffi\", backend_config={diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, "
      "uplo = 76 : ui8} }");
}

// The columns before the failing one are computed, the later ones are unchanged, and the index of the failing pivot is
// returned.
TEST(EmitMatrix, CallsOfLapackReturnTheFailingPivot) {
  const std::string call =
      "ENTRY e { a = f64[5,5] parameter(0) ROOT r = (f64[5,5], s32[]) custom-call(a), "
      "custom_call_target=\"lapack_dpotrf_ffi\", backend_config={uplo = 85 : ui8} }";
  Judge(call, {Definite(Shape(PrimitiveType::kF64, {5, 5}), false)});
  Judge(
      "ENTRY e { a = f64[3,3] parameter(0) ROOT r = (f64[3,3], s32[3], s32[]) custom-call(a), "
      "custom_call_target=\"lapack_dgetrf_ffi\", backend_config={} }",
      {Literal(Shape(PrimitiveType::kF64, {3, 3}))});
}

}  // namespace
}  // namespace hlo::gpu
