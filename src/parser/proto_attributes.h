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
  const std::vector<std::string>& called;
  bool pred_selector = false;  // Set if a conditional selects by a pred.
  std::string_view literal;
  Presence presence = Presence::kOptional;
};

std::string AttributesText(Opcode opcode, AttributeSource source);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_ATTRIBUTES_H_
