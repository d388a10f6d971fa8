// Converts the attributes of an HloInstructionProto to HLO text.
#ifndef HLO_PARSER_PROTO_ATTRIBUTES_H_
#define HLO_PARSER_PROTO_ATTRIBUTES_H_

#include <string>
#include <vector>

#include "ir/attrs.h"
#include "ir/opcode.h"
#include "parser/wire.h"

namespace hlo {

struct AttributeSource {
  const WireMessage& inst;
  const std::vector<std::string>& called;  // The names of the called computations.
  bool pred_selector = false;              // The first operand is a pred; decides the attributes of a conditional.
  std::string_view literal;                // The literal of a custom-call as text, or empty.
  Presence presence = Presence::kOptional;
};

// ", name=value" for each attribute in the proto, both of the opcode and common ones.
std::string AttributesText(Opcode opcode, AttributeSource source);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_ATTRIBUTES_H_
