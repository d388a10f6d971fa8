// Reads layouts byte by byte. Meaning: docs/language.md#shapes.
#include <bit>

#include "base/text.h"
#include "parser/reader.h"

namespace hlo {
namespace {

bool IsPermutation(const DimOrder& order) {
  uint64_t seen = 0;
  for (const int64_t dim : order) {
    if (dim < 0 || dim >= std::ssize(order)) return false;
    seen |= uint64_t{1} << dim;
  }
  return std::popcount(seen) == std::ssize(order);
}

}  // namespace

// Reads one layout at `p`. Functions return false after an error. After success `p` is not at a space.
struct Reader::LayoutText {
  Reader& reader;
  const char*& p;

  bool Fail(std::string message, const char* at, size_t length = 1) {
    return reader.FailAt("P053", std::move(message), at, length);
  }
  bool SkipSpace() { return reader.SkipSpace(p); }
  bool Skip() { return ++p, SkipSpace(); }

  bool Number(int64_t& value, const char* what) {
    if (!SkipSpace()) return false;
    const char* stop = ReadInteger(p, reader.lexer_.end(), value);
    if (stop == nullptr) return Fail(Str("expected ", what, " in a layout"), p);
    p = stop;
    return SkipSpace();
  }
  bool Expect(char c) {
    if (!SkipSpace()) return false;
    if (*p != c) return Fail(Str("expected '", c, "' in a layout"), p);
    return Skip();
  }
  bool Comma() {
    if (*p != ',') return Fail("expected ',' or ')' in a layout", p);
    return Skip();
  }
  // Whether the next part is `name`(...). The parts have a fixed order.
  bool IsAt(std::string_view name) const {
    if (!std::string_view(p, reader.lexer_.end() - p).starts_with(name)) return false;
    const char* after = p + name.size();
    while (*after == ' ') ++after;
    return *after == '(';
  }
  bool NumberOf(char name, int64_t& value) {
    if (!IsAt({&name, 1})) return true;
    ++p;
    return Expect('(') && Number(value, "a number") && Expect(')');
  }

