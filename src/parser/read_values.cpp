// Reads attribute values. Special cases: docs/language.md#attribute-values.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/hash_bytes.h"
#include "base/text.h"
#include "parser/attribute_rows.h"

namespace hlo {
namespace {

bool SameWord(std::string_view a, std::string_view b, bool ignore_case) {
  if (!ignore_case) return a == b;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

bool SplitByX(std::string_view text, std::vector<int64_t>& values) {
  for (const std::string_view part : Split(text, 'x')) {
    if (!ParseInt(part, &values.emplace_back())) return false;
  }
  return true;
}

struct LabelPlaces {
  int64_t first = -1, second = -1;
  std::vector<int64_t> spatial;
};

// False for missing or repeated labels and gaps in the digits.
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
  Fail("P038", Str("'", token_.text, "' is not one of ", list), token_.range());
  const auto near = NearNames(token_.text, words, 1);
  if (!near.empty() && !near[0].empty()) AddHint(Str("did you mean '", near[0], "'?"));
  return false;
}

bool Reader::ReadInt(int64_t& value, const char* what) {
  if (token_.kind != TokenKind::kInt) return FailExpected(what);
  uint64_t bits = 0;
  if (!ParseInt(token_.text, &value)) {
    const auto [end, error] = std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), bits);
    if (error != std::errc()) return Fail("P042", "the integer does not fit in 64 bits", token_.range());
    value = static_cast<int64_t>(bits);  // From 2^63 on the bits count, as in XLA.
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
  const SourceRange range = token_.range();
  if (!ReadNumber(value)) return false;
  if (std::isfinite(value) && std::isinf(static_cast<float>(value)))
    return Fail("P042", "the number does not fit in f32", range);
  return true;
}

bool Reader::Read(std::string& value) {
  if (token_.kind != TokenKind::kString) return FailExpected("a string");
  if (!Unquote(token_.text, value)) return Fail("P003", "the string contains an unknown escape", token_.range());
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

bool Reader::Read(RawText& value) {
  const char* begin = BeginBytes();
  const char* end = lexer_.Pointer(token_.end);
  if (token_.Is('{')) {
    end = SkipBalanced(begin, lexer_.end());
    if (end == nullptr) return FailAt("P006", "this '{' has no matching '}'", begin);
  } else if (token_.kind != TokenKind::kString && token_.kind != TokenKind::kWord) {
    return FailExpected("a value");
  }
  value.text = std::string_view(begin, end - begin);
  EndBytes(end);
  return true;
}

bool Reader::Read(std::vector<int64_t>& value) {
  // Read without tokens, because these lists are frequent.
  if (!token_.Is('{')) return FailExpected("'{' and a list of integers");
  const char* p = lexer_.Pointer(token_.end);
  InlineVector<int64_t, 8> list;
  for (;;) {
    if (!SkipSpace(p)) return false;
    if (*p == '}' && list.empty()) break;
    int64_t item = 0;
    const char* stop = ReadInteger(p, lexer_.end(), item);
    if (stop == nullptr && IsDigit(p[*p == '-'])) {
      return FailAt("P042", "the integer does not fit in 64 bits", p, WordEnd(p, lexer_.end()) - p);
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
  return ReadList('{', '}', [&] { return Read(value.emplace_back()); });
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
      return Fail("P037", Str("a window has no '", item.name, "', only ", Join(kItems, ", ")), token_.range());
    }
    for (size_t i = 0; i + 1 < items.size(); ++i) {
      if (items[i].name == item.name) return Fail("P035", Str("'", item.name, "' is given twice"), token_.range());
    }
    Advance();
    bool good = false;
    if (item.name == "pad") {
      good = token_.kind == TokenKind::kPad;
      if (!good) return FailExpected("padding such as 1_2");
      for (const std::string_view entry : Split(token_.text, 'x')) {
        const auto parts = Split(entry, '_');
        if (parts.size() != 2)
          return Fail("P037", "expected the padding of a window as LOW_HIGH, such as 1_2", token_.range());
        good =
            ParseInt(parts[0], &item.values.emplace_back()) && ParseInt(parts[1], &item.highs.emplace_back()) && good;
      }
    } else {
      if (token_.kind != TokenKind::kDxD && token_.kind != TokenKind::kInt) return FailExpected("sizes such as 3x3");
      good = SplitByX(token_.text, item.values);
    }
    if (!good) return Fail("P042", "the integer does not fit in 64 bits", token_.range());
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
      return Fail("P037", Str(item.name, " has ", item.values.size(), " entries, but size has ", value.dims.size()),
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
    return Fail("V027", "each label must occur once, and spatial digits must be 0, 1, ... without gaps",
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
    if (!good) return Fail("P042", "the integer does not fit in 64 bits", token_.range());
  }
  Advance();
  return true;
}

bool Reader::Read(SliceRanges& value) {
  value.dims.clear();
  return ReadList('{', '}', [&] {
    SliceDim& dim = value.dims.emplace_back();
    if (!Expect('[', "'[' of a range") || !ReadInt(dim.start, "the start of a range")) return false;
    if (!Expect(':', "':'") || !ReadInt(dim.limit, "the limit of a range")) return false;
    if (Accept(':') && !ReadInt(dim.stride, "a stride")) return false;
    return Expect(']', "']' or ':'");
  });
}

// Reads {1}: (2, {0}). If `must` is not null, also reads may-alias or must-alias.
bool Reader::ReadIndexedAlias(ShapeIndex& output, int64_t& number, ShapeIndex& index, bool* must) {
  if (!Read(output) || !Expect(':', "':'") || !Expect('(', "'('") || !ReadInt(number, "a number")) return false;
  if (!Expect(',', "','") || !Read(index)) return false;
  if (must != nullptr && Accept(',')) {
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
  return ReadList('{', '}', [&] { return Read(value.shapes.emplace_back()); });
}

bool Reader::Read(std::vector<Precision>& value) {
  value.clear();
  return ReadList('{', '}', [&] { return Read(value.emplace_back()); });
}

bool Reader::ReadNumber(double& value) {
  const bool inf = token_.IsWord("inf");
  if (!inf && token_.kind != TokenKind::kInt && token_.kind != TokenKind::kDecimal) return FailExpected("a number");
  if (!inf && !ParseDouble(token_.text, &value)) return Fail("P042", "the number does not fit in f64", token_.range());
  if (inf) value = HUGE_VAL;
  Advance();
  return true;
}

bool Reader::Read(SparsePattern& value) {
  if (token_.kind != TokenKind::kDxD) return FailExpected("non-zeros x block size, such as 1x2");
  std::vector<int64_t> sizes;
  if (!SplitByX(token_.text, sizes)) return Fail("P042", "the integer does not fit in 64 bits", token_.range());
  if (sizes.size() != 2)
    return Fail("P037", "expected a sparse pattern as NONZEROSxBLOCK, such as 1x2", token_.range());
  value = {sizes[0], sizes[1]};
  Advance();
  return true;
}

bool Reader::ReadRows(std::span<const AttributeRow> rows, void* value, const char* what) {
  if (!Accept('{')) return FailExpected(Str("'{' of ", what));
  uint64_t seen = 0;
  size_t next = 0;
  for (bool more = Accept(','); more || !token_.Is('}'); more = Accept(',')) {
    if (token_.kind != TokenKind::kAttribute) return FailExpected(Str("an item of ", what, more ? "" : " or '}'"));
    const AttributeRow* row = FindRow(rows, token_.text, next);
    const Token name = token_;
    Advance();
    if (row == nullptr) return Fail("P034", Str("'", name.text, "' is not an item of ", what), name.range());
    next = row - rows.data();
    const uint64_t bit = uint64_t{1} << next++;
    if ((seen & bit) != 0) return Fail("P035", Str("'", name.text, "' is given twice"), name.range());
    seen |= bit;
    if (!row->read(*this, value)) return false;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].presence == Presence::kRequired && (seen >> i & 1) == 0)
      return FailExpected(Str("'", rows[i].name, "=' of ", what));
  }
  Advance();
  return true;
}

bool Reader::Read(OperandSparsity& value) {
  return ReadRows(kRowsOf<OperandSparsity>, &value, "the sparsity of an operand");
}
bool Reader::Read(SparsityConfig& value) {
  return ReadRows(kRowsOf<SparsityConfig>, &value, "a sparsity configuration");
}
bool Reader::Read(OperandScaling& value) {
  return ReadRows(kRowsOf<OperandScaling>, &value, "the scaling of an operand");
}
bool Reader::Read(BlockScalingConfig& value) {
  return ReadRows(kRowsOf<BlockScalingConfig>, &value, "a scaling configuration");
}

bool Reader::Read(FileLocation& value) { return ReadRows(kRowsOf<FileLocation>, &value, "a file location"); }
bool Reader::Read(StackFrame& value) { return ReadRows(kRowsOf<StackFrame>, &value, "a stack frame"); }

SchedulingName Reader::SchedulingNameOf(std::string_view text) const {
  if (text == defining_ && !text.empty()) return {.is_own = true};
  return {.other = text};
}

bool Reader::Read(SchedulingName& value) {
  std::string text;
  if (!Read(text)) return false;
  value = SchedulingNameOf(text);
  return true;
}

// Reads metadata as printers write it: fields in order, separated by blanks. Otherwise reads nothing.
bool Reader::ReadPlainMetadata(Metadata& value) {
  if (!token_.Is('{')) return false;
  const char* p = BeginBytes() + 1;
  const char* const end = lexer_.end();
  bool plain = true;
  const AttributeRow* row = kRowsOf<Metadata>.data();
  const auto read = [&](const auto& field) {
    const std::string_view name = row++->name;
    if (*p != name[0] || std::cmp_less_equal(end - p, name.size()) || p[name.size()] != '=' ||
        !SameBytes({p, name.size()}, name))
      return;
    p += name.size() + 1;
    auto& member = value.*field.member;
    const char* after = nullptr;
    constexpr bool kIsText = std::is_same_v<decltype(member), Interned&>;
    if constexpr (kIsText || std::is_same_v<decltype(member), SchedulingName&>) {
      if (*p == '"') after = PlainStringEnd(p, end);
      const std::string_view text = after == nullptr ? std::string_view() : std::string_view(p + 1, after - 1);
      if constexpr (kIsText) member = text;
      else member = SchedulingNameOf(text);
    } else if constexpr (std::is_same_v<decltype(member), int64_t&>) {
      after = ReadInteger(p, end, member);
    }
    plain = plain && after != nullptr;
    if (after != nullptr) p = *after == ' ' ? after + 1 : after;
  };
  static constexpr auto kFields = Metadata::Fields();
  kFields.ForEach(read);
  if (plain && *p == '}') return EndBytes(p + 1), true;
  value = Metadata();
  return false;
}

bool Reader::Read(Metadata& value) {
  const uint32_t begin = token_.begin;
  if (!ReadPlainMetadata(value) && !ReadRows(kRowsOf<Metadata>, &value, "metadata")) return false;
  for (const int64_t type : value.profile_type) {
    if (type < 0 || type > 3)
      return Fail("P037", Str("profile_type is ", type, ", expected 0 to 3"), {begin, last_end_});
  }
  for (const int64_t place : {value.source_line, value.source_end_line, value.source_column, value.source_end_column}) {
    if (place != static_cast<int32_t>(place))
      return Fail("P042", Str("'", place, "' does not fit in s32"), {begin, last_end_});
  }
  if (value.stack_frame_id != 0) value.stack_frame_id = stack_frames_ ? stack_frames_->Intern(value.stack_frame_id) : 0;
  return true;
}

bool Reader::Read(Computation*& value) {
  if (token_.Is('{')) {
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
    const bool is_root = token_.IsWord("ROOT");
    if (is_root || Lexer(lexer_).Next().Is('=')) {
      return Fail(
          "P010",
          Str("expected the name of a computation before ", is_root ? "" : "the instruction ", "'", token_.text, "'"),
          {last_end_, last_end_});
    }
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
  return ReadList('{', '}', [&] { return Read(value.emplace_back()); });
}

}  // namespace hlo
