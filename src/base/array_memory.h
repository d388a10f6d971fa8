// Memory for the elements of arrays.
#ifndef HLO_BASE_ARRAY_MEMORY_H_
#define HLO_BASE_ARRAY_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace hlo {

// Aligned, contents undefined; null when there is none. Large blocks ask for huge pages: fewer page faults, and kernels
// that walk across rows stay within what the translation buffers hold.
void* AllocateArray(int64_t bytes, size_t alignment);
// Gives it back; null is nothing. The pages of large blocks are kept for the next ones: as many as were used at once.
void FreeArray(void* memory);

// Asks for huge pages under memory that is large and was not written to yet. It costs nothing where there are none.
void AskForHugePages(void* memory, size_t bytes);

}  // namespace hlo

#endif  // HLO_BASE_ARRAY_MEMORY_H_
