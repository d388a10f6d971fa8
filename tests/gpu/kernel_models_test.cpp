// Tests of every kernel that is emitted for the models, with and without libraries. The host lowering at every
// instruction set level and the emulated GPU code agree bit by bit, the sanitizer reports nothing, and ptxas accepts
// the PTX.
//
// Each kernel runs at its full size, but only some of its blocks run, because the emulator is slow. The first block,
// the last block and blocks that a seed chooses run on the host and in the emulator with equal memory. Afterwards, all
// bytes that the kernel may write are compared. Nothing is scaled down, so that strides, guards and tails occur as in
// real runs. Kernels whose blocks depend on each other run as a whole. Loops make at most two trips.
//
// `make kernel-check` (HLO_KERNEL_CHECK=all) checks all kernels of the models, and also the kernels of the workloads of
// $CORPUS/bench/cpu with smaller arrays. Otherwise a quarter of the models' kernels is checked, always the same.
#define GTEST_DONT_DEFINE_FAIL 1
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "base/parallel.h"
#include "base/text.h"
#include "gpu/codegen/emulator.h"
#include "gpu/codegen/host.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "parser/parser.h"
#include "passes/pipeline.h"
#include "tests/driver/reduced_module.h"
#include "tests/gpu/host_isa_levels.h"
#include "tests/gpu/kernel_buffers.h"
#include "tests/module_files.h"

namespace hlo::kernel {
namespace {

struct ModelKernel {
  std::string where;  // The model and the kernel, such as "gpt2_infer: fusion_3".
  Kernel kernel;
  bool for_gpu = true;  // False for a product in the host's form, which a GPU never receives.
};

using Kernels = std::map<KernelHash, ModelKernel>;

// A device that collects kernels and loads nothing.
class Collector : public gpu::Device {
 public:
  std::string model;
  bool for_gpu = true;
  Kernels kernels;
  int64_t given = 0;

  std::string name() const override { return host_->name(); }
  std::string description() const override { return host_->description(); }
  DeviceDescription Describe() const override { return host_->Describe(); }
  bool IsHost() const override { return true; }
  Result<void*> Allocate(int64_t bytes) override { return host_->Allocate(bytes); }
  void Free(void* memory) override { host_->Free(memory); }
  Status CopyIn(void* to, const void* from, int64_t bytes) override { return host_->CopyIn(to, from, bytes); }
  Status CopyOut(void* to, const void* from, int64_t bytes) override { return host_->CopyOut(to, from, bytes); }
  Status Copy(void* to, const void* from, int64_t bytes) override { return host_->Copy(to, from, bytes); }
  Status Fill(void* to, uint64_t pattern, int width, int64_t count) override {
    return host_->Fill(to, pattern, width, count);
  }
  std::string target() const override { return host_->target(); }
  Result<std::vector<std::shared_ptr<const gpu::KernelCode>>> Compile(std::span<const Kernel* const> all,
                                                                      std::span<const double>, CodeCache*) override {
    for (const Kernel* kernel : all)
      kernels.try_emplace(Hash(*kernel), ModelKernel{Str(model, ": ", kernel->name), *kernel, for_gpu});
    given += static_cast<int64_t>(all.size());
    return std::vector<std::shared_ptr<const gpu::KernelCode>>(all.size(), std::make_shared<gpu::KernelCode>());
  }
  Result<std::vector<std::shared_ptr<const gpu::LoadedKernel>>> Load(
      std::span<const std::shared_ptr<const gpu::KernelCode>> code) override {
    return std::vector<std::shared_ptr<const gpu::LoadedKernel>>(code.size());
  }
  Status Launch(const gpu::LoadedKernel&, std::span<void* const>) override { return {}; }
  Status Synchronize() override { return {}; }

