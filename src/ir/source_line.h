// The line of a user's program that an instruction's metadata names.
#ifndef HLO_IR_SOURCE_LINE_H_
#define HLO_IR_SOURCE_LINE_H_

#include "ir/instruction.h"

namespace hlo {

bool HasSourceLine(const Instruction& inst);

// Gives `inst` the line of `from` if it has none.
void TakeSourceLine(Instruction& inst, const Instruction& from);

}  // namespace hlo

#endif  // HLO_IR_SOURCE_LINE_H_
