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

// The values in a snapshot: an HloSnapshot has the arguments and the result of one device, an HloUnoptimizedSnapshot
// the arguments of each partition.
struct RecordedValues {
  std::vector<std::vector<Literal>> arguments;  // By partition.
  std::optional<Literal> result;
};
// None for other content.
Result<std::optional<RecordedValues>> ReadRecordedValues(const std::shared_ptr<const SourceText>& source);
// The kinds of values in a snapshot. The values are not read.
struct RecordedParts {
  bool is_snapshot = false;  // An HloSnapshot, which has arguments unless it was cut off or its module takes none.
  bool arguments = false, result = false;
};
RecordedParts FindRecordedValues(const std::shared_ptr<const SourceText>& source);

}  // namespace hlo

#endif  // HLO_PARSER_READ_PROTO_H_
