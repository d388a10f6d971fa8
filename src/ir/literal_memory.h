// Bytes of the elements of all literals of the process, and of what ops compute in: what there is, and the most there
// has been.
#ifndef HLO_IR_LITERAL_MEMORY_H_
#define HLO_IR_LITERAL_MEMORY_H_

#include <cstdint>

namespace hlo {

int64_t LiveLiteralBytes();
int64_t PeakLiteralBytes();             // Since the last reset.
void ResetPeakLiteralBytes();           // To what there is.
void CountLiteralBytes(int64_t bytes);  // More, or fewer, of memory that is no literal's.

}  // namespace hlo

#endif  // HLO_IR_LITERAL_MEMORY_H_
