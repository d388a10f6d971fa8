// Convolutions as cuDNN is told them, without a GPU: each file of testdata/convolutions goes through the passes for
// one, and what is read of its convolution is computed here, by the definition, between the parts of ours. All inputs
// are small integers, so that every order of summation gives the same bits.
//
// CudnnPlans asks cuDNN itself, for a device that is only described: `make cudnn-plans`.
#include "gpu/libraries/cudnn.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "base/source_text.h"
#include "base/text.h"
#include "gpu/device/device.h"
#include "gpu/emitters/emitter.h"
#include "gpu/libraries/cudnn_parts.h"
#include "gpu/libraries/own_part.h"
#include "gpu/plan/planner.h"
#include "interp/interpreter.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "parser/parser.h"
#include "passes/pipeline.h"
#include "tests/module_files.h"

namespace hlo::gpu {
namespace {

using Dims = std::vector<int64_t>;

std::string NameOf(const std::string& path) { return std::filesystem::path(path).stem().string(); }

// After the passes for an H200.
std::unique_ptr<Module> Optimized(const std::string& path) {
  auto source = ReadSource(path);
  auto module = source ? Parse(*source) : Result<std::unique_ptr<Module>>(std::unexpected(source.error()));
  if (!module || !RunPipeline(**module)) return nullptr;
  return std::move(*module);
}

const Instruction* CallIn(const Module& module) {
  const Instruction* call = nullptr;
  for (const Instruction* inst : module.entry().Instructions()) {
    if (LibraryOf(*inst) == "convolution") call = inst;
  }
  return call;
}

std::vector<Literal> SmallIntegers(const Computation& computation) {
  std::vector<Literal> arguments;
  uint32_t state = 1;
  for (const Instruction* parameter : computation.parameters()) {
    Literal literal(parameter->shape());
    for (int64_t i = 0; i < literal.shape().NumElements(); ++i)
      literal.SetDouble(i, static_cast<int>((state = state * 1664525 + 1013904223) >> 24) % 5 - 2);
    arguments.push_back(std::move(literal));
  }
  return arguments;
}

struct Array {
  Dims dims, strides;
  std::vector<double> elements;
};

// By the definition of the forward convolution: the three arrays meet in the same products, whichever is the result.
class Meeting {
 public:
  Meeting(const ConvolutionProblem& problem, Array& images, Array& weights, Array& outputs)
      : problem_(problem), images_(images), weights_(weights), outputs_(outputs) {
    for (int64_t n = 0; n < outputs.dims[0]; ++n) {
      for (int64_t k = 0; k < weights.dims[0]; ++k) {
        const int64_t group = k / (weights.dims[0] / problem.groups);
        for (int64_t c = 0; c < weights.dims[1]; ++c) {
          Meet(0, n * images.strides[0] + (group * weights.dims[1] + c) * images.strides[1],
               k * weights.strides[0] + c * weights.strides[1], n * outputs.strides[0] + k * outputs.strides[1]);
        }
      }
    }
  }

 private:
  // Over spatial dimensions from `i` on; where the others' indices lead to in each array.
  void Meet(size_t i, int64_t image, int64_t weight, int64_t output) {
    if (i == problem_.spatial.size()) {
      double &x = images_.elements[image], &w = weights_.elements[weight], &y = outputs_.elements[output];
      switch (problem_.kind) {
        case ConvolutionKind::kDgrad: x += w * y; break;
        case ConvolutionKind::kWgrad: w += x * y; break;
        default: y += x * w;
      }
      return;
    }
    const size_t d = i + 2;
    const ConvolutionDim& dim = problem_.spatial[i];
    for (int64_t r = 0; r < weights_.dims[d]; ++r) {
      for (int64_t p = 0; p < outputs_.dims[d]; ++p) {
        const int64_t h = p * dim.stride + r * dim.dilation - dim.pad_low;
        if (h < 0 || h >= images_.dims[d]) continue;
        Meet(i + 1, image + h * images_.strides[d], weight + r * weights_.strides[d], output + p * outputs_.strides[d]);
      }
    }
  }

  const ConvolutionProblem& problem_;
  Array &images_, &weights_, &outputs_;
};

Dims DenseStrides(const Dims& dims, bool channels_last) {
  Dims order = {0};
  for (size_t d = 2; d < dims.size(); ++d) order.push_back(static_cast<int64_t>(d));
  order.insert(channels_last ? order.end() : order.begin() + 1, 1);
  Dims strides(dims.size());
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0; next *= dims[order[i]]) strides[order[i]] = next;
  return strides;
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
    laid_ = cudnn::Lay(read_.problem);
    ASSERT_EQ(laid_.why_not, "");
  }

