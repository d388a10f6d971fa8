#include "gpu/kernel/host.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "base/host_isa.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/kernel/host_lowering.h"
#include "gpu/kernel/jit.h"
#include "gpu/kernel/passes.h"
#include "gpu/kernel/target.h"

namespace hlo::kernel {
namespace {

// Blocks are cut into pieces of about this many elements.
constexpr int64_t kElementsPerPiece = 64 << 10;

struct Compiled {
  std::shared_ptr<const LoadedObject> object;
  void* function;
  double seconds;  // Of the module that it was compiled in, its share by instructions.
};

class Cache {
 public:
  bool Find(const KernelHash& hash, Compiled* compiled) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find({ChosenHostIsa(), hash});
    if (found == entries_.end()) return false;
    *compiled = found->second;
    return true;
  }

  void Add(const KernelHash& hash, const Compiled& compiled) {
    const std::lock_guard lock(mutex_);
    entries_.emplace(std::pair(ChosenHostIsa(), hash), compiled);
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<HostIsa, KernelHash>, Compiled> entries_;
};

Cache& TheCache() {
  static Cache& cache = *new Cache;  // Lives to the end: threads may still compile while statics go.
  return cache;
}

// One module of several kernels saves the set-up of the code generator.
constexpr int64_t kMostPerModule = 8;

Status CompileModule(std::span<const Kernel* const> kernels, std::span<const KernelHash> hashes) {
  const auto start = std::chrono::steady_clock::now();
  llvm::TargetMachine* const target = TRY(HostTarget());
  llvm::LLVMContext context;
  llvm::Module module(kernels.front()->name, context);
  std::vector<unsigned> instructions;  // Up to the end of each.
  for (size_t i = 0; i < kernels.size(); ++i) {
    LowerToHost(*kernels[i], "k" + hashes[i].ToString(), MayUseAvx512(), module);
    instructions.push_back(module.getInstructionCount());
  }
  Prepare(module, *target);
  TRY(RunPasses(module, *target, Pipeline::kHost));
  llvm::SmallVector<char, 0> bytes;
  TRY(Generate(module, *target, /*object=*/true, bytes));
  const auto object = TRY(LoadObject(bytes));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (size_t i = 0; i < hashes.size(); ++i) {
    void* const function = object->Symbol("k" + hashes[i].ToString());
    CHECK(function, "compiled kernel without its function");
    const unsigned own = instructions[i] - (i == 0 ? 0 : instructions[i - 1]);
    TheCache().Add(hashes[i], {.object = object, .function = function, .seconds = seconds * own / instructions.back()});
  }
  return {};
}

int64_t ElementsPerBlock(const Kernel& kernel) {
  int64_t elements = kernel.threads;
  for (const ArrayInfo& array : kernel.arrays) {
    if (array.IsParameter()) elements = std::max(elements, array.elements / std::max<int64_t>(1, kernel.blocks));
  }
  return elements;
}

}  // namespace

void HostKernel::Run(std::span<void* const> arguments, int64_t first_block, int64_t last_block) const {
  if (!direct_) {
    using Function = void (*)(int64_t, int64_t, void* const*);
    return reinterpret_cast<Function>(function_)(first_block, last_block, arguments.data());
  }
  // The calling convention of x86-64 lets a caller pass more than the function takes.
  void* a[kMostDirectArguments] = {};
  std::copy(arguments.begin(), arguments.end(), a);
  using Function =
      void (*)(int64_t, int64_t, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*);
  reinterpret_cast<Function>(function_)(first_block, last_block, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8],
                                        a[9], a[10], a[11]);
}

void HostKernel::Launch(std::span<void* const> arguments) const {
  const int64_t blocks_per_piece = std::max<int64_t>(1, kElementsPerPiece / elements_per_block_);
  ParallelFor(blocks_, blocks_per_piece, [&](int64_t first, int64_t last) { Run(arguments, first, last); });
}

Result<HostKernel> CompileHost(const Kernel& kernel) {
  const Kernel* const kernels[] = {&kernel};
  return TRY(CompileHost(kernels)).front();
}

Result<std::vector<HostKernel>> CompileHost(std::span<const Kernel* const> kernels) {
  std::vector<KernelHash> hashes;
  for (const Kernel* kernel : kernels) hashes.push_back(Hash(*kernel));
  std::map<KernelHash, const Kernel*> missing;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (Compiled ignored; !TheCache().Find(hashes[i], &ignored)) missing.emplace(hashes[i], kernels[i]);
  }
  std::vector<KernelHash> missing_hashes;
  std::vector<const Kernel*> missing_kernels;
  for (const auto& [hash, kernel] : missing) {
    missing_hashes.push_back(hash);
    missing_kernels.push_back(kernel);
  }
  const int64_t count = static_cast<int64_t>(missing.size());
  const int64_t per_module = std::clamp<int64_t>(count / (2 * Threads()), 1, kMostPerModule);
  std::mutex mutex;
  Status status;
  ParallelFor(count, per_module, [&](int64_t first, int64_t last) {
    Status compiled = CompileModule(std::span(missing_kernels).subspan(first, last - first),
                                    std::span(missing_hashes).subspan(first, last - first));
    const std::lock_guard lock(mutex);
    if (!compiled && status) status = std::move(compiled);
  });
  TRY(std::move(status));
  std::vector<HostKernel> result;
  for (size_t i = 0; i < kernels.size(); ++i) {
    Compiled compiled;
    CHECK(TheCache().Find(hashes[i], &compiled), "kernel '", kernels[i]->name, "' vanished from the cache");
    HostKernel kernel;
    kernel.function_ = compiled.function;
    kernel.compile_seconds_ = missing.contains(hashes[i]) ? compiled.seconds : 0;
    kernel.direct_ = kernels[i]->Parameters().size() <= kMostDirectArguments;
    kernel.blocks_ = kernels[i]->blocks;
    kernel.elements_per_block_ = ElementsPerBlock(*kernels[i]);
    kernel.object_ = compiled.object;
    result.push_back(std::move(kernel));
  }
  return result;
}

Result<std::string> EmitHost(const Kernel& kernel, HostStage stage) {
  llvm::TargetMachine* const target = TRY(HostTarget());
  llvm::LLVMContext context;
  llvm::Module module(kernel.name, context);
  LowerToHost(kernel, "kernel", MayUseAvx512(), module);
  Prepare(module, *target);
  TRY(Verify(module));
  if (stage != HostStage::kLowered) TRY(RunPasses(module, *target, Pipeline::kHost));
  if (stage == HostStage::kAssembly) {
    llvm::SmallVector<char, 0> text;
    TRY(Generate(module, *target, /*object=*/false, text));
    return std::string(text.begin(), text.end());
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace hlo::kernel
