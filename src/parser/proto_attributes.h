// The attributes of an HloInstructionProto as HLO text.
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
  bool pred_selector = false;              // The first operand is a pred, which a conditional's attributes depend on.
  std::string_view literal;                // The text of the literal that a custom-call carries, or nothing.
  Presence presence = Presence::kOptional;
};

// ", name=value" for each attribute of the opcode and of all instructions that the proto says.
std::string AttributesText(Opcode opcode, AttributeSource source);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_ATTRIBUTES_H_
