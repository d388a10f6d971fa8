// Tests of convolutions through cuDNN, without a GPU. Each file of testdata/convolutions runs through the passes for a
// GPU. The convolution that is read from it is computed here by its definition, between the parts that are our own
// kernels. All inputs are small integers, so every order of summation gives the same bits.
//
// CudnnPlans queries the real cuDNN for a device that is only described: `make cudnn-plans`.
#include "gpu/libraries/cudnn.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>

#include "base/parallel.h"
#include "base/source_text.h"
#include "base/text.h"
#include "gpu/device/device.h"
#include "gpu/emitters/emitter.h"
#include "gpu/libraries/cudnn_api.h"
#include "gpu/libraries/cudnn_graph.h"
#include "gpu/libraries/cudnn_parts.h"
#include "gpu/libraries/own_part.h"
#include "gpu/plan/planner.h"
#include "interp/interpreter.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "parser/parser.h"
#include "passes/pipeline.h"
#include "tests/doubles/cudnn_double.h"
#include "tests/gpu/cudnn_described.h"
#include "tests/module_files.h"

namespace hlo::gpu {
namespace {

using Dims = std::vector<int64_t>;

void IsNoUse(const std::string& what) { ADD_FAILURE() << what; }

std::string NameOf(const std::string& path) { return std::filesystem::path(path).stem().string(); }

// The module after the passes for an H200. Sums of the convolution's results stay part of the library call.
std::unique_ptr<Module> Optimized(const std::string& path) {
  auto source = ReadSource(path);
  auto module = source ? Parse(*source) : Result<std::unique_ptr<Module>>(std::unexpected(source.error()));
  if (!module || !RunPipeline(**module)) return nullptr;
  TakeUnplannedRegionsApart(**module, *FindDevice("h200"), [](const Instruction&) -> std::optional<FusionPlan> {
    return FusionPlan{.kernels = {{.kind = KernelKind::kConvolution}}};
  });
  return std::move(*module);
}

const Instruction* CallIn(const Module& module) {
  const Instruction* call = nullptr;
  for (const Instruction* inst : module.entry().Instructions()) {
    if (LibraryOf(*inst) == "convolution") call = inst;
  }
  return call;
}

std::vector<Literal> SmallIntegers(const Computation& computation, int values = 5) {
  std::vector<Literal> arguments;
  uint32_t state = 1;
  for (const Instruction* parameter : computation.parameters()) {
    Literal literal(parameter->shape());
    for (int64_t i = 0; i < literal.shape().NumElements(); ++i)
      literal.SetDouble(i, static_cast<int>((state = state * 1664525 + 1013904223) >> 24) % values - values / 2);
    arguments.push_back(std::move(literal));
  }
  return arguments;
}

Dims DenseStrides(const Dims& dims, bool channels_last) {
  Dims order = {0};
  for (size_t d = 2; d < dims.size(); ++d) order.push_back(static_cast<int64_t>(d));
  order.insert(channels_last ? order.end() : order.begin() + 1, 1);
  Dims strides(dims.size());
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0; next *= dims[order[i]]) strides[order[i]] = next;
  return strides;
}

std::vector<void*> PointersOf(Literal& literal) {
  std::vector<void*> pointers;
  if (!literal.shape().IsTuple()) pointers.push_back(literal.mutable_raw());
  for (Literal& element : literal.mutable_elements()) pointers.push_back(element.mutable_raw());
  return pointers;
}

class Convolution : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    module_ = Optimized(GetParam());
    ASSERT_NE(module_, nullptr);
    const Instruction* const call = CallIn(*module_);
    ASSERT_NE(call, nullptr) << "no library call";
    contraction_ = ReadContraction(*call);
    ASSERT_EQ(contraction_.why_not, "");
    read_ = ReadConvolution(contraction_.contraction);
    ASSERT_EQ(read_.why_not, "");
    prepared_ = cudnn::PrepareConvolution(read_.problem);
    ASSERT_EQ(prepared_.why_not, "");
  }

  const Computation& fused() const { return contraction_.contraction.product->computation(); }

  std::unique_ptr<Module> module_;
  ContractionAnswer contraction_;
  ConvolutionAnswer read_;
  cudnn::PreparedConvolution prepared_;
};

