// A module as a protocol buffer, for those who read no text.
#ifndef HLO_PARSER_WRITE_PROTO_H_
#define HLO_PARSER_WRITE_PROTO_H_

#include <string>

#include "ir/module.h"

namespace hlo {

// An HloProto that reads back to the same module. Errors: U008 where none would, since no protocol buffer says
// something of it (proto_schema.def is what they say); P040, constants without their elements.
Result<std::string> WriteProto(const Module& module);

}  // namespace hlo

#endif  // HLO_PARSER_WRITE_PROTO_H_
