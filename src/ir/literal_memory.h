// Counts the bytes of all literals of the process and of the scratch memory of ops: the current amount and its peak.
#ifndef HLO_IR_LITERAL_MEMORY_H_
#define HLO_IR_LITERAL_MEMORY_H_

#include <cstdint>

namespace hlo {

int64_t LiveLiteralBytes();
int64_t PeakLiteralBytes();             // Since the last reset.
void ResetPeakLiteralBytes();           // Sets the peak to the current amount.
void CountLiteralBytes(int64_t bytes);  // Adds scratch memory; negative when it is freed.

}  // namespace hlo

#endif  // HLO_IR_LITERAL_MEMORY_H_
