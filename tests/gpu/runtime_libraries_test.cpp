// Compares library calls on the host with the interpreter. Inputs are small integers, so every order of summation gives
// the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <regex>
#include <thread>
#include <utility>

#include "base/host_isa.h"
#include "base/source_text.h"
#include "base/text.h"
#include "gpu/device/device.h"
#include "gpu/libraries/onednn.h"
#include "gpu/runtime/doctor.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/planned.h"
#include "interp/interpreter.h"
#include "ir/fusion_plan.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "parser/parser.h"
#include "tests/module_files.h"
#include "tests/read_file.h"

namespace hlo::gpu {
namespace {

std::unique_ptr<Module> ParseText(const std::string& text) {
  auto module = Parse(std::make_shared<SourceText>("test", text));
  if (!module) {
    ADD_FAILURE() << Render(module.error(), "test");
    return nullptr;
  }
  return std::move(*module);
}

std::vector<Literal> SmallIntegers(const Module& module) {
  std::vector<Literal> arguments;
  uint32_t state = 1;
  for (const Instruction* parameter : module.entry().parameters()) {
    Literal literal(parameter->shape());
    for (int64_t i = 0; i < literal.shape().NumElements(); ++i) {
      literal.SetInt(i, static_cast<int>((state = state * 1664525 + 1013904223) >> 24) % 9 - 4);
    }
    arguments.push_back(std::move(literal));
  }
  return arguments;
}

class Library : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const auto version = OneDnnVersion({}); !version) GTEST_SKIP() << version.error().message();
  }
};

TEST_P(Library, AgreesWithTheInterpreter) {
  const auto module = ParseText(ReadFile(GetParam()));
  const auto device = OpenHostDevice();
  const std::vector<Literal> arguments = SmallIntegers(*module);
  const auto expected = Interpret(*module, arguments);
  ASSERT_TRUE(expected) << expected.error().message();
  auto executable = Compile(*module, *device);
  ASSERT_TRUE(executable) << executable.error().message();
  EXPECT_EQ((*executable)->report().library_calls, 1) << (*executable)->report().notes.front();
  for (const bool pack_once : {false, true}) {
    CompileOptions options;
    options.pack_once = pack_once;
    executable = Compile(*module, *device, options);
    ASSERT_TRUE(executable) << executable.error().message();
    for (int run = 0; run < 2; ++run) {
      const auto result = (*executable)->Run(arguments);
      ASSERT_TRUE(result) << result.error().message();
      EXPECT_TRUE(result->BitEquals(*expected)) << (*executable)->steps().front().how;
    }
  }
}

TEST_P(Library, AgreesWithTheEmittedKernel) {
  const auto module = ParseText(ReadFile(GetParam()));
  const auto device = OpenHostDevice();
  const std::vector<Literal> arguments = SmallIntegers(*module);
  CompileOptions options;
  options.libraries = false;
  auto kernels = Compile(*module, *device, options);
  if (!kernels && kernels.error().exit == ExitCode::kUnsupported) GTEST_SKIP() << kernels.error().message();
  ASSERT_TRUE(kernels) << kernels.error().message();
  auto library = Compile(*module, *device);
  ASSERT_TRUE(library);
  const auto a = (*kernels)->Run(arguments), b = (*library)->Run(arguments);
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(a->BitEquals(*b));
}

