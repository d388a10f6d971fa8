// The messages of XLA's hlo.proto and xla_data.proto that describe a module, as tables; the rows stand in
// proto_schema.def. `HloInstructionProto::name` is a field of a message, for readers of the wire; FieldsOf lists a
// message's fields, for readers of the text format.
#ifndef HLO_PARSER_PROTO_SCHEMA_H_
#define HLO_PARSER_PROTO_SCHEMA_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace hlo {

enum class ProtoCount : uint8_t {
  kOne,
  kOptional,   // Of protobuf's `optional` or `oneof`: that it is not there says something.
  kMany,       // Repeated.
  kManyIfAny,  // Repeated, and of a message that has other readers without it.
  kMap,        // Repeated: messages of a `key` and a `value`.
};

enum class ProtoKind : uint8_t {
  kInt,  // Any integer and bool: a varint.
  kEnum,
  kFloat,
  kDouble,
  kBytes,  // And strings.
  kMessage,
};

// What the kinds kInt and kBytes hold; on the wire all look alike.
enum class ProtoInt : uint8_t { kBool, kInt32, kUint32, kInt64, kUint64 };
enum class ProtoString : uint8_t { kText, kRaw };

struct ProtoField {
  std::string_view name;
  int16_t number = 0;
  ProtoCount count = ProtoCount::kOne;
  ProtoKind kind = ProtoKind::kInt;
  uint8_t of = 0;  // The ProtoInt, ProtoString, ProtoType or ProtoEnum.
};

// The treatment of a field that is not read, when it is not empty.
enum class ProtoUnread : uint8_t {
  kSilent,   // Nothing: the field repeats what other fields say, or says nothing of the module.
  kNoted,    // A warning (W014): the field is metadata or advice to a compiler.
  kRefused,  // An error (U010): the field changes, or may change, the meaning of the module.
};

struct ProtoSkipped {
  std::string_view name;
  int16_t number = 0;
  ProtoUnread unread = ProtoUnread::kRefused;
  std::string_view reason;
};

enum class ProtoType : uint8_t {
#define PROTO_MESSAGE(Name, unknown) k##Name,
#define PROTO_FIELD(name, number, count, kind, of)
#define PROTO_SKIPPED(name, number, unread, reason)
#define PROTO_END
#define PROTO_ENUM(Name, ...)
#include "parser/proto_schema.def"
};

enum class ProtoEnum : uint8_t {
#define PROTO_MESSAGE(Name, unknown)
#define PROTO_FIELD(name, number, count, kind, of)
#define PROTO_SKIPPED(name, number, unread, reason)
#define PROTO_END
#define PROTO_ENUM(Name, ...) k##Name,
#include "parser/proto_schema.def"
};

namespace proto {
#define PROTO_MESSAGE(Name, unknown) struct Name {
#define PROTO_FIELD(name, number, count, kind, of) \
  static constexpr ProtoField name{#name, number, ProtoCount::count, ProtoKind::kind, static_cast<uint8_t>(of)};
#define PROTO_SKIPPED(name, number, unread, reason)
#define PROTO_END \
  }               \
  ;
#define PROTO_ENUM(Name, ...)
#include "parser/proto_schema.def"
}  // namespace proto

std::string_view NameOf(ProtoType type);
std::span<const ProtoField> FieldsOf(ProtoType type);
// The message's fields that are known and not read.
std::span<const ProtoSkipped> SkippedOf(ProtoType type);
// The treatment of fields of the message that have no row in proto_schema.def.
ProtoUnread UnknownOf(ProtoType type);
// An enum's words, by number; "" for a number it does not have.
std::span<const std::string_view> WordsOf(ProtoEnum type);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_SCHEMA_H_