 private:
  std::unique_ptr<gpu::Device> host_ = gpu::OpenHostDevice();
};

// Collects the kernels of a module, with arrays reduced to `most_elements` if that is given.
Status Collect(const std::string& path, Collector& collector, std::optional<int64_t> most_elements = {}) {
  std::unique_ptr<Module> module = TRY(Parse(TRY(ReadSource(path))));
  if (most_elements) module = Reduced(*module, *most_elements);
  TRY(RunPipeline(*module));
  for (const bool libraries :
       {false, true}) {  // With libraries, products that a library rejects are planned for the host.
    gpu::CompileOptions options;
    options.libraries = libraries;
    collector.for_gpu = !libraries;
    TRY(gpu::Compile(*module, collector, options));
  }
  return {};
}

bool IsAskedForAll() {
  const char* const asked = std::getenv("HLO_KERNEL_CHECK");
  return asked != nullptr && std::string_view(asked) == "all";
}

constexpr int64_t kMostElements = 1 << 18;  // The most elements of an array of a workload.

// The distinct kernels of all models, and of the workloads if all are requested.
const std::vector<ModelKernel>& ModelKernels() {
  static const std::vector<ModelKernel> all = [] {
    Collector collector;
    const auto collect = [&](const std::string& path, std::optional<int64_t> most_elements) {
      collector.model = std::filesystem::path(path).stem();
      const Status collected = Collect(path, collector, most_elements);
      EXPECT_TRUE(collected.has_value()) << path << ": " << collected.error().message();
    };
    std::set<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator("testdata/models")) {
      if (entry.path().extension() == ".hlo") paths.insert(entry.path());
    }
    for (const std::string& path : paths) collect(path, {});
    std::vector<std::string> workloads;
    if (const char* const corpus = std::getenv("CORPUS"); corpus != nullptr && IsAskedForAll())
      workloads = ModuleFilesBelow(Str(corpus, "/bench/cpu"));
    for (const std::string& path : workloads) collect(path, kMostElements);
    std::printf("%zu models and %zu workloads have %ld kernels, %zu different ones\n", paths.size(), workloads.size(),
                collector.given, collector.kernels.size());
    std::vector<ModelKernel> kernels;
    for (auto& [hash, kernel] : collector.kernels) kernels.push_back(std::move(kernel));
    return kernels;
  }();
  return all;
}

// All kernels if all are requested, else every fourth in the order of their hashes. Hashes do not depend on models and
// emitters.
std::vector<const ModelKernel*> ChosenKernels() {
  const size_t step = IsAskedForAll() ? 1 : 4;
  std::vector<const ModelKernel*> chosen;
  for (size_t i = 0; i < ModelKernels().size(); i += step) chosen.push_back(&ModelKernels()[i]);
  return chosen;
}

// The first block, the last block, and blocks that a seed chooses. Together they have about kElements elements of the
// largest array.
std::vector<int64_t> ChooseBlocks(const Kernel& kernel) {
  constexpr int64_t kElements = 1 << 14;
  int64_t elements = kernel.threads;
  for (const int parameter : kernel.Parameters())
    elements = std::max(elements, kernel.arrays[parameter].elements / kernel.blocks);
  const int64_t wanted = BlocksMeet(kernel) ? kernel.blocks : std::max<int64_t>(3, kElements / elements);
  std::set<int64_t> blocks = {0, kernel.blocks - 1};
  std::mt19937_64 random(Hash(kernel).low);
  while (static_cast<int64_t>(blocks.size()) < std::min(wanted, kernel.blocks))
    blocks.insert(static_cast<int64_t>(random() % kernel.blocks));
  return {blocks.begin(), blocks.end()};
}

struct Outcome {
  std::string wrong;
  int64_t blocks = 0, elements = 0, nan = 0;
};

// `compiled` has the kernel at every instruction set level, with little and full effort.
Result<Outcome> CheckKernel(const Kernel& kernel, std::span<const HostKernel> compiled) {
  EmulateOptions options;
  options.blocks = ChooseBlocks(kernel);
  const Buffers before = MakeBuffers(kernel);
  SetMostTrips(kernel, before, 2);
  const Buffers gpu = before.CopyWritten(kernel);
  const SanitizerReport report = TRY(Emulate(kernel, gpu.arguments, options));
  Outcome outcome{.wrong = report.ToString(), .blocks = static_cast<int64_t>(options.blocks.size())};
  std::set<int64_t> clusters;
  for (const int64_t block : options.blocks) clusters.insert(block / kernel.cluster * kernel.cluster);
  for (const HostKernel& each : compiled) {
    const Buffers host = before.CopyWritten(kernel);
    for (const int64_t first : clusters) each.Run(host.arguments, first, first + kernel.cluster);
    const Written written = CompareWritten(kernel, before, host, gpu);
    outcome.wrong += written.differences;
    outcome.elements = written.elements;
    outcome.nan = written.nan;
  }
  return outcome;
}

TEST(ModelKernels, HostAndEmulatedGpuAgreeBitByBit) {
  const std::vector<const ModelKernel*> chosen = ChosenKernels();
  std::vector<const Kernel*> kernels;
  for (const ModelKernel* each : chosen) kernels.push_back(&each->kernel);
  std::vector<std::vector<HostKernel>> compiled(chosen.size());
  AtEveryHostIsa([&] {
    // Little effort comes first, because code with full effort would be reused.
    const std::vector<double> nothing(kernels.size(), 0);
    for (const std::span<const double> shares : {std::span<const double>(nothing), std::span<const double>()}) {
      const auto at_level = CompileHost(kernels, shares);
      ASSERT_TRUE(at_level) << at_level.error().message();
      for (size_t i = 0; i < chosen.size(); ++i) compiled[i].push_back((*at_level)[i]);
    }
  });
  std::vector<Result<Outcome>> outcomes(chosen.size());
  ParallelFor(static_cast<int64_t>(chosen.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) outcomes[i] = CheckKernel(chosen[i]->kernel, compiled[i]);
  });
  int64_t blocks = 0, of_blocks = 0, elements = 0, nan = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    SCOPED_TRACE(chosen[i]->where);
    ASSERT_TRUE(outcomes[i]) << outcomes[i].error().message();
    EXPECT_EQ(outcomes[i]->wrong, "") << ToString(chosen[i]->kernel);
    EXPECT_GT(outcomes[i]->elements, 0) << "wrote nothing";
    blocks += outcomes[i]->blocks;
    of_blocks += chosen[i]->kernel.blocks;
    elements += outcomes[i]->elements;
    nan += outcomes[i]->nan;
  }
  std::printf("%zu of %zu kernels emulated, %ld of their %ld blocks: %ld elements equal to the bit, %ld of them NaN\n",
              chosen.size(), ModelKernels().size(), blocks, of_blocks, elements, nan);
}

