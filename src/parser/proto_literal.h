// Converts LiteralProto to Literal.
#ifndef HLO_PARSER_PROTO_LITERAL_H_
#define HLO_PARSER_PROTO_LITERAL_H_

#include "base/result.h"
#include "ir/literal.h"
#include "parser/proto_bytes.h"

namespace hlo {

// LiteralProto's field for elements of this type, such as `f32s`, or null.
const ProtoField* LiteralField(PrimitiveType type);

// Errors: an invalid shape, a wrong number of elements (P041), a type without literals (P043).
Result<Literal> LiteralFromProto(const ProtoBytes& bytes, const WireMessage& literal);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_LITERAL_H_
