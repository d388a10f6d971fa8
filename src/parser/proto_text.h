// Converts protocol buffers in text form (pbtxt, textproto) to wire bytes. Source:
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
  // Each field's offset in the wire bytes and in the text, ascending.
  std::vector<std::pair<size_t, uint32_t>> places;
  UnreadFields unread;  // With offsets into the text.
};

Result<EncodedProto> EncodeTextProto(const std::shared_ptr<const SourceText>& source, ProtoType type,
                                     int64_t max_depth);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_TEXT_H_
