// Tests of attention through cuDNN, without a GPU. For each file of testdata/attention, the cuDNN double computes the
// attention from the backend's descriptors. The result is compared with the interpreter's result for the module.
//
// CudnnPlans queries the real cuDNN for a device that is only described: `make cudnn-plans`.
#include "gpu/libraries/cudnn_attention.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>

#include "base/text.h"
#include "gpu/device/device.h"
#include "interp/interpreter.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "tests/doubles/cudnn_double.h"
#include "tests/gpu/cudnn_described.h"
#include "tests/gpu/emitters_harness.h"
#include "tests/module_files.h"
#include "tests/read_file.h"

namespace hlo::gpu {
namespace {

void IsNoUse(const std::string& what) { ADD_FAILURE() << what; }

std::string NameOf(const std::string& path) { return std::filesystem::path(path).stem().string(); }

std::unique_ptr<Module> FusedFile(const std::string& path) { return Fused(ReadFile(path), FusionKind::kInput); }

// Binds the call and runs it twice, as the run time does.
Result<Literal> RunCall(const LibraryCall& call, Device& device, const std::vector<Literal>& arguments,
                        const Shape& shape) {
  std::vector<void*> operands;
  for (const Literal& argument : arguments) operands.push_back(const_cast<std::byte*>(argument.raw()));
  std::vector<std::byte> scratch(call.ScratchBytes() + 1);
  Literal result(shape);
  std::vector<void*> results;
  if (!shape.IsTuple()) results.push_back(result.mutable_raw());
  for (Literal& element : result.mutable_elements()) results.push_back(element.mutable_raw());
  const auto bound = TRY(call.Bind(device));
  for (int run = 0; run < 2; ++run) TRY(bound->Run(operands, results, scratch.data(), nullptr));
  return result;
}

// The largest absolute difference, divided by the largest absolute value of `b`.
double Distance(const Literal& a, const Literal& b) {
  double most = 0, distance = 0;
  for (int64_t i = 0; i < a.shape().NumElements(); ++i) {
    most = std::max(most, std::abs(b.GetDouble(i)));
    distance = std::max(distance, std::abs(a.GetDouble(i) - b.GetDouble(i)));
  }
  return distance / most;
}

class Attention : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    module_ = FusedFile(GetParam());
    read_ = ReadAttention(module_->entry().root());
    ASSERT_EQ(read_.why_not, "");
  }

  std::unique_ptr<Module> module_;
  AttentionAnswer read_;
};

// The module rounds the shares to 16 bits after the division, the double before it. This gives an ulp of that type for
// each share, and half an ulp for the result. In f32 the error of the score dominates, because the exponential turns it
// into a relative error: 64 terms of at most 4, each with one rounding.
TEST_P(Attention, RunsOnADouble) {
  const std::vector<Literal> arguments = MakeInputs(*module_, Inputs::kPlain);
  const auto expected = Interpret(*module_, arguments);
  ASSERT_TRUE(expected) << expected.error().message();
  const PrimitiveType type = read_.problem.result.type;
  const double bound = type == PrimitiveType::kBF16  ? 2 * 0x1p-8
                       : type == PrimitiveType::kF16 ? 2 * 0x1p-11
                                                     : 64 * 4 * 0x1p-24;
  CudnnDouble cudnn{.violated = IsNoUse};
  const cudnn::Api api = cudnn.api();
  {
    const auto device = OpenHostDevice();
    const auto answer = CudnnAttention(read_.problem, *device, {}, api);
    ASSERT_TRUE(answer) << answer.error().message();
    ASSERT_NE(answer->call, nullptr) << answer->why_not;
    // For f32, tensor cores compute with tf32, so another engine is chosen.
    EXPECT_TRUE(answer->call->algorithm().ends_with(type == PrimitiveType::kF32 ? "_3" : "_1"))
        << answer->call->algorithm();
    const auto result = RunCall(*answer->call, *device, arguments, expected->shape());
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_LT(Distance(*result, *expected), bound);
    EXPECT_EQ(cudnn.executions, 2);
    const auto again = CudnnAttention(read_.problem, *device, {.algorithm = answer->call->algorithm()}, api);
    ASSERT_TRUE(again && again->call != nullptr);
    EXPECT_EQ(again->call->algorithm(), answer->call->algorithm());
  }
  EXPECT_EQ(cudnn.alive, 0);
}

