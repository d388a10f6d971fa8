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
#include "tests/read_file.h"

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
  const char* file;  // In testdata/memory.
  double values;
};
constexpr int64_t kUnit = 48 * 48 * 4;

// Tolerance, in units of kUnit, for the memory of counters and single rows, which examples do not count.
constexpr double kSmall = 0.05;

// The memory of a product besides operands and result: panels of its right side, and 48 rows of its left side with
// their sums.
constexpr double kOfDot = 3;

const Example kExamples[] = {
    {"chain_in_place",
     // add(b, b) uses its operand twice, so it does not overwrite it.
     2},
    {"chain_of_products", 3},
    {"kept_until_the_end",
     // Live are x, a, and two neighbours of the chain.
     4},
    {"tuple_taken_apart",
     // Live are x, b and two values of the chain. `first` is freed when c exists.
     4},
    {"loop_of_one_parameter",
     // Live are x, which belongs to the caller, v, which is another array from the second trip on, a, b, and the memory
     // of the product.
     4 + kOfDot},
    {"loop_hands_on_the_weights", 3 + kOfDot},
    {"loop_writes_in_place",
     // Live are x and the updated array.
     2},
    {"loop_takes_what_dies", 2},
    {"conditional",
     // Live are x and w, which belong to the caller, and a, b and c. Both branches return w.
     5 + kOfDot},
    {"fusion",
     // Live are y and two neighbours of the chain. An operand of the fusion is freed after its last use there.
     3},
    {"fusion_of_what_is_kept", 3},
    {"async",
     // Live are x, r, and the array of `done`, which is also part of the value of `start`.
     3},
    {"dot_of_floats", 3 + kOfDot},
    {"dot_of_halves",
     // Each of the three arrays exists in its own type and in f32.
     1.5 + 3 + kOfDot},
    {"dot_of_halves_to_floats",
     // x is transposed before it is converted to f32.
     1 + 1 + 2 + kOfDot},
    {"convolution_of_halves", 1.5 + 3 + kOfDot},
    {"convolution_in_another_order",
     // Both operands are transposed first.
     1.5 + 1 + 3 + kOfDot},
    {"cholesky",
     // The operand, and two f32 arrays: the converted operand and the work space.
     1 + 2},
    {"random_bits",
     // The generator makes 8 bytes for each byte of the result.
     1 + 8},
    {"fft",
     // In c128 these are live: the operand, the transformed line, the roots of unity, and the line before and after the
     // transform. The result does not exist yet.
     1 + 10},
};

class Planned : public testing::TestWithParam<Example> {};

TEST_P(Planned, PeakIsTheLiveMemory) {
  std::string text = ReadFile(Str("testdata/memory/", GetParam().file, ".hlo"));
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
                         [](const auto& param) { return std::string(param.param.file); });

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
