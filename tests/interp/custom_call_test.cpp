// Tests of library custom calls against their definitions: gradients against the forward convolution, epilogues and
// factorisations against plain HLO. testdata/interp/custom-call-*.hlo have values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

Literal ValueOf(const std::string& text, std::span<const Literal> args) {
  const auto module = ParseText(text);
  if (module == nullptr) return {};
  auto result = Interpret(*module, args);
  EXPECT_TRUE(result.has_value()) << (result ? "" : Render(result.error(), "test")) << text;
  return result ? std::move(*result) : Literal();
}

std::string ErrorOf(const std::string& text) {
  const auto module = ParseText(text);
  const auto result = Interpret(*module, RandomArguments(*module));
  EXPECT_FALSE(result.has_value());
  if (result) return "";
  EXPECT_EQ(result.error().exit, ExitCode::kUnsupported);
  EXPECT_EQ(result.error().code(), "U007");
  return Render(result.error(), "test");
}

// ---- Gradients -----------------------------------------------------------------------------------------------------

struct Case {
  std::string x, filter, y;  // The shapes of the forward convolution.
  std::string window, labels;
  int groups = 1;
};

std::string Attributes(const Case& c) {
  return Str("window={", c.window, "}, dim_labels=", c.labels, ", feature_group_count=", c.groups);
}

std::string Forward(const Case& c) {
  return Str("HloModule forward\nENTRY e {\n  x = ", c.x, " parameter(0)\n  w = ", c.filter,
             " parameter(1)\n  ROOT y = ", c.y, " convolution(x, w), ", Attributes(c), "\n}\n");
}

std::string Gradient(const Case& c, const std::string& target, const std::string& a, const std::string& b,
                     const std::string& result) {
  return Str("HloModule gradient\nENTRY e {\n  a = ", a, " parameter(0)\n  b = ", b, " parameter(1)\n  c = (", result,
             ", u8[0]) custom-call(a, b), ", Attributes(c), ", custom_call_target=\"", target,
             "\"\n  ROOT r = ", result, " get-tuple-element(c), index=0\n}\n");
}

// Small integers, so that every sum is exact.
Literal Integers(const Shape& shape, int seed) {
  std::mt19937 generator(seed);
  Literal literal(shape);
  for (int64_t i = 0; i < shape.NumElements(); ++i) literal.SetDouble(i, static_cast<double>(generator() % 9) - 4);
  return literal;
}

// Checks the gradient by operand `moving` (0 is the input, 1 is the filter). The convolution is linear in it, so
// element i of the gradient is the product of dy with the convolution of the unit vector i.
void ExpectGradient(const Case& c, int moving) {
  const auto forward = ParseText(Forward(c));
  ASSERT_NE(forward, nullptr);
  const auto parameters = forward->entry().parameters();
  const std::vector<Literal> values = {Integers(parameters[0]->shape(), 1), Integers(parameters[1]->shape(), 2)};
  const Literal dy = Integers(forward->entry().root().shape(), 3);
  const Literal gradient =
      moving == 0 ? ValueOf(Gradient(c, "__cudnn$convBackwardInput", c.y, c.filter, c.x), std::array{dy, values[1]})
                  : ValueOf(Gradient(c, "__cudnn$convBackwardFilter", c.x, c.y, c.filter), std::array{values[0], dy});
  ASSERT_EQ(gradient.shape().NumElements(), values[moving].shape().NumElements());
  bool all_zero = true;
  for (int64_t i = 0; i < gradient.shape().NumElements(); ++i) {
    std::vector<Literal> unit = values;
    unit[moving] = Literal(values[moving].shape());
    unit[moving].SetDouble(i, 1);
    const auto y = Interpret(*forward, unit);
    ASSERT_TRUE(y.has_value()) << Render(y.error(), "test");
    double expected = 0;
    for (int64_t j = 0; j < dy.shape().NumElements(); ++j) expected += y->GetDouble(j) * dy.GetDouble(j);
    ASSERT_EQ(gradient.GetDouble(i), expected) << "element " << i << " of " << Forward(c);
    all_zero &= expected == 0;
  }
  EXPECT_FALSE(all_zero) << Forward(c);
}