// The program has two bindings, as with two replicas. They must not share state that a call keeps.
TEST_P(Library, TwoBindingsOfOneProgramRunConcurrently) {
  const auto module = ParseText(ReadFile(GetParam()));
  const auto device = OpenHostDevice(), other_device = OpenHostDevice();
  const std::vector<Literal> arguments = SmallIntegers(*module);
  const auto expected = Interpret(*module, arguments);
  ASSERT_TRUE(expected);
  const auto program = CompileProgram(*Plan(*module, *device), *device);
  ASSERT_TRUE(program);
  std::vector<Result<Literal>> results(2, Literal());
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      auto executable = BindProgram(*program, i == 0 ? *device : *other_device);
      ASSERT_TRUE(executable);
      for (int run = 0; run < 20; ++run) results[i] = (*executable)->Run(arguments);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) {
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_TRUE(result->BitEquals(*expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Library, ::testing::ValuesIn(ModuleFilesBelow("testdata/libraries")),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

TEST(LibraryCall, AllFilesAreFound) { EXPECT_EQ(ModuleFilesBelow("testdata/libraries").size(), 20u); }

// No library on the host accepts f64, so a kernel replaces the call, with a note.
TEST(LibraryCall, ACallThatNoLibraryAcceptsIsAKernel) {
  const auto module = ParseText(R"(HloModule test
fused {
  a = f64[5,7] parameter(0)
  b = f64[7,11] parameter(1)
  v = f64[5] parameter(2)
  d = f64[5,11] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  rows = f64[5,11] broadcast(v), dimensions={0}
  ROOT s = f64[5,11] add(d, rows)
}
ENTRY main {
  a = f64[5,7] parameter(0)
  b = f64[7,11] parameter(1)
  v = f64[5] parameter(2)
  ROOT f = f64[5,11] fusion(a, b, v), kind=kCustom, calls=fused, backend_config={"library":"gemm"}
})");
  const auto device = OpenHostDevice();
  const std::vector<Literal> arguments = SmallIntegers(*module);
  auto executable = Compile(*module, *device);
  ASSERT_TRUE(executable) << executable.error().message();
  EXPECT_EQ((*executable)->report().library_calls, 0);
  EXPECT_EQ((*executable)->report().notes.size(), 1u);
  const std::vector<std::string> refused = {"hlokit: its kernels are only for f32, not f64",
                                            "oneDNN: hlokit uses oneDNN only for f32, not f64"};
  EXPECT_EQ((*executable)->steps()[0].plan.refused, refused);
  const auto result = (*executable)->Run(arguments), expected = Interpret(*module, arguments);
  ASSERT_TRUE(result && expected);
  EXPECT_TRUE(result->BitEquals(*expected));
}

// This product is larger than our own implementation accepts.
constexpr const char* kLargeProduct = R"(HloModule test
fused {
  a = f32[130,128] parameter(0)
  b = f32[128,144] parameter(1)
  v = f32[144] parameter(2)
  d = f32[130,144] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  columns = f32[130,144] broadcast(v), dimensions={1}
  ROOT s = f32[130,144] add(d, columns)
}
ENTRY main {
  a = f32[130,128] parameter(0)
  b = f32[128,144] parameter(1)
  v = f32[144] parameter(2)
  ROOT f = f32[130,144] fusion(a, b, v), kind=kCustom, calls=fused, backend_config={"library":"gemm"}
})";

TEST(LibraryCall, LargerProductsUseOneDnn) {
  if (!OneDnnVersion({})) GTEST_SKIP() << "no oneDNN";
  const auto module = ParseText(kLargeProduct);
  const auto device = OpenHostDevice();
  const std::vector<Literal> arguments = SmallIntegers(*module);
  auto executable = Compile(*module, *device);
  ASSERT_TRUE(executable) << executable.error().message();
  EXPECT_TRUE((*executable)->steps()[0].how.starts_with("oneDNN")) << (*executable)->steps()[0].how;
  const auto result = (*executable)->Run(arguments), expected = Interpret(*module, arguments);
  ASSERT_TRUE(result && expected);
  EXPECT_TRUE(result->BitEquals(*expected));
}

// Rows, columns and terms are multiples of a tile or leave a remainder, at each instruction set level of this
// processor. The plan names our own implementation, because others may be faster.
TEST(LibraryCall, OwnSmallProductsAreCorrectAtTheirEdges) {
  constexpr std::string_view kProduct = R"(HloModule test
fused {
  a = f32[M,K] parameter(0)
  b = f32[K,N] parameter(1)
  v = f32[N] parameter(2)
  r = f32[M,N] parameter(3)
  d = f32[M,N] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  two = f32[] constant(2)
  twice = f32[M,N] broadcast(two), dimensions={}
  scaled = f32[M,N] multiply(d, twice)
  columns = f32[M,N] broadcast(v), dimensions={1}
  sum = f32[M,N] add(scaled, columns)
  rest = f32[M,N] subtract(sum, r)
  zero = f32[] constant(0)
  zeros = f32[M,N] broadcast(zero), dimensions={}
  ROOT positive = f32[M,N] maximum(rest, zeros)
}
ENTRY main {
  a = f32[M,K] parameter(0)
  b = f32[K,N] parameter(1)
  v = f32[N] parameter(2)
  r = f32[M,N] parameter(3)
  ROOT f = f32[M,N] fusion(a, b, v, r), kind=kCustom, calls=fused, backend_config={"library":"gemm","plan":{"target":"h200","kernels":[{"kind":"gemm","library":"hlokit"}]}}
})";
  const auto with = [&](int64_t rows, int64_t columns, int64_t terms) {
    std::string text(kProduct);
    for (const auto& [name, size] : {std::pair("\\bM\\b", rows), {"\\bN\\b", columns}, {"\\bK\\b", terms}})
      text = std::regex_replace(text, std::regex(name), Str(size));
    return text;
  };
  const HostIsa before = ChosenHostIsa();
  for (const HostIsa level : HostIsaLevels()) {
    ASSERT_TRUE(ChooseHostIsa(kHostIsaNames[static_cast<size_t>(level)]));
    const auto device = OpenHostDevice();
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17}) {
      for (const int64_t columns : {1, 8, 23, 24, 33, 95, 200}) {
        for (const int64_t terms : {1, 40}) {
          const auto module = ParseText(with(rows, columns, terms));
          ASSERT_TRUE(module);
          const std::vector<Literal> arguments = SmallIntegers(*module);
          const auto executable = Compile(*module, *device);
          ASSERT_TRUE(executable) << executable.error().message();
          EXPECT_TRUE((*executable)->steps()[0].how.starts_with("unpacked")) << (*executable)->steps()[0].how;
          const auto result = (*executable)->Run(arguments), expected = Interpret(*module, arguments);
          ASSERT_TRUE(result && expected);
          EXPECT_TRUE(result->BitEquals(*expected))
              << rows << " x " << columns << ", " << terms << " terms, " << HostIsaText();
        }
      }
    }
  }
  ASSERT_TRUE(ChooseHostIsa(kHostIsaNames[static_cast<size_t>(before)]));
}

