// Memory for the elements of arrays. Large blocks request huge pages, which cause fewer page faults.
#ifndef HLO_BASE_ARRAY_MEMORY_H_
#define HLO_BASE_ARRAY_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace hlo {

// Returns uninitialised memory, or null if the system has none left. `alignment` is in bytes.
void* AllocateArray(int64_t bytes, size_t alignment);
// Null is allowed. The pages of large blocks are kept for later blocks.
void FreeArray(void* memory);

// Must be called before the memory is written for the first time.
void RequestHugePages(void* memory, size_t bytes);

}  // namespace hlo

#endif  // HLO_BASE_ARRAY_MEMORY_H_