TEST_P(Convolution, IsReadCorrectly) {
  // RunsOnADouble tests convolutions with sums.
  if (!read_.problem.sums.empty()) return;
  Module alone("alone");
  alone.SetEntry(alone.CloneComputation(fused(), "main"));
  std::vector<Literal> arguments = SmallIntegers(fused());
  const auto expected = Interpret(alone, arguments);
  ASSERT_TRUE(expected) << expected.error().message();

  const ConvolutionProblem& problem = prepared_.problem;
  for (size_t i = 0; i < problem.spatial.size(); ++i) {  // The size of the output, as cuDNN computes and checks it.
    const ConvolutionDim& dim = problem.spatial[i];
    const int64_t reach =
        problem.images.dims[i + 2] + dim.pad_low + dim.pad_high - dim.dilation * (problem.weights.dims[i + 2] - 1) - 1;
    EXPECT_EQ(reach / dim.stride + 1, problem.outputs.dims[i + 2]);
    EXPECT_GE(dim.pad_low, 0);
    EXPECT_GE(dim.pad_high, 0);
  }
  const auto array = [&](const ConvolutionTensor& tensor) {
    ConvolutionArray array{tensor.dims, DenseStrides(tensor.dims, prepared_.channels_last), {}};
    int64_t elements = 1;
    for (const int64_t dim : tensor.dims) elements *= dim;
    array.elements.resize(elements);
    if (tensor.operand < 0) return array;
    Literal packed = arguments[tensor.operand];
    if (&tensor == &problem.weights && prepared_.WeightsMove()) {
      const auto pack = cudnn::PackModule(prepared_);
      Literal lies(pack->entry().parameter(0).shape());
      for (int64_t i = 0; i < elements; ++i) lies.SetDouble(i, packed.GetDouble(i));
      auto moved = Interpret(*pack, std::vector{lies});
      EXPECT_TRUE(moved) << moved.error().message();
      if (moved) packed = std::move(*moved);
    }
    for (int64_t i = 0; i < elements; ++i) array.elements[i] = packed.GetDouble(i);
    return array;
  };
  ConvolutionArray images = array(problem.images), weights = array(problem.weights), outputs = array(problem.outputs);
  Convolve(problem, images, weights, outputs);
  const ConvolutionArray& result = problem.kind == ConvolutionKind::kFprop   ? outputs
                                   : problem.kind == ConvolutionKind::kDgrad ? images
                                                                             : weights;
  const auto finish = cudnn::FinishModule(contraction_.contraction, prepared_);
  ASSERT_NE(finish, nullptr);
  arguments.emplace_back(finish->entry().parameter(std::ssize(arguments)).shape());
  for (int64_t i = 0; i < std::ssize(result.elements); ++i) arguments.back().SetDouble(i, result.elements[i]);
  const auto finished = Interpret(*finish, arguments);
  ASSERT_TRUE(finished) << finished.error().message();
  EXPECT_TRUE(finished->BitEquals(*expected));
}

