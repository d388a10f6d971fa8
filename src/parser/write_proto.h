// Writes a module as a protocol buffer.
#ifndef HLO_PARSER_WRITE_PROTO_H_
#define HLO_PARSER_WRITE_PROTO_H_

#include <span>
#include <string>

#include "ir/literal.h"
#include "ir/module.h"

namespace hlo {

// An HloProto that reads back as the same module. Errors: U008 if a protocol buffer cannot represent the module; P040
// for constants without elements.
Result<std::string> WriteProto(const Module& module);

// An HloSnapshot with the values of a run. Further errors: U008 for tokens and for more than 2 GiB, the limit of
// protocol buffers.
Result<std::string> WriteSnapshot(const Module& module, std::span<const Literal> arguments, const Literal& result);

}  // namespace hlo

#endif  // HLO_PARSER_WRITE_PROTO_H_
