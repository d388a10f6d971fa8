#include "parser/wire.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace hlo {
namespace {

struct RawField {
  size_t offset = 0;
  int64_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;
  std::string_view bytes;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_(bytes) {}

  bool AtEnd() const { return at_ == bytes_.size(); }
  size_t offset() const { return at_; }
  // Null, or the error, whose place is offset().
  const char* Next(RawField& field) {
    field.offset = at_;
    uint64_t tag = 0;
    if (const char* fault = Varint(tag)) return fault;
    field.number = static_cast<int64_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    if (field.number == 0 || field.number >= int64_t{1} << 29) return Back(field, "no field has this number");
    size_t size = 0;
    switch (field.type) {
      case WireType::kVarint: return Varint(field.varint);
      case WireType::kFixed64: size = 8; break;
      case WireType::kFixed32: size = 4; break;
      case WireType::kBytes: {
        uint64_t length = 0;
        if (const char* fault = Varint(length)) return fault;
        if (length > bytes_.size() - at_) return Back(field, "a field is longer than what is left of its message");
        size = length;
        break;
      }
      default: return Back(field, "no field has this wire type");
    }
    if (size > bytes_.size() - at_) return Back(field, "a number is cut off");
    field.bytes = bytes_.substr(at_, size);
    at_ += size;
    return nullptr;
  }
  const char* Varint(uint64_t& value) {
    value = 0;
    const size_t begin = at_;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == bytes_.size()) return at_ = begin, "a number is cut off";
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return nullptr;
    }
    return at_ = begin, "a number is longer than ten bytes";
  }

 private:
  const char* Back(const RawField& field, const char* fault) {
    at_ = field.offset;
    return fault;
  }

  std::string_view bytes_;
  size_t at_ = 0;
};

const ProtoField* FindField(ProtoType type, int64_t number) {
  for (const ProtoField& field : FieldsOf(type)) {
    if (field.number == number) return &field;
  }
  return nullptr;
}

// Whether the wire type fits the field. Numbers may be packed.
bool Fits(const ProtoField& field, const RawField& raw) {
  switch (field.kind) {
    case ProtoKind::kInt:
    case ProtoKind::kEnum: {
      if (raw.type == WireType::kVarint) return true;
      if (raw.type != WireType::kBytes) return false;
      FieldReader packed(raw.bytes);
      for (uint64_t ignored = 0; !packed.AtEnd();) {
        if (packed.Varint(ignored) != nullptr) return false;
      }
      return true;
    }
    case ProtoKind::kFloat:
      return raw.type == WireType::kFixed32 || (raw.type == WireType::kBytes && raw.bytes.size() % 4 == 0);
    case ProtoKind::kDouble:
      return raw.type == WireType::kFixed64 || (raw.type == WireType::kBytes && raw.bytes.size() % 8 == 0);
    case ProtoKind::kBytes:
    case ProtoKind::kMessage: return raw.type == WireType::kBytes;
  }
  return false;
}

// Zeros, packed zeros and empty bytes equal an absent field.
bool IsEmpty(const RawField& raw) {
  if (raw.type == WireType::kVarint) return raw.varint == 0;
  return std::ranges::all_of(raw.bytes, [](char byte) { return byte == '\0'; });
}