INSTANTIATE_TEST_SUITE_P(Files, Attention, ::testing::ValuesIn(ModuleFilesBelow("testdata/attention")),
                         [](const auto& info) { return NameOf(info.param); });

TEST(ReadAttention, EachFieldAffectsTheResult) {
  const auto differs = [](const char* file, const std::function<void(AttentionProblem&)>& change) {
    const auto module = FusedFile(Str("testdata/attention/", file, ".hlo"));
    AttentionAnswer read = ReadAttention(module->entry().root());
    EXPECT_EQ(read.why_not, "");
    const std::vector<Literal> arguments = MakeInputs(*module, Inputs::kPlain);
    const auto expected = Interpret(*module, arguments);
    change(read.problem);
    CudnnDouble cudnn{.violated = IsNoUse};
    const cudnn::Api api = cudnn.api();
    const auto device = OpenHostDevice();
    const auto answer = CudnnAttention(read.problem, *device, {}, api);
    const auto result = RunCall(*answer->call, *device, arguments, expected->shape());
    return Distance(*result, *expected) > 0.05;
  };
  EXPECT_FALSE(differs("causal_bf16", [](AttentionProblem&) {}));
  EXPECT_TRUE(differs("causal_bf16", [](AttentionProblem& p) { p.masked = std::nullopt; }));
  EXPECT_TRUE(differs("causal_bf16", [](AttentionProblem& p) { p.scale = 1; }));
  EXPECT_TRUE(differs("bias_f16", [](AttentionProblem& p) { p.bias = std::nullopt; }));
  EXPECT_TRUE(differs("bias_f16", [](AttentionProblem& p) { p.bias->strides[2] = 0; }));
  EXPECT_TRUE(differs("plain_bf16", [](AttentionProblem& p) { std::swap(p.query.operand, p.value.operand); }));
  EXPECT_TRUE(differs("heads_behind_bf16", [](AttentionProblem& p) { std::swap(p.key.strides[1], p.key.strides[2]); }));
}

TEST(ReadAttention, GivesAReasonIfItDoesNotFit) {
  const auto why_not = [](const std::string& from, const std::string& to) {
    std::string text = ReadFile("testdata/attention/causal_bf16.hlo");
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return ReadAttention(Fused(text, FusionKind::kInput)->entry().root()).why_not;
  };
  EXPECT_EQ(why_not("direction=GE", "direction=GE"), "");
  EXPECT_EQ(why_not("direction=GE", "direction=GT"),
            "its mask is not the causal mask, which hides the keys after a query");
  EXPECT_EQ(why_not("direction=GE", "direction=LE"),
            "its mask is not the causal mask, which hides the keys after a query");
  EXPECT_EQ(why_not("constant(-inf)", "constant(0)"), "the value subtracted from its scores is not their maximum");
  EXPECT_EQ(why_not("none = f32[] constant(0)", "none = f32[] constant(1)"),
            "its maximum and its sum are not over the same keys");
  EXPECT_EQ(why_not("multiply(all, factors)", "multiply(all, all)"),
            "its scores are scaled by a value that is not a constant");
  EXPECT_EQ(why_not("exponential(below)", "tanh(below)"),
            "its second product does not read exponentials divided by their sum");
}

