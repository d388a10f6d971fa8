// The messages of XLA's hlo.proto and xla_data.proto that describe a module, as tables; the rows stand in
// proto_schema.def. `HloInstructionProto::name` is a field of a message, for readers of the wire; FieldsOf lists a
// message's fields, for readers of the text format.
#ifndef HLO_PARSER_PROTO_SCHEMA_H_
#define HLO_PARSER_PROTO_SCHEMA_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace hlo {

enum class ProtoKind : uint8_t {
  kInt,  // Any integer and bool: a varint.
  kEnum,
  kFloat,
  kDouble,
  kBytes,  // And strings.
  kMessage,
};

struct ProtoField {
  std::string_view name;
  int16_t number = 0;
  ProtoKind kind = ProtoKind::kInt;
  uint8_t of = 0;  // The ProtoType or ProtoEnum.
};

enum class ProtoType : uint8_t {
#define PROTO_MESSAGE(Name) k##Name,
#define PROTO_FIELD(name, number, kind, of)
#define PROTO_END
#define PROTO_ENUM(Name, ...)
#include "parser/proto_schema.def"
};

enum class ProtoEnum : uint8_t {
#define PROTO_MESSAGE(Name)
#define PROTO_FIELD(name, number, kind, of)
#define PROTO_END
#define PROTO_ENUM(Name, ...) k##Name,
#include "parser/proto_schema.def"
};

namespace proto {
#define PROTO_MESSAGE(Name) struct Name {
#define PROTO_FIELD(name, number, kind, of) \
  static constexpr ProtoField name{#name, number, ProtoKind::kind, static_cast<uint8_t>(of)};
#define PROTO_END \
  }               \
  ;
#define PROTO_ENUM(Name, ...)
#include "parser/proto_schema.def"
}  // namespace proto

std::string_view NameOf(ProtoType type);
std::span<const ProtoField> FieldsOf(ProtoType type);
// An enum's words, by number; "" for a number it does not have.
std::span<const std::string_view> WordsOf(ProtoEnum type);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_SCHEMA_H_
