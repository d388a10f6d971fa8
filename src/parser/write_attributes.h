// The attributes of an instruction as fields of an HloInstructionProto: the way back of proto_attributes.h.
#ifndef HLO_PARSER_WRITE_ATTRIBUTES_H_
#define HLO_PARSER_WRITE_ATTRIBUTES_H_

#include <cstdint>

#include "ir/module.h"
#include "parser/message_writer.h"

namespace hlo {

// From 1 on: 0 is what a field says that is not there.
inline int64_t IdOf(const Instruction& inst) { return inst.id() + 1; }
inline int64_t IdOf(const Computation& computation) { return computation.id() + 1; }

// What a protocol buffer has no field for is left out.
void WriteAttributes(const Instruction& inst, MessageWriter& out);

}  // namespace hlo

#endif  // HLO_PARSER_WRITE_ATTRIBUTES_H_
