// A module as a protocol buffer, for those who read no text.
#ifndef HLO_PARSER_WRITE_PROTO_H_
#define HLO_PARSER_WRITE_PROTO_H_

#include <span>
#include <string>

#include "ir/literal.h"
#include "ir/module.h"

namespace hlo {

// An HloProto that reads back to the same module. Errors: U008 where none would, since no protocol buffer says
// something of it (proto_schema.def is what they say); P040, constants without their elements.
Result<std::string> WriteProto(const Module& module);

// An HloSnapshot: the same with the arguments and the result of a run. Also U008: values that none has (tokens), or
// more than the 2 GiB that a protocol buffer may be.
Result<std::string> WriteSnapshot(const Module& module, std::span<const Literal> arguments, const Literal& result);

}  // namespace hlo

#endif  // HLO_PARSER_WRITE_PROTO_H_
