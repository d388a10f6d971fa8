#include "parser/proto_schema.h"

namespace hlo {
namespace {

struct MessageRow {
  std::string_view name;
  std::span<const ProtoField> fields;
  std::span<const ProtoSkipped> skipped;
  ProtoUnread unknown;
};

#define PROTO_MESSAGE(Name, unknown) constexpr ProtoField k##Name##Fields[] = {
#define PROTO_FIELD(name, number, count, kind, of) \
  {#name, number, ProtoCount::count, ProtoKind::kind, static_cast<uint8_t>(of)},
#define PROTO_SKIPPED(name, number, unread, reason)
#define PROTO_END \
  {               \
  }               \
  }               \
  ;
#define PROTO_ENUM(Name, ...)
#include "parser/proto_schema.def"

#define PROTO_MESSAGE(Name, unknown) constexpr ProtoSkipped k##Name##Skipped[] = {
#define PROTO_FIELD(name, number, count, kind, of)
#define PROTO_SKIPPED(name, number, unread, reason) {#name, number, ProtoUnread::unread, reason},
#define PROTO_END \
  {               \
  }               \
  }               \
  ;
#define PROTO_ENUM(Name, ...)
#include "parser/proto_schema.def"

template <class Row, size_t N>
constexpr std::span<const Row> WithoutLast(const Row (&rows)[N]) {
  return std::span(rows).first(N - 1);
}

constexpr MessageRow kMessages[] = {
#define PROTO_MESSAGE(Name, unknown) \
  {#Name, WithoutLast(k##Name##Fields), WithoutLast(k##Name##Skipped), ProtoUnread::unknown},
#define PROTO_FIELD(name, number, count, kind, of)
#define PROTO_SKIPPED(name, number, unread, reason)
#define PROTO_END
#define PROTO_ENUM(Name, ...)
#include "parser/proto_schema.def"
};

#define PROTO_MESSAGE(Name, unknown)
#define PROTO_FIELD(name, number, count, kind, of)
#define PROTO_SKIPPED(name, number, unread, reason)
#define PROTO_END
#define PROTO_ENUM(Name, ...) constexpr std::string_view k##Name##Words[] = {__VA_ARGS__};
#include "parser/proto_schema.def"

constexpr std::span<const std::string_view> kEnums[] = {
#define PROTO_MESSAGE(Name, unknown)
#define PROTO_FIELD(name, number, count, kind, of)
#define PROTO_SKIPPED(name, number, unread, reason)
#define PROTO_END
#define PROTO_ENUM(Name, ...) k##Name##Words,
#include "parser/proto_schema.def"
};

}  // namespace

std::string_view NameOf(ProtoType type) { return kMessages[static_cast<int>(type)].name; }
std::span<const ProtoField> FieldsOf(ProtoType type) { return kMessages[static_cast<int>(type)].fields; }
std::span<const ProtoSkipped> SkippedOf(ProtoType type) { return kMessages[static_cast<int>(type)].skipped; }
ProtoUnread UnknownOf(ProtoType type) { return kMessages[static_cast<int>(type)].unknown; }
std::span<const std::string_view> WordsOf(ProtoEnum type) { return kEnums[static_cast<int>(type)]; }

}  // namespace hlo
