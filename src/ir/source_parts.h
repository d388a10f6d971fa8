// Where the parts of an instruction stand in the text it was parsed from, so that a message can point at the narrowest
// wrong range. Found by reading the instruction's own range again, only when something is wrong: instructions keep one
// range and nothing else. An instruction made by a pass stands nowhere; its parts are then the whole range it
// inherited.
#ifndef HLO_IR_SOURCE_PARTS_H_
#define HLO_IR_SOURCE_PARTS_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace hlo {

class Instruction;

SourceRange NameRange(const Instruction& inst);
SourceRange ResultRange(const Instruction& inst);  // The written shape; the opcode when none is written.
SourceRange OpcodeRange(const Instruction& inst);
SourceRange OperandRange(const Instruction& inst, int64_t operand);
SourceRange OperandListEnd(const Instruction& inst);  // The closing parenthesis.
SourceRange AttributeRange(const Instruction& inst,
                           std::string_view name);  // `name=value`; the opcode when it is not written.

// ErrorAt (ir/instruction.h) for a part.
Error ErrorAtResult(const Instruction& inst, std::string code, std::string message);
Error ErrorAtOpcode(const Instruction& inst, std::string code, std::string message);
// With a note where the operand is defined.
Error ErrorAtOperand(const Instruction& inst, int64_t operand, std::string code, std::string message);
Error ErrorAtOperandListEnd(const Instruction& inst, std::string code, std::string message);
Error ErrorAtAttribute(const Instruction& inst, std::string_view name, std::string code, std::string message);

}  // namespace hlo

#endif  // HLO_IR_SOURCE_PARTS_H_
