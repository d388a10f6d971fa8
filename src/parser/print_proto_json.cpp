#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "parser/print_proto.h"
#include "parser/wire.h"

namespace hlo {
namespace {

std::string Quoted(std::string_view text) { return JsonWriter().Value(text).text(); }

std::string JsonName(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_' && i + 1 < name.size())
      out += static_cast<char>(std::toupper(static_cast<unsigned char>(name[++i])));
    else out += name[i];
  }
  return out;
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t there = std::min<size_t>(bytes.size() - at, 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < there ? static_cast<unsigned char>(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; ++i) out += i <= there ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

// 64-bit integers are strings, because JavaScript's numbers have fewer bits.
std::string IntText(ProtoInt type, int64_t value) {
  switch (type) {
    case ProtoInt::kBool: return value != 0 ? "true" : "false";
    case ProtoInt::kInt32: return Str(static_cast<int32_t>(value));
    case ProtoInt::kUint32: return Str(static_cast<uint32_t>(value));
    case ProtoInt::kInt64: return Quoted(Str(value));
    case ProtoInt::kUint64: return Quoted(Str(static_cast<uint64_t>(value)));
  }
  return "";
}

std::string EnumText(ProtoEnum type, int64_t value) {
  const auto words = WordsOf(type);
  const bool has_word = value >= 0 && value < std::ssize(words) && !words[value].empty();
  return has_word ? Quoted(words[value]) : Str(value);
}

template <class T>
void AddNumbers(const std::string& bytes, std::vector<std::string>* texts) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    // Readers take -0 for the integer 0.
    if (std::isfinite(value)) texts->push_back(value == 0 && std::signbit(value) ? "-0.0" : Str(value));
    else texts->push_back(std::isnan(value) ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
  }
}

std::string BytesText(ProtoString type, std::string_view bytes) {
  return Quoted(type == ProtoString::kText ? std::string(bytes) : Base64(bytes));
}

std::vector<std::string> ScalarTexts(const WireMessage& message, const ProtoField& field) {
  std::vector<std::string> texts;
  switch (field.kind) {
    case ProtoKind::kInt:
      for (const int64_t value : message.Ints(field)) texts.push_back(IntText(static_cast<ProtoInt>(field.of), value));
      break;
    case ProtoKind::kEnum:
      for (const int64_t value : message.Ints(field))
        texts.push_back(EnumText(static_cast<ProtoEnum>(field.of), value));
      break;
    case ProtoKind::kFloat: AddNumbers<float>(message.FixedBytes(field), &texts); break;
    case ProtoKind::kDouble: AddNumbers<double>(message.FixedBytes(field), &texts); break;
    case ProtoKind::kBytes:
      for (const std::string_view bytes : message.AllBytes(field))
        texts.push_back(BytesText(static_cast<ProtoString>(field.of), bytes));
      break;
    case ProtoKind::kMessage: break;
  }
  return texts;
}

std::string ZeroText(const ProtoField& field) {
  switch (field.kind) {
    case ProtoKind::kInt: return IntText(static_cast<ProtoInt>(field.of), 0);
    case ProtoKind::kEnum: return EnumText(static_cast<ProtoEnum>(field.of), 0);
    case ProtoKind::kFloat:
    case ProtoKind::kDouble: return "0";
    case ProtoKind::kBytes: return "\"\"";
    case ProtoKind::kMessage: break;
  }
  return "{}";
}

bool IsSaid(const WireMessage& message, const ProtoField& field) {
  switch (field.count) {
    case ProtoCount::kOne: return field.kind != ProtoKind::kMessage || message.Has(field);
    case ProtoCount::kMany:
    case ProtoCount::kMap: return true;
    case ProtoCount::kOptional:
    case ProtoCount::kManyIfAny: return message.Has(field);
  }
  return false;
}

class JsonPrinter {
 public:
  void Message(const WireMessage& message, ProtoType type) {
    std::vector<const ProtoField*> said;
    for (const ProtoField& field : FieldsOf(type)) {
      if (IsSaid(message, field)) said.push_back(&field);
    }
    Lines('{', said, '}', [&](const ProtoField* field) {
      out_ += Str(Quoted(JsonName(field->name)), ": ");
      Field(message, *field);
    });
  }

  std::string Take() { return std::move(out_) + "\n"; }

 private:
  void Field(const WireMessage& message, const ProtoField& field) {
    const auto type = static_cast<ProtoType>(field.of);
    const auto text = [&](const std::string& value) { out_ += value; };
    const auto part = [&](const WireMessage& value) { Message(value, type); };
    switch (field.count) {
      case ProtoCount::kOne:
      case ProtoCount::kOptional: One(message, field); break;
      case ProtoCount::kMany:
      case ProtoCount::kManyIfAny:
        if (field.kind == ProtoKind::kMessage) Lines('[', message.Messages(field), ']', part);
        else Lines('[', ScalarTexts(message, field), ']', text);
        break;
      case ProtoCount::kMap:
        Lines('{', message.Messages(field), '}', [&](const WireMessage& entry) {
          One(entry, FieldsOf(type)[0]);
          out_ += ": ";
          One(entry, FieldsOf(type)[1]);
        });
        break;
    }
  }

  void One(const WireMessage& message, const ProtoField& field) {
    if (field.kind == ProtoKind::kMessage) return Message(message.Message(field), static_cast<ProtoType>(field.of));
    const std::vector<std::string> texts = ScalarTexts(message, field);
    out_ += texts.empty() ? ZeroText(field) : texts.back();
  }

  template <class Items, class Add>
  void Lines(char open, const Items& items, char close, const Add& add) {
    out_ += open;
    indent_ += ' ';
    for (size_t i = 0; i < items.size(); ++i) {
      out_ += Str(i == 0 ? "\n" : ",\n", indent_);
      add(items[i]);
    }
    indent_.pop_back();
    if (!items.empty()) out_ += Str("\n", indent_);
    out_ += close;
  }

  std::string indent_, out_;
};

}  // namespace

std::string PrintProtoJson(std::string_view wire, ProtoType type) {
  JsonPrinter printer;
  printer.Message(WireMessage(wire), type);
  return printer.Take();
}

}  // namespace hlo