TEST(CudnnAttention, TakesLarge16BitAttentionsWithoutAMeasurement) {
  const auto why_not = [](const char* file) {
    const auto module = FusedFile(Str("testdata/attention/", file, ".hlo"));
    return WhyNotByRule(ReadAttention(module->entry().root()).problem);
  };
  EXPECT_EQ(why_not("plain_bf16"), "");
  EXPECT_EQ(why_not("plain_f32"), "without autotuning, cuDNN is used only for 16-bit floats");
  EXPECT_EQ(why_not("one_query_bf16"), "without autotuning, cuDNN is used only from 64 queries or a MiB of scores on");
}

// The same as CudnnCall.EveryCallMayFail. In addition, each engine that is skipped after a failure is noted.
void EveryCallMayFail(
    const Module& module,
    const std::function<Result<LibraryAnswer>(Device& device, const LibraryOptions& options, const cudnn::Api&)>& ask) {
  const std::vector<Literal> arguments = MakeInputs(module, Inputs::kPlain);
  int failures = 0, passed_over = 0, calls = 0;
  for (int fail_at = 0; fail_at <= calls; ++fail_at) {  // The first iteration only counts the calls.
    CudnnDouble cudnn{.violated = IsNoUse, .fail_at = fail_at};
    const cudnn::Api api = cudnn.api();
    {
      const auto device = OpenHostDevice();
      std::vector<std::string> notes;
      const auto answer = ask(*device, {.notes = &notes}, api);
      ASSERT_TRUE(answer) << answer.error().message();
      for (const std::string& note : notes) EXPECT_NE(note.find("the double's words"), std::string::npos) << note;
      passed_over += !notes.empty();
      if (answer->call == nullptr) {
        EXPECT_NE(answer->why_not, "");
        ++failures;
      } else if (const auto result = RunCall(*answer->call, *device, arguments, module.entry().root().shape());
                 !result) {
        EXPECT_NE(result.error().message().find("the double's words"), std::string::npos) << result.error().message();
        ++failures;
      }
      if (fail_at == 0) {
        calls = cudnn.calls;
        ASSERT_EQ(failures + passed_over, 0);
      }
    }
    EXPECT_EQ(cudnn.alive, 0) << "call " << fail_at;
  }
  EXPECT_GT(failures, 10);
  EXPECT_GT(passed_over, 10);
  std::cout << failures << " of " << calls << " failing calls are the end of it; " << passed_over << " are said\n";
}

TEST(CudnnAttention, EveryCallMayFail) {
  const auto module = FusedFile("testdata/attention/one_query_bf16.hlo");
  const AttentionAnswer read = ReadAttention(module->entry().root());
  EveryCallMayFail(*module, [&](Device& device, const LibraryOptions& options, const cudnn::Api& api) {
    return CudnnAttention(read.problem, device, options, api);
  });
}

TEST(CudnnAttention, EveryCallOfGradientsMayFail) {
  const auto module = FusedFile("testdata/attention_gradient/few_f16.hlo");
  const AttentionGradientAnswer read = ReadAttentionGradient(module->entry().root());
  EveryCallMayFail(*module, [&](Device& device, const LibraryOptions& options, const cudnn::Api& api) {
    return CudnnAttentionGradient(read.problem, device, options, api);
  });
}

// ---- Gradients ---------------------------------------------------------------------------------------------------

// Tests the three results of a gradient in the same way. Both sides round shares and slopes
// (gpu/libraries/attention_gradient.h) to 16 bits before 64 to 128 of them are added: half an ulp for each and for the
// result.
class AttentionGradient : public ::testing::TestWithParam<std::string> {};

Result<Literal> RunGradient(const AttentionGradientProblem& problem, const Module& module,
                            const std::vector<Literal>& arguments) {
  CudnnDouble cudnn{.violated = IsNoUse};
  const cudnn::Api api = cudnn.api();
  const auto device = OpenHostDevice();
  const auto answer = TRY(CudnnAttentionGradient(problem, *device, {}, api));
  EXPECT_NE(answer.call, nullptr) << answer.why_not;
  return RunCall(*answer.call, *device, arguments, module.entry().root().shape());
}