TEST(ModelKernels, PtxasAcceptsAllPtxWithoutSpills) {
  if (FindPtxas().empty()) GTEST_SKIP() << "ptxas not found on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin";
  const std::vector<const ModelKernel*> chosen = ChosenKernels();
  std::vector<Result<PtxasReport>> reports(chosen.size());
  ParallelFor(static_cast<int64_t>(chosen.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Result<Ptx> ptx = EmitPtx(chosen[i]->kernel);
      if (ptx) reports[i] = Ptxas(ptx->text, "sm_90", 300);
      else reports[i] = std::unexpected(ptx.error());
    }
  });
  for (size_t i = 0; i < chosen.size(); ++i) {
    SCOPED_TRACE(chosen[i]->where);
    ASSERT_TRUE(reports[i]) << reports[i].error().message();
    ASSERT_EQ(reports[i]->kernels.size(), 1u);
    const PtxasKernel& kernel = reports[i]->kernels.front();
    EXPECT_GT(kernel.registers, 0);
    if (chosen[i]->for_gpu) {
      EXPECT_EQ(kernel.spill_store_bytes + kernel.spill_load_bytes, 0) << "at " << kernel.registers << " registers";
    }
  }
  std::printf("%zu of %zu kernels assembled for sm_90\n", chosen.size(), ModelKernels().size());
}

}  // namespace
}  // namespace hlo::kernel
