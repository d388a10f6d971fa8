#include "base/array_memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>

namespace hlo {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

constexpr size_t kLeastKept = size_t{32} << 20;

// What is freed is soon wanted again. By default malloc gives much of it back to the system, which clears each page
// that it hands out anew: a quarter of the time of a large product.
bool KeepFreedBlocks() {
  mallopt(M_MMAP_THRESHOLD, kLeastKept);  // The most that it takes.
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
  return true;
}
[[maybe_unused]] const bool kKept = KeepFreedBlocks();  // From the start: lists of a large module come and go, too.

// Blocks that malloc gives back to the system at once. A page that is touched for the first time costs more than the
// work on it: in a virtual machine, seconds for a GiB.
class LargeBlocks {
 public:
  // One that was freed, of `size` bytes or a little more; null: there is none.
  void* Take(size_t size, size_t alignment) {
    const std::lock_guard lock(mutex_);
    const auto found = free_.lower_bound(size);
    if (found == free_.end() || found->first > size + size / 4 || alignment > kHugePage) return nullptr;
    void* const memory = found->second;
    in_use_.emplace(memory, found->first);
    free_bytes_ -= found->first;
    free_.erase(found);
    return memory;
  }

  void Add(void* memory, size_t size) {
    const std::lock_guard lock(mutex_);
    in_use_.emplace(memory, size);
  }

  // False: it is none of these.
  bool Free(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = in_use_.find(memory);
    if (found == in_use_.end()) return false;
    free_.emplace(found->second, memory);
    free_bytes_ += found->second;
    in_use_.erase(found);
    Shrink(MostFree());
    return true;
  }

  void Clear() {
    const std::lock_guard lock(mutex_);
    Shrink(0);
  }

 private:
  // An eighth of the machine's memory.
  static size_t MostFree() {
    static const size_t most = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 8;
    return most;
  }

  // The largest go first: fewer are as large.
  void Shrink(size_t most) {
    while (free_bytes_ > most) {
      const auto largest = std::prev(free_.end());
      std::free(largest->second);
      free_bytes_ -= largest->first;
      free_.erase(largest);
    }
  }

  std::mutex mutex_;
  std::unordered_map<void*, size_t> in_use_;
  std::multimap<size_t, void*> free_;
  size_t free_bytes_ = 0;
};

LargeBlocks& TheLargeBlocks() {
  static LargeBlocks& blocks = *new LargeBlocks;  // Lives to the end: statics hold arrays.
  return blocks;
}

}  // namespace

void* AllocateArray(int64_t bytes, size_t alignment) {
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  // A smaller block would leave much of its pages to nobody.
  const bool large = size >= 2 * kHugePage;
  const size_t start = large ? std::max(alignment, kHugePage) : alignment;
  const bool kept_when_freed = size >= kLeastKept;
  void* memory = kept_when_freed ? TheLargeBlocks().Take(size, start) : nullptr;
  if (memory != nullptr) return memory;
  if (posix_memalign(&memory, start, size) != 0) {
    TheLargeBlocks().Clear();
    if (posix_memalign(&memory, start, size) != 0) return nullptr;
  }
  if (large) AskForHugePages(memory, size);
  if (kept_when_freed) TheLargeBlocks().Add(memory, size);
  return memory;
}

void FreeArray(void* memory) {
  const bool may_be_large = memory != nullptr && reinterpret_cast<uintptr_t>(memory) % kHugePage == 0;
  if (!may_be_large || !TheLargeBlocks().Free(memory)) std::free(memory);
}

void FreeKeptBlocks() { TheLargeBlocks().Clear(); }

void AskForHugePages(void* memory, size_t bytes) {
  // Whole pages only: what is beside them may be somebody else's. Refusal costs no more than speed.
  const uintptr_t start = reinterpret_cast<uintptr_t>(memory), end = start + bytes;
  const uintptr_t first = (start + kHugePage - 1) / kHugePage * kHugePage, last = end / kHugePage * kHugePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace hlo
