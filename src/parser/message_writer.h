// One message of a protocol buffer while it is made: the fields that proto_schema.def names, in order of writing.
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
  // Numbers, enums and bools. A 0 is written, too: some readers ask whether a field is there.
  void Int(const ProtoField& field, int64_t value);
  void Ints(const ProtoField& field, std::span<const int64_t> values);
  void Real(const ProtoField& field, double value);  // A float or a double, as the field is.
  void Bytes(const ProtoField& field, std::string_view bytes);
  // The message of a field that has one, made when it is first asked for.
  MessageWriter& Part(const ProtoField& field);
  // Another message of a repeated field.
  MessageWriter& Add(const ProtoField& field);

  std::string Wire() const;

 private:
  std::string bytes_;                                      // Fields that are no messages...
  std::list<std::pair<int64_t, MessageWriter>> messages_;  // ...and those, by number of the field.
};

}  // namespace hlo

#endif  // HLO_PARSER_MESSAGE_WRITER_H_
