// Reads and writes the binary encoding of protocol buffers. Source: protobuf.dev/programming-guides/encoding.
//
// CheckWire checks all bytes once; reading the fields of a WireMessage then cannot fail. If a field that is not
// repeated occurs several times, the last one counts.
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

// The place and description of a malformed part.
struct WireFault {
  size_t offset = 0;
  std::string message;
  bool too_deep = false;
};

// A field in the bytes that no reader uses. Listed once for each message type.
struct UnreadField {
  ProtoType message = ProtoType::kHloModuleProto;
  std::string name;  // "'k' (81)"; only the number or only the name for a field without a row.
  ProtoUnread unread = ProtoUnread::kRefused;
  std::string_view reason;  // Why it is not used; empty for a field without a row.
  size_t offset = 0;        // The first occurrence in the wire bytes or the text.

  bool operator==(const UnreadField& other) const { return message == other.message && name == other.name; }
};
using UnreadFields = std::vector<UnreadField>;
// Adds the field unless it is listed already or kSilent. `number` 0 means that only the name is known.
void AddUnread(UnreadFields& unread, ProtoType message, int64_t number, std::string_view name, size_t offset);

// A limit beyond --max_depth, because each level takes several calls on the stack. Protobuf's own readers stop at 100.
inline constexpr int64_t kDeepestMessage = 1000;

// Checks that `bytes` are a message of `type`: tags, lengths, wire types of known fields, and nesting up to
// `max_depth`. `unread` receives the nonempty fields that no reader uses.
std::optional<WireFault> CheckWire(std::string_view bytes, ProtoType type, int64_t max_depth, UnreadFields& unread);

// The fields of one message. The bytes must have passed CheckWire and must outlive it.
class WireMessage {
 public:
  explicit WireMessage(std::string_view bytes);

  bool IsEmpty() const { return bytes_.empty(); }
  bool Has(const ProtoField& field) const { return Last(field) != nullptr; }
  // An absent field is 0, "" or an empty message.
  int64_t Int(const ProtoField& field) const;  // Also bool and enum; uint64 as its bits.
  double Real(const ProtoField& field) const;
  std::string_view Bytes(const ProtoField& field) const;
  WireMessage Message(const ProtoField& field) const { return WireMessage(Bytes(field)); }
  // All values of a repeated field, packed or not.
  std::vector<int64_t> Ints(const ProtoField& field) const;
  std::vector<std::string_view> AllBytes(const ProtoField& field) const;
  std::vector<WireMessage> Messages(const ProtoField& field) const;
  // The elements of a repeated float or double in memory format.
  std::string FixedBytes(const ProtoField& field) const;

  // The start of the message within the checked bytes.
  const char* begin() const { return bytes_.data(); }

 private:
  struct Entry {
    int64_t number;
    int64_t value;           // For a varint.
    std::string_view bytes;  // For other wire types.
    bool is_varint;
  };
  const Entry* Last(const ProtoField& field) const;

  std::string_view bytes_;
  std::vector<Entry> entries_;
};

// Functions that write wire bytes.
void AppendVarint(std::string& out, uint64_t value);
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
void AppendTag(std::string& out, int64_t number, WireType type);

}  // namespace hlo

#endif  // HLO_PARSER_WIRE_H_
