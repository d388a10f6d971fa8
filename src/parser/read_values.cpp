// Values of attributes, one Read for each type. Source of the grammars: spec/hlo-text.md 8.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "ir/printer.h"
#include "parser/attribute_rows.h"

namespace hlo {
namespace {

bool SameWord(std::string_view a, std::string_view b, bool ignore_case) {
  if (!ignore_case) return a == b;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

// `text` split at each 'x' into integers.
bool SplitByX(std::string_view text, std::vector<int64_t>& values) {
  for (const std::string_view part : Split(text, 'x')) {
    if (!ParseInt(part, &values.emplace_back())) return false;
  }
  return true;
}

// Of one word of dim labels: where each letter and digit stands.
struct LabelPlaces {
  int64_t first = -1, second = -1;  // Of the two letters.
  std::vector<int64_t> spatial;
};

// False when a label stands twice, is missing, or spatial digits have gaps.
bool ReadLabels(std::string_view word, char first, char second, LabelPlaces& places) {
  std::vector<int64_t> digits(10, -1);
  int64_t count = 0;
  for (size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    if (c == '?') continue;
    int64_t& place = c == first ? places.first : c == second ? places.second : digits[c - '0'];
    if (place >= 0) return false;
    place = static_cast<int64_t>(i);
    count += IsDigit(c);
  }
  places.spatial.assign(digits.begin(), digits.begin() + count);
  return places.first >= 0 && places.second >= 0 &&
         std::find(places.spatial.begin(), places.spatial.end(), -1) == places.spatial.end();
}

}  // namespace

bool Reader::ReadEnum(std::span<const std::string_view> words, bool ignore_case, int& index) {
  if (token_.kind != TokenKind::kWord) return FailExpected(Str("one of ", Join(words, " ")));
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty() || !SameWord(words[i], token_.text, ignore_case)) continue;
    index = static_cast<int>(i);
    Advance();
    return true;
  }
  std::string list;
  for (const std::string_view word : words) {
    if (!word.empty()) list += Str(list.empty() ? "" : ", ", word);
  }
  Fail("P038", Str("'", token_.text, "' is none of ", list), token_.range());
  const auto near = NearNames(token_.text, words, 1);
  if (!near.empty() && !near[0].empty()) AddHint(Str("did you mean '", near[0], "'?"));
  return false;
}

bool Reader::ReadInt(int64_t& value, const char* what) {
  if (token_.kind != TokenKind::kInt) return FailExpected(what);
  uint64_t bits = 0;
  if (!ParseInt(token_.text, &value)) {
    const auto [end, error] = std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), bits);
    if (error != std::errc()) return Fail("P042", "integer does not fit 64 bits", token_.range());
    value = static_cast<int64_t>(bits);  // Above 2^63: the bit pattern, as in XLA.
  }
  Advance();
  return true;
}

bool Reader::Read(bool& value) {
  if (!token_.IsWord("true") && !token_.IsWord("false")) return FailExpected("true or false");
  value = token_.IsWord("true");
  Advance();
  return true;
}

bool Reader::Read(int64_t& value) { return ReadInt(value, "an integer"); }

bool Reader::Read(double& value) {
  const bool inf = token_.IsWord("inf");
  if (!inf && token_.kind != TokenKind::kInt && token_.kind != TokenKind::kDecimal) return FailExpected("a number");
  if (!inf && !ParseDouble(token_.text, &value)) return Fail("P042", "number does not fit a double", token_.range());
  if (inf) value = HUGE_VAL;
  if (std::isfinite(value) && std::isinf(static_cast<float>(value)))
    return Fail("P042", "number does not fit f32", token_.range());
  Advance();
  return true;
}

bool Reader::Read(std::string& value) {
  if (token_.kind != TokenKind::kString) return FailExpected("a string");
  if (!Unquote(token_.text, value)) return Fail("P003", "unknown escape in a string", token_.range());
  Advance();
  return true;
}

bool Reader::Read(Interned& value) {
  if (token_.kind == TokenKind::kString && token_.text.find('\\') == std::string_view::npos) {
    value = token_.text.substr(1, token_.text.size() - 2);
    Advance();
    return true;
  }
  std::string text;
  if (!Read(text)) return false;
  value = text;
  return true;
}

