// Protocol buffers on the wire: the binary encoding of the messages that proto_schema.def names. Source:
// protobuf.dev/programming-guides/encoding.
//
// CheckWire goes over all bytes once; after that a WireMessage reads its fields and nothing can fail. CheckWire lists
// the fields that no reader here reads. When a field that is not repeated is there more than once, the last one counts.
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

// Where wire bytes go wrong, and how.
struct WireFault {
  size_t offset = 0;
  std::string message;
  bool too_deep = false;
};

// A field that is in the bytes and that nothing here reads, once for each message type.
struct UnreadField {
  ProtoType message = ProtoType::kHloModuleProto;
  std::string name;  // "'k' (81)", or the number or the name alone where no row of the schema knows the other.
  ProtoUnread unread = ProtoUnread::kRefused;
  std::string_view reason;  // Why it is not read; empty for a field without a row.
  size_t offset = 0;        // Where it first stands: in the wire, or in the text.

  bool operator==(const UnreadField& other) const { return message == other.message && name == other.name; }
};
using UnreadFields = std::vector<UnreadField>;
// Adds the field with this number or, where it is not 0, this name, unless it is there or ProtoUnread::kSilent.
void AddUnread(UnreadFields& unread, ProtoType message, int64_t number, std::string_view name, size_t offset);

// However large --max_depth is: each level is several calls on the stack. Protobuf's own readers stop at 100.
inline constexpr int64_t kDeepestMessage = 1000;

// Whether `bytes` are a `type`: tags, lengths, wire types of the known fields, messages nested no deeper than
// `max_depth`. `unread` gets the fields that are not read and not empty.
std::optional<WireFault> CheckWire(std::string_view bytes, ProtoType type, int64_t max_depth, UnreadFields& unread);

// The fields of one message, in bytes that CheckWire has accepted and that outlive it.
class WireMessage {
 public:
  explicit WireMessage(std::string_view bytes);

  bool IsEmpty() const { return bytes_.empty(); }
  bool Has(const ProtoField& field) const { return Last(field) != nullptr; }
  // What an absent field has: 0, "", the message without fields.
  int64_t Int(const ProtoField& field) const;  // Also bool and enum; uint64 as its bits.
  double Real(const ProtoField& field) const;
  std::string_view Bytes(const ProtoField& field) const;
  WireMessage Message(const ProtoField& field) const { return WireMessage(Bytes(field)); }
  // All of a repeated field, packed or not.
  std::vector<int64_t> Ints(const ProtoField& field) const;
  std::vector<std::string_view> AllBytes(const ProtoField& field) const;
  std::vector<WireMessage> Messages(const ProtoField& field) const;
  // The elements of a repeated float or double as they lie in memory.
  std::string FixedBytes(const ProtoField& field) const;

  // The place of the message, to compare with the start of the bytes that were checked.
  const char* begin() const { return bytes_.data(); }

 private:
  struct Entry {
    int64_t number;
    int64_t value;           // Of a varint.
    std::string_view bytes;  // Of the other kinds.
    bool is_varint;
  };
  const Entry* Last(const ProtoField& field) const;

  std::string_view bytes_;
  std::vector<Entry> entries_;
};

// Writing, for what makes wire bytes of other forms.
void AppendVarint(std::string& out, uint64_t value);
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
void AppendTag(std::string& out, int64_t number, WireType type);

}  // namespace hlo

#endif  // HLO_PARSER_WIRE_H_
