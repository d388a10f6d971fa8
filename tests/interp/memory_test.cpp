// Compares the interpreter's plan of memory with the peak of a real run.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "base/text.h"
#include "driver/load.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "ir/literal_memory.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// Bytes at the peak, in the plan and in a run. Both include the arguments. Memory in use before the run does not count.
struct Measured {
  int64_t planned = 0, real = 0;
};

Result<Measured> Measure(const Module& module, const std::vector<Literal>& args) {
  int64_t arguments = 0;
  for (const Literal& arg : args) arguments += arg.shape().ByteSize();
  ResetPeakLiteralBytes();
  const int64_t before = LiveLiteralBytes();
  TRY(Interpret(module, args));
  return Measured{PeakBytes(module.entry()), PeakLiteralBytes() - before + arguments};
}

// A module with the number of values, in units of kUnit bytes, that are live at its peak. The numbers were worked out
// by hand.
struct Example {
  const char* name;
  const char* text;
  double values;
};
constexpr int64_t kUnit = 48 * 48 * 4;

// Tolerance, in units of kUnit, for the memory of counters and single rows, which examples do not count.
constexpr double kSmall = 0.05;

// The memory of a product besides operands and result: panels of its right side, and 48 rows of its left side with
// their sums.
constexpr double kOfDot = 3;

