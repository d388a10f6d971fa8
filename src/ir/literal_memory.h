// Counts the bytes of all literals and of scratch memory of ops in the process.
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
