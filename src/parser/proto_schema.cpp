#include "parser/proto_schema.h"

namespace hlo {
namespace {

// Ends with an empty row, because most messages skip no field.
#define PROTO_MESSAGE(Name, unknown, ...) constexpr ProtoSkipped k##Name##Skipped[] = {__VA_ARGS__{}};
#define SKIPPED(name, number, unread, reason) {#name, number, ProtoUnread::unread, reason},
#include "parser/proto_schema.def"

constexpr std::span<const ProtoSkipped> kSkipped[] = {
#define PROTO_MESSAGE(Name, unknown, ...) std::span(k##Name##Skipped).first(std::size(k##Name##Skipped) - 1),
#include "parser/proto_schema.def"
};

#define PROTO_ENUM(Name, ...) constexpr std::string_view k##Name##Words[] = {__VA_ARGS__};
#include "parser/proto_schema.def"

constexpr std::span<const std::string_view> kEnums[] = {
#define PROTO_ENUM(Name, ...) k##Name##Words,
#include "parser/proto_schema.def"
};

}  // namespace

std::span<const ProtoSkipped> SkippedOf(ProtoType type) { return kSkipped[static_cast<int>(type)]; }
std::span<const std::string_view> WordsOf(ProtoEnum type) { return kEnums[static_cast<int>(type)]; }

}  // namespace hlo