const Example kExamples[] = {
    {"ChainInPlace", R"(HloModule m
ENTRY main {
  i = f32[48,48] iota(), iota_dimension=0
  a = f32[48,48] negate(i)
  b = f32[48,48] sine(a)
  c = f32[48,48] add(b, b)
  ROOT d = f32[48,48] negate(c)
})",
     // add(b, b) uses its operand twice, so it does not overwrite it.
     2},
    {"ChainOfProducts", R"(HloModule m
ENTRY main {
  x = f32[48,48] parameter(0)
  a = f32[48,48] transpose(x), dimensions={1,0}
  b = f32[48,48] transpose(a), dimensions={1,0}
  c = f32[48,48] transpose(b), dimensions={1,0}
  ROOT d = f32[48,48] transpose(c), dimensions={1,0}
})",
     3},
    {"KeptUntilTheEnd", R"(HloModule m
ENTRY main {
  x = f32[48,48] parameter(0)
  a = f32[48,48] transpose(x), dimensions={1,0}
  b = f32[48,48] transpose(a), dimensions={1,0}
  c = f32[48,48] transpose(b), dimensions={1,0}
  d = f32[48,48] transpose(c), dimensions={1,0}
  ROOT e = f32[48,48] add(a, d)
})",
     // Live are x, a, and two neighbours of the chain.
     4},
    {"TupleTakenApart", R"(HloModule m
ENTRY main {
  x = f32[48,48] parameter(0)
  a = f32[48,48] transpose(x), dimensions={1,0}
  b = f32[48,48] negate(x)
  pair = (f32[48,48], f32[48,48]) tuple(a, b)
  held = (f32[48,48], f32[48,48]) opt-barrier(pair)
  first = f32[48,48] get-tuple-element(held), index=0
  c = f32[48,48] transpose(first), dimensions={1,0}
  d = f32[48,48] transpose(c), dimensions={1,0}
  second = f32[48,48] get-tuple-element(held), index=1
  ROOT e = f32[48,48] subtract(d, second)
})",
     // Live are x, b and two values of the chain. `first` is freed when c exists.
     4},
    {"LoopOfOneParameter", R"(HloModule m
more {
  s = (s32[], f32[48,48]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[48,48]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  v = f32[48,48] get-tuple-element(s), index=1
  a = f32[48,48] transpose(v), dimensions={1,0}
  b = f32[48,48] dot(v, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (s32[], f32[48,48]) tuple(next, b)
}
ENTRY main {
  x = f32[48,48] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[48,48]) tuple(zero, x)
  ROOT loop = (s32[], f32[48,48]) while(init), condition=more, body=body
})",
     // Live are x, which belongs to the caller, v, which is another array from the second trip on, a, b, and the memory
     // of the product.
     4 + kOfDot},
    {"LoopHandsOnTheWeights", R"(HloModule m
more {
  s = (s32[], f32[48,48], f32[48,48]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[48,48], f32[48,48]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  w = f32[48,48] get-tuple-element(s), index=1
  v = f32[48,48] get-tuple-element(s), index=2
  a = f32[48,48] dot(v, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (s32[], f32[48,48], f32[48,48]) tuple(next, w, a)
}
ENTRY main {
  w = f32[48,48] parameter(0)
  v = f32[48,48] iota(), iota_dimension=0
  zero = s32[] constant(0)
  init = (s32[], f32[48,48], f32[48,48]) tuple(zero, w, v)
  loop = (s32[], f32[48,48], f32[48,48]) while(init), condition=more, body=body
  last = f32[48,48] get-tuple-element(loop), index=2
  ROOT r = f32[48,48] transpose(last), dimensions={1,0}
})",
     3 + kOfDot},
    {"LoopWritesInPlace", R"(HloModule m
more {
  s = (s32[], f32[48,48]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[48,48]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  zero = s32[] constant(0)
  row = f32[1,48] iota(), iota_dimension=1
  v = f32[48,48] get-tuple-element(s), index=1
  written = f32[48,48] dynamic-update-slice(v, row, i, zero)
  ROOT r = (s32[], f32[48,48]) tuple(next, written)
}
ENTRY main {
  x = f32[48,48] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[48,48]) tuple(zero, x)
  ROOT loop = (s32[], f32[48,48]) while(init), condition=more, body=body
})",
     // Live are x and the updated array.
     2},
    {"LoopTakesWhatDies", R"(HloModule m
more {
  v = f32[48,48] parameter(0)
  corner = f32[1,1] slice(v), slice={[0:1], [0:1]}
  one = f32[] reshape(corner)
  n = f32[] constant(100)
  ROOT r = pred[] compare(one, n), direction=LT
}
body {
  v = f32[48,48] parameter(0)
  a = f32[48,48] transpose(v), dimensions={1,0}
  b = f32[48,48] transpose(a), dimensions={1,0}
  c = f32[48,48] constant({...})
  ROOT r = f32[48,48] add(b, c)
}
ENTRY main {
  one = f32[] constant(1)
  x = f32[48,48] broadcast(one), dimensions={}
  ROOT loop = f32[48,48] while(x), condition=more, body=body
})",
     2},
    {"Conditional", R"(HloModule m
light {
  v = (f32[48,48], f32[48,48]) parameter(0)
  x = f32[48,48] get-tuple-element(v), index=0
  w = f32[48,48] get-tuple-element(v), index=1
  a = f32[48,48] negate(x)
  ROOT r = (f32[48,48], f32[48,48]) tuple(a, w)
}
heavy {
  v = (f32[48,48], f32[48,48]) parameter(0)
  x = f32[48,48] get-tuple-element(v), index=0
  w = f32[48,48] get-tuple-element(v), index=1
  a = f32[48,48] transpose(x), dimensions={1,0}
  b = f32[48,48] dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[48,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[48,48], f32[48,48]) tuple(c, w)
}
ENTRY main {
  x = f32[48,48] parameter(0)
  w = f32[48,48] parameter(1)
  which = s32[] constant(1)
  pair = (f32[48,48], f32[48,48]) tuple(x, w)
  ROOT r = (f32[48,48], f32[48,48]) conditional(which, pair, pair), branch_computations={light, heavy}
})",
     // Live are x and w, which belong to the caller, and a, b and c. Both branches return w.
     5 + kOfDot},
    {"Fusion", R"(HloModule m
fused {
  x = f32[48,48] parameter(0)
  y = f32[48,48] parameter(1)
  a = f32[48,48] transpose(x), dimensions={1,0}
  b = f32[48,48] transpose(a), dimensions={1,0}
  ROOT c = f32[48,48] add(b, y)
}
ENTRY main {
  x = f32[48,48] iota(), iota_dimension=0
  y = f32[48,48] iota(), iota_dimension=1
  ROOT r = f32[48,48] fusion(x, y), kind=kLoop, calls=fused
})",
     // Live are y and two neighbours of the chain. An operand of the fusion is freed after its last use there.
     3},
    {"FusionOfWhatIsKept", R"(HloModule m
fused {
  x = f32[48,48] parameter(0)
  a = f32[48,48] transpose(x), dimensions={1,0}
  b = f32[48,48] transpose(a), dimensions={1,0}
  ROOT c = f32[48,48] transpose(b), dimensions={1,0}
}
ENTRY main {
  x = f32[48,48] iota(), iota_dimension=0
  f = f32[48,48] fusion(x), kind=kLoop, calls=fused
  ROOT r = f32[48,48] subtract(x, f)
})",
     3},
    {"Async", R"(HloModule m
wrapped {
  x = f32[48,48] parameter(0)
  ROOT a = f32[48,48] transpose(x), dimensions={1,0}
}
ENTRY main {
  x = f32[48,48] parameter(0)
  start = ((f32[48,48]), f32[48,48], u32[]) async-start(x), calls=wrapped
  done = f32[48,48] async-done(start)
  ROOT r = f32[48,48] transpose(done), dimensions={1,0}
})",
     // Live are x, r, and the array of `done`, which is also part of the value of `start`.
     3},
    {"DotOfFloats", R"(HloModule m
ENTRY main {
  x = f32[48,48] parameter(0)
  y = f32[48,48] parameter(1)
  ROOT r = f32[48,48] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
     3 + kOfDot},
    {"DotOfHalves", R"(HloModule m
ENTRY main {
  x = bf16[48,48] parameter(0)
  y = bf16[48,48] parameter(1)
  ROOT r = bf16[48,48] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})",
     // Each of the three arrays exists in its own type and in f32.
     1.5 + 3 + kOfDot},
    {"DotOfHalvesToFloats", R"(HloModule m
ENTRY main {
  x = f16[48,48] parameter(0)
  y = f16[48,48] parameter(1)
  ROOT r = f32[48,48] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
})",
     // x is transposed before it is converted to f32.
     1 + 1 + 2 + kOfDot},
    {"ConvolutionOfHalves", R"(HloModule m
ENTRY main {
  x = bf16[1,48,48] parameter(0)
  y = bf16[1,48,48] parameter(1)
  ROOT r = bf16[1,48,48] convolution(x, y), window={size=1}, dim_labels=b0f_0io->b0f
})",
     1.5 + 3 + kOfDot},
    {"ConvolutionInAnotherOrder", R"(HloModule m
ENTRY main {
  x = bf16[1,48,48] parameter(0)
  y = bf16[1,48,48] parameter(1)
  ROOT r = bf16[1,48,48] convolution(x, y), window={size=1 rhs_reversal=1}, dim_labels=bf0_0oi->bf0
})",
     // Both operands are transposed first.
     1.5 + 1 + 3 + kOfDot},
    {"Cholesky", R"(HloModule m
ENTRY main {
  x = f16[48,48] parameter(0)
  ROOT r = f16[48,48] cholesky(x), lower=true
})",
     // The operand, and two f32 arrays: the converted operand and the work space.
     1 + 2},
    {"RandomBits", R"(HloModule m
ENTRY main {
  key = u64[2] parameter(0)
  r = (u64[2], u8[96,96]) rng-bit-generator(key), algorithm=rng_three_fry
  ROOT bits = u8[96,96] get-tuple-element(r), index=1
})",
     // The generator makes 8 bytes for each byte of the result.
     1 + 8},
    {"Fft", R"(HloModule m
ENTRY main {
  x = c64[1152] parameter(0)
  ROOT r = c64[1152] fft(x), fft_type=FFT, fft_length={1152}
})",
     // In c128 these are live: the operand, the transformed line, the roots of unity, and the line before and after the
     // transform. The result does not exist yet.
     1 + 10},
};

