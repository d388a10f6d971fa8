// Tests that a protocol buffer as JSON has exactly the fields and values of the message.
#define GTEST_DONT_DEFINE_FAIL 1  // base/result.h defines its own FAIL.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/json_reader.h"
#include "base/source_text.h"
#include "base/text.h"
#include "parser/parser.h"
#include "parser/print_proto.h"
#include "parser/wire.h"
#include "parser/write_proto.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// Converts "hloModule" to "hlo_module".
std::string FieldName(std::string_view key) {
  std::string name;
  for (const char c : key) {
    if (std::isupper(static_cast<unsigned char>(c))) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string FromBase64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  EXPECT_EQ(text.size() % 4, 0U);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count);
  }
  return bytes;
}

// A number in JSON as the message's text form has it: integers in decimal, floats by their value.
std::string Told(const JsonValue& json, const ProtoField& field) {
  if (json.Bool()) return *json.Bool() ? "1" : "0";
  const std::string* text = json.String();
  if (field.kind == ProtoKind::kInt) return text != nullptr ? *text : Str(*json.Int());
  if (field.kind == ProtoKind::kEnum) {
    const auto words = WordsOf(static_cast<ProtoEnum>(field.of));
    return text == nullptr ? Str(*json.Int()) : Str(std::ranges::find(words, *text) - words.begin());
  }
  if (field.kind == ProtoKind::kBytes) {
    EXPECT_NE(text, nullptr) << field.name;
    if (text == nullptr) return "";
    return static_cast<ProtoString>(field.of) == ProtoString::kRaw ? FromBase64(*text) : *text;
  }
  if (text != nullptr) return *text;
  return field.kind == ProtoKind::kFloat ? Str(static_cast<float>(*json.Number())) : Str(*json.Number());
}

template <class T>
void AddNumbers(const std::string& bytes, std::vector<std::string>* out) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    out->push_back(std::isnan(value) ? "NaN" : std::isinf(value) ? value < 0 ? "-Infinity" : "Infinity" : Str(value));
  }
}

// The values of a field on the wire, unless the field holds messages.
std::vector<std::string> Held(const WireMessage& message, const ProtoField& field) {
  std::vector<std::string> held;
  if (field.kind == ProtoKind::kFloat) AddNumbers<float>(message.FixedBytes(field), &held);
  if (field.kind == ProtoKind::kDouble) AddNumbers<double>(message.FixedBytes(field), &held);
  if (field.kind == ProtoKind::kBytes) {
    for (const std::string_view bytes : message.AllBytes(field)) held.emplace_back(bytes);
  }
  if (field.kind == ProtoKind::kInt || field.kind == ProtoKind::kEnum) {
    const bool is_unsigned = field.kind == ProtoKind::kInt && static_cast<ProtoInt>(field.of) == ProtoInt::kUint64;
    for (const int64_t value : message.Ints(field))
      held.push_back(is_unsigned ? Str(static_cast<uint64_t>(value)) : Str(value));
  }
  if (held.empty() && field.count == ProtoCount::kOne) held.emplace_back(field.kind == ProtoKind::kBytes ? "" : "0");
  return held;
}

void ExpectSame(const WireMessage& message, ProtoType type, const JsonValue& json);

void ExpectSameField(const WireMessage& message, const ProtoField& field, const JsonValue& json) {
  const bool is_many = field.count == ProtoCount::kMany || field.count == ProtoCount::kManyIfAny;
  std::vector<JsonValue> items;
  if (field.count == ProtoCount::kMap) {
    ASSERT_NE(json.AsObject(), nullptr) << field.name;
    const auto entries = message.Messages(field);
    ASSERT_EQ(entries.size(), json.AsObject()->keys.size()) << field.name;
    const auto fields = FieldsOf(static_cast<ProtoType>(field.of));
    for (size_t i = 0; i < entries.size(); ++i) {
      EXPECT_EQ(Held(entries[i], fields[0]), std::vector{json.AsObject()->keys[i]});
      ExpectSameField(entries[i], fields[1], json.AsObject()->values[i]);
    }
    return;
  }
  ASSERT_EQ(is_many, json.Items() != nullptr) << field.name;
  items = is_many ? *json.Items() : std::vector{json};
  if (field.kind == ProtoKind::kMessage) {
    const auto parts = message.Messages(field);
    ASSERT_EQ(parts.size(), items.size()) << field.name;
    for (size_t i = 0; i < parts.size(); ++i) ExpectSame(parts[i], static_cast<ProtoType>(field.of), items[i]);
    return;
  }
  std::vector<std::string> told;
  for (const JsonValue& item : items) told.push_back(Told(item, field));
  EXPECT_EQ(told, Held(message, field)) << field.name;
}

void ExpectSame(const WireMessage& message, ProtoType type, const JsonValue& json) {
  ASSERT_NE(json.AsObject(), nullptr) << NameOf(type);
  const auto& [keys, values] = *json.AsObject();
  size_t met = 0;
  for (const ProtoField& field : FieldsOf(type)) {
    const auto key = std::ranges::find(keys, field.name, FieldName);
    if (key == keys.end()) {
      const bool may_be_absent =
          field.kind == ProtoKind::kMessage ? field.count != ProtoCount::kMany : field.count == ProtoCount::kOptional;
      EXPECT_TRUE(may_be_absent && !message.Has(field)) << NameOf(type) << " has no " << field.name;
      continue;
    }
    ++met;
    ExpectSameField(message, field, values[key - keys.begin()]);
  }
  EXPECT_EQ(met, keys.size()) << NameOf(type) << " has a field that the schema does not have";
}

TEST(PrintProtoJson, HasTheFieldsOfTheMessage) {
  int compared = 0;
  for (const char* folder : {"testdata/proto", "testdata/print", "testdata/interp", "testdata/parse", "testdata/cli"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".hlo" || name.starts_with("bad_")) continue;
      const auto module = Parse(*ReadSource(entry.path().string()));
      if (!module) continue;  // The file tests an error.
      const auto wire = WriteProto(**module);
      if (!wire) continue;  // A part of the module has no field.
      const auto json = ReadJson(PrintProtoJson(*wire, ProtoType::kHloProto));
      ASSERT_TRUE(json) << entry.path() << ": " << json.error().message();
      SCOPED_TRACE(entry.path());
      ExpectSame(WireMessage(*wire), ProtoType::kHloProto, *json);
      ++compared;
    }
  }
  EXPECT_GE(compared, 200);
}

TEST(PrintProtoJson, PrintsNumbersExactly) {
  EXPECT_EQ(PrintProtoJson("", ProtoType::kTolerance), "{\n \"atol\": 0,\n \"rtol\": 0,\n \"ulps\": \"0\"\n}\n");
  // The fields preds, u32s and u64s, whose largest values would be negative as signed numbers.
  const std::string json = PrintProtoJson(
      "\x10\x01\x30\xFF\xFF\xFF\xFF\x0F\x38\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", ProtoType::kLiteralProto);
  const auto read = ReadJson(json);
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)["preds"].ToString(), "[true]");
  EXPECT_EQ((*read)["u32s"].ToString(), "[4294967295]");
  EXPECT_EQ((*read)["u64s"].ToString(), "[\"18446744073709551615\"]");
  EXPECT_EQ((*read)["u8s"].ToString(), "\"\"");
}

}  // namespace
}  // namespace hlo