const Case kCases[] = {
    {"f32[2,5,3]", "f32[3,3,2]", "f32[2,3,2]", "size=3", "b0f_0io->b0f"},
    {"f32[2,6,3]", "f32[3,3,2]", "f32[2,3,2]", "size=3 stride=2 pad=1_0", "b0f_0io->b0f"},
    // No window reads the last element.
    {"f32[1,6,1]", "f32[2,1,1]", "f32[1,2,1]", "size=2 stride=3 pad=0_0", "b0f_0io->b0f"},
    {"f32[1,7,2]", "f32[3,2,2]", "f32[1,7,2]", "size=3 pad=2_2 rhs_dilate=2", "b0f_0io->b0f"},
    {"f32[1,4,2]", "f32[3,2,1]", "f32[1,7,1]", "size=3 pad=1_1 lhs_dilate=2", "b0f_0io->b0f"},
    {"f32[1,5,2]", "f32[3,2,1]", "f32[1,3,1]", "size=3 rhs_reversal=1", "b0f_0io->b0f"},
    // The padding is larger than the window, or negative.
    {"f32[1,3,1]", "f32[2,1,1]", "f32[1,8,1]", "size=2 pad=4_2", "b0f_0io->b0f"},
    {"f32[1,6,1]", "f32[2,1,1]", "f32[1,3,1]", "size=2 pad=-1_-1", "b0f_0io->b0f"},
    // There are 2 groups with 2 inputs and 3 outputs each, and a depthwise convolution.
    {"f32[2,4,4]", "f32[2,2,6]", "f32[2,3,6]", "size=2", "b0f_0io->b0f", 2},
    {"f32[1,4,3]", "f32[2,1,3]", "f32[1,3,3]", "size=2", "b0f_0io->b0f", 3},
    // There are two spatial dimensions, and the dimensions have other orders.
    {"f32[2,4,5,3]", "f32[2,2,3,3]", "f32[2,2,2,2]", "size=2x3 stride=2x2 pad=0_0x0_0", "b01f_o0i1->b01f"},
    {"f32[2,3,5,4]", "f32[4,3,3,2]", "f32[4,2,5,2]", "size=3x2 stride=1x2 pad=1_1x0_0", "bf01_oi01->fb01"},
};

TEST(CustomCall, ConvolutionGradientsAreCorrect) {
  for (const Case& c : kCases) {
    ExpectGradient(c, 0);
    ExpectGradient(c, 1);
  }
}

// ---- Products ------------------------------------------------------------------------------------------------------

std::string Config(const std::string& epilogue, double beta = 0) {
  return Str(
      "backend_config={\"gemm_backend_config\":{\"alpha_real\":1,\"beta\":", beta,
      ",\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_dimensions\":[\"0\"]},"
      "\"epilogue\":\"",
      epilogue, "\"}}");
}

void ExpectSame(const std::string& before, const std::string& call, const std::string& plain) {
  const std::string head = Str("HloModule m\nENTRY e {\n", before);
  const auto module = ParseText(Str(head, plain, "\n}\n"));
  ASSERT_NE(module, nullptr);
  const std::vector<Literal> args = RandomArguments(*module);
  const Literal expected = ValueOf(Str(head, plain, "\n}\n"), args), actual = ValueOf(Str(head, call, "\n}\n"), args);
  EXPECT_TRUE(expected.BitEquals(actual)) << call;
}

constexpr char kMatrices[] =
    "  a = bf16[3,5] parameter(0)\n  b = bf16[5,4] parameter(1)\n  c = bf16[3,4] parameter(2)\n"
    "  bias = bf16[4] parameter(3)\n";
constexpr char kSum[] =
    "  p = f32[3,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  wb = f32[4] convert(bias)\n  bb = f32[3,4] broadcast(wb), dimensions={1}\n";

