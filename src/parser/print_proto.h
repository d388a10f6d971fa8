// Prints protocol buffers as text (pbtxt) and JSON. Source: protobuf.dev/reference/protobuf/textformat-spec,
// protobuf.dev/programming-guides/json.
#ifndef HLO_PARSER_PRINT_PROTO_H_
#define HLO_PARSER_PRINT_PROTO_H_

#include <string>
#include <string_view>

#include "parser/proto_schema.h"

namespace hlo {

// `wire` must be a message of `type` that CheckWire accepts (wire.h). Fields have the schema's order, and NaNs lose
// their bits.
std::string PrintProto(std::string_view wire, ProtoType type);
// Prints like XLA's hlo_proto_to_json: lowerCamelCase names, indentation of one space, and defaults for absent fields,
// but omits absent messages and kOptional fields.
std::string PrintProtoJson(std::string_view wire, ProtoType type);

}  // namespace hlo

#endif  // HLO_PARSER_PRINT_PROTO_H_
