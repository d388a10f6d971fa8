// Reads modules from HLO text and protocol buffers.
#ifndef HLO_PARSER_READ_PROTO_H_
#define HLO_PARSER_READ_PROTO_H_

#include <memory>
#include <optional>
#include <vector>

#include "parser/parser.h"

namespace hlo {

// Reads HLO text or a binary or text protocol buffer, detected from the content. A module from a protocol buffer has
// its HLO text as source, under the name of the file, so that later errors have a line to show.
Result<std::unique_ptr<Module>> ReadModule(std::shared_ptr<const SourceText> source, const ParseOptions& options = {});

// The values in a snapshot. An HloSnapshot has the arguments and result of one device, an HloUnoptimizedSnapshot the
// arguments of each partition.
struct RecordedValues {
  std::vector<std::vector<Literal>> arguments;  // Indexed by partition.
  std::optional<Literal> result;
};
// Empty for other content.
Result<std::optional<RecordedValues>> ReadRecordedValues(const std::shared_ptr<const SourceText>& source);
// Whether a snapshot has values. The values are not read.
struct RecordedParts {
  // An HloSnapshot. It has arguments unless it was truncated or the module has no parameters.
  bool is_snapshot = false;
  bool arguments = false, result = false;
};
RecordedParts FindRecordedValues(const std::shared_ptr<const SourceText>& source);

}  // namespace hlo

#endif  // HLO_PARSER_READ_PROTO_H_
