#include "gpu/codegen/host.h"

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
#include "gpu/codegen/code_cache.h"
#include "gpu/codegen/compile_times.h"
#include "gpu/codegen/host/vectors.h"
#include "gpu/codegen/host_lowering.h"
#include "gpu/codegen/jit.h"
#include "gpu/codegen/passes.h"
#include "gpu/codegen/target.h"
#include "gpu/kernel/distinct.h"
#include "gpu/kernel/kernel_words.h"

namespace hlo::kernel {
namespace {

constexpr int64_t kElementsPerPiece = 64 << 10;

struct Compiled {
  std::shared_ptr<const LoadedObject> object;
  void* function;
  double seconds;  // This kernel's share of the module's compile time.
  Effort effort;
};

class Cache {
 public:
  // Finds code of at least this effort.
  bool Find(const KernelHash& hash, Effort effort, Compiled* compiled) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find({ChosenHostIsa(), hash});
    if (found == entries_.end() || found->second.effort < effort) return false;
    *compiled = found->second;
    return true;
  }

  void Add(const KernelHash& hash, const Compiled& compiled) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = entries_.emplace(std::pair(ChosenHostIsa(), hash), compiled);
    if (!is_new && at->second.effort < compiled.effort) at->second = compiled;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<HostIsa, KernelHash>, Compiled> entries_;
};

Cache& TheCache() {
  // Never destroyed, because threads may still compile while statics are destroyed.
  static Cache& cache = *new Cache;
  return cache;
}

// Kernels with the smallest shares of the run time are compiled with low effort, if these shares add up to at most this
// sum. With low effort for all kernels, models are slower (bench/results/compile.md#choices-of-the-code-generator).
constexpr double kUnnoticed = 0.01;

std::vector<Effort> EffortsOf(const DistinctKernels& distinct, std::span<const double> shares) {
  const size_t count = distinct.kernels.size();
  std::vector<Effort> efforts(count, Effort::kFull);
  if (shares.empty()) return efforts;
  std::vector<double> own(count);
  for (size_t i = 0; i < shares.size(); ++i) own[distinct.which[i]] += shares[i];
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return own[a] < own[b]; });
  double together = 0;
  for (const size_t i : order) {
    together += own[i];
    if (together > kUnnoticed) break;
    efforts[i] = Effort::kLittle;
  }
  return efforts;
}

// Several kernels in a module share some set-up of the code generator. Modules for the code cache have one kernel,
// because other programs combine kernels differently.
constexpr size_t kMostPerModule = 8;

struct Batch {
  Effort effort;
  std::vector<const Kernel*> kernels = {};
  std::vector<KernelHash> hashes = {};
  int64_t size = 0;
};

// Several modules for each thread, the largest kernels first, so that threads end at about the same time.
std::vector<Batch> BatchesOf(const DistinctKernels& distinct, std::span<const Effort> efforts, size_t most) {
  std::vector<Batch> batches;
  for (const Effort effort : {Effort::kFull, Effort::kLittle}) {
    std::vector<size_t> missing;
    int64_t all = 0;
    for (size_t i = 0; i < efforts.size(); ++i) {
      if (Compiled ignored; efforts[i] != effort || TheCache().Find(distinct.hashes[i], effort, &ignored)) continue;
      missing.push_back(i);
      all += distinct.sizes[i];
    }
    const int64_t enough = all / (4 * Threads());
    bool is_new = true;
    for (const size_t i : missing) {
      if (is_new) batches.push_back({.effort = effort});
      Batch& batch = batches.back();
      batch.kernels.push_back(distinct.kernels[i]);
      batch.hashes.push_back(distinct.hashes[i]);
      batch.size += distinct.sizes[i];
      is_new = batch.size >= enough || batch.kernels.size() == most;
    }
  }
  return batches;
}

CodeKey HostKeyOf(const Kernel& kernel, Effort effort) {
  Kernel code = kernel;
  ForgetForHost(code);
  return KeyOf({"host", HostTargetText(effort), WordsOf(code)});
}