std::optional<WireFault> CheckMessage(std::string_view bytes, ProtoType type, int64_t max_depth, const char* start,
                                      UnreadFields& unread) {
  if (max_depth < 0)
    return WireFault{0, Str("messages are nested deeper than --max_depth, or deeper than ", kDeepestMessage, " levels"),
                     true};
  FieldReader reader(bytes);
  for (RawField raw; !reader.AtEnd();) {
    if (const char* fault = reader.Next(raw)) return WireFault{reader.offset(), Str(fault, " in ", NameOf(type))};
    const ProtoField* field = FindField(type, raw.number);
    if (field == nullptr) {
      if (!IsEmpty(raw)) AddUnread(unread, type, raw.number, "", bytes.data() + raw.offset - start);
      continue;
    }
    if (!Fits(*field, raw)) {
      return WireFault{raw.offset,
                       Str("field '", field->name, "' (", field->number, ") of ", NameOf(type), " has wire type ",
                           static_cast<int>(raw.type), ", or its bytes are not of that type")};
    }
    if (field->kind != ProtoKind::kMessage) continue;
    if (auto fault = CheckMessage(raw.bytes, static_cast<ProtoType>(field->of), max_depth - 1, start, unread)) {
      fault->offset += raw.bytes.data() - bytes.data();
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace

void AddUnread(UnreadFields& unread, ProtoType message, int64_t number, std::string_view name, size_t offset) {
  UnreadField field = {.message = message, .unread = UnknownOf(message), .offset = offset};
  field.name = name.empty() ? Str(number) : Str("'", name, "'");
  for (const ProtoSkipped& row : SkippedOf(message)) {
    if (row.number != number && row.name != name) continue;
    field.name = Str("'", row.name, "' (", row.number, ")");
    field.unread = row.unread;
    field.reason = row.reason;
  }
  const bool is_new = std::ranges::find(unread, field) == unread.end();
  if (field.unread != ProtoUnread::kSilent && is_new) unread.push_back(std::move(field));
}

std::optional<WireFault> CheckWire(std::string_view bytes, ProtoType type, int64_t max_depth, UnreadFields& unread) {
  return CheckMessage(bytes, type, max_depth, bytes.data(), unread);
}

WireMessage::WireMessage(std::string_view bytes) : bytes_(bytes) {
  FieldReader reader(bytes);
  for (RawField raw; !reader.AtEnd();) {
    if (reader.Next(raw) != nullptr) return;
    entries_.push_back({raw.number, static_cast<int64_t>(raw.varint), raw.bytes, raw.type == WireType::kVarint});
  }
}

const WireMessage::Entry* WireMessage::Last(const ProtoField& field) const {
  for (size_t i = entries_.size(); i-- > 0;) {
    if (entries_[i].number == field.number) return &entries_[i];
  }
  return nullptr;
}

int64_t WireMessage::Int(const ProtoField& field) const {
  const Entry* entry = Last(field);
  if (entry == nullptr) return 0;
  if (entry->is_varint) return entry->value;
  const std::vector<int64_t> all = Ints(field);
  return all.empty() ? 0 : all.back();
}

double WireMessage::Real(const ProtoField& field) const {
  const std::string bytes = FixedBytes(field);
  const auto last = [&]<class T>(T value) -> double {
    if (bytes.size() < sizeof value) return 0;
    std::memcpy(&value, bytes.data() + bytes.size() - sizeof value, sizeof value);
    return value;
  };
  return field.kind == ProtoKind::kFloat ? last(0.0F) : last(0.0);
}

std::string_view WireMessage::Bytes(const ProtoField& field) const {
  const Entry* entry = Last(field);
  return entry == nullptr ? bytes_.substr(0, 0) : entry->bytes;
}

std::vector<int64_t> WireMessage::Ints(const ProtoField& field) const {
  std::vector<int64_t> values;
  for (const Entry& entry : entries_) {
    if (entry.number != field.number) continue;
    if (entry.is_varint) {
      values.push_back(entry.value);
      continue;
    }
    FieldReader packed(entry.bytes);
    for (uint64_t value = 0; !packed.AtEnd() && packed.Varint(value) == nullptr;)
      values.push_back(static_cast<int64_t>(value));
  }
  return values;
}

std::vector<std::string_view> WireMessage::AllBytes(const ProtoField& field) const {
  std::vector<std::string_view> values;
  for (const Entry& entry : entries_) {
    if (entry.number == field.number) values.push_back(entry.bytes);
  }
  return values;
}

std::vector<WireMessage> WireMessage::Messages(const ProtoField& field) const {
  std::vector<WireMessage> messages;
  for (const std::string_view bytes : AllBytes(field)) messages.emplace_back(bytes);
  return messages;
}

std::string WireMessage::FixedBytes(const ProtoField& field) const {
  std::string all;
  for (const std::string_view bytes : AllBytes(field)) all += bytes;
  return all;
}

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void AppendTag(std::string& out, int64_t number, WireType type) {
  AppendVarint(out, static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type));
}

}  // namespace hlo
