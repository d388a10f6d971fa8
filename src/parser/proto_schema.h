// The messages of XLA's hlo.proto and xla_data.proto that describe a module (proto_schema.def).
#ifndef HLO_PARSER_PROTO_SCHEMA_H_
#define HLO_PARSER_PROTO_SCHEMA_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace hlo {

enum class ProtoCount : uint8_t {
  kOne,
  kOptional,  // Absence has a meaning.
  kMany,
  kManyIfAny,  // Repeated. JSON omits an empty field, because some formats lack it.
  kMap,        // Repeated pairs of `key` and `value`.
};

enum class ProtoKind : uint8_t {
  kInt,  // Any integer or bool: a varint.
  kEnum,
  kFloat,
  kDouble,
  kBytes,
  kMessage,
};

// The types in ProtoField::of for kInt and kBytes.
enum class ProtoInt : uint8_t { kBool, kInt32, kUint32, kInt64, kUint64 };
enum class ProtoString : uint8_t { kText, kRaw };

struct ProtoField {
  std::string_view name;
  int16_t number = 0;
  ProtoCount count = ProtoCount::kOne;
  ProtoKind kind = ProtoKind::kInt;
  uint8_t of = 0;  // A ProtoInt, ProtoString, ProtoType or ProtoEnum.
};

// The treatment of a nonempty field that no reader uses.
enum class ProtoUnread : uint8_t {
  kSilent,   // Repeats other fields or does not concern the module.
  kNoted,    // Metadata or advice to a compiler. Gives a warning (W014).
  kRefused,  // May change the meaning of the module. Gives an error (U010).
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
std::span<const ProtoSkipped> SkippedOf(ProtoType type);
// The treatment of fields without a row in proto_schema.def.
ProtoUnread UnknownOf(ProtoType type);
// The words of an enum by number; "" for unused numbers.
std::span<const std::string_view> WordsOf(ProtoEnum type);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_SCHEMA_H_
