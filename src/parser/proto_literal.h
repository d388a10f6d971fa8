// LiteralProto to Literal.
#ifndef HLO_PARSER_PROTO_LITERAL_H_
#define HLO_PARSER_PROTO_LITERAL_H_

#include "base/result.h"
#include "ir/literal.h"
#include "parser/proto_bytes.h"

namespace hlo {

// The field of a LiteralProto that has the elements of this type, called after it: `f32s`. Null for what has none.
const ProtoField* LiteralField(PrimitiveType type);

// Elements lie in the order of the proto's layout; sub-byte types take a byte each. Errors: a shape that is none, more
// or fewer elements than it has (P041), a value that has no literal (P043).
Result<Literal> LiteralFromProto(const ProtoBytes& bytes, const WireMessage& literal);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_LITERAL_H_
