// The short spelling of asynchronous ops (docs/language.md#async). `s = (...) fusion-start(x), calls=f` means an
// async-start whose computation is that one instruction on its parameters.
#ifndef HLO_IR_TEXT_ASYNC_SUGAR_H_
#define HLO_IR_TEXT_ASYNC_SUGAR_H_

#include "ir/instruction.h"

namespace hlo {

// Whether `OPCODE-start` can mean an async-start. For some opcodes it is an opcode of its own.
bool HasAsyncSugar(Opcode opcode);

// The instruction that an async-start, -update or -done wraps. Null if its computation contains more.
const Instruction* WrappedInstruction(const Instruction& async);

// Whether the parser reads the short spelling as the same module. The shape of the start must give the shapes of the
// parameters and the result, and the computation must not have been written separately.
bool ReadsBackFromSugar(const Instruction& async);

}  // namespace hlo

#endif  // HLO_IR_TEXT_ASYNC_SUGAR_H_
