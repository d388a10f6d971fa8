// Protocol buffers as text (pbtxt), for people and for tools that read it, and as JSON. Sources:
// protobuf.dev/reference/protobuf/textformat-spec, protobuf.dev/programming-guides/json.
#ifndef HLO_PARSER_PRINT_PROTO_H_
#define HLO_PARSER_PRINT_PROTO_H_

#include <string>
#include <string_view>

#include "parser/proto_schema.h"

namespace hlo {

// `wire`: a message of that type, as ours are written, or checked (wire.h). Fields stand in the schema's order. What
// bits a NaN has is not said.
std::string PrintProto(std::string_view wire, ProtoType type);
// As XLA's hlo_proto_to_json has it: names in lowerCamelCase, a blank a level, and fields that are not there with their
// defaults, unless they are messages or it matters that they are not there.
std::string PrintProtoJson(std::string_view wire, ProtoType type);

}  // namespace hlo

#endif  // HLO_PARSER_PRINT_PROTO_H_