// Checks the parts that are kernels of ours. For a GPU they need no memory except operands and results, unless they
// compute sums. The host runs them.
TEST_P(Convolution, PartsAreKernels) {
  const auto host = OpenHostDevice();
  const auto check = [&](std::unique_ptr<Module> module) {
    const Instruction& root = module->entry().root();
    const auto plan = PlanKernels(root, *FindDevice("h200"));
    ASSERT_TRUE(plan) << plan.error().message();
    const auto kernels = EmitFusion(root, *plan);
    ASSERT_TRUE(kernels) << kernels.error().message();
    for (const EmittedKernel& kernel : *kernels) {
      for (const KernelBuffer& buffer : kernel.buffers) {
        EXPECT_TRUE(buffer.kind == KernelBuffer::Kind::kOperand || buffer.kind == KernelBuffer::Kind::kOutput ||
                    (buffer.kind == KernelBuffer::Kind::kScratch && !read_.problem.sums.empty()));
      }
    }
    const std::vector<Literal> arguments = SmallIntegers(module->entry());
    const auto expected = Interpret(*module, arguments);
    ASSERT_TRUE(expected) << expected.error().message();
    const auto part = OwnPart::Make(std::move(module), *host);
    ASSERT_TRUE(part) << part.error().message();
    const auto loaded = part->Load(*host);
    ASSERT_TRUE(loaded) << loaded.error().message();
    std::vector<void*> operands;
    for (const Literal& argument : arguments) operands.push_back(const_cast<std::byte*>(argument.raw()));
    Literal result(expected->shape());
    std::vector<std::byte> scratch(part->ScratchBytes() + 1, std::byte{1});
    ASSERT_TRUE(part->Launch(*host, *loaded, operands, PointersOf(result), scratch.data()));
    EXPECT_TRUE(result.BitEquals(*expected));
  };
  if (prepared_.WeightsMove() && prepared_.problem.kind != ConvolutionKind::kWgrad) check(cudnn::PackModule(prepared_));
  if (auto of_sums = cudnn::OfSumsModule(contraction_.contraction)) check(std::move(of_sums));
  if (!read_.problem.sums.empty()) return check(cudnn::SumsModule(contraction_.contraction));
  auto finish = cudnn::FinishModule(contraction_.contraction, prepared_);
  ASSERT_NE(finish, nullptr);
  // If the call computes everything, the finish returns its parameter.
  if (finish->entry().root().attrs<FusionAttrs>().calls->root().Is(Opcode::kParameter)) return;
  check(std::move(finish));
}

// Runs a call with the double as the run time does: packs once and runs twice.
Result<Literal> RunCall(const LibraryCall& call, Device& device, const std::vector<Literal>& arguments,
                        const Shape& shape) {
  std::vector<void*> operands;
  for (const Literal& argument : arguments) operands.push_back(const_cast<std::byte*>(argument.raw()));
  std::vector<std::byte> scratch(call.ScratchBytes() + 1), packed(call.PackedBytes() + 1);
  Literal result(shape);
  const std::vector<void*> results = PointersOf(result);
  const auto bound = TRY(call.Bind(device));
  TRY(bound->Pack(operands, packed.data()));
  for (int run = 0; run < 2; ++run) TRY(bound->Run(operands, results, scratch.data(), packed.data()));
  return result;
}

