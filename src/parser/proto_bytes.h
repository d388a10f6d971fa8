// The wire bytes of a binary or text input, and errors that point into it.
#ifndef HLO_PARSER_PROTO_BYTES_H_
#define HLO_PARSER_PROTO_BYTES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.h"
#include "parser/proto_text.h"
#include "parser/wire.h"

namespace hlo {

class ProtoBytes {
 public:
  // Checks the message and detects its type: HloSnapshot, HloProto or HloModuleProto.
  static Result<std::unique_ptr<const ProtoBytes>> Read(std::shared_ptr<const SourceText> source, bool is_text,
                                                        int64_t max_depth);

  ProtoType type() const { return type_; }
  WireMessage message() const { return WireMessage(wire()); }

  // U010 for the first unread field that may change the meaning of the module. One warning (W014) about other unread
  // fields.
  Status CheckUnread(std::vector<Diagnostic>* warnings) const;

  // `place` points into the wire bytes. The error has a source range in a text, a byte offset in a binary file.
  Error ErrorAt(std::string code, std::string message, const char* place) const;

 private:
  ProtoBytes(std::shared_ptr<const SourceText> source, bool is_text) : source_(std::move(source)), is_text_(is_text) {}
  std::string_view wire() const { return is_text_ ? std::string_view(encoded_.wire) : source_->text(); }
  Error AtOffset(std::string code, std::string message, size_t offset) const;
  std::shared_ptr<const SourceText> source_;
  bool is_text_;
  EncodedProto encoded_;
  UnreadFields unread_;
  ProtoType type_ = ProtoType::kHloModuleProto;
};

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_BYTES_H_