// The step's plan has the chosen algorithm, prints, parses back and is obeyed.
TEST(LibraryCall, ItsPlanIsReplayed) {
  if (!OneDnnVersion({})) GTEST_SKIP() << "no oneDNN";
  const auto module = ParseText(kLargeProduct);
  const auto device = OpenHostDevice();
  const std::vector<Literal> arguments = SmallIntegers(*module);
  const auto first = Compile(*module, *device);
  ASSERT_TRUE(first) << first.error().message();
  const StepInfo& step = (*first)->steps()[0];
  ASSERT_EQ(step.plan.kernels.size(), 1u);
  EXPECT_EQ(step.plan.kernels[0].library, "oneDNN");
  EXPECT_TRUE(step.how.ends_with(step.plan.kernels[0].algorithm)) << step.how;
  EXPECT_EQ(step.plan.refused, std::vector<std::string>{"hlokit: its kernels are for at most 4 million operations"});

  SetPlan(module->entry().root(), step.plan);
  const auto read = Parse(std::make_shared<SourceText>("plan.hlo", Print(*module)));
  ASSERT_TRUE(read) << read.error().message();
  const auto second = Compile(**read, *device);
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ((*second)->steps()[0].plan, step.plan) << ToJson((*second)->steps()[0].plan);
  EXPECT_EQ((*second)->steps()[0].how, step.how);
  const auto result = (*second)->Run(arguments), expected = Interpret(*module, arguments);
  ASSERT_TRUE(result && expected);
  EXPECT_TRUE(result->BitEquals(*expected));
}

TEST(LibraryCall, APlanThatItsLibraryRejectsIsAnError) {
  if (!OneDnnVersion({})) GTEST_SKIP() << "no oneDNN";
  const auto device = OpenHostDevice();
  const struct {
    const char *kernel, *error;
  } cases[] = {
      {R"("library":"hlokit")", "hlokit: its kernels are for at most 4 million operations"},
      {R"("library":"oneDNN","algorithm":"magic")",
       "oneDNN: there is no algorithm 'magic' for it; the algorithms are "},
      {R"("library":"cuBLASLt")", "no library for a dot on cpu is called 'cuBLASLt'; the libraries are hlokit, oneDNN"},
  };
  for (const auto& each : cases) {
    const auto module = ParseText(kLargeProduct);
    module->entry().root().mutable_common().backend_config.text =
        Str(R"({"library":"gemm","plan":{"target":"h200","kernels":[{"kind":"gemm",)", each.kernel, "}]}}");
    const auto compiled = Compile(*module, *device);
    ASSERT_FALSE(compiled) << each.kernel;
    EXPECT_EQ(compiled.error().code(), "C001");
    EXPECT_NE(compiled.error().message().find(each.error), std::string::npos) << compiled.error().message();
  }
}

