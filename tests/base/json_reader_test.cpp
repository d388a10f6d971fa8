#include "base/json_reader.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"

namespace hlo {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto value = ReadJson(text);
  return value ? Str("no error: ", value->ToString()) : value.error().message();
}

TEST(JsonReader, ReadsEveryKindOfValue) {
  const auto value = ReadJson(
      " {\"a\": [1, -2.5, 1e3, true, false, null, \"text\"],\r\n\t\"b\": {}, \"c\": [], \"twice\": 1, \"twice\": 2} ");
  ASSERT_TRUE(value.has_value()) << value.error().message();
  const JsonValue::Array& items = *(*value)["a"].Items();
  EXPECT_EQ(items[0].Int(), 1);
  EXPECT_EQ(items[0].Number(), 1.0);
  EXPECT_EQ(items[1].Int(), std::nullopt);
  EXPECT_EQ(items[1].Number(), -2.5);
  EXPECT_EQ(items[2].Number(), 1000.0);
  EXPECT_EQ(items[3].Bool(), true);
  EXPECT_EQ(items[4].Bool(), false);
  EXPECT_TRUE(items[5].IsNull());
  EXPECT_EQ(*items[6].String(), "text");
  EXPECT_TRUE((*value)["b"].AsObject()->keys.empty());
  EXPECT_TRUE((*value)["c"].Items()->empty());
  EXPECT_EQ((*value)["twice"].Int(), 2);
  EXPECT_TRUE((*value)["missing"]["deeper"].IsNull());
  EXPECT_EQ(value->ToString(),
            "{\"a\":[1,-2.5,1000,true,false,null,\"text\"],\"b\":{},\"c\":[],\"twice\":1,\"twice\":2}");
}

TEST(JsonReader, ReadsNumbers) {
  EXPECT_EQ(ReadJson("9223372036854775807")->Int(), INT64_MAX);
  EXPECT_EQ(ReadJson("-9223372036854775808")->Int(), INT64_MIN);
  EXPECT_EQ(ReadJson("9223372036854775808")->Int(), std::nullopt);
  EXPECT_EQ(ReadJson("9223372036854775808")->Number(), 0x1p63);
  EXPECT_EQ(ReadJson("-0")->Int(), 0);
  EXPECT_EQ(ReadJson("0.5E-1")->Number(), 0.05);
  for (const char* bad : {"01", "-", "1.", "1e", "1e+", "-01"})
    EXPECT_EQ(ErrorOf(bad).substr(0, 29), "JSON: the number is malformed") << bad;
  for (const char* bad : {"+1", ".5", "NaN", "Infinity", "0x1"})
    EXPECT_NE(ErrorOf(bad).substr(0, 9), "no error:") << bad;
  EXPECT_EQ(ErrorOf("1e999"), "JSON: the number is beyond the range of double, line 1, byte 6");
}

TEST(JsonReader, ReadsStrings) {
  const auto text = [](std::string_view json) { return *ReadJson(json)->String(); };
  EXPECT_EQ(text(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(text(R"("\u0041\u00e9\u20AC")"), "A\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(text(R"("\ud83d\ude00")"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(text("\"\xF0\x9F\x98\x80\x7F\""), "\xF0\x9F\x98\x80\x7F");
  EXPECT_EQ(text(R"("\u0000")"), std::string(1, '\0'));
  // Each half of an incomplete surrogate pair becomes U+FFFD.
  EXPECT_EQ(text(R"("\ud83d.")"), "\xEF\xBF\xBD.");
  EXPECT_EQ(text(R"("\ude00")"), "\xEF\xBF\xBD");
  EXPECT_EQ(text(R"("\ud83d\n")"), "\xEF\xBF\xBD\n");
  EXPECT_EQ(text(R"("\ud83d\ud83d\ude00")"), "\xEF\xBF\xBD\xF0\x9F\x98\x80");
  for (const char* bad : {R"("\x")", R"("\u12")", R"("\u12g4")", R"("\u")", "\"\\"})
    EXPECT_EQ(ErrorOf(bad).substr(0, 36), "JSON: the string has an escape that ") << bad;
  EXPECT_EQ(ErrorOf("\"a\nb\""), "JSON: the string has a control character that is not escaped, line 1, byte 3");
  for (const char* bad :
       {"\"\x80\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xE2\x82\"", "\"\xFF\""})
    EXPECT_EQ(ErrorOf(bad), "JSON: the string has bytes that are not UTF-8, line 1, byte 2");
}

TEST(JsonReader, LocatesMalformedText) {
  EXPECT_EQ(ErrorOf(""), "JSON: expected a value, found the end, line 1, byte 1");
  EXPECT_EQ(ErrorOf("{\"a\":1,\n \"b\" 2}"), "JSON: expected ':', line 2, byte 6");
  EXPECT_EQ(ErrorOf("{a:1}"), "JSON: expected a member's name in quotes, line 1, byte 2");
  EXPECT_EQ(ErrorOf("{\"a\":1,}"), "JSON: expected a member's name in quotes, line 1, byte 8");
  EXPECT_EQ(ErrorOf("[1 2]"), "JSON: expected ',' or ']', line 1, byte 4");
  EXPECT_EQ(ErrorOf("[1,]"), "JSON: expected a value, line 1, byte 4");
  EXPECT_EQ(ErrorOf("{\"a\":1"), "JSON: expected ',' or '}', found the end, line 1, byte 7");
  EXPECT_EQ(ErrorOf("\"abc"), "JSON: the text ends inside a string, line 1, byte 5");
  EXPECT_EQ(ErrorOf("tru"), "JSON: expected a value, line 1, byte 1");
  EXPECT_EQ(ErrorOf("{} {}"), "JSON: there is text after the value, line 1, byte 4");
  EXPECT_EQ(ErrorOf(std::string_view("\0", 1)), "JSON: expected a value, line 1, byte 1");
}

TEST(JsonReader, ReadsWrittenText) {
  const std::string text("a\"\\\n\x01\x7F\0\xC3\xA9\xF0\x9F\x98\x80", 13);
  EXPECT_EQ(ReadJson(JsonWriter().Value(text).text())->String()[0], text);
  EXPECT_EQ(*ReadJson(JsonWriter().Value("\xC3.\xE2\x82\xFF").text())->String(),
            "\xEF\xBF\xBD.\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(JsonReader, TruncatedTextsAreErrors) {
  const std::string_view text = R"({"a":[1.5e-3,"é\u00e9\ud83d\ude00",{"b":null}],"c":[true,false,[[]]]})";
  ASSERT_TRUE(ReadJson(text).has_value());
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(ReadJson(text.substr(0, length)).has_value()) << text.substr(0, length);
}

TEST(JsonReader, DepthIsBounded) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ReadJson(nested(100)).has_value());
  const auto deep = ReadJson(nested(101));
  ASSERT_FALSE(deep.has_value());
  EXPECT_EQ(deep.error().exit, ExitCode::kLimit);
  EXPECT_EQ(deep.error().message(), "JSON: the value is nested too deep, line 1, byte 101");
  EXPECT_FALSE(ReadJson(std::string(5'000'000, '[')).has_value());
  EXPECT_TRUE(ReadJson("[[[1],2],{\"a\":[]}]", 3).has_value());
}

}  // namespace
}  // namespace hlo