double DistanceOfAll(const Literal& a, const Literal& b) {
  double most = 0;
  for (size_t i = 0; i < a.elements().size(); ++i) most = std::max(most, Distance(a.elements()[i], b.elements()[i]));
  return most;
}

TEST_P(AttentionGradient, RunsOnADouble) {
  const auto module = FusedFile(GetParam());
  const AttentionGradientAnswer read = ReadAttentionGradient(module->entry().root());
  ASSERT_EQ(read.why_not, "");
  const std::vector<Literal> arguments = MakeInputs(*module, Inputs::kPlain);
  const auto expected = Interpret(*module, arguments);
  ASSERT_TRUE(expected) << expected.error().message();
  const double ulp = read.problem.query.type == PrimitiveType::kBF16 ? 0x1p-8 : 0x1p-11;
  const auto result = RunGradient(read.problem, *module, arguments);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_LT(DistanceOfAll(*result, *expected), 2 * ulp);
}

INSTANTIATE_TEST_SUITE_P(Files, AttentionGradient, ::testing::ValuesIn(ModuleFilesBelow("testdata/attention_gradient")),
                         [](const auto& info) { return NameOf(info.param); });

TEST(ReadAttentionGradient, EachFieldAffectsTheResult) {
  const auto differs = [](const char* file, const std::function<void(AttentionGradientProblem&)>& change) {
    const auto module = FusedFile(Str("testdata/attention_gradient/", file, ".hlo"));
    AttentionGradientAnswer read = ReadAttentionGradient(module->entry().root());
    EXPECT_EQ(read.why_not, "");
    const std::vector<Literal> arguments = MakeInputs(*module, Inputs::kPlain);
    const auto expected = Interpret(*module, arguments);
    change(read.problem);
    const auto result = RunGradient(read.problem, *module, arguments);
    return DistanceOfAll(*result, *expected) > 0.05;
  };
  using Problem = AttentionGradientProblem;
  EXPECT_FALSE(differs("causal_f16", [](Problem&) {}));
  EXPECT_TRUE(differs("causal_f16", [](Problem& p) { p.masked = std::nullopt; }));
  EXPECT_TRUE(differs("causal_f16", [](Problem& p) { p.scale = 1; }));
  EXPECT_TRUE(differs("causal_f16", [](Problem& p) { std::swap(p.query.operand, p.key.operand); }));
  EXPECT_TRUE(differs("causal_f16", [](Problem& p) { std::swap(p.value.operand, p.key.operand); }));
  EXPECT_TRUE(differs("causal_f16", [](Problem& p) { std::swap(p.result.operand, p.gradient.operand); }));
  EXPECT_TRUE(differs("causal_f16", [](Problem& p) { std::swap(p.numbers[0], p.numbers[1]); }));
  EXPECT_TRUE(differs("causal_f16", [](Problem& p) { std::swap(p.numbers[1], p.numbers[2]); }));
  EXPECT_TRUE(differs("causal_f16", [](Problem& p) { p.statistics.strides[2] = 0; }));
  EXPECT_TRUE(differs("heads_behind_bf16", [](Problem& p) { std::swap(p.key.strides[1], p.key.strides[2]); }));
  EXPECT_TRUE(differs("heads_behind_bf16", [](Problem& p) { std::swap(p.of_key.strides[1], p.of_key.strides[2]); }));
}

