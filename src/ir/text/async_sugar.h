// The short spelling of asynchronous ops: `s = (...) fusion-start(x), calls=f` for an async-start whose computation is
// that one instruction on its parameters: docs/language.md#async.
#ifndef HLO_IR_TEXT_ASYNC_SUGAR_H_
#define HLO_IR_TEXT_ASYNC_SUGAR_H_

#include "ir/instruction.h"

namespace hlo {

// Whether `OPCODE-start` may stand for an async-start around it; for some it is an opcode of its own.
bool HasAsyncSugar(Opcode opcode);

// The instruction that an async-start, -update or -done wraps, when its computation holds nothing else; else null.
const Instruction* WrappedInstruction(const Instruction& async);

// Whether the reader makes the same of the short spelling. The start's shape must give the shapes of the parameters and
// of the result, and the computation must not have been written on lines of its own.
bool ReadsBackFromSugar(const Instruction& async);

}  // namespace hlo

#endif  // HLO_IR_TEXT_ASYNC_SUGAR_H_
