// Modules from protocol buffers, and from whatever form of HLO a file has.
#ifndef HLO_PARSER_READ_PROTO_H_
#define HLO_PARSER_READ_PROTO_H_

#include <memory>
#include <optional>
#include <vector>

#include "parser/parser.h"

namespace hlo {

// HLO text or a protocol buffer, binary or text, told by its content. The source of a module that came as a protocol
// buffer is its HLO text, so that all later errors have a line to show; it is called after the file.
Result<std::unique_ptr<Module>> ReadModule(std::shared_ptr<const SourceText> source, const ParseOptions& options = {});

// What an HloSnapshot recorded beside the module: its arguments and its result. None for other content.
struct RecordedValues {
  std::vector<Literal> arguments;
  std::optional<Literal> result;
};
Result<std::optional<RecordedValues>> ReadRecordedValues(const std::shared_ptr<const SourceText>& source);

}  // namespace hlo

#endif  // HLO_PARSER_READ_PROTO_H_