TEST(CustomCall, MatmulEpiloguesEqualPlainHlo) {
  ExpectSame(kMatrices,
             Str("  ROOT r = bf16[3,4] custom-call(a, b, c, bias), custom_call_target=\"__cublas$lt$matmul\", ",
                 Config("BIAS", 1)),
             Str(kSum,
                 "  wc = f32[3,4] convert(c)\n  s = f32[3,4] add(p, wc)\n  t = f32[3,4] add(s, bb)\n"
                 "  ROOT r = bf16[3,4] convert(t)"));
  ExpectSame(kMatrices,
             Str("  ROOT r = bf16[3,4] custom-call(a, b, bias), custom_call_target=\"__cublas$lt$matmul\", ",
                 Config("BIAS_RELU")),
             Str(kSum,
                 "  s = f32[3,4] add(p, bb)\n  z = f32[] constant(0)\n  zb = f32[3,4] broadcast(z), dimensions={}\n"
                 "  t = f32[3,4] maximum(s, zb)\n  ROOT r = bf16[3,4] convert(t)"));
  ExpectSame(kMatrices,
             Str("  ROOT r = bf16[3,4] custom-call(a, b, bias), custom_call_target=\"__cublas$lt$matmul\", ",
                 Config("BIAS_SILU")),
             Str(kSum,
                 "  s = f32[3,4] add(p, bb)\n  l = f32[3,4] logistic(s)\n  t = f32[3,4] multiply(s, l)\n"
                 "  ROOT r = bf16[3,4] convert(t)"));
}

// In memory, a column-major result is the transposed result, so the bias has an element for each row.
TEST(CustomCall, BiasFollowsTheLayout) {
  ExpectSame("  a = f32[3,5] parameter(0)\n  b = f32[5,4] parameter(1)\n  bias = f32[3] parameter(2)\n",
             Str("  ROOT r = f32[3,4]{0,1} custom-call(a, b, bias), custom_call_target=\"__cublas$lt$matmul\", ",
                 Config("BIAS")),
             "  p = f32[3,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
             "  bb = f32[3,4] broadcast(bias), dimensions={0}\n  ROOT r = f32[3,4] add(p, bb)");
}

TEST(CustomCall, UnsuitableCallsAreUnsupported) {
  const auto matmul = [](const std::string& operands, const std::string& result, const std::string& config) {
    return Str("HloModule m\nENTRY e {\n  a = f32[3,5] parameter(0)\n  b = f32[5,4] parameter(1)\n  ROOT r = ", result,
               " custom-call(", operands, "), custom_call_target=\"__cublas$gemm\", ", config, "\n}\n");
  };
  EXPECT_NE(ErrorOf(matmul("a, b", "f32[3,4]", Config("DRELU"))).find("epilogue DRELU"), std::string::npos);
  EXPECT_NE(ErrorOf(matmul("a, b", "f32[3,4]", Config("BIAS"))).find("2 operands"), std::string::npos);
  EXPECT_NE(ErrorOf(matmul("b, a", "f32[3,4]", Config("DEFAULT"))).find("do not fit"), std::string::npos);
  EXPECT_NE(ErrorOf(matmul("a, b", "f32[4,3]", Config("DEFAULT"))).find("f32[3,4]"), std::string::npos);
  EXPECT_NE(ErrorOf(matmul("a, b", "f32[3,4]", "backend_config=\"{no\"")).find("JSON"), std::string::npos);
  EXPECT_NE(ErrorOf(matmul("a, b", "f32[3,4]", "backend_config={}")).find("dot_dimension_numbers"), std::string::npos);
}

TEST(CustomCall, AnUnknownTargetNamesKnownOnesAndTheFlag) {
  const std::string error = ErrorOf(
      "HloModule m\nENTRY e {\n  a = f32[3] parameter(0)\n  ROOT r = f32[3] custom-call(a), "
      "custom_call_target=\"Shardin\"\n}\n");
  EXPECT_NE(error.find("\"Sharding\""), std::string::npos) << error;
  EXPECT_NE(error.find("--custom_call='Shardin=zeros'"), std::string::npos) << error;
}

// ---- Factorisations ------------------------------------------------------------------------------------------------

