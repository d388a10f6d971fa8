#include "gpu/kernel/host.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "base/host_isa.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/kernel/compile_times.h"
#include "gpu/kernel/distinct.h"
#include "gpu/kernel/host/vectors.h"
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

// Where modules end, of kernels that come with the largest first: several pieces for each thread, so that none waits
// long for another at the end.
std::vector<size_t> CutIntoModules(std::span<const int64_t> sizes) {
  const int64_t enough = std::reduce(sizes.begin(), sizes.end(), int64_t{0}) / (4 * Threads());
  std::vector<size_t> ends;
  int64_t size = 0, count = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    size += sizes[i];
    ++count;
    if (size < enough && count < kMostPerModule && i + 1 < sizes.size()) continue;
    ends.push_back(i + 1);
    size = count = 0;
  }
  return ends;
}

Status CompileModule(std::span<const Kernel* const> kernels, std::span<const KernelHash> hashes, CompileTimes& times) {
  const auto start = std::chrono::steady_clock::now();
  PhaseClock clock(times);
  llvm::TargetMachine* const target = TRY(HostTarget());
  llvm::LLVMContext context;
  llvm::Module module(kernels.front()->name, context);
  std::vector<unsigned> instructions;  // Up to the end of each.
  for (size_t i = 0; i < kernels.size(); ++i) {
    LowerToHost(*kernels[i], "k" + hashes[i].ToString(), MayUseAvx512(), module);
    instructions.push_back(module.getInstructionCount());
  }
  Prepare(module, *target);
  clock.Ended(CompilePhase::kLower);
  TRY(RunPasses(module, *target, Pipeline::kHost));
  clock.Ended(CompilePhase::kPasses);
  llvm::SmallVector<char, 0> bytes;
  TRY(Generate(module, *target, /*object=*/true, bytes));
  clock.Ended(CompilePhase::kCode);
  const auto object = TRY(LoadObject(bytes));
  clock.Ended(CompilePhase::kLoad);
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
    if (array.IsParameter()) elements = std::max(elements, array.AllElements() / std::max<int64_t>(1, kernel.blocks));
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
  const int64_t clusters_per_piece = std::max<int64_t>(1, kElementsPerPiece / (elements_per_block_ * cluster_));
  ParallelFor(blocks_ / cluster_, clusters_per_piece,
              [&](int64_t first, int64_t last) { Run(arguments, first * cluster_, last * cluster_); });
}

Result<HostKernel> CompileHost(const Kernel& kernel) {
  const Kernel* const kernels[] = {&kernel};
  return TRY(CompileHost(kernels)).front();
}

Result<std::vector<HostKernel>> CompileHost(std::span<const Kernel* const> kernels) {
  std::vector<KernelHash> hashes;
  for (const Kernel* kernel : kernels) hashes.push_back(HashOfCode(*kernel, ForgetForHost));
  CompileTimes times;
  std::vector<const Kernel*> missing;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (Compiled ignored; !TheCache().Find(hashes[i], &ignored)) missing.push_back(kernels[i]);
  }
  const DistinctKernels distinct = FindDistinct(missing, ForgetForHost);
  const std::vector<size_t> ends = CutIntoModules(distinct.sizes);
  std::vector<Status> done(ends.size());
  ParallelFor(std::ssize(ends), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const size_t begin = i == 0 ? 0 : ends[i - 1];
      done[i] = CompileModule(std::span(distinct.kernels).subspan(begin, ends[i] - begin),
                              std::span(distinct.hashes).subspan(begin, ends[i] - begin), times);
    }
  });
  for (Status& one : done) TRY(std::move(one));
  if (!missing.empty()) times.Log("host", kernels.size(), distinct.kernels.size());
  const std::set<KernelHash> is_new(distinct.hashes.begin(), distinct.hashes.end());
  std::vector<HostKernel> result;
  for (size_t i = 0; i < kernels.size(); ++i) {
    Compiled compiled;
    CHECK(TheCache().Find(hashes[i], &compiled), "kernel '", kernels[i]->name, "' vanished from the cache");
    HostKernel kernel;
    kernel.function_ = compiled.function;
    kernel.compile_seconds_ = is_new.contains(hashes[i]) ? compiled.seconds : 0;
    kernel.direct_ = TakesArgumentsOneByOne(*kernels[i]);
    kernel.cluster_ = kernels[i]->cluster;
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
