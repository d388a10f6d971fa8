// Writes attributes to an HloInstructionProto, the reverse of proto_attributes.h.
#ifndef HLO_PARSER_WRITE_ATTRIBUTES_H_
#define HLO_PARSER_WRITE_ATTRIBUTES_H_

#include <cstdint>

#include "ir/module.h"
#include "parser/message_writer.h"

namespace hlo {

// Ids start at 1, because absent fields read as 0.
inline int64_t IdOf(const Instruction& inst) { return inst.id() + 1; }
inline int64_t IdOf(const Computation& computation) { return computation.id() + 1; }

// Omits attributes that have no field.
void WriteAttributes(const Instruction& inst, MessageWriter& out);

}  // namespace hlo

#endif  // HLO_PARSER_WRITE_ATTRIBUTES_H_
