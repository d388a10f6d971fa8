// Reads attribute values that are kept as text in one spelling.
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "ir/text/printer.h"
#include "parser/reader.h"

namespace hlo {

// Reads a dictionary, or a string. A dictionary replaces the string that contains it.
bool Reader::ReadTextValue(std::string& value) {
  if (token_.Is('{')) {
    const char* begin = BeginBytes();
    const char* end = SkipBalanced(begin, lexer_.end());
    if (end == nullptr) return FailAt("P006", "this '{' has no matching '}'", begin);
    value.assign(begin, end);
    EndBytes(end);
    return true;
  }
  if (token_.kind != TokenKind::kString) return FailExpected("a string or a dictionary in braces");
  std::string inner;
  if (!Read(inner)) return false;
  const bool dictionary =
      inner.starts_with('{') && SkipBalanced(inner.data(), inner.data() + inner.size()) == inner.data() + inner.size();
  value = dictionary ? inner : Quoted(inner);
  return true;
}

bool Reader::Read(BackendConfig& value) {
  std::string text;
  if (!ReadTextValue(text)) return false;
  value.text = text == "\"\"" ? "" : text;
  return true;
}

bool Reader::Read(FrontendAttributes& value) {
  return ReadRepeated(frontend_attributes_, value, [&](FrontendAttributes& read) {
    std::map<std::string, std::string> values;
    const bool good = ReadList('{', '}', [&] {
      if (token_.kind != TokenKind::kAttribute) return FailExpected("key=\"text\"");
      const auto [found, is_new] = values.try_emplace(std::string(token_.text));
      if (!is_new) Warn("W010", Str("'", token_.text, "' is given twice, and the last one counts"), token_.range());
      std::string& text = found->second;
      Advance();
      return ReadTextValue(text);
    });
    if (!good) return false;
    std::string text;
    for (const auto& [key, of_key] : values) text += Str(text.empty() ? "{" : ",", key, "=", of_key);
    read.text = text.empty() ? text : text + "}";
    return true;
  });
}

bool Reader::Read(Statistics& value) {
  std::string text;
  int64_t items = 0;
  const bool good = ReadList('{', '}', [&] {
    if (token_.kind != TokenKind::kAttribute) return FailExpected("name=number");
    const std::string_view name = token_.text;
    Advance();
    if (items++ == 0) {
      int64_t index = 0;
      text = "{visualizing_index=";
      if (!ReadInt(index, "the index of a statistic")) return false;
      AppendTo(text, index);
      return true;
    }
    double number = 0;
    if (!ReadNumber(number)) return false;
    text += Str(",", name, "=", Format("%g", number));
    return true;
  });
  if (!good) return false;
  value.text = items > 1 ? text + "}" : "";
  return true;
}

bool Reader::Read(ResultAccuracy& value) {
  if (!Expect('{', "'{' of an accuracy")) return false;
  if (token_.kind == TokenKind::kAttribute && token_.text == "mode") {
    Advance();
    constexpr std::string_view kModes[] = {"default", "highest"};
    int mode = 0;
    if (!ReadEnum(kModes, true, mode)) return false;
    if (mode > 0) value.text = Str("{mode=", kModes[mode], "}");
    return Expect('}', "'}'");
  }
  if (!ExpectAttributeName("tolerance", "mode= or tolerance=")) return false;
  double atol = 0, rtol = 0, ulps = 0;
  const bool good = ReadList('{', '}', [&] {
    const Token name = token_;
    if (name.kind != TokenKind::kAttribute || (name.text != "atol" && name.text != "rtol" && name.text != "ulps"))
      return FailExpected("atol=, rtol= or ulps=");
    Advance();
    const SourceRange range = {name.begin, token_.end};
    double& number = name.text == "atol" ? atol : name.text == "rtol" ? rtol : ulps;
    if (!ReadNumber(number)) return false;
    if (number >= 0 && (name.text != "ulps" || number < 0x1p63)) return true;
    return Fail("P037",
                Str(name.text, " is ", Format("%g", number),
                    name.text == "ulps" ? ", expected 0 to 2^63" : ", expected 0 or more"),
                range);
  });
  value.text = Str("{tolerance={atol=", Format("%g", atol), ",rtol=", Format("%g", rtol),
                   ",ulps=", static_cast<int64_t>(ulps), "}}");
  return good && Expect('}', "'}'");
}

// Reads {"add.5" {0}}, {}, or a tuple of such values in parentheses.
bool Reader::ReadOriginTree(std::string& text) {
  if (token_.Is('(')) {
    constexpr int64_t kLevels = 4;  // A level takes as much stack as this many other levels.
    if (!EnterDepth(kLevels)) return false;
    bool first = true;
    text += '(';
    const bool good = ReadList('(', ')', [&] {
      if (!std::exchange(first, false)) text += ", ";
      return ReadOriginTree(text);
    });
    text += ')';
    LeaveDepth(kLevels);
    return good;
  }
  if (!Expect('{', "'{' or '(' of an original value")) return false;
  text += '{';
  if (!token_.Is('}')) {
    std::string name;
    if (!Read(name)) return false;
    text += Quoted(name);
    ShapeIndex index;
    if (token_.Is('{') && !Read(index)) return false;
    if (!index.empty()) text += Str(" {", Join(index, ","), "}");
  }
  text += '}';
  return Expect('}', "'}'");
}

bool Reader::Read(Origin& value) {
  if (!Expect('{', "'{' of an origin")) return false;
  std::string text = "{";
  if (Accept('[')) {
    if (!token_.IsWord("synthetic_call")) return FailExpected("synthetic_call");
    Advance();
    text += "[synthetic_call]";
    if (!Expect(']', "']'")) return false;
  } else if (token_.Is('}')) {
    text += "()";
  } else {
    if (!ReadOriginTree(text)) return false;
    if (Accept(',') && token_.Is('[')) {
      std::vector<std::string> calls;
      if (!ReadList('[', ']', [&] { return Read(calls.emplace_back()); })) return false;
      for (std::string& call : calls) call = Quoted(call);
      text += Str(",[", Join(calls, ","), "]");
    }
  }
  value.text = text + "}";
  return Expect('}', "'}'");
}

bool Reader::ReadFlags(std::string& text) {
  bool first = true;
  text = "{";
  const bool good = ReadList('{', '}', [&] {
    bool flag = false;
    if (!Read(flag)) return false;
    text += Str(std::exchange(first, false) ? "" : ",", flag);
    return true;
  });
  text += '}';
  return good;
}

bool Reader::Read(LeafFlags& value) {
  std::string text;
  if (!ReadFlags(text)) return false;
  value.text = text;
  return true;
}

bool Reader::Read(PropagationFlags& value) {
  std::string text;
  if (token_.Is('{')) {
    if (!ReadFlags(text)) return false;
  } else {
    bool flag = false;
    if (!Read(flag)) return false;
    text = Str("{", flag, "}");
  }
  value.text = text == "{}" || text == "{false}" ? "" : text;
  return true;
}

}  // namespace hlo
