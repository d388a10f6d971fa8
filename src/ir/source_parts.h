// The source ranges of the parts of an instruction, so that a message can point at the narrowest wrong range. They are
// found by scanning the instruction's own range again when an error is reported. For an instruction made by a pass,
// each part is the whole range that it inherited.
#ifndef HLO_IR_SOURCE_PARTS_H_
#define HLO_IR_SOURCE_PARTS_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace hlo {

class Instruction;

SourceRange NameRange(const Instruction& inst);
SourceRange ResultRange(const Instruction& inst);  // The written shape, or the opcode if it is omitted.
SourceRange OpcodeRange(const Instruction& inst);
SourceRange OperandRange(const Instruction& inst, int64_t operand);
SourceRange OperandListEnd(const Instruction& inst);  // The closing parenthesis.
SourceRange AttributeRange(const Instruction& inst,
                           std::string_view name);  // `name=value`, or the opcode if it is not written.

// ErrorAt (ir/instruction.h) with the range of a part.
Error ErrorAtResult(const Instruction& inst, std::string code, std::string message);
Error ErrorAtOpcode(const Instruction& inst, std::string code, std::string message);
// Adds a note at the definition of the operand.
Error ErrorAtOperand(const Instruction& inst, int64_t operand, std::string code, std::string message);
Error ErrorAtOperandListEnd(const Instruction& inst, std::string code, std::string message);
Error ErrorAtAttribute(const Instruction& inst, std::string_view name, std::string code, std::string message);

}  // namespace hlo

#endif  // HLO_IR_SOURCE_PARTS_H_
