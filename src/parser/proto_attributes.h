// Converts the attributes of an HloInstructionProto to HLO text, and an instruction's attributes to fields.
#ifndef HLO_PARSER_PROTO_ATTRIBUTES_H_
#define HLO_PARSER_PROTO_ATTRIBUTES_H_

#include <string>
#include <vector>

#include "ir/module.h"
#include "parser/message_writer.h"
#include "parser/wire.h"

namespace hlo {

struct AttributeSource {
  const WireMessage& inst;
  const std::vector<std::string>& called;
  bool pred_selector = false;  // Set if a conditional selects by a pred.
  std::string_view literal;
};

std::string AttributesText(Opcode opcode, const AttributeSource& source);

// Ids start at 1, because absent fields read as 0.
inline int64_t IdOf(const Instruction& inst) { return inst.id() + 1; }
inline int64_t IdOf(const Computation& computation) { return computation.id() + 1; }

// Omits attributes that have no field.
void WriteAttributes(const Instruction& inst, MessageWriter& out);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_ATTRIBUTES_H_