// Row i of l * u is row order[i] of the matrix, where the pivots determine `order`.
TEST(CustomCall, LuFactorsMultiplyToTheMatrix) {
  for (const auto& [rows, columns] : {std::pair(5, 3), std::pair(3, 5), std::pair(4, 4)}) {
    const int64_t size = std::min(rows, columns);
    const std::string shape = Str("f64[2,", rows, ",", columns, "]"), pivots = Str("s32[2,", size, "]");
    const std::string text =
        Str("HloModule m\nENTRY e {\n  a = ", shape, " parameter(0)\n  ROOT r = (", shape, ", ", pivots,
            ", s32[2]) custom-call(a), custom_call_target=\"lapack_dgetrf_ffi\", backend_config={}\n}\n");
    const std::vector<Literal> args = RandomArguments(*ParseText(text));
    const Literal result = ValueOf(text, args);
    ASSERT_EQ(result.elements().size(), 3u);
    for (int64_t m = 0; m < 2; ++m) {
      std::vector<int64_t> order(rows);
      for (int64_t i = 0; i < rows; ++i) order[i] = i;
      for (int64_t i = 0; i < size; ++i) std::swap(order[i], order[result.elements()[1].GetInt(m * size + i) - 1]);
      const auto at = [&](const Literal& a, int64_t i, int64_t j) { return a.GetDouble((m * rows + i) * columns + j); };
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          double sum = i <= j ? at(result.elements()[0], i, j) : 0;
          for (int64_t k = 0; k < std::min(size, std::min(i, j + 1)); ++k)
            sum += at(result.elements()[0], i, k) * at(result.elements()[0], k, j);
          EXPECT_NEAR(sum, at(args[0], order[i], j), 1e-14 * size * 10) << i << "," << j;
        }
      }
      EXPECT_EQ(result.elements()[2].GetInt(m), 0);
    }
  }
}

