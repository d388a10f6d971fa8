// Writes a message of a protocol buffer by fields (proto_schema.def).
#ifndef HLO_PARSER_MESSAGE_WRITER_H_
#define HLO_PARSER_MESSAGE_WRITER_H_

#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "parser/wire.h"

namespace hlo {

class MessageWriter {
 public:
  // For integers, enums and bools. Writes zeros too, because some readers test the presence of a field.
  void Int(const ProtoField& field, int64_t value);
  void Ints(const ProtoField& field, std::span<const int64_t> values);
  void Real(const ProtoField& field, double value);
  void Bytes(const ProtoField& field, std::string_view bytes);
  // Part returns the only message of a field, and adds it if missing. Add always adds one.
  MessageWriter& Part(const ProtoField& field);
  MessageWriter& Add(const ProtoField& field);

  std::string Wire() const;

 private:
  std::string bytes_;
  std::list<std::pair<int64_t, MessageWriter>> messages_;
};

}  // namespace hlo

#endif  // HLO_PARSER_MESSAGE_WRITER_H_