// Returns 1 for each kernel loaded from `kept`.
std::vector<char> TakeKept(const DistinctKernels& distinct, std::span<const Effort> efforts, CodeCache& kept,
                           CompileTimes& times) {
  std::vector<char> taken(distinct.kernels.size());
  ParallelFor(std::ssize(taken), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      if (Compiled ignored; TheCache().Find(distinct.hashes[i], efforts[i], &ignored)) continue;
      PhaseClock clock(times);
      const auto code = kept.Find(HostKeyOf(*distinct.kernels[i], efforts[i]));
      if (!code) continue;
      const auto object = LoadObject(*code);
      clock.Ended(CompilePhase::kLoad);
      void* const function = object ? (*object)->Symbol("k" + distinct.hashes[i].ToString()) : nullptr;
      if (function == nullptr) continue;
      TheCache().Add(distinct.hashes[i], {.object = *object, .function = function, .seconds = 0, .effort = efforts[i]});
      taken[i] = 1;
    }
  });
  return taken;
}

Status CompileModule(const Batch& batch, CodeCache* kept, CompileTimes& times) {
  const auto& [effort, kernels, hashes, size] = batch;
  const auto start = std::chrono::steady_clock::now();
  PhaseClock clock(times);
  llvm::TargetMachine* const target = TRY(HostTarget(effort));
  llvm::LLVMContext context;
  llvm::Module module(kernels.front()->name, context);
  // Instructions in the module up to each kernel's end.
  std::vector<unsigned> instructions;
  for (size_t i = 0; i < kernels.size(); ++i) {
    LowerToHost(*kernels[i], "k" + hashes[i].ToString(), MayUseAvx512(), module);
    instructions.push_back(module.getInstructionCount());
  }
  Prepare(module, *target);
  clock.Ended(CompilePhase::kLower);
  TRY(RunPasses(module, *target, effort == Effort::kFull ? Pipeline::kHost : Pipeline::kHostQuick));
  clock.Ended(CompilePhase::kPasses);
  llvm::SmallVector<char, 0> bytes;
  TRY(Generate(module, *target, /*object=*/true, bytes));
  clock.Ended(CompilePhase::kCode);
  const auto object = TRY(LoadObject(bytes));
  if (kept != nullptr) kept->Keep(HostKeyOf(*kernels.front(), effort), {bytes.data(), bytes.size()});
  clock.Ended(CompilePhase::kLoad);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (size_t i = 0; i < hashes.size(); ++i) {
    void* const function = object->Symbol("k" + hashes[i].ToString());
    CHECK(function, "compiled kernel without its function");
    const unsigned own = instructions[i] - (i == 0 ? 0 : instructions[i - 1]);
    TheCache().Add(
        hashes[i],
        {.object = object, .function = function, .seconds = seconds * own / instructions.back(), .effort = effort});
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
  // The calling convention of x86-64 allows more arguments than the function takes.
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

Result<std::vector<HostKernel>> CompileHost(std::span<const Kernel* const> kernels, std::span<const double> shares,
                                            CodeCache* kept) {
  CompileTimes times;
  const DistinctKernels distinct = FindDistinct(kernels, ForgetForHost);
  const std::vector<Effort> efforts = EffortsOf(distinct, shares);
  const std::vector<char> taken =
      kept == nullptr ? std::vector<char>(efforts.size()) : TakeKept(distinct, efforts, *kept, times);
  const std::vector<Batch> batches = BatchesOf(distinct, efforts, kept == nullptr ? kMostPerModule : 1);
  std::vector<Status> done(batches.size());
  ParallelFor(std::ssize(batches), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) done[i] = CompileModule(batches[i], kept, times);
  });
  if (kept != nullptr) kept->MakeRoom();
  std::set<KernelHash> is_new;
  int64_t quick = 0;
  for (size_t i = 0; i < batches.size(); ++i) {
    TRY(std::move(done[i]));
    is_new.insert(batches[i].hashes.begin(), batches[i].hashes.end());
    if (batches[i].effort == Effort::kLittle) quick += std::ssize(batches[i].kernels);
  }
  const int64_t from_kept = std::ranges::count(taken, 1);
  if (!is_new.empty() || from_kept > 0) times.Log("host", kernels.size(), is_new.size(), quick, from_kept);
  std::vector<HostKernel> result;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelHash& hash = distinct.hashes[distinct.which[i]];
    Compiled compiled;
    CHECK(TheCache().Find(hash, Effort::kLittle, &compiled), "kernel '", kernels[i]->name, "' vanished from the cache");
    HostKernel kernel;
    kernel.function_ = compiled.function;
    kernel.compile_seconds_ = is_new.contains(hash) ? compiled.seconds : 0;
    kernel.was_kept_ = taken[distinct.which[i]] != 0;
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