class Planned : public testing::TestWithParam<Example> {};

TEST_P(Planned, PeakIsTheLiveMemory) {
  std::string text = GetParam().text;
  if (const size_t at = text.find("constant({...})"); at != std::string::npos) {
    // A constant belongs to the module and takes no memory of the run.
    std::string row = "{1", rows;
    for (int i = 1; i < 48; ++i) row += ",1";
    row += "}";
    for (int i = 0; i < 48; ++i) rows += (i == 0 ? "" : ",") + row;
    text.replace(at, 15, "constant({" + rows + "})");
  }
  const auto module = ParseText(text);
  ASSERT_NE(module, nullptr);
  const auto measured = Measure(*module, RandomArguments(*module));
  ASSERT_TRUE(measured.has_value()) << measured.error().message();
  const double planned = static_cast<double>(measured->planned) / kUnit;
  const double real = static_cast<double>(measured->real) / kUnit;
  EXPECT_NEAR(planned, GetParam().values, kSmall);
  EXPECT_NEAR(real, GetParam().values, kSmall);
}

INSTANTIATE_TEST_SUITE_P(, Planned, testing::ValuesIn(kExamples),
                         [](const auto& param) { return std::string(param.param.name); });

// The plan of a program may exceed the peak, if a loop has one trip or a branch is not taken.
TEST(PlannedPeak, HoldsForModels) {
  if (!fs::exists("testdata/models")) GTEST_SKIP() << "run from the project's folder";
  for (const char* const name : {"muladd_reduce", "mlp_train_f32", "mlp_train_bf16", "lstm_infer", "poisson_jacobi",
                                 "vae_sample", "cifar10_train", "gpt2_infer"}) {
    const auto module = LoadModule(Str("testdata/models/", name, ".hlo"));
    ASSERT_TRUE(module.has_value()) << name;
    const auto args = MakeArguments(**module);
    ASSERT_TRUE(args.has_value()) << name;
    const auto measured = Measure(**module, *args);
    ASSERT_TRUE(measured.has_value()) << name << ": " << measured.error().message();
    EXPECT_LE(static_cast<double>(measured->real), 1.02 * static_cast<double>(measured->planned)) << name;
    EXPECT_LE(static_cast<double>(measured->planned), 1.5 * static_cast<double>(measured->real)) << name;
  }
}

