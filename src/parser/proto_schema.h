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
#define PROTO_MESSAGE(Name, ...) k##Name,
#include "parser/proto_schema.def"
};

enum class ProtoEnum : uint8_t {
#define PROTO_ENUM(Name, ...) k##Name,
#include "parser/proto_schema.def"
};

// The structs have a constant for each field, such as proto::Window::dimensions.
namespace proto {

struct Type {
  ProtoKind kind;
  uint8_t of;
};
inline constexpr Type kBool = {ProtoKind::kInt, static_cast<uint8_t>(ProtoInt::kBool)};
inline constexpr Type kInt32 = {ProtoKind::kInt, static_cast<uint8_t>(ProtoInt::kInt32)};
inline constexpr Type kUint32 = {ProtoKind::kInt, static_cast<uint8_t>(ProtoInt::kUint32)};
inline constexpr Type kInt64 = {ProtoKind::kInt, static_cast<uint8_t>(ProtoInt::kInt64)};
inline constexpr Type kUint64 = {ProtoKind::kInt, static_cast<uint8_t>(ProtoInt::kUint64)};
inline constexpr Type kFloat = {ProtoKind::kFloat, 0};
inline constexpr Type kDouble = {ProtoKind::kDouble, 0};
inline constexpr Type kText = {ProtoKind::kBytes, static_cast<uint8_t>(ProtoString::kText)};
inline constexpr Type kRaw = {ProtoKind::kBytes, static_cast<uint8_t>(ProtoString::kRaw)};
constexpr Type Message(ProtoType type) { return {ProtoKind::kMessage, static_cast<uint8_t>(type)}; }
constexpr Type Enum(ProtoEnum type) { return {ProtoKind::kEnum, static_cast<uint8_t>(type)}; }

#define PROTO_MESSAGE(Name, unknown, ...) \
  struct Name {                           \
    __VA_ARGS__                           \
  };
#define PROTO_FIELD(name, number, count, type) \
  static constexpr ProtoField name{#name, number, ProtoCount::count, type.kind, type.of};
#include "parser/proto_schema.def"

}  // namespace proto

namespace proto_rows {

using namespace proto;
#define PROTO_MESSAGE(Name, unknown, ...) inline constexpr ProtoField k##Name##Fields[] = {__VA_ARGS__};
#define PROTO_FIELD(name, number, count, type) {#name, number, ProtoCount::count, type.kind, type.of},
#include "parser/proto_schema.def"

}  // namespace proto_rows

struct ProtoMessage {
  std::string_view name;
  std::span<const ProtoField> fields;
  ProtoUnread unknown;  // The treatment of fields without a row in proto_schema.def.
};
inline constexpr ProtoMessage kProtoMessages[] = {
#define PROTO_MESSAGE(Name, unknown, ...) {#Name, proto_rows::k##Name##Fields, ProtoUnread::unknown},
#include "parser/proto_schema.def"
};

constexpr std::string_view NameOf(ProtoType type) { return kProtoMessages[static_cast<int>(type)].name; }
constexpr std::span<const ProtoField> FieldsOf(ProtoType type) { return kProtoMessages[static_cast<int>(type)].fields; }
// Null if the message has no such field.
constexpr const ProtoField* FindField(ProtoType type, std::string_view name) {
  for (const ProtoField& field : FieldsOf(type)) {
    if (field.name == name) return &field;
  }
  return nullptr;
}
constexpr ProtoUnread UnknownOf(ProtoType type) { return kProtoMessages[static_cast<int>(type)].unknown; }
std::span<const ProtoSkipped> SkippedOf(ProtoType type);
// The words of an enum by number; "" for unused numbers.
std::span<const std::string_view> WordsOf(ProtoEnum type);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_SCHEMA_H_
