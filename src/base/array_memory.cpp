#include "base/array_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace hlo {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

void* AllocateArray(int64_t bytes, size_t alignment) {
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  // A smaller block would leave much of its pages to nobody.
  const bool large = size >= 2 * kHugePage;
  const size_t start = large ? std::max(alignment, kHugePage) : alignment;
  if (size > SIZE_MAX - start) return nullptr;
  void* const memory = std::aligned_alloc(start, RoundUp(size, alignment));
  // Whole pages only: what follows them may be somebody else's. Refusal costs no more than speed.
  if (memory != nullptr && large) madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE);
  return memory;
}

}  // namespace hlo
