// Counts the bytes of all literals of the process and of scratch memory of ops.
#ifndef HLO_IR_LITERAL_MEMORY_H_
#define HLO_IR_LITERAL_MEMORY_H_

#include <cstdint>

namespace hlo {

int64_t LiveLiteralBytes();
int64_t PeakLiteralBytes();
void ResetPeakLiteralBytes();
void CountLiteralBytes(int64_t bytes);  // Adds scratch memory, or removes it if negative.

}  // namespace hlo

#endif  // HLO_IR_LITERAL_MEMORY_H_