// As written: one string, word or bracketed group, with what may follow the group in replica groups.
bool Reader::Read(RawText& value) {
  const char* begin = BeginBytes();
  const char* p = begin;
  const char* last = begin;  // Behind what belongs to the value.
  const auto group = [&](char open, char close) {
    int64_t depth = 0;
    while (p < lexer_.end()) {
      if (*p == '"' || *p == '\'') {
        p = StringEnd(p, lexer_.end());
        if (p == nullptr) break;
        continue;
      }
      if (*p == open) ++depth;
      if (*p++ == close && --depth == 0) {
        last = p;
        return true;
      }
    }
    return FailAt("P006", Str("'", open, "' without its '", close, "'"), begin);
  };
  if (token_.kind == TokenKind::kString || token_.kind == TokenKind::kInt) {
    p = last = lexer_.Pointer(token_.end);
  } else if (token_.Is('{')) {
    const char* after = SkipBalanced(p, lexer_.end());
    if (after == nullptr) return FailAt("P006", "'{' without its '}'", begin);
    p = last = after;
  } else if (token_.Is('[')) {  // [2,4]<=[8], [4,2]<=[2,4]T(1,0)
    if (!group('[', ']') || !SkipSpace(p)) return false;
    if (p[0] == '<' && p[1] == '=') {
      p += 2;
      if (!SkipSpace(p)) return false;
      if (*p != '[') return FailAt("P010", "expected '[' after '<='", p);
      if (!group('[', ']') || !SkipSpace(p)) return false;
      if (p[0] == 'T' && p[1] == '(') {
        ++p;
        if (!group('(', ')')) return false;
      }
    }
  } else if (token_.IsWord("mesh")) {  // mesh['x'=2,'y'=4], device_ids=(...) {'y'}
    p = lexer_.Pointer(token_.end);
    if (*p != '[') return FailAt("P010", "expected '[' after 'mesh'", p);
    if (!group('[', ']')) return false;
    while (p < lexer_.end() && *p != '{' && *p != '\n') {
      if (*p == '(' ? !group('(', ')') : (++p, false)) return false;
    }
    if (*p != '{') return FailAt("P010", "expected '{' and the axes of a mesh", p);
    if (!group('{', '}')) return false;
  } else if (token_.kind == TokenKind::kWord) {
    last = lexer_.Pointer(token_.end);
  } else {
    return FailExpected("a value");
  }
  const std::string_view text(begin, last - begin);
  // Blanks in lists of numbers say nothing; XLA prints none.
  if (text.find_first_not_of("{}[](),0123456789<=T \t\r\n") == std::string::npos) {
    std::string packed(text);
    std::erase_if(packed, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
    value.text = packed;
  } else {
    value.text = text;
  }
  EndBytes(last);
  return true;
}

bool Reader::Read(std::vector<int64_t>& value) {
  // By the byte: these lists are the most frequent values.
  if (!token_.Is('{')) return FailExpected("'{' and a list of integers");
  const char* p = lexer_.Pointer(token_.end);
  InlineVector<int64_t, 8> list;  // So that `value` takes its memory once.
  for (;;) {
    if (!SkipSpace(p)) return false;
    if (*p == '}' && list.empty()) break;
    int64_t item = 0;
    const char* stop = ReadInteger(p, lexer_.end(), item);
    if (stop == nullptr && IsDigit(p[*p == '-'])) {
      return FailAt("P042", "integer does not fit 64 bits", p, WordEnd(p, lexer_.end()) - p);
    }
    if (stop == nullptr || IsWordByte(*stop)) return FailAt("P010", "expected an integer", p);
    list.push_back(item);
    p = stop;
    if (!SkipSpace(p)) return false;
    if (*p == '}') break;
    if (*p != ',') return FailAt("P010", "expected ',' or '}' after an integer", p);
    ++p;
  }
  value = list;
  EndBytes(p + 1);
  return true;
}

bool Reader::Read(OneDimension& value) {
  const SourceRange begin = token_.range();
  std::vector<int64_t> list;
  if (!Read(list)) return false;
  if (list.size() != 1) return Fail("P037", Str("expected exactly one dimension, found ", list.size()), begin);
  value.value = list[0];
  return true;
}

bool Reader::Read(ListOfLists& value) {
  value.clear();
  return ReadBraced([&] { return Read(value.emplace_back()); });
}

bool Reader::Read(Window& value) {
  if (!Expect('{', "'{' of a window")) return false;
  bool sized = false;
  struct Item {
    std::string_view name;
    std::vector<int64_t> values;
    std::vector<int64_t> highs;
    SourceRange range;
  };
  std::vector<Item> items;
  while (token_.kind == TokenKind::kAttribute) {
    Item& item = items.emplace_back();
    item.name = token_.text;
    item.range = token_.range();
    constexpr std::string_view kItems[] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
    if (std::find(std::begin(kItems), std::end(kItems), item.name) == std::end(kItems)) {
      return Fail("P037", Str("'", item.name, "' is nothing a window has: ", Join(kItems, ", ")), token_.range());
    }
    for (size_t i = 0; i + 1 < items.size(); ++i) {
      if (items[i].name == item.name) return Fail("P035", Str("'", item.name, "' is given twice"), token_.range());
    }
    Advance();
    bool good = false;
    if (item.name == "pad") {
      good = token_.kind == TokenKind::kPad;
      if (!good) return FailExpected("low_high pads");
      for (const std::string_view entry : Split(token_.text, 'x')) {
        const auto parts = Split(entry, '_');
        if (parts.size() != 2) return Fail("P037", "a pad of a window is low_high", token_.range());
        good =
            ParseInt(parts[0], &item.values.emplace_back()) && ParseInt(parts[1], &item.highs.emplace_back()) && good;
      }
    } else {
      if (token_.kind != TokenKind::kDxD && token_.kind != TokenKind::kInt) return FailExpected("sizes such as 3x3");
      good = SplitByX(token_.text, item.values);
    }
    if (!good) return Fail("P042", "integer does not fit 64 bits", token_.range());
    item.range.end = token_.end;
    if (item.name == "size") {
      sized = true;
      value.dims.assign(item.values.size(), {});
    }
    Advance();
  }
  const SourceRange end = token_.range();
  if (!Expect('}', "a window item or '}'")) return false;
  if (!items.empty() && !sized) return Fail("P037", "a window needs its size", end);
  for (const Item& item : items) {
    if (item.values.size() != value.dims.size()) {
      return Fail("P037", Str(item.name, " has ", item.values.size(), " entries, size has ", value.dims.size()),
                  item.range);
    }
    for (size_t i = 0; i < item.values.size(); ++i) {
      WindowDim& dim = value.dims[i];
      if (item.name == "size") dim.size = item.values[i];
      if (item.name == "stride") dim.stride = item.values[i];
      if (item.name == "lhs_dilate") dim.base_dilation = item.values[i];
      if (item.name == "rhs_dilate") dim.window_dilation = item.values[i];
      if (item.name == "rhs_reversal") dim.reversed = item.values[i] != 0;
      if (item.name == "pad") dim.pad_low = item.values[i], dim.pad_high = item.highs[i];
    }
  }
  return true;
}

bool Reader::Read(DimLabels& value) {
  if (token_.kind != TokenKind::kDimLabels) return FailExpected("dimension labels such as b01f_01io->b01f");
  const std::string_view text = token_.text;
  const size_t underscore = text.find('_');
  const size_t arrow = text.find("->");
  LabelPlaces lhs, rhs, out;
  const bool good = ReadLabels(text.substr(0, underscore), 'b', 'f', lhs) &&
                    ReadLabels(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o', rhs) &&
                    ReadLabels(text.substr(arrow + 2), 'b', 'f', out);
  if (!good)
    return Fail("V027", "each label must stand once, and spatial digits must be 0, 1, ... without gaps",
                token_.range());
  if (lhs.spatial.size() != rhs.spatial.size() || lhs.spatial.size() != out.spatial.size()) {
    return Fail("V027",
                Str("dim_labels name ", lhs.spatial.size(), ", ", rhs.spatial.size(), " and ", out.spatial.size(),
                    " spatial dimensions, expected equally many"),
                token_.range());
  }
  value = {lhs.first, lhs.second, rhs.first, rhs.second, out.first, out.second, lhs.spatial, rhs.spatial, out.spatial};
  Advance();
  return true;
}

bool Reader::Read(PaddingConfig& value) {
  value.dims.clear();
  if (token_.kind != TokenKind::kPad) {
    // `padding=` of a scalar is nothing at all.
    if (token_.Is(',') || token_.Is('}') || token_.kind == TokenKind::kEnd || token_.kind == TokenKind::kName ||
        token_.kind == TokenKind::kWord)
      return true;
    return FailExpected("padding such as 1_0x-1_2");
  }
  for (const std::string_view entry : Split(token_.text, 'x')) {
    const auto parts = Split(entry, '_');
    PaddingDim& dim = value.dims.emplace_back();
    const bool good = parts.size() >= 2 && ParseInt(parts[0], &dim.low) && ParseInt(parts[1], &dim.high) &&
                      (parts.size() == 2 || ParseInt(parts[2], &dim.interior));
    if (!good) return Fail("P042", "integer does not fit 64 bits", token_.range());
  }
  Advance();
  return true;
}

bool Reader::Read(SliceRanges& value) {
  value.dims.clear();
  return ReadBraced([&] {
    SliceDim& dim = value.dims.emplace_back();
    if (!Expect('[', "'[' of a range") || !ReadInt(dim.start, "where the range starts")) return false;
    if (!Expect(':', "':'") || !ReadInt(dim.limit, "where the range ends")) return false;
    if (Take(':') && !ReadInt(dim.stride, "a stride")) return false;
    return Expect(']', "']' or ':'");
  });
}

// {1}: (2, {0}) and, where `must` is given, (2, {0}, must-alias).
bool Reader::ReadIndexedAlias(ShapeIndex& output, int64_t& number, ShapeIndex& index, bool* must) {
  if (!Read(output) || !Expect(':', "':'") || !Expect('(', "'('") || !ReadInt(number, "a number")) return false;
  if (!Expect(',', "','") || !Read(index)) return false;
  if (must != nullptr && Take(',')) {
    if (!token_.IsWord("must-alias") && !token_.IsWord("may-alias")) return FailExpected("may-alias or must-alias");
    *must = token_.IsWord("must-alias");
    Advance();
  }
  return Expect(')', "')'");
}

bool Reader::Read(OperandAliases& value) {
  value.clear();
  return ReadBraced([&] {
    OperandAlias& alias = value.emplace_back();
    return ReadIndexedAlias(alias.output, alias.operand, alias.operand_index, nullptr);
  });
}

bool Reader::Read(ShapeList& value) {
  value.shapes.clear();
  return ReadBraced([&] { return Read(value.shapes.emplace_back()); });
}

bool Reader::Read(std::vector<Precision>& value) {
  value.clear();
  return ReadBraced([&] { return Read(value.emplace_back()); });
}

// A string that holds a balanced dictionary is that dictionary; any other is quoted in one way.
static bool CanonicalValue(std::string& text) {
  if (text.starts_with('{')) return true;
  std::string inner;
  if (text.size() < 2 || !Unquote(text, inner)) return false;
  const bool dictionary =
      inner.starts_with('{') && SkipBalanced(inner.data(), inner.data() + inner.size()) == inner.data() + inner.size();
  text = dictionary ? inner : Quoted(inner);
  return true;
}

bool CanonicalBackendConfig(RawText& value) {
  if (value.text.view().starts_with('{')) return true;
  std::string text(value.text);
  if (!CanonicalValue(text)) return false;
  value.text = text == "\"\"" ? "" : text;
  return true;
}

void CanonicalResultAccuracy(RawText& value) {
  const std::string text(value.text);  // Ends with a NUL, as the lexer wants.
  std::string canonical;
  size_t copied = 0;
  Lexer lexer(text, 0, static_cast<uint32_t>(text.size()));
  for (Token token = lexer.Next(); token.kind != TokenKind::kEnd && token.kind != TokenKind::kError;
       token = lexer.Next()) {
    double number;
    if (token.kind != TokenKind::kDecimal || !ParseDouble(token.text, &number)) continue;
    canonical += text.substr(copied, token.begin - copied) + Format("%g", number);
    copied = token.end;
  }
  canonical += text.substr(copied);
  if (canonical.find("mode=") != std::string::npos) {
    for (char& c : canonical) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  }
  value.text = canonical == "{mode=default}" ? "" : canonical;
}

bool CanonicalFrontendAttributes(RawText& attributes) {
  const std::string written(attributes.text);  // Ends with a NUL, as the lexer wants.
  std::map<std::string, std::string> values;
  Lexer lexer(written, 1, static_cast<uint32_t>(written.size()));
  for (Token token = lexer.Next(); !token.Is('}');) {
    if (token.Is(',')) {
      token = lexer.Next();
      continue;
    }
    if (token.kind != TokenKind::kAttribute) return false;
    const std::string key(token.text);
    token = lexer.Next();
    std::string value;
    if (token.Is('{')) {
      const char* begin = lexer.Pointer(token.begin);
      const char* end = SkipBalanced(begin, lexer.end());
      if (end == nullptr) return false;
      value.assign(begin, end);
      lexer.Seek(end);
    } else if (token.kind == TokenKind::kString) {
      value = token.text;
    } else {
      return false;
    }
    if (!CanonicalValue(value)) return false;
    values[key] = std::move(value);
    token = lexer.Next();
  }
  std::string text = "{";
  for (const auto& [key, value] : values) text += Str(text.size() > 1 ? "," : "", key, "=", value);
  attributes.text = text + "}";
  return true;
}

// name=value pairs in braces; commas between them are optional.
bool Reader::ReadRows(std::span<const AttributeRow> rows, void* value, const char* what) {
  if (!Take('{')) return FailExpected(Str("'{' of ", what));
  uint64_t seen = 0;
  while (!token_.Is('}')) {
    if (Take(',')) continue;
    if (token_.kind != TokenKind::kAttribute) return FailExpected(Str("an item of ", what, " or '}'"));
    const AttributeRow* row = FindRow(rows, token_.text);
    const Token name = token_;
    Advance();
    if (row == nullptr) return Fail("P034", Str("'", name.text, "' is no item of ", what), name.range());
    if (!row->read(*this, value)) return false;
    seen |= uint64_t{1} << (row - rows.data());
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].presence == Presence::kRequired && (seen >> i & 1) == 0)
      return FailExpected(Str("'", rows[i].name, "=' of ", what));
  }
  Advance();
  return true;
}

