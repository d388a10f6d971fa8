// Reads shapes and layouts byte by byte. Meaning: docs/language.md#shapes.
#include <algorithm>

#include "base/text.h"
#include "parser/reader.h"

namespace hlo {
namespace {

constexpr int64_t kMaxRank = 64;  // A mask has a bit for each dimension.

}  // namespace

// Reads an array shape as printers write it, such as `f32[2,3]{1,0}`. Null for other texts, which the slower reader
// then reads into `shape`.
const char* Reader::ReadPlainShape(const char* p, Shape& shape) const {
  const auto digit = [](char c) { return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0'; };
  const char* const word = p;
  while (IsWordByte(*p) && p - word < 16) ++p;
  if (*p != '[') return nullptr;
  const auto type = PrimitiveTypeFromText({word, static_cast<size_t>(p - word)});
  if (!type || !IsArrayType(*type)) return nullptr;
  shape.SetType(*type);
  Dims& dims = shape.mutable_dims();
  int64_t bytes = ByteWidth(*type);  // Factors of 0 are left out, so large empty arrays take the slower path.
  ++p;
  while (*p != ']') {
    const char* const begin = p;
    int64_t size = 0;
    for (; digit(*p) < 10 && p - begin < 18; ++p) size = 10 * size + digit(*p);
    if (p == begin || dims.size() == kMaxRank) return nullptr;
    if (size > 1 && __builtin_mul_overflow(bytes, size, &bytes)) return nullptr;
    dims.push_back(size);
    if (*p == ',' && p[1] != ']') ++p;
    else if (*p != ']') return nullptr;
  }
  ++p;
  DimOrder& order = shape.mutable_order();
  const int rank = static_cast<int>(dims.size());
  if (*p != '{') {
    const bool ends =
        *p == ',' || *p == ')' || (*p == ' ' && (IsLetter(p[1]) || p[1] == '%' || (p[1] == '{' && p[2] == '\n')));
    if (!ends) return nullptr;
    for (int i = rank - 1; i >= 0; --i) order.push_back(static_cast<int16_t>(i));
    return p;
  }
  uint64_t left = (uint64_t{1} << rank % 64) - 1;
  do {
    ++p;
    const unsigned dim = digit(*p);
    if (dim >= 10 || (left >> dim & 1) == 0) return nullptr;
    left &= ~(uint64_t{1} << dim);
    order.push_back(static_cast<int16_t>(dim));
    ++p;
  } while (*p == ',');
  return *p == '}' && left == 0 ? p + 1 : nullptr;
}

bool Reader::CheckSize(const Shape& shape, SourceRange range) {
  if (shape.rank() > kMaxRank)
    return FailLimit("P094", Str("an array has ", shape.rank(), " dimensions, but the limit is ", kMaxRank), range);
  // As in XLA, only dimensions before a 0 can be too large.
  int64_t elements = 1, bytes = 0;
  bool fits = true;
  for (const int64_t dim : shape.dims())
    fits = fits && (dim == Shape::kUnbounded || !__builtin_mul_overflow(elements, dim, &elements));
  if (!fits || __builtin_mul_overflow(elements, std::max<int64_t>(1, ByteWidth(shape.type())), &bytes))
    return FailLimit("P092", "the shape has more than 2^63 bytes", range);
  return std::all_of(shape.elements().begin(), shape.elements().end(),
                     [&](const Shape& element) { return CheckSize(element, range); });
}

bool Reader::AtShape() const {
  if (token_.Is('(')) return true;
  if (token_.kind != TokenKind::kWord) return false;
  const char* after = lexer_.Pointer(token_.end);
  if (*after == '[') return PrimitiveTypeFromText(token_.text).has_value();
  if (token_.text == "b") {
    const char* p = after;
    while (p < lexer_.end() && *p == ' ') ++p;
    return *p == '(';
  }
  return PrimitiveTypeFromText(token_.text).has_value();
}

bool Reader::Read(Shape& shape) {
  const char* p = BeginBytes();
  if (!ReadShapeBytes(p, shape)) return false;
  EndBytes(p);
  return true;
}

bool Reader::ReadShapeBytes(const char*& p, Shape& shape) {
  // Elements of the open tuples, and the index of each tuple's first element. Avoids recursion.
  std::vector<Shape>& elements = open_elements_;
  elements.clear();
  InlineVector<size_t, 8> open;
  for (;;) {
    if (!SkipSpace(p)) return false;
    if (*p == '(') {
      if (!EnterDepth()) return false;
      open.push_back(elements.size());
      ++p;
      if (!SkipSpace(p)) return false;
      if (*p != ')') continue;
    } else {
      if (!ReadArrayShapeBytes(p, open.empty() ? shape : elements.emplace_back())) return false;
      if (open.empty()) return true;
      if (!SkipSpace(p)) return false;
    }
    while (*p == ')') {
      ++p;
      LeaveDepth();
      const auto begin = elements.begin() + static_cast<std::ptrdiff_t>(open.back());
      Shape tuple = Shape::Tuple({std::move_iterator(begin), std::move_iterator(elements.end())});
      elements.erase(begin, elements.end());
      open.pop_back();
      if (open.empty()) {
        shape = std::move(tuple);
        return true;
      }
      elements.push_back(std::move(tuple));
      if (!SkipSpace(p)) return false;
    }
    if (*p != ',') return FailAt("P010", "expected ',' or ')' in a tuple shape", p);
    ++p;
  }
}

bool Reader::ReadBufferBytes(const char*& p, Shape& shape) {
  const char* begin = p;
  ++p;
  if (!SkipSpace(p)) return false;
  if (*p != '(') return FailAt("P010", "expected '(' of a buffer shape", p);
  ++p;
  if (!SkipSpace(p)) return false;
  const bool is_tuple = *p == '(';
  if (is_tuple || std::string_view(p, WordEnd(p, lexer_.end()) - p) == "b")
    return FailAt("P052", Str("a buffer wraps an array, not ", is_tuple ? "a tuple" : "a buffer"), p);
  if (!ReadArrayShapeBytes(p, shape) || !SkipSpace(p)) return false;
  if (!shape.IsArray()) return FailAt("P052", Str("a buffer wraps an array, not ", shape), begin, p - begin);
  if (*p != ')') return FailAt("P010", "expected ')' of a buffer shape", p);
  ++p;
  shape.SetBuffer(true);
  return true;
}

bool Reader::ReadDimsBytes(const char*& p, Dims& dims, Dims& dynamic) {
  for (;;) {
    if (!SkipSpace(p)) return false;
    if (*p == ']' && dims.empty()) break;
    if (*p == '?') {
      ++p;
      dims.push_back(Shape::kUnbounded);
      dynamic.push_back(static_cast<int64_t>(dims.size()) - 1);
    } else {
      if (*p == '<') {
        if (p[1] != '=') return FailAt("P010", "expected '<=' before a bound", p);
        p += 2;
        if (!SkipSpace(p)) return false;
        dynamic.push_back(static_cast<int64_t>(dims.size()));
      }
      int64_t size = 0;
      const char* stop = ReadInteger(p, lexer_.end(), size);
      if (stop == nullptr) {
        const bool large = IsDigit(p[*p == '-']);
        return FailAt(large ? "P042" : "P050",
                      large ? "the integer does not fit in 64 bits" : "expected a dimension size", p,
                      std::max<size_t>(1, WordEnd(p, lexer_.end()) - p));
      }
      if (size < 0)
        return FailAt("V260", Str("dimension ", dims.size(), " is ", size, ", expected 0 or more"), p, stop - p);
      dims.push_back(size);
      p = stop;
    }
    if (!SkipSpace(p)) return false;
    if (*p == ']') break;
    if (*p != ',') return FailAt("P010", "expected ',' or ']' after a dimension", p);
    ++p;
  }
  ++p;
  return true;
}

bool Reader::ReadArrayShapeBytes(const char*& p, Shape& shape) {
  if (const char* after = ReadPlainShape(p, shape)) {
    p = after;
    return true;
  }
  const char* begin = p;
  const char* word_end = WordEnd(p, lexer_.end());
  const std::string_view word(p, word_end - p);
  if (word == "b") return ReadBufferBytes(p, shape);
  const std::optional<PrimitiveType> type = PrimitiveTypeFromText(word);
  if (!type)
    return FailAt("P050",
                  word.empty() ? "expected a shape" : Str("expected a shape, but '", word, "' is not an element type"),
                  p, std::max<size_t>(1, word.size()));
  p = word_end;
  if (!SkipSpace(p)) return false;
  if (*p != '[') return FailAt("P010", Str("expected '[' after '", word, "'"), p);
  ++p;
  Dims dims, dynamic;
  if (!ReadDimsBytes(p, dims, dynamic)) return false;
  if (!IsArrayType(*type) && !dims.empty())
    return FailAt("P051", Str(word, " cannot have dimensions"), begin, p - begin);
  shape = Shape(*type, std::move(dims));
  if (!CheckSize(shape, {lexer_.Offset(begin), lexer_.Offset(p)})) return false;
  for (const int64_t i : dynamic) shape.SetDynamic(i, true);
  // A brace without a number or colon behind it begins a computation's body.
  const char* q = p;
  if (*q != '{') {
    if (!SkipSpace(q)) return false;
    if (*q != '{') return true;
  }
  const char* brace = q++;
  if (!SkipSpace(q)) return false;
  if (!IsDigit(*q) && *q != '-' && *q != ':') return true;
  p = brace;
  return ReadLayoutBytes(p, shape);
}

}  // namespace hlo
