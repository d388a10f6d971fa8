#include "gpu/codegen/nvptx.h"

#include <string_view>
#include <utility>

#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/codegen/compile_times.h"
#include "gpu/codegen/nvptx_lowering.h"
#include "gpu/codegen/passes.h"
#include "gpu/codegen/target.h"
#include "gpu/kernel/distinct.h"

namespace hlo::kernel {
namespace {

// Replaces the kernel's name in shared code. No other text contains it.
constexpr const char* kAnyName = "hlo_kernel_of_any_name";

constexpr int64_t kLeastWithClusters = 90;

Status CheckTarget(const Kernel& kernel, const NvptxOptions& options) {
  if (kernel.cluster == 1 || ComputeOf(options) >= kLeastWithClusters) return {};
  FAIL(Unsupported("U112", Str("kernel '", kernel.name, "' runs in clusters of ", kernel.cluster,
                               " blocks, which need sm_", kLeastWithClusters, ", but the target is ", options.arch)));
}

// Inserts the number of blocks in a cluster, which LLVM 19 does not write.
std::string WithCluster(std::string text, int blocks) {
  constexpr std::string_view kBlockSize = ".maxntid ";
  const size_t at = text.find(kBlockSize);
  CHECK(at != std::string::npos, "PTX without the size of a block");
  return text.insert(at, Str(".explicitcluster\n.reqnctapercluster ", blocks, ", 1, 1\n"));
}

Result<Ptx> Compile(const Kernel& kernel, const NvptxOptions& options, CompileTimes& times) {
  TRY(CheckTarget(kernel, options));
  PhaseClock clock(times);
  llvm::TargetMachine* const target = TRY(NvptxTarget(options.arch, options.ptx_version));
  llvm::LLVMContext context;
  const auto module = LowerToNvptx(kernel, options, context);
  Prepare(*module, *target);
  clock.Ended(CompilePhase::kLower);
  TRY(RunPasses(*module, *target, Pipeline::kNvptx));
  clock.Ended(CompilePhase::kPasses);
  llvm::SmallVector<char, 0> text;
  TRY(Generate(*module, *target, /*object=*/false, text));
  Ptx ptx{.text = std::string(text.begin(), text.end()), .entry = EntryName(kernel)};
  if (kernel.cluster > 1) ptx.text = WithCluster(std::move(ptx.text), kernel.cluster);
  ptx.waits = WaitsInCode(options);
  if (module->getNamedGlobal("dynamic_shared")) ptx.dynamic_shared_bytes = kernel.SharedBytes();
  clock.Ended(CompilePhase::kCode);
  return ptx;
}

}  // namespace

Result<Ptx> EmitPtx(const Kernel& kernel, const NvptxOptions& options) {
  CompileTimes times;
  return Compile(kernel, options, times);
}

Result<std::vector<Ptx>> EmitPtx(std::span<const Kernel* const> kernels, const NvptxOptions& options) {
  CHECK(options.fault == KernelFault::kNone, "faults are planted in one kernel");
  CompileTimes times;
  const DistinctKernels distinct = FindDistinct(kernels, ForgetForNvptx);
  std::vector<Result<Ptx>> compiled(distinct.kernels.size());
  ParallelFor(std::ssize(compiled), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Kernel kernel = *distinct.kernels[i];
      kernel.name = kAnyName;
      compiled[i] = Compile(kernel, options, times);
    }
  });
  times.Log("ptx", kernels.size(), distinct.kernels.size());
  std::vector<Ptx> all;
  for (size_t i = 0; i < kernels.size(); ++i) {
    Ptx ptx = TRY(std::as_const(compiled[distinct.which[i]]));
    ptx.entry = EntryName(*kernels[i]);
    ptx.text = Replaced(ptx.text, kAnyName, ptx.entry);
    all.push_back(std::move(ptx));
  }
  return all;
}

std::string JoinPtx(std::span<const Ptx> parts) {
  std::string joined;
  for (const Ptx& part : parts) {
    std::string_view text = part.text;
    constexpr std::string_view kLastDirective = ".address_size 64\n";
    if (!joined.empty()) text.remove_prefix(text.find(kLastDirective) + kLastDirective.size());
    joined += text;
  }
  return joined;
}

Result<std::string> EmitNvptxIr(const Kernel& kernel, bool optimized, const NvptxOptions& options) {
  TRY(CheckTarget(kernel, options));
  llvm::TargetMachine* const target = TRY(NvptxTarget(options.arch, options.ptx_version));
  llvm::LLVMContext context;
  const auto module = LowerToNvptx(kernel, options, context);
  Prepare(*module, *target);
  TRY(Verify(*module));
  if (optimized) {
    TRY(RunPasses(*module, *target, Pipeline::kNvptx));
    TRY(Verify(*module));
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

}  // namespace hlo::kernel
