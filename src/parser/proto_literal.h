// Converts LiteralProto to Literal and back.
#ifndef HLO_PARSER_PROTO_LITERAL_H_
#define HLO_PARSER_PROTO_LITERAL_H_

#include "base/result.h"
#include "ir/literal.h"
#include "parser/message_writer.h"
#include "parser/proto_bytes.h"

namespace hlo {

// Errors: an invalid shape, a wrong number of elements (P041), a type without literals (P043).
Result<Literal> LiteralFromProto(const ProtoBytes& bytes, const WireMessage& literal);

void WriteLiteral(const Literal& literal, MessageWriter& out);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_LITERAL_H_
