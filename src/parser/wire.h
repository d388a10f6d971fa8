// Reads and writes the binary encoding of protocol buffers. Source: protobuf.dev/programming-guides/encoding.
//
// CheckWire checks all bytes, so that reading a WireMessage cannot fail.
#ifndef HLO_PARSER_WIRE_H_
#define HLO_PARSER_WIRE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "parser/proto_schema.h"

namespace hlo {

struct WireFault {
  size_t offset = 0;
  std::string message;
  bool too_deep = false;
};

// A field that no reader uses, listed once for each message type.
struct UnreadField {
  ProtoType message = ProtoType::kHloModuleProto;
  std::string name;  // "'k' (81)", or the number or name of an unknown field.
  ProtoUnread unread = ProtoUnread::kRefused;
  std::string_view reason;  // Empty for unknown fields.
  size_t offset = 0;        // The first occurrence in the bytes or the text.

  bool operator==(const UnreadField& other) const { return message == other.message && name == other.name; }
};
using UnreadFields = std::vector<UnreadField>;
// Ignores fields that are listed already or kSilent.
void AddUnread(UnreadFields& unread, ProtoType message, int64_t number, std::string_view name, size_t offset);

// The deepest nesting. Each level takes several calls, so this bounds the stack. Protobuf's own readers stop at 100.
inline constexpr int64_t kDeepestMessage = 1000;

// Checks tags, lengths, wire types of known fields, and the depth. `unread` receives nonempty fields that no reader
// uses. nullopt for valid bytes.
std::optional<WireFault> CheckWire(std::string_view bytes, ProtoType type, int64_t max_depth, UnreadFields& unread);

// A message's fields. Borrows the bytes, which must have passed CheckWire.
class WireMessage {
 public:
  explicit WireMessage(std::string_view bytes);

  bool IsEmpty() const { return bytes_.empty(); }
  bool Has(const ProtoField& field) const { return Last(field) != nullptr; }
  // An absent field reads as 0, "" or an empty message. The last occurrence of a field counts.
  int64_t Int(const ProtoField& field) const;  // Also for bools and enums. A uint64 is returned as its bits.
  double Real(const ProtoField& field) const;
  std::string_view Bytes(const ProtoField& field) const;
  WireMessage Message(const ProtoField& field) const { return WireMessage(Bytes(field)); }
  // All numbers of a repeated field, packed or not.
  std::vector<int64_t> Ints(const ProtoField& field) const;
  std::vector<std::string_view> AllBytes(const ProtoField& field) const;
  std::vector<WireMessage> Messages(const ProtoField& field) const;
  // All floats or doubles of a field, as they are in memory.
  std::string FixedBytes(const ProtoField& field) const;

  const char* begin() const { return bytes_.data(); }

 private:
  struct Entry {
    int64_t number;
    int64_t value;
    std::string_view bytes;
    bool is_varint;
  };
  const Entry* Last(const ProtoField& field) const;

  std::string_view bytes_;
  std::vector<Entry> entries_;
};

void AppendVarint(std::string& out, uint64_t value);
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
void AppendTag(std::string& out, int64_t number, WireType type);

}  // namespace hlo

#endif  // HLO_PARSER_WIRE_H_
