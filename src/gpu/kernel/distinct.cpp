#include "gpu/kernel/distinct.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/parallel.h"

namespace hlo::kernel {
namespace {

// Assumed number of copies of a fully unrolled loop.
constexpr int64_t kUnrolledFully = 8;
constexpr int64_t kMost = int64_t{1} << 40;

int64_t SizeOf(const Region& region) {
  int64_t size = 0;
  for (const Instruction& instruction : region.body) {
    int64_t inner = 1;
    for (const Region& nested : instruction.regions) inner += SizeOf(nested);
    if (instruction.op == Op::kTile) inner *= std::max<int64_t>(1, instruction.imm);
    if (instruction.op == Op::kLoop) inner *= instruction.imm > 0 ? instruction.imm : kUnrolledFully;
    size = std::min(kMost, size + inner);
  }
  return size;
}

KernelHash HashOfCode(const Kernel& kernel, Forget forget) {
  Kernel code = kernel;
  forget(code);
  return Hash(code);
}

}  // namespace

int64_t CodeSize(const Kernel& kernel) { return SizeOf(kernel.body); }

DistinctKernels FindDistinct(std::span<const Kernel* const> kernels, Forget forget) {
  std::map<KernelHash, size_t> number_of;
  std::vector<const Kernel*> found;
  std::vector<KernelHash> hashes;
  std::vector<int64_t> sizes;
  DistinctKernels distinct;
  std::vector<KernelHash> all(kernels.size());
  ParallelFor(std::ssize(kernels), 8, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) all[i] = HashOfCode(*kernels[i], forget);
  });
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Kernel* const kernel = kernels[i];
    const KernelHash& hash = all[i];
    const auto [at, is_new] = number_of.emplace(hash, found.size());
    distinct.which.push_back(at->second);
    if (!is_new) continue;
    found.push_back(kernel);
    hashes.push_back(hash);
    sizes.push_back(CodeSize(*kernel));
  }
  std::vector<size_t> order(found.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::vector<size_t> place(found.size());
  for (const size_t number : order) {
    place[number] = distinct.kernels.size();
    distinct.kernels.push_back(found[number]);
    distinct.hashes.push_back(hashes[number]);
    distinct.sizes.push_back(sizes[number]);
  }
  for (size_t& which : distinct.which) which = place[which];
  return distinct;
}

}  // namespace hlo::kernel
