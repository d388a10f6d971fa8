// HloModuleProto as HLO text. The text goes through the parser, which judges it; so a module means the same whichever
// way it came, errors show the line they are about, and whatever is wrong in a proto is found by the rules that hold
// for texts. What a text could only say at length or not exactly, the elements of constants, goes beside it.
#ifndef HLO_PARSER_PROTO_MODULE_H_
#define HLO_PARSER_PROTO_MODULE_H_

#include <string>
#include <vector>

#include "ir/literal.h"
#include "parser/proto_bytes.h"

namespace hlo {

struct ModuleText {
  std::string text;
  std::vector<Literal> constants;  // For each `{...}` of the text.
};

// `module` is an HloModuleProto. Errors: ids that nothing has (V008, V163), constants without elements (P040), literals
// that do not fit their shapes (P041).
Result<ModuleText> TextOfProto(const ProtoBytes& bytes, const WireMessage& module);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_MODULE_H_
