#include "parser/print_proto.h"

#include <cmath>
#include <cstring>

#include "base/text.h"
#include "parser/wire.h"

namespace hlo {
namespace {

std::string QuotedBytes(std::string_view bytes) {
  std::string out = "\"";
  for (const char c : bytes) {
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      default:
        // Escapes UTF-8, too, like protobuf's printer.
        out += c >= 0x20 && c < 0x7F ? std::string(1, c) : Format("\\%03o", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

std::string IntText(ProtoInt type, int64_t value) {
  if (type == ProtoInt::kBool) return value != 0 ? "true" : "false";
  return type == ProtoInt::kUint64 ? Str(static_cast<uint64_t>(value)) : Str(value);
}

std::string NumberText(double value, int digits) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return Format("%.*g", digits, value);
}

template <class T>
void AddNumbers(std::string_view name, const std::string& bytes, int digits, const std::string& indent,
                std::string* out) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    *out += Str(indent, name, ": ", NumberText(value, digits), "\n");
  }
}

void AddMessage(const WireMessage& message, ProtoType type, const std::string& indent, std::string* out) {
  constexpr int kDigitsOfFloat = 9, kDigitsOfDouble = 17;
  for (const ProtoField& field : FieldsOf(type)) {
    if (!message.Has(field)) continue;
    switch (field.kind) {
      case ProtoKind::kInt:
        for (const int64_t value : message.Ints(field))
          *out += Str(indent, field.name, ": ", IntText(static_cast<ProtoInt>(field.of), value), "\n");
        break;
      case ProtoKind::kEnum:
        for (const int64_t value : message.Ints(field)) {
          const auto words = WordsOf(static_cast<ProtoEnum>(field.of));
          const bool has_word = value >= 0 && value < std::ssize(words) && !words[value].empty();
          *out += Str(indent, field.name, ": ", has_word ? std::string(words[value]) : Str(value), "\n");
        }
        break;
      case ProtoKind::kFloat:
        AddNumbers<float>(field.name, message.FixedBytes(field), kDigitsOfFloat, indent, out);
        break;
      case ProtoKind::kDouble:
        AddNumbers<double>(field.name, message.FixedBytes(field), kDigitsOfDouble, indent, out);
        break;
      case ProtoKind::kBytes:
        for (const std::string_view bytes : message.AllBytes(field))
          *out += Str(indent, field.name, ": ", QuotedBytes(bytes), "\n");
        break;
      case ProtoKind::kMessage:
        for (const WireMessage& part : message.Messages(field)) {
          *out += Str(indent, field.name, " {\n");
          AddMessage(part, static_cast<ProtoType>(field.of), indent + "  ", out);
          *out += Str(indent, "}\n");
        }
        break;
    }
  }
}

}  // namespace

std::string PrintProto(std::string_view wire, ProtoType type) {
  std::string out;
  AddMessage(WireMessage(wire), type, "", &out);
  return out;
}

}  // namespace hlo