// Ops whose own memory, beside operands and result, is not planned.
const std::set<std::string> kMoreThanPlanned = {
    // Library calls, which are computed as instructions with values of their own.
    "custom-call-convolution.hlo", "custom-call-gemm-f8.hlo", "custom-call-norm.hlo",
    "custom-call-radix-sort.hlo",  "custom-call-small.hlo",
};

// The memory that an op needs for itself is planned, or is small compared with its operands and result.
TEST(PlannedPeak, HoldsForOps) {
  if (!fs::exists("testdata/interp")) GTEST_SKIP() << "run from the project's folder";
  int runs = 0;
  for (const auto& entry : fs::directory_iterator("testdata/interp")) {
    const std::string path = entry.path().string();
    if (kMoreThanPlanned.contains(entry.path().filename().string())) continue;
    const auto module = LoadModule(path);
    if (!module || !DeviceCount(**module) || *DeviceCount(**module) != 1) continue;
    const auto args = MakeArguments(**module);
    ASSERT_TRUE(args.has_value()) << path;
    const auto measured = Measure(**module, *args);
    if (!measured) continue;  // The module has an error at run time or an unsupported op.
    ++runs;
    EXPECT_LE(static_cast<double>(measured->real), 1.5 * static_cast<double>(measured->planned)) << path;
  }
  EXPECT_GT(runs, 100);
}

}  // namespace
}  // namespace hlo
