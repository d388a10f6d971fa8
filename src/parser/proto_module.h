// Converts HloModuleProto to HLO text, so that the parser's rules apply to both forms. The elements of constants are
// separate, because as text they would be long or inexact.
#ifndef HLO_PARSER_PROTO_MODULE_H_
#define HLO_PARSER_PROTO_MODULE_H_

#include <string>
#include <vector>

#include "ir/literal.h"
#include "parser/proto_bytes.h"

namespace hlo {

struct ModuleText {
  std::string text;
  std::vector<Literal> constants;  // One for each `{...}`.
};

// Errors: unknown ids (V008, V163), constants without elements (P040), literals that do not fit their shapes (P041).
Result<ModuleText> TextOfProto(const ProtoBytes& bytes, const WireMessage& module);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_MODULE_H_
