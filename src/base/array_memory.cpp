#include "base/array_memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace hlo {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// What is freed is soon wanted again. By default malloc gives much of it back to the system, which clears each page
// that it hands out anew: a quarter of the time of a large product.
bool KeepFreedBlocks() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // The most that it takes.
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
  return true;
}

}  // namespace

void* AllocateArray(int64_t bytes, size_t alignment) {
  [[maybe_unused]] static const bool kept = KeepFreedBlocks();
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  // A smaller block would leave much of its pages to nobody.
  const bool large = size >= 2 * kHugePage;
  const size_t start = large ? std::max(alignment, kHugePage) : alignment;
  void* memory = nullptr;
  if (posix_memalign(&memory, start, size) != 0) return nullptr;
  if (large) AskForHugePages(memory, size);
  return memory;
}

void AskForHugePages(void* memory, size_t bytes) {
  // Whole pages only: what is beside them may be somebody else's. Refusal costs no more than speed.
  const uintptr_t start = reinterpret_cast<uintptr_t>(memory), end = start + bytes;
  const uintptr_t first = (start + kHugePage - 1) / kHugePage * kHugePage, last = end / kHugePage * kHugePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace hlo
