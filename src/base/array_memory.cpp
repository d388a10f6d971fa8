#include "base/array_memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace hlo {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// Smaller blocks would lose much by rounding up to huge pages.
constexpr size_t kLeastPooled = 2 * kHugePage;
#if defined(__SANITIZE_ADDRESS__)
// A pool keeps freed memory, so the sanitizer could not detect reads of it.
constexpr bool kPools = false;
#else
constexpr bool kPools = true;
#endif

// Makes malloc keep freed blocks. The system would clear the pages of returned blocks, which slows down large products.
bool KeepFreedBlocks() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // The largest value that mallopt accepts.
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
  return true;
}
// Called before main(), so that the memory of a large module is kept, too.
[[maybe_unused]] const bool kKept = KeepFreedBlocks();

size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Allocator of large blocks in huge pages. Freed memory is kept, because the first access to a page costs more than the
// arithmetic on it, above all in a virtual machine. If no free range is long enough, pages of several ranges are moved
// together. Used and kept memory never exceed the largest amount in use at once.
class Pool {
 public:
  void* Allocate(size_t bytes) {
    const size_t size = RoundUp(bytes, kHugePage);
    const std::lock_guard lock(mutex_);
    const auto found = by_size_.lower_bound({size, 0});
    uintptr_t start = 0;
    if (found != by_size_.end()) {
      size_t whole = 0;
      std::tie(whole, start) = *found;
      RemoveFree(start, whole);
      if (whole > size) AddFree(start + size, whole - size);
    } else {
      start = Map(size);
      if (start != 0 && !MoveFreeTo(start, size)) start = 0;
      if (start == 0) {
        ShrinkTo(0);
        start = Map(size);
      }
      if (start == 0) return nullptr;
    }
    in_use_.emplace(start, size);
    used_ += size;
    most_used_ = std::max(most_used_, used_);
    return reinterpret_cast<void*>(start);
  }

  // Returns false for a block of another allocator.
  bool Free(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = in_use_.find(reinterpret_cast<uintptr_t>(memory));
    if (found == in_use_.end()) return false;
    uintptr_t start = found->first;
    size_t size = found->second;
    in_use_.erase(found);
    used_ -= size;
    auto next = free_.lower_bound(start);
    if (next != free_.end() && next->first == start + size) {
      const auto [at, length] = *next;
      RemoveFree(at, length);
      size += length;
    }
    next = free_.lower_bound(start);
    if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == start) {
      const auto [at, length] = *std::prev(next);
      RemoveFree(at, length);
      start = at;
      size += length;
    }
    AddFree(start, size);
    ShrinkTo(MostFree());
    return true;
  }

  void Clear() {
    const std::lock_guard lock(mutex_);
    ShrinkTo(0);
  }

 private:
  size_t MostFree() const {
    static const size_t half = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
    return std::min(most_used_ - used_, half);
  }

  // Maps `size` bytes, aligned to huge pages. Returns 0 on failure.
  uintptr_t Map(size_t size) {
    void* const memory = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    const auto begin = reinterpret_cast<uintptr_t>(memory), start = RoundUp(begin, kHugePage);
    const uintptr_t end = begin + size + kHugePage;
    if (start > begin) munmap(memory, start - begin);
    if (end > start + size) munmap(reinterpret_cast<void*>(start + size), end - start - size);
    SeamsAround(start, size);
    RequestHugePages(reinterpret_cast<void*>(start), size);
    return start;
  }

  // Records that [start, start + size) is one mapping, or was one until it was unmapped.
  void SeamsAround(uintptr_t start, size_t size) {
    seams_.erase(seams_.lower_bound(start), seams_.lower_bound(start + size));
    seams_.insert({start, start + size});
  }

  void Unmap(uintptr_t start, size_t size) {
    if (size == 0) return;
    munmap(reinterpret_cast<void*>(start), size);
    SeamsAround(start, size);
  }

  void AddFree(uintptr_t start, size_t size) {
    free_.emplace(start, size);
    by_size_.emplace(size, start);
    free_bytes_ += size;
  }

  void RemoveFree(uintptr_t start, size_t size) {
    free_.erase(start);
    by_size_.erase({size, start});
    free_bytes_ -= size;
  }

  // Replaces the new pages at [start, start + size) by pages of free ranges. Each mremap moves one mapping: Linux
  // before 6.17 cannot move more. If the system refuses, unmaps the new pages and returns false.
  bool MoveFreeTo(uintptr_t start, size_t size) {
    for (size_t done = 0; done < size && !by_size_.empty();) {
      const auto [length, from] = *by_size_.begin();
      const size_t moved = std::min({length, size - done, *seams_.upper_bound(from) - from});
      RemoveFree(from, length);
      if (moved < length) AddFree(from + moved, length - moved);
      void* const source = reinterpret_cast<void*>(from);
      void* const target = reinterpret_cast<void*>(start + done);
      const bool is_moved = mremap(source, moved, moved, MREMAP_MAYMOVE | MREMAP_FIXED, target) != MAP_FAILED;
      SeamsAround(from, moved);
      SeamsAround(start + done, moved);
      // The range is not unmapped: a failed mremap may have unmapped its target, which another thread may have mapped
      // since.
      if (!is_moved) {
        Unmap(from, moved);
        Unmap(start, done);
        Unmap(start + done + moved, size - done - moved);
        return false;
      }
      done += moved;
    }
    return true;
  }

  // Leaves at most `most` bytes free. Unmaps the largest ranges first, because few requests need them.
  void ShrinkTo(size_t most) {
    while (free_bytes_ > most) {
      const auto [size, start] = *std::prev(by_size_.end());
      RemoveFree(start, size);
      const size_t gone = std::min(size, RoundUp(free_bytes_ + size - most, kHugePage));
      Unmap(start + size - gone, gone);
      if (gone < size) AddFree(start, size - gone);
    }
  }

  std::mutex mutex_;
  std::unordered_map<uintptr_t, size_t> in_use_;
  std::map<uintptr_t, size_t> free_;
  std::set<std::pair<size_t, uintptr_t>> by_size_;  // Ranges of `free_`: size, start address.
  // Boundaries of mappings. Two adjacent seams enclose one mapping or unmapped memory.
  std::set<uintptr_t> seams_;
  size_t free_bytes_ = 0, used_ = 0, most_used_ = 0;
};

Pool& ThePool() {
  static Pool& pool = *new Pool;  // Never destroyed, because static objects hold arrays.
  return pool;
}

}  // namespace

void* AllocateArray(int64_t bytes, size_t alignment) {
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  if (kPools && size >= kLeastPooled && alignment <= kHugePage) {
    if (size > SIZE_MAX / 2) return nullptr;
    return ThePool().Allocate(size);
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size) == 0) return memory;
  ThePool().Clear();
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void FreeArray(void* memory) {
  const bool may_be_large = memory != nullptr && reinterpret_cast<uintptr_t>(memory) % kHugePage == 0;
  if (!may_be_large || !ThePool().Free(memory)) std::free(memory);
}

void RequestHugePages(void* memory, size_t bytes) {
  // Only whole pages change: other memory may share the first and last page.
  const uintptr_t start = reinterpret_cast<uintptr_t>(memory), end = start + bytes;
  const uintptr_t first = (start + kHugePage - 1) / kHugePage * kHugePage, last = end / kHugePage * kHugePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace hlo