bool Reader::Read(FileLocation& value) { return ReadRows(kRowsOf<FileLocation>, &value, "a file location"); }
bool Reader::Read(StackFrame& value) { return ReadRows(kRowsOf<StackFrame>, &value, "a stack frame"); }

bool Reader::Read(Metadata& value) {
  if (!ReadRows(kRowsOf<Metadata>, &value, "metadata")) return false;
  if (value.stack_frame_id != 0) value.stack_frame_id = stack_frames_ ? stack_frames_->Intern(value.stack_frame_id) : 0;
  return true;
}

bool Reader::Read(Computation*& value) {
  if (token_.Is('{')) {
    // An anonymous computation, with a scope of its own.
    if (!EnterDepth(16)) return false;
    Computation& inner = module_->AddComputation("_");
    if (!ReadBody(inner)) return false;
    LeaveDepth(16);
    value = &inner;
    return true;
  }
  if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kName)
    return FailExpected("the name of a computation");
  Computation** const found = computations_.Find(token_.text);
  if (found == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& [name, computation] : computations_.entries()) names.push_back(name);
    std::sort(names.begin(), names.end());
    const auto near = NearNames(token_.text, names, 1);
    const bool itself = computation_ != nullptr && computation_->name() == token_.text;
    Fail("V163",
         itself ? Str("computation '", token_.text, "' calls itself")
                : Str("computation '", token_.text, "' is not defined above"),
         token_.range());
    if (itself) AddHint("there is no recursion in HLO; a loop is a 'while'");
    else if (!near.empty()) AddHint(Str("did you mean '", near[0], "'?"));
    return false;
  }
  value = *found;
  Advance();
  return true;
}

bool Reader::Read(std::vector<Computation*>& value) {
  value.clear();
  return ReadBraced([&] { return Read(value.emplace_back()); });
}

}  // namespace hlo