  const Computation& fused() const { return contraction_.contraction.product->computation(); }

  std::unique_ptr<Module> module_;
  ContractionAnswer contraction_;
  ConvolutionAnswer read_;
  cudnn::Laid laid_;
};

TEST_P(Convolution, IsReadAsItIs) {
  Module alone("alone");
  alone.SetEntry(alone.CloneComputation(fused(), "main"));
  std::vector<Literal> arguments = SmallIntegers(fused());
  const auto expected = Interpret(alone, arguments);
  ASSERT_TRUE(expected) << expected.error().message();

  const ConvolutionProblem& problem = laid_.problem;
  for (size_t i = 0; i < problem.spatial.size(); ++i) {  // The output's size, as cuDNN checks it.
    const ConvolutionDim& dim = problem.spatial[i];
    const int64_t reach =
        problem.images.dims[i + 2] + dim.pad_low + dim.pad_high - dim.dilation * (problem.weights.dims[i + 2] - 1) - 1;
    EXPECT_EQ(reach / dim.stride + 1, problem.outputs.dims[i + 2]);
    EXPECT_GE(dim.pad_low, 0);
    EXPECT_GE(dim.pad_high, 0);
  }
  const auto array = [&](const ConvolutionTensor& tensor) {
    Array array{tensor.dims, DenseStrides(tensor.dims, laid_.channels_last), {}};
    int64_t elements = 1;
    for (const int64_t dim : tensor.dims) elements *= dim;
    array.elements.resize(elements);
    if (tensor.operand < 0) return array;
    Literal packed = arguments[tensor.operand];
    if (&tensor == &problem.weights && laid_.WeightsMove()) {
      const auto pack = cudnn::PackModule(laid_);
      Literal lies(pack->entry().parameter(0).shape());
      for (int64_t i = 0; i < elements; ++i) lies.SetDouble(i, packed.GetDouble(i));
      auto moved = Interpret(*pack, std::vector{lies});
      EXPECT_TRUE(moved) << moved.error().message();
      if (moved) packed = std::move(*moved);
    }
    for (int64_t i = 0; i < elements; ++i) array.elements[i] = packed.GetDouble(i);
    return array;
  };
  Array images = array(problem.images), weights = array(problem.weights), outputs = array(problem.outputs);
  Meeting(problem, images, weights, outputs);
  const Array& result = problem.kind == ConvolutionKind::kFprop   ? outputs
                        : problem.kind == ConvolutionKind::kDgrad ? images
                                                                  : weights;
  const auto finish = cudnn::FinishModule(contraction_.contraction, laid_);
  ASSERT_NE(finish, nullptr);
  arguments.emplace_back(finish->entry().parameter(std::ssize(arguments)).shape());
  for (int64_t i = 0; i < std::ssize(result.elements); ++i) arguments.back().SetDouble(i, result.elements[i]);
  const auto finished = Interpret(*finish, arguments);
  ASSERT_TRUE(finished) << finished.error().message();
  EXPECT_TRUE(finished->BitEquals(*expected));
}

// The parts of ours: kernels for a GPU need no memory but operands and a result; on the host they run.
TEST_P(Convolution, PartsAreKernels) {
  const auto host = OpenHostDevice();
  const auto check = [&](std::unique_ptr<Module> module) {
    const Instruction& root = module->entry().root();
    const auto plan = PlanKernels(root, *FindDevice("h200"));
    ASSERT_TRUE(plan) << plan.error().message();
    const auto kernels = EmitFusion(root, *plan);
    ASSERT_TRUE(kernels) << kernels.error().message();
    for (const EmittedKernel& kernel : *kernels) {
      for (const KernelBuffer& buffer : kernel.buffers)
        EXPECT_TRUE(buffer.kind == KernelBuffer::Kind::kOperand || buffer.kind == KernelBuffer::Kind::kOutput);
    }
    const std::vector<Literal> arguments = SmallIntegers(module->entry());
    const auto expected = Interpret(*module, arguments);
    ASSERT_TRUE(expected) << expected.error().message();
    const int64_t bytes = root.shape().ByteSize();
    const auto part = OwnPart::Make(std::move(module), *host);
    ASSERT_TRUE(part) << part.error().message();
    const auto loaded = part->Load(*host);
    ASSERT_TRUE(loaded) << loaded.error().message();
    std::vector<void*> operands;
    for (const Literal& argument : arguments) operands.push_back(const_cast<std::byte*>(argument.raw()));
    Literal result(expected->shape());
    ASSERT_TRUE(part->Launch(*host, *loaded, operands, result.mutable_raw()));
    EXPECT_EQ(std::memcmp(result.raw(), expected->raw(), bytes), 0);
  };
  if (laid_.WeightsMove() && laid_.problem.kind != ConvolutionKind::kWgrad) check(cudnn::PackModule(laid_));
  auto finish = cudnn::FinishModule(contraction_.contraction, laid_);
  ASSERT_NE(finish, nullptr);
  if (finish->entry().root().attrs<FusionAttrs>().calls->root().Is(Opcode::kParameter)) return;  // Nothing is left.
  check(std::move(finish));
}