  bool Dimensions(DimOrder& minor_to_major);
  bool LevelTypes();
  bool Tiles(Tiling& tiling);
  bool IntegerType(char name, Tiling& tiling);
  bool Splits(Tiling& tiling);
  bool Parts(Tiling& tiling);
};

bool Reader::LayoutText::Dimensions(DimOrder& minor_to_major) {
  while (*p != ':' && *p != '}') {
    int64_t dim = 0;
    const char* const at = p;
    if (!Number(dim, "a dimension")) return false;
    if (dim < 0 || dim != static_cast<int16_t>(dim))
      return Fail(Str("a layout has no dimension ", dim), at, WordEnd(at, reader.lexer_.end()) - at);
    minor_to_major.push_back(static_cast<int16_t>(dim));
    if (*p == ',') {
      if (!Skip()) return false;
      if (*p == '}' || *p == ':') return Fail("expected a dimension in a layout", p);
    } else if (*p != ':' && *p != '}') {
      return Fail("expected ',', ':' or '}' after a dimension in a layout", p);
    }
  }
  return true;
}

// Reads level types of dimensions, D(D,C+), an older form without a meaning.
bool Reader::LayoutText::LevelTypes() {
  if (!IsAt("D")) return true;
  ++p;
  if (!Expect('(')) return false;
  for (bool first = true; *p != ')'; first = false) {
    if (!first && !Comma()) return false;
    if (std::string_view("DCSH").find(*p) == std::string_view::npos || IsWordByte(p[1]))
      return Fail("expected a level type in a layout: D, C, S or H", p);
    ++p;
    for (const char mark : {'+', '~'}) {
      if (!SkipSpace()) return false;
      p += *p == mark;
    }
    if (!SkipSpace()) return false;
  }
  return Expect(')');
}

// Reads T(8,128)(2,1).
bool Reader::LayoutText::Tiles(Tiling& tiling) {
  if (!IsAt("T")) return true;
  if (!Skip()) return false;
  while (*p == '(') {
    std::vector<int64_t>& tile = tiling.tiles.emplace_back();
    if (!Skip()) return false;
    for (bool first = true; *p != ')'; first = false) {
      if (!first && !Comma()) return false;
      if (*p == '*') {
        tile.push_back(Tiling::kCombine);
        if (!Skip()) return false;
      } else if (!Number(tile.emplace_back(), "a tile size or '*'")) {
        return false;
      }
    }
    if (!Skip()) return false;
  }
  return true;
}

// Reads #(u32). `()` means the default.
bool Reader::LayoutText::IntegerType(char name, Tiling& tiling) {
  if (!IsAt({&name, 1})) return true;
  ++p;
  if (!Expect('(')) return false;
  const std::string_view word(p, WordEnd(p, reader.lexer_.end()) - p);
  if (!word.empty()) {
    const std::optional<PrimitiveType> type = PrimitiveTypeFromText(word);
    if (!type || !IsInteger(*type) || IsSigned(*type))
      return Fail("expected an unsigned integer type in a layout", p, word.size());
    tiling.others += Str(name, "(", word, ")");
  }
  p += word.size();
  return Expect(')');
}

// Reads SC(0:3)(1:2,4).
bool Reader::LayoutText::Splits(Tiling& tiling) {
  if (!IsAt("SC")) return true;
  p += 2;
  if (!SkipSpace()) return false;
  tiling.others += "SC";
  while (*p == '(') {
    ++p;
    int64_t value = 0;
    if (!Number(value, "a dimension") || !Expect(':')) return false;
    tiling.others += Str("(", value, ":");
    for (bool first = true; *p != ')'; first = false) {
      if ((!first && !Comma()) || !Number(value, "an index")) return false;
      tiling.others += Str(first ? "" : ",", value);
    }
    if (!Expect(')')) return false;
    tiling.others += ')';
  }
  return true;
}

bool Reader::LayoutText::Parts(Tiling& tiling) {
  if (!LevelTypes() || !Tiles(tiling) || !NumberOf('L', tiling.tail_padding_alignment) || !IntegerType('#', tiling) ||
      !IntegerType('*', tiling) || !NumberOf('E', tiling.element_size_in_bits) || !NumberOf('S', tiling.memory_space) ||
      !Splits(tiling))
    return false;
  if (IsAt("P")) return Fail("this array has no physical shape, P(...), because it is not sparse", p);
  int64_t prefix_bytes = 0;
  if (!NumberOf('M', prefix_bytes)) return false;
  if (prefix_bytes > 0) tiling.others += Str("M(", prefix_bytes, ")");
  return true;
}

// Reads `{1,0:T(8,128)(2,1)L(2)#(u32)*(u32)E(4)S(1)SC(0:3)M(4)}`.
bool Reader::ReadLayoutBytes(const char*& p, Shape& shape) {
  const char* begin = p++;
  Layout layout;
  LayoutText text{*this, p};
  if (!SkipSpace(p) || !text.Dimensions(layout.minor_to_major)) return false;
  if (*p == ':' && (!text.Skip() || !text.Parts(layout.tiling.Mutable()))) return false;
  if (*p != '}') return text.Fail("expected '}' or a further part of the layout, in the order T L # * E S SC M", p);
  ++p;
  const size_t rank = shape.dims().size();
  if (layout.minor_to_major.size() != rank) {
    return FailAt("V004", Str("the layout lists ", layout.minor_to_major.size(), " dimensions of ", shape), begin,
                  p - begin);
  }
  if (!IsPermutation(layout.minor_to_major)) {
    layout.tiling.Mutable().wrong_order = layout.minor_to_major;
    layout.minor_to_major = shape.layout().minor_to_major;
  }
  if (shape.IsArray()) shape.SetLayout(std::move(layout));
  return true;
}

}  // namespace hlo
