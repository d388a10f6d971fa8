// Memory for the elements of arrays. Large blocks request huge pages, which cause fewer page faults.
#ifndef HLO_BASE_ARRAY_MEMORY_H_
#define HLO_BASE_ARRAY_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace hlo {

// Memory with this alignment and undefined contents, or null when the system has none.
void* AllocateArray(int64_t bytes, size_t alignment);
// Frees memory of AllocateArray; null is allowed. Pages of large blocks are kept for later blocks.
void FreeArray(void* memory);

// Asks the system for huge pages for large memory that has not been written yet.
void RequestHugePages(void* memory, size_t bytes);

}  // namespace hlo

#endif  // HLO_BASE_ARRAY_MEMORY_H_