// A plan can choose each implementation that oneDNN has for the product.
TEST(LibraryCall, ThePlannedAlgorithmIsUsed) {
  if (!OneDnnVersion({})) GTEST_SKIP() << "no oneDNN";
  const auto device = OpenHostDevice();
  const auto with = [&](std::string_view algorithm) {
    auto module = ParseText(kLargeProduct);
    module->entry().root().mutable_common().backend_config.text =
        Str(R"({"library":"gemm","plan":{"target":"h200","kernels":[{"kind":"gemm","library":"oneDNN","algorithm":")",
            algorithm, "\"}]}}");
    return module;
  };
  const std::string message = Compile(*with("magic"), *device).error().message();
  constexpr std::string_view kBefore = "the algorithms are ";
  std::string names = message.substr(message.find(kBefore) + kBefore.size());
  int obeyed = 0;
  for (size_t comma = 0; !names.empty(); names = comma == names.npos ? "" : names.substr(comma + 2)) {
    comma = names.find(", ");
    const std::string name = names.substr(0, comma);
    if (name.starts_with("ref")) continue;
    const auto module = with(name);
    const auto compiled = Compile(*module, *device);
    ASSERT_TRUE(compiled) << compiled.error().message();
    EXPECT_TRUE((*compiled)->steps()[0].how.ends_with(name)) << (*compiled)->steps()[0].how;
    const std::vector<Literal> arguments = SmallIntegers(*module);
    const auto result = (*compiled)->Run(arguments), expected = Interpret(*module, arguments);
    ASSERT_TRUE(result && expected);
    EXPECT_TRUE(result->BitEquals(*expected)) << name;
    ++obeyed;
  }
  EXPECT_GT(obeyed, 0) << message;
}

TEST(LibraryCall, ReluKeepsNaN) {
  if (!OneDnnVersion({})) GTEST_SKIP() << "no oneDNN";
  const auto module = ParseText(ReadFile("testdata/libraries/bias_relu.hlo"));
  const auto device = OpenHostDevice();
  std::vector<Literal> arguments = SmallIntegers(*module);
  arguments[0].mutable_data<float>()[0] = NAN;
  auto executable = Compile(*module, *device);
  ASSERT_TRUE(executable);
  const auto result = (*executable)->Run(arguments);
  ASSERT_TRUE(result);
  for (int i = 0; i < 11; ++i) EXPECT_TRUE(std::isnan(result->data<float>()[i])) << i;
}

TEST(Doctor, NamesWorkingLibrariesAndAlternatives) {
  const std::vector<Capability> capabilities = Examine({}, nullptr);
  ASSERT_EQ(capabilities.size(), 9u);
  for (const Capability& capability : capabilities) {
    EXPECT_FALSE(capability.text.empty()) << capability.name;
    EXPECT_EQ(capability.ok, capability.consequence.empty()) << capability.name;
  }
}

TEST(LibraryCall, PlantedFaultsChangeTheResult) {
  if (!OneDnnVersion({})) GTEST_SKIP() << "no oneDNN";
  const auto module = ParseText(ReadFile("testdata/libraries/plain.hlo"));
  const auto device = OpenHostDevice();
  const std::vector<Literal> arguments = SmallIntegers(*module);
  const auto expected = Interpret(*module, arguments);
  ASSERT_TRUE(expected);
  for (const char* fault : {"bit", "zero", "scale"}) {
    CompileOptions options;
    options.inject = Str("library:f:", fault);
    auto executable = Compile(*module, *device, options);
    ASSERT_TRUE(executable);
    const auto result = (*executable)->Run(arguments);
    ASSERT_TRUE(result);
    EXPECT_FALSE(result->BitEquals(*expected)) << fault;
  }
  CompileOptions options;
  options.inject = "library:nobody:bit";
  EXPECT_EQ(Compile(*module, *device, options).error().exit, ExitCode::kUsage);
  options.inject = "library:f:nothing";
  EXPECT_EQ(Compile(*module, *device, options).error().exit, ExitCode::kUsage);
}

}  // namespace
}  // namespace hlo::gpu