TEST(ReadAttentionGradient, GivesAReasonIfItDoesNotFit) {
  const auto why_not = [](const std::string& from, const std::string& to) {
    std::string text = ReadFile("testdata/attention_gradient/causal_f16.hlo");
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return ReadAttentionGradient(Fused(text, FusionKind::kInput)->entry().root()).why_not;
  };
  EXPECT_EQ(why_not("direction=GE", "direction=GE"), "");
  EXPECT_EQ(why_not("direction=GE", "direction=GT"),
            "its mask is not the causal mask, which hides the keys after a query");
  EXPECT_EQ(why_not("direction=GE", "direction=LE"), "its mask hides queries instead of keys");
  EXPECT_EQ(why_not("constant(-1e+09)", "constant(-10)"), "its mask does not give hidden scores a weight of 0");
  EXPECT_EQ(why_not("exponential(below)", "tanh(below)"), "none of its products reads exponentials");
  EXPECT_EQ(why_not("multiply(weighed, factors)", "multiply(weighed, shares)"),
            "the gradients of its scores are not p * (dp - row sums), with p the softmax and dp the product of "
            "gradients and values");
  EXPECT_EQ(why_not("slopes = f32[2,2,128,128] multiply(weighed, factors)", "slopes = f32[2,2,128,128] copy(weighed)"),
            "'copy' is part of the gradients of its scores");
  EXPECT_EQ(why_not("convert(result)", "convert(queries)"),
            "");  // The queries have the role of the result, which is permitted.
  EXPECT_EQ(why_not("multiply(wide_gradient, wide_result)", "multiply(wide_result, wide_result)"),
            "its sum for each query does not read the gradient of the result that its products read");
  EXPECT_EQ(why_not("constant(0)", "constant(1)"),
            "the value subtracted from the gradients of its scores is not a sum of products");
  EXPECT_EQ(why_not("tuple(of_queries, of_keys, of_values)", "tuple(of_queries, of_keys, of_keys)"),
            "two of its results are the same gradient");
}

// ---- cuDNN itself ------------------------------------------------------------------------------------------------

TEST(CudnnPlans, EachAttentionHasAnEngine) {
  if (std::getenv("CUDNN_PLANS") == nullptr) GTEST_SKIP() << "without CUDNN_PLANS=1: make cudnn-plans";
  LibraryOptions options{.allow_tf32 = true};
  if (const char* path = std::getenv("CUDNN_PATH")) options.search.emplace_back(path);
  bool is_first = true;
  for (const std::string& path : ModuleFilesBelow("testdata/attention")) {
    const auto module = FusedFile(path);
    const AttentionAnswer read = ReadAttention(module->entry().root());
    ASSERT_EQ(read.why_not, "") << path;
    bool taken = false;
    const auto engines = CudnnAttentionEngines(read.problem, kDescribedH100, options);
    if (!engines && std::exchange(is_first, false))
      GTEST_SKIP() << "no plans without a device here: " << engines.error().message();
    is_first = false;
    std::cout << Format("%-32s", NameOf(path).c_str()) << EnginesText(engines, &taken) << "\n";
    EXPECT_TRUE(taken) << path;
  }
}

TEST(CudnnPlans, EachAttentionGradientHasAnEngine) {
  if (std::getenv("CUDNN_PLANS") == nullptr) GTEST_SKIP() << "without CUDNN_PLANS=1: make cudnn-plans";
  LibraryOptions options;
  if (const char* path = std::getenv("CUDNN_PATH")) options.search.emplace_back(path);
  bool is_first = true;
  for (const std::string& path : ModuleFilesBelow("testdata/attention_gradient")) {
    const auto module = FusedFile(path);
    const AttentionGradientAnswer read = ReadAttentionGradient(module->entry().root());
    ASSERT_EQ(read.why_not, "") << path;
    bool taken = false;
    const auto engines = CudnnAttentionEngines(read.problem, kDescribedH100, options);
    if (!engines && std::exchange(is_first, false))
      GTEST_SKIP() << "no plans without a device here: " << engines.error().message();
    is_first = false;
    std::cout << Format("%-32s", ("gradient of " + NameOf(path)).c_str()) << EnginesText(engines, &taken) << "\n";
    EXPECT_TRUE(taken) << path;
  }
}

}  // namespace
}  // namespace hlo::gpu
