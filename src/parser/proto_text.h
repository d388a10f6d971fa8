// Converts protocol buffers in text form (pbtxt, textproto) to wire bytes, so that one reader reads both. Source:
// protobuf.dev/reference/protobuf/textformat-spec.
#ifndef HLO_PARSER_PROTO_TEXT_H_
#define HLO_PARSER_PROTO_TEXT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/source_text.h"
#include "parser/proto_schema.h"
#include "parser/wire.h"

namespace hlo {

struct EncodedProto {
  std::string wire;
  // The offset of each field in the wire bytes and in the text, ascending.
  std::vector<std::pair<size_t, uint32_t>> places;
  UnreadFields unread;  // With offsets into the text.
};

// Errors: P010 and P091 at their place in the text.
Result<EncodedProto> EncodeTextProto(const std::shared_ptr<const SourceText>& source, ProtoType type,
                                     int64_t max_depth);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_TEXT_H_
