// Reads modules from HLO text, protocol buffers and MLIR text.
#ifndef HLO_PARSER_READ_PROTO_H_
#define HLO_PARSER_READ_PROTO_H_

#include <memory>
#include <optional>
#include <vector>

#include "parser/parser.h"

namespace hlo {

// For a protocol buffer, Module::source is the HLO text, so that later errors have a line to show.
Result<std::unique_ptr<Module>> ReadModule(std::shared_ptr<const SourceText> source, const ParseOptions& options = {});

// An HloSnapshot has the arguments and the result of one device, an HloUnoptimizedSnapshot the arguments of each
// partition.
struct RecordedValues {
  std::vector<std::vector<Literal>> arguments;
  std::optional<Literal> result;
};
Result<std::optional<RecordedValues>> ReadRecordedValues(const std::shared_ptr<const SourceText>& source);
struct RecordedParts {
  // An HloSnapshot has arguments unless it was truncated or the module has no parameters.
  bool is_snapshot = false;
  bool arguments = false, result = false;
};
RecordedParts FindRecordedValues(const std::shared_ptr<const SourceText>& source);

}  // namespace hlo

#endif  // HLO_PARSER_READ_PROTO_H_