TEST_P(Convolution, RunsOnADouble) {
  Module alone("alone");
  alone.SetEntry(alone.CloneComputation(fused(), "main"));
  const std::vector<Literal> arguments = SmallIntegers(fused(), 3);  // With such small values bf16 rounds no sum.
  const auto expected = Interpret(alone, arguments);
  ASSERT_TRUE(expected) << expected.error().message();
  // The call computes the sums itself, or a kernel of ours does. The call can have sums only if it also has the
  // epilogue before them.
  const bool has_sums = !read_.problem.sums.empty();
  for (const bool takes_more : {true, false}) {
    CudnnDouble cudnn{
        .violated = IsNoUse, .takes_epilogues = takes_more || has_sums, .takes_sums = takes_more || !has_sums};
    const cudnn::Api api = cudnn.api();
    {
      const auto device = OpenHostDevice();
      const auto answer = CudnnConvolution(contraction_.contraction, *device, {}, api);
      ASSERT_TRUE(answer) << answer.error().message();
      if (read_.problem.IsDepthwise()) {
        EXPECT_EQ(answer->why_not, "a depthwise convolution runs as a kernel of hlokit");
        return;
      }
      ASSERT_NE(answer->call, nullptr) << answer->why_not;
      // For f32, tensor cores compute with tf32, so another engine is chosen.
      const bool is_f32 = read_.problem.result().type == PrimitiveType::kF32;
      EXPECT_TRUE(answer->call->how().ends_with(is_f32 ? "engine 3" : "engine 1")) << answer->call->how();
      EXPECT_TRUE(answer->call->algorithm().ends_with(is_f32 ? "_3" : "_1")) << answer->call->algorithm();
      const auto result = RunCall(*answer->call, *device, arguments, expected->shape());
      ASSERT_TRUE(result) << result.error().message();
      EXPECT_TRUE(result->BitEquals(*expected)) << answer->call->algorithm();
      EXPECT_EQ(cudnn.executions, 2);
      if (has_sums) {
        EXPECT_EQ(answer->call->is_whole(), takes_more);
        EXPECT_EQ(answer->call->algorithm(), takes_more ? "heuristic_1" : "parts_1");
      }
      // The algorithm's name in a plan selects the engine.
      const auto again =
          CudnnConvolution(contraction_.contraction, *device, {.algorithm = answer->call->algorithm()}, api);
      ASSERT_TRUE(again && again->call != nullptr);
      EXPECT_EQ(again->call->algorithm(), answer->call->algorithm());
    }
    EXPECT_EQ(cudnn.alive, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Convolution, ::testing::ValuesIn(ModuleFilesBelow("testdata/convolutions")),
                         [](const auto& info) { return NameOf(info.param); });

// ---- What is read ------------------------------------------------------------------------------------------------

// A convolution of f32 alone in a fused computation.
struct Lone {
  std::unique_ptr<Module> module;
  ContractionAnswer contraction;
  ConvolutionAnswer read;

  Lone(std::string_view lhs, std::string_view rhs, std::string_view result, std::string_view rest) {
    const std::string text =
        Str("HloModule m\nfused {\n  a = ", lhs, " parameter(0)\n  b = ", rhs, " parameter(1)\n  ROOT c = ", result,
            " convolution(a, b), ", rest, "\n}\nENTRY main {\n  a = ", lhs, " parameter(0)\n  b = ", rhs,
            " parameter(1)\n  ROOT f = ", result,
            " fusion(a, b), kind=kCustom, calls=fused, backend_config={\"library\":\"convolution\"}\n}\n");
    auto parsed = Parse(std::make_shared<SourceText>("test", text));
    EXPECT_TRUE(parsed) << parsed.error().message() << "\n" << text;
    module = std::move(*parsed);
    contraction = ReadContraction(module->entry().root());
    EXPECT_EQ(contraction.why_not, "");
    read = ReadConvolution(contraction.contraction);
  }
  // The kind of the convolution, such as "fprop", or the reason why it is not read.
  std::string Said() const { return read.why_not.empty() ? std::string(ToString(read.problem.kind)) : read.why_not; }
};

TEST(ReadConvolution, RecognizesTheKindOfConvolution) {
  EXPECT_EQ(
      Lone("f32[2,8,8,3]", "f32[3,3,3,5]", "f32[2,8,8,5]", "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f")
          .Said(),
      "fprop");
  // Each window covers a whole image, so the output has one element per image.
  EXPECT_EQ(
      Lone("f32[2,7,7,3]", "f32[7,7,3,5]", "f32[2,1,1,5]", "window={size=7x7}, dim_labels=b01f_01io->b01f").Said(),
      "fprop");
  EXPECT_EQ(
      Lone("f32[1,8,8,3]", "f32[3,3,3,5]", "f32[1,8,8,5]", "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f")
          .Said(),
      "fprop");
  EXPECT_EQ(
      Lone("f32[4,8,8,3]", "f32[4,8,8,5]", "f32[3,3,3,5]", "window={size=8x8 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf")
          .Said(),
      "wgrad");
  EXPECT_EQ(
      Lone("f32[1,8,8,3]", "f32[1,8,8,5]", "f32[3,3,3,5]", "window={size=8x8 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf")
          .Said(),
      "wgrad");
  EXPECT_EQ(Lone("f32[2,4,4,5]", "f32[3,3,3,5]", "f32[2,8,8,3]",
                 "window={size=3x3 pad=1_2x1_2 lhs_dilate=2x2}, dim_labels=b01f_01oi->b01f")
                .Said(),
            "dgrad");
}

TEST(ReadConvolution, GivesAReasonIfItDoesNotFit) {
  EXPECT_EQ(Lone("f32[2,4,4,4]", "f32[3,3,2,6]", "f32[2,8,8,6]",
                 "window={size=3x3 pad=1_2x1_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f, feature_group_count=2")
                .Said(),
            "it is a gradient of images with groups");
  EXPECT_EQ(Lone("f32[2,8,8,3]", "f32[3,3,3,5]", "f32[2,5,5,5]",
                 "window={size=3x3 stride=2x2 pad=-1_0x-1_0 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f")
                .Said(),
            "it has both a stride and a dilated input");
  EXPECT_EQ(Lone("f32[2,8,8,3]", "f32[3,3,3,5]", "f32[2,4,4,5]",
                 "window={size=3x3 pad=-1_-1x-1_-1 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f")
                .Said(),
            "dgrad");
  EXPECT_EQ(Lone("f32[2,8,8,3]", "f32[3,3,3,5]", "f32[2,4,4,5]",
                 "window={size=3x3 pad=0_-2x0_-2}, dim_labels=b01f_01io->b01f")
                .Said(),
            "it has negative padding");
}

TEST(ReadConvolution, PadsEvenlyIfTheStridePermits) {
  const Lone even("f32[2,8,8,3]", "f32[3,3,3,5]", "f32[2,4,4,5]",
                  "window={size=3x3 stride=2x2 pad=1_0x1_0}, dim_labels=b01f_01io->b01f");
  EXPECT_EQ(even.read.problem.spatial[0].pad_high, 1);
  const Lone odd("f32[2,8,8,3]", "f32[3,3,3,5]", "f32[2,4,4,5]",
                 "window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f");
  EXPECT_EQ(odd.read.problem.spatial[0].pad_low, 0);
  EXPECT_EQ(odd.read.problem.spatial[0].pad_high, 1);
}

// ---- What fails --------------------------------------------------------------------------------------------------

// Lets each call of the interface fail once. The outcome must be no library call, another engine, or an error in
// cuDNN's words. No descriptor stays alive.
void EveryCallMayFail(const char* path) {
  const auto module = Optimized(path);
  ASSERT_NE(module, nullptr);
  const ContractionAnswer contraction = ReadContraction(*CallIn(*module));
  const std::vector<Literal> arguments = SmallIntegers(FusedComputation(*CallIn(*module)), 3);
  int failures = 0, calls = 0;
  for (int fail_at = 0; fail_at <= calls; ++fail_at) {  // The first iteration only counts the calls.
    CudnnDouble cudnn{.violated = IsNoUse, .fail_at = fail_at};
    const cudnn::Api api = cudnn.api();
    {
      const auto device = OpenHostDevice();
      const auto answer = CudnnConvolution(contraction.contraction, *device, {}, api);
      ASSERT_TRUE(answer) << answer.error().message();
      if (answer->call == nullptr) {
        EXPECT_NE(answer->why_not, "");
        ++failures;
      } else if (const auto result = RunCall(*answer->call, *device, arguments, CallIn(*module)->shape()); !result) {
        EXPECT_NE(result.error().message().find("the double's words"), std::string::npos) << result.error().message();
        ++failures;
      }
      if (fail_at == 0) {
        calls = cudnn.calls;
        ASSERT_EQ(failures, 0);
      }
    }
    EXPECT_EQ(cudnn.alive, 0) << "call " << fail_at;
  }
  EXPECT_GT(failures, 10);
  std::cout << path << ": " << failures << " of " << calls << " failing calls are the end of it\n";
}

TEST(CudnnCall, EveryCallMayFail) { EveryCallMayFail("testdata/convolutions/forward_ohwi_bf16.hlo"); }
// After most failures, a kernel of ours computes the sums.
TEST(CudnnCall, EveryCallWithSumsMayFail) { EveryCallMayFail("testdata/convolutions/forward_sums_bf16.hlo"); }

TEST(CudnnCall, EachSumAffectsTheResult) {
  const auto module = Optimized("testdata/convolutions/forward_relu_sums_f16.hlo");
  ASSERT_NE(module, nullptr);
  const Instruction& call = *CallIn(*module);
  const std::vector<Literal> arguments = SmallIntegers(FusedComputation(call), 3);
  const auto result_of = [&](const std::function<void(Contraction&)>& change) {
    ContractionAnswer read = ReadContraction(call);
    EXPECT_EQ(read.why_not, "");
    change(read.contraction);
    CudnnDouble cudnn{.violated = IsNoUse};
    const cudnn::Api api = cudnn.api();
    const auto device = OpenHostDevice();
    const auto answer = CudnnConvolution(read.contraction, *device, {}, api);
    EXPECT_TRUE(answer && answer->call != nullptr);
    auto result = RunCall(*answer->call, *device, arguments, call.shape());
    EXPECT_TRUE(result);
    return std::move(*result);
  };
  const Literal sound = result_of([](Contraction&) {});
  EXPECT_TRUE(sound.BitEquals(result_of([](Contraction&) {})));
  EXPECT_FALSE(
      sound.BitEquals(result_of([](Contraction& c) { std::swap(c.sums[0].of_squares, c.sums[1].of_squares); })));
  EXPECT_FALSE(sound.BitEquals(result_of([](Contraction& c) { c.epilogue.pop_back(); })));
  EXPECT_FALSE(sound.BitEquals(result_of([](Contraction& c) { std::swap(c.sums[0].result, c.sums[1].result); })));
}

TEST(CudnnCall, NamesSumsThatALibraryDoesNotCompute) {
  const auto module = Optimized("testdata/convolutions/forward_sums_bf16.hlo");
  ASSERT_NE(module, nullptr);
  const auto why_not = [&](const std::function<void(Contraction&)>& change) {
    ContractionAnswer read = ReadContraction(*CallIn(*module));
    change(read.contraction);
    const auto answer = CudnnConvolution(read.contraction, nullptr, {});
    return answer ? answer->why_not : answer.error().message();
  };
  EXPECT_EQ(why_not([](Contraction&) {}), "");
  EXPECT_EQ(why_not([](Contraction& c) { c.sums[0].channels = 0; }),
            "it has sums that are not one sum for each channel of a forward convolution");
  EXPECT_EQ(why_not([](Contraction& c) {
              for (View* view : {&c.lhs, &c.rhs, &c.result}) view->type = PrimitiveType::kF32;
            }),
            "hlokit uses cuDNN for sums only of 16-bit floats");
}

TEST(CudnnCall, ListsTheAlgorithmsThatExist) {
  const auto module = Optimized("testdata/convolutions/forward_bias_relu_bf16.hlo");
  ASSERT_NE(module, nullptr);
  const ContractionAnswer contraction = ReadContraction(*CallIn(*module));
  CudnnDouble cudnn{.violated = IsNoUse};
  const cudnn::Api api = cudnn.api();
  const auto device = OpenHostDevice();
  const auto why_not = [&](std::string algorithm) {
    const auto answer = CudnnConvolution(contraction.contraction, *device, {.algorithm = std::move(algorithm)}, api);
    return answer ? answer->why_not : answer.error().message();
  };
  EXPECT_EQ(why_not("parts_3"), "");
  EXPECT_EQ(why_not("heuristic_0"), "engine 0: it is not deterministic");
  EXPECT_EQ(why_not("heuristic_2"), "engine 2: it takes 1099511627776 bytes of workspace");
  EXPECT_EQ(why_not("heuristic_4"), "cuDNN has only 4 engines for it");
  EXPECT_EQ(why_not("fastest"),
            "there is no algorithm 'fastest' for it; the algorithms are called heuristic_0, parts_0 and so on");
}

// ---- cuDNN itself ------------------------------------------------------------------------------------------------

// Each convolution has an engine for the whole graph or for its parts. The outcome depends on the installed version of
// cuDNN, so `make test` skips this test.
TEST(CudnnPlans, EachConvolutionHasAnEngine) {
  if (std::getenv("CUDNN_PLANS") == nullptr) GTEST_SKIP() << "without CUDNN_PLANS=1: make cudnn-plans";
  LibraryOptions options;
  if (const char* path = std::getenv("CUDNN_PATH")) options.search.emplace_back(path);
  const auto version = CudnnVersion(options.search);
  if (!version) GTEST_SKIP() << version.error().message();
  std::cout << "cuDNN " << *version << ", for a described H100\n";
  for (const std::string& path : ModuleFilesBelow("testdata/convolutions")) {
    const auto module = Optimized(path);
    ASSERT_NE(module, nullptr) << path;
    const ContractionAnswer contraction = ReadContraction(*CallIn(*module));
    const ConvolutionAnswer read = ReadConvolution(contraction.contraction);
    ASSERT_EQ(read.why_not, "") << path;
    bool taken = false;
    const bool is_whole = read.problem.kind != ConvolutionKind::kWgrad;
    const auto whole = CudnnEngines(read.problem, true, kDescribedH100, options),
               alone = CudnnEngines(read.problem, false, kDescribedH100, options);
    if (!alone && path == ModuleFilesBelow("testdata/convolutions").front())
      GTEST_SKIP() << "no plans without a device here: " << alone.error().message();
    std::cout << Format("%-32s", NameOf(path).c_str()) << (is_whole ? EnginesText(whole, &taken) : "-") << "; alone "
              << EnginesText(alone, &taken) << "\n";
    EXPECT_TRUE(taken) << path;
  }
}

// The number of the first engine that cuDNN compiles for the graph, and the bytes of its workspace.
std::string CompiledPlan(const cudnn::Api& api, const ConvolutionProblem& problem) {
  cudnn::Descriptor description(api, cudnn::kDeviceProperties);
  const std::string json = kDescribedH100;
  description.Set(cudnn::kDeviceJson, cudnn::kTypeChar, std::ssize(json), json.data());
  if (const Status final = description.Finalize(); !final) return final.error().message();
  const cudnn::Where where{.description = &description};
  const cudnn::PreparedConvolution prepared = cudnn::PrepareConvolution(problem);
  const auto graph = MakeGraph(api, where, prepared, /*with_epilogue=*/true);
  if (!graph) return graph.error().message();
  std::string why_not = "none is compiled";
  for (const cudnn::Descriptor& config : Configurations(api, where, *graph, nullptr)) {
    const cudnn::Engine engine = Describe(api, config, problem.result().type, /*allow_tf32=*/false, nullptr);
    if (!engine.why_not.empty() || !engine.is_compiled) continue;
    const auto plan = MakePlan(api, where, config);
    if (plan) return Str("engine ", engine.index, ", ", plan->workspace);
    why_not = plan.error().message();
  }
  return why_not;
}

// Plans made on all threads equal plans made one after the other. The times are printed. The last step of a plan loads
// the compiled code, which fails without a driver.
TEST(CudnnPlans, AreCompiledConcurrently) {
  if (std::getenv("CUDNN_PLANS") == nullptr) GTEST_SKIP() << "without CUDNN_PLANS=1: make cudnn-plans";
  std::vector<std::string> search;
  if (const char* path = std::getenv("CUDNN_PATH")) search.emplace_back(path);
  const auto api = cudnn::GetApi(search);
  if (!api) GTEST_SKIP() << api.error().message();
  std::vector<ConvolutionProblem> problems;
  for (const std::string& path : ModuleFilesBelow("testdata/convolutions")) {
    const auto module = Optimized(path);
    ASSERT_NE(module, nullptr) << path;
    problems.push_back(ReadConvolution(ReadContraction(*CallIn(*module)).contraction).problem);
  }
  std::string times;
  const auto made = [&](bool on_all_threads) {
    std::vector<std::string> plans(problems.size());
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t processor = std::clock();
    ParallelFor(std::ssize(problems), on_all_threads ? 1 : std::ssize(problems), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) plans[i] = CompiledPlan(**api, problems[i]);
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    times += Format("; %.1f s on %d threads, %.1f of processors", seconds, on_all_threads ? Threads() : 1,
                    static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC);
    return plans;
  };
  CompiledPlan(**api, problems[0]);  // This call loads the libraries that all plans need.
  const std::vector<std::string> together = made(true);
  EXPECT_EQ(together, made(false));
  const auto compiled = std::ranges::count_if(together, [](const std::string& plan) {
    return plan.starts_with("engine") || plan.find("cuLibraryLoadData") != std::string::npos;
  });
  EXPECT_GT(compiled, 0);
  std::cout << compiled << " of " << problems.size() << " have an engine that is compiled" << times << "\n";
}

}  // namespace
}  // namespace hlo::gpu