INSTANTIATE_TEST_SUITE_P(Files, Convolution, ::testing::ValuesIn(ModuleFilesBelow("testdata/convolutions")),
                         [](const auto& info) { return NameOf(info.param); });

// ---- What is read ------------------------------------------------------------------------------------------------

// A convolution of f32 in a fused computation.
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
  // "fprop", or why not.
  std::string Said() const { return read.why_not.empty() ? std::string(ToString(read.problem.kind)) : read.why_not; }
};

TEST(ReadConvolution, TellsWhatIsMeant) {
  EXPECT_EQ(
      Lone("f32[2,8,8,3]", "f32[3,3,3,5]", "f32[2,8,8,5]", "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f")
          .Said(),
      "fprop");
  // Images of one element for each window.
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

TEST(ReadConvolution, SaysWhyNot) {
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

// Padding behind is the same as in front where the stride leaves it open.
TEST(ReadConvolution, PadsEvenlyWhereItMay) {
  const Lone even("f32[2,8,8,3]", "f32[3,3,3,5]", "f32[2,4,4,5]",
                  "window={size=3x3 stride=2x2 pad=1_0x1_0}, dim_labels=b01f_01io->b01f");
  EXPECT_EQ(even.read.problem.spatial[0].pad_high, 1);
  const Lone odd("f32[2,8,8,3]", "f32[3,3,3,5]", "f32[2,4,4,5]",
                 "window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f");
  EXPECT_EQ(odd.read.problem.spatial[0].pad_low, 0);
  EXPECT_EQ(odd.read.problem.spatial[0].pad_high, 1);
}

// ---- cuDNN itself ------------------------------------------------------------------------------------------------

constexpr const char* kH100 = R"({"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,"totalGlobalMem":85014478848,
"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":132,
"smCountOrigin":0,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,
"oversizedSharedMemoryPerBlock":0,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,
"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,
"smClockRateKHz":1980000,"memClockRateKHz":2619000,"memoryBusWidth":5120,"l2CacheSize":52428800,
"deviceName":"NVIDIA H100 80GB HBM3"})";

// "12 of 40, engine 62", "4 of 9, compiled"; "none of 9: ...".
std::string Summary(const Result<std::vector<CudnnEngine>>& engines, bool* taken) {
  if (!engines) return engines.error().message();
  const auto fits = [](const CudnnEngine& engine) { return engine.why_not.empty(); };
  const auto count = std::ranges::count_if(*engines, fits);
  const auto first = std::ranges::find_if(*engines, fits);
  *taken |= count > 0;
  if (engines->empty()) return "none";
  if (count == 0) return Str("none of ", engines->size(), ": ", engines->back().why_not);
  return Str(count, " of ", engines->size(), ", engine ", first->index, first->is_compiled ? ", compiled" : "");
}

// Each of the convolutions has an engine, in one graph or in parts.
TEST(CudnnPlans, EachHasAnEngine) {
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
    const auto whole = CudnnEngines(read.problem, true, kH100, options),
               alone = CudnnEngines(read.problem, false, kH100, options);
    if (!alone && path == ModuleFilesBelow("testdata/convolutions").front())
      GTEST_SKIP() << "no plans without a device here: " << alone.error().message();
    std::cout << Format("%-32s", NameOf(path).c_str()) << (is_whole ? Summary(whole, &taken) : "-") << "; alone "
              << Summary(alone, &taken) << "\n";
    EXPECT_TRUE(taken) << path;
  }
}

}  // namespace
}  // namespace hlo::gpu
