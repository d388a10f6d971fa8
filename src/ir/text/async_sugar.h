// The short spelling of asynchronous ops (docs/language.md#async): `fusion-start(x)` is an async-start of a computation
// with only this fusion.
#ifndef HLO_IR_TEXT_ASYNC_SUGAR_H_
#define HLO_IR_TEXT_ASYNC_SUGAR_H_

#include "ir/instruction.h"

namespace hlo {

bool HasAsyncSugar(Opcode opcode);

// Returns null if the wrapped computation contains more or is unknown.
const Instruction* WrappedInstruction(const Instruction& async);

// Whether the parser reads the short spelling as the same module.
bool ReadsBackFromSugar(const Instruction& async);

}  // namespace hlo

#endif  // HLO_IR_TEXT_ASYNC_SUGAR_H_