// The letters of trsm, and the flags that precede the matrices under its older name, correspond to attributes of
// triangular-solve.
TEST(CustomCall, TrsmEqualsTriangularSolve) {
  for (int bits = 0; bits < 24; ++bits) {
    const bool left = (bits & 1) != 0, lower = (bits & 2) != 0, unit = (bits & 4) != 0;
    const int transposed = bits / 8;
    const char* const kWords[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
    const std::string a = left ? "c64[2,3,3]" : "c64[2,4,4]";
    const std::string head = Str("  a = ", a, " parameter(0)\n  b = c64[2,3,4] parameter(1)\n");
    const std::string plain = Str("  ROOT x = c64[2,3,4] triangular-solve(a, b), left_side=", left, ", lower=", lower,
                                  ", unit_diagonal=", unit, ", transpose_a=", kWords[transposed]);
    ExpectSame(
        head,
        Str("  ROOT x = c64[2,3,4] custom-call(a, b), custom_call_target=\"lapack_ctrsm_ffi\", backend_config={diag = ",
            int{unit ? 'U' : 'N'}, " : ui8, side = ", int{left ? 'L' : 'R'},
            " : ui8, trans_x = ", int{"NTC"[transposed]}, " : ui8, uplo = ", int{lower ? 'L' : 'U'}, " : ui8}"),
        plain);
    const auto flag = [](std::string_view name, int value) {
      return Str("  ", name, " = s32[] constant(", value, ")\n");
    };
    ExpectSame(head,
               Str(flag("left", left), flag("lower", lower), flag("trans", transposed), flag("unit", unit),
                   flag("m", 3), flag("n", 4), flag("batch", 2), "  alpha = c64[] constant((1, 0))\n",
                   "  ROOT x = c64[2,3,4] custom-call(left, lower, trans, unit, m, n, batch, alpha, a, b), "
                   "custom_call_target=\"blas_ctrsm\""),
               plain);
  }
}

// Checks a * v = v * diagonal(w) for a matrix with a real eigenvalue and a complex pair.
TEST(CustomCall, EigenvectorsOfARealMatrixAreCorrect) {
  const std::string text =
      "HloModule m\nENTRY e {\n  a = f64[3,3] constant({{0, -2, 0}, {2, 0, 1}, {0, 0, 5}})\n"
      "  f = (f64[3], f64[3], c128[3,3]{0,1}, c128[3,3]{0,1}, s32[]) custom-call(a), "
      "custom_call_target=\"lapack_dgeev_ffi\", backend_config={compute_left = 78 : ui8, compute_right = 86 : ui8}\n"
      "  re = f64[3] get-tuple-element(f), index=0\n  im = f64[3] get-tuple-element(f), index=1\n"
      "  w = c128[3] complex(re, im)\n  v = c128[3,3] get-tuple-element(f), index=3\n  z = c128[3,3] convert(a)\n"
      "  av = c128[3,3] dot(z, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  wb = c128[3,3] broadcast(w), dimensions={1}\n  vw = c128[3,3] multiply(v, wb)\n"
      "  d = c128[3,3] subtract(av, vw)\n  distance = f64[3,3] abs(d)\n  size = f64[3,3] abs(v)\n"
      "  ROOT r = (f64[3,3], f64[3,3], f64[3]) tuple(distance, size, im)\n}\n";
  const auto result = Interpret(*ParseText(text), {});
  if (!result) {
    EXPECT_NE(Render(result.error(), "test").find("liblapack3"), std::string::npos);
    GTEST_SKIP() << "LAPACK is not installed";
  }
  for (const double distance : Doubles(result->elements()[0])) EXPECT_NEAR(distance, 0, 1e-14);
  double squares = 0, pair = 0;
  for (const double size : Doubles(result->elements()[1])) squares += size * size;
  for (const double imaginary : Doubles(result->elements()[2])) pair += std::abs(imaginary);
  EXPECT_NEAR(squares, 3, 1e-14);  // Three vectors have length 1.
  EXPECT_NEAR(pair, 4, 1e-14);     // The pair is 2i and -2i.
}

// Checks LAPACK's own routines if LAPACK is installed. q * r and u * s * vt are the original matrices.
TEST(CustomCall, LibraryFactorsMultiplyToTheMatrix) {
  const std::string qr =
      "HloModule m\nENTRY e {\n  a = f64[4,3] parameter(0)\n"
      "  f = (f64[4,3]{0,1}, f64[3]) custom-call(a), custom_call_target=\"lapack_dgeqrf_ffi\", backend_config={}\n"
      "  g = f64[4,3] get-tuple-element(f), index=0\n  tau = f64[3] get-tuple-element(f), index=1\n"
      "  q = f64[4,3]{0,1} custom-call(g, tau), custom_call_target=\"lapack_dorgqr_ffi\", backend_config={}\n"
      "  top = f64[3,3] slice(g), slice={[0:3], [0:3]}\n"
      "  i = s32[3,3] iota(), iota_dimension=0\n  j = s32[3,3] iota(), iota_dimension=1\n"
      "  above = pred[3,3] compare(i, j), direction=LE\n  z = f64[] constant(0)\n"
      "  zb = f64[3,3] broadcast(z), dimensions={}\n  r = f64[3,3] select(above, top, zb)\n"
      "  product = f64[4,3] dot(q, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT d = f64[4,3] subtract(product, a)\n}\n";
  const std::string svd =
      "HloModule m\nENTRY e {\n  a = c128[3,4] parameter(0)\n"
      "  f = (c128[3,4]{0,1}, f64[3], c128[3,3]{0,1}, c128[3,4]{0,1}, s32[]) custom-call(a), "
      "custom_call_target=\"lapack_zgesdd_ffi\", backend_config={mode = 83 : ui8}\n"
      "  s = f64[3] get-tuple-element(f), index=1\n  u = c128[3,3] get-tuple-element(f), index=2\n"
      "  vt = c128[3,4] get-tuple-element(f), index=3\n  zs = c128[3] convert(s)\n"
      "  sb = c128[3,3] broadcast(zs), dimensions={1}\n  us = c128[3,3] multiply(u, sb)\n"
      "  product = c128[3,4] dot(us, vt), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  d = c128[3,4] subtract(product, a)\n  ROOT r = f64[3,4] abs(d)\n}\n";
  for (const std::string& text : {qr, svd}) {
    const auto module = ParseText(text);
    ASSERT_NE(module, nullptr);
    std::vector<Literal> args = {Literal(module->entry().parameter(0).shape())};
    for (int64_t i = 0; i < 12; ++i) {
      const std::complex<double> value = {std::sin(static_cast<double>(i * i)), std::cos(static_cast<double>(i) * 1.5)};
      if (IsComplex(args[0].shape().type())) args[0].SetComplex(i, value);
      else args[0].SetDouble(i, value.real());
    }
    const auto result = Interpret(*module, args);
    if (!result) {
      EXPECT_NE(Render(result.error(), "test").find("liblapack3"), std::string::npos);
      GTEST_SKIP() << "LAPACK is not installed";
    }
    for (const double difference : Doubles(*result)) EXPECT_NEAR(difference, 0, 1e-14);
  }
}

}  // namespace
}  // namespace hlo
