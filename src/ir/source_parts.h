// Source ranges of the parts of an instruction, for messages. If a pass made the instruction, and its text has another
// opcode, each part is the whole inherited range.
#ifndef HLO_IR_SOURCE_PARTS_H_
#define HLO_IR_SOURCE_PARTS_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace hlo {

class Instruction;

SourceRange NameRange(const Instruction& inst);
SourceRange ResultRange(const Instruction& inst);  // The written shape, or the opcode if omitted.
SourceRange OpcodeRange(const Instruction& inst);
SourceRange OperandRange(const Instruction& inst, int64_t operand);
SourceRange OperandListEnd(const Instruction& inst);
SourceRange AttributeRange(const Instruction& inst,
                           std::string_view name);  // `name=value`, or the opcode if omitted.

// ErrorAt (ir/instruction.h) with the range of a part.
Error ErrorAtResult(const Instruction& inst, std::string code, std::string message);
Error ErrorAtOpcode(const Instruction& inst, std::string code, std::string message);
Error ErrorAtOperand(const Instruction& inst, int64_t operand, std::string code, std::string message);
Error ErrorAtOperandListEnd(const Instruction& inst, std::string code, std::string message);
Error ErrorAtAttribute(const Instruction& inst, std::string_view name, std::string code, std::string message);

}  // namespace hlo

#endif  // HLO_IR_SOURCE_PARTS_H_
