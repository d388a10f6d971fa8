// Types of MLIR as shapes. A scalar type such as i32 is a shape without dimensions.
#include <algorithm>

#include "base/text.h"
#include "parser/mlir/text_reader.h"

namespace hlo::mlir {
namespace {

constexpr int kMaxDims = 64;

std::optional<PrimitiveType> TypeOfWord(std::string_view word) {
  if (word == "i1") return PrimitiveType::kPred;
  if (word == "index") return PrimitiveType::kS64;
  std::string name;
  if (word.starts_with("ui")) name = Str("u", word.substr(2));
  else if (word.starts_with("si")) name = Str("s", word.substr(2));
  else if (word.starts_with("i")) name = Str("s", word.substr(1));
  else if (word.starts_with("f") || word.starts_with("bf")) name = word;
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return PrimitiveTypeFromText(name);
}

Error NoType(std::string_view what, SourceRange range) {
  return Unsupported("U011", Str(what, " is not supported"), range);
}

}  // namespace

Result<PrimitiveType> TextReader::ReadElementType() {
  const uint32_t begin = lexer_.Position();
  if (lexer_.At("!")) {
    const std::string_view name = TRY(lexer_.ReadName('!', "an element type"));
    if (lexer_.At("<")) TRY(lexer_.SkipBalanced());
    const bool is_quantized = name.starts_with("quant.");
    FAIL(NoType(Str(is_quantized ? "the quantized type '!" : "the element type '!", name, "'"),
                {begin, lexer_.last_end()}));
  }
  const std::string_view word = TRY(lexer_.ReadWord("an element type"));
  const SourceRange range = {begin, lexer_.last_end()};
  if (word == "complex") {
    TRY(lexer_.Expect("<"));
    const PrimitiveType part = TRY(ReadElementType());
    TRY(lexer_.Expect(">"));
    if (part == PrimitiveType::kF32) return PrimitiveType::kC64;
    if (part == PrimitiveType::kF64) return PrimitiveType::kC128;
    FAIL(NoType(Str("complex<", part, ">"), {begin, lexer_.last_end()}));
  }
  const auto type = TypeOfWord(word);
  if (!type) FAIL(NoType(Str("the element type '", word, "'"), range));
  return *type;
}

// `#stablehlo.bounds<3, ?>` gives the bounds of the dimensions that are written `?`.
Status TextReader::ReadBounds(Shape& shape, std::vector<bool>& dynamic, SourceRange range) {
  std::vector<int64_t> bounds;
  if (lexer_.Accept(",")) {
    const uint32_t begin = lexer_.Position();
    const std::string_view name = TRY(lexer_.ReadName('#', "an encoding"));
    const SourceRange encoding = {begin, lexer_.last_end()};
    const auto alias = attribute_aliases_.find(name);
    std::string text;
    if (alias != attribute_aliases_.end()) text = alias->second.text;
    else if (lexer_.At("<")) text = lexer_.Text(TRY(lexer_.SkipBalanced()));
    const bool is_bounds =
        name == "stablehlo.bounds" || (alias != attribute_aliases_.end() && alias->second.name == "stablehlo.bounds");
    if (!is_bounds) FAIL(NoType(Str("the encoding '#", name, "' of a tensor"), encoding));
    for (const std::string_view item : Split(text, ',')) {
      int64_t bound = Shape::kUnbounded;
      if (Trim(item) != "?" && (!ParseInt(Trim(item), &bound) || bound < 0))
        FAIL(Rejected("P050", Str("'", Trim(item), "' is not a bound"), encoding));
      bounds.push_back(bound);
    }
    if (bounds.size() != dynamic.size())
      FAIL(Rejected("P050", Str("the tensor has ", dynamic.size(), " dimensions and ", bounds.size(), " bounds"),
                    encoding));
  }
  for (size_t i = 0; i < dynamic.size(); ++i) {
    const bool is_bounded = !bounds.empty() && bounds[i] != Shape::kUnbounded;
    if (is_bounded != dynamic[i]) {
      FAIL(is_bounded ? Rejected("P050", Str("dimension ", i, " has a bound and a size"), range)
                      : NoType("a tensor with a dynamic dimension '?'", range)
                            .Hint("use the program with the sizes of its arguments: jax.export with concrete shapes, "
                                  "or a shape refinement"));
    }
    if (!is_bounded) continue;
    shape.SetDim(static_cast<int64_t>(i), bounds[i]);
    shape.SetDynamic(static_cast<int64_t>(i), true);
  }
  return {};
}

Result<Shape> TextReader::ReadTensor() {
  const uint32_t begin = lexer_.Position();
  TRY(lexer_.Expect("<"));
  Dims dims;
  std::vector<bool> dynamic;
  for (;;) {
    const char next = lexer_.Peek();
    if (next == '*') FAIL(NoType("a tensor of unknown rank", {lexer_.Position(), lexer_.Position() + 1}));
    if (next != '?' && (next < '0' || next > '9')) break;
    dynamic.push_back(lexer_.Accept("?"));
    dims.push_back(dynamic.back() ? 0 : TRY(lexer_.ReadInteger("a size")));
    if (dims.size() > kMaxDims)
      FAIL(LimitError("P094", Str("the tensor has more than ", kMaxDims, " dimensions"), {begin, lexer_.last_end()}));
    TRY(lexer_.Expect("x"));
  }
  const PrimitiveType type = TRY(ReadElementType());
  Shape shape(type, std::move(dims));
  TRY(ReadBounds(shape, dynamic, {begin, lexer_.last_end()}));
  TRY(lexer_.Expect(">"));
  __int128 bytes = ByteWidth(type);
  bool is_empty = false;
  for (const int64_t dim : shape.dims()) is_empty = is_empty || dim == 0;
  for (const int64_t dim : shape.dims()) {
    if (is_empty || bytes > INT64_MAX) break;
    bytes *= dim;
  }
  if (bytes > INT64_MAX) FAIL(LimitError("P092", "the tensor has 2^63 bytes or more", {begin, lexer_.last_end()}));
  return shape;
}

Result<Shape> TextReader::ReadType() {
  const uint32_t begin = lexer_.Position();
  if (lexer_.At("!")) {
    const std::string_view name = TRY(lexer_.ReadName('!', "a type"));
    if (name == "stablehlo.token" || name == "mhlo.token") return Shape::Token();
    if (const auto alias = type_aliases_.find(name); alias != type_aliases_.end()) return alias->second;
    if (lexer_.At("<")) TRY(lexer_.SkipBalanced());
    FAIL(NoType(Str("the type '!", name, "'"), {begin, lexer_.last_end()}));
  }
  if (lexer_.AcceptWord("tensor")) return ReadTensor();
  if (lexer_.AcceptWord("tuple")) {
    TRY(EnterDepth(4));
    TRY(lexer_.Expect("<"));
    std::vector<Shape> elements;
    if (!lexer_.At(">")) TRY(ReadTypes(elements));
    TRY(lexer_.Expect(">"));
    LeaveDepth(4);
    return Shape::Tuple(std::move(elements));
  }
  const std::string_view word = lexer_.PeekWord();
  if (word.empty()) FAIL(lexer_.Expected("a type"));
  if (word == "memref" || word == "vector") {
    lexer_.Word();
    FAIL(NoType(Str("the type '", word, "'"), {begin, lexer_.last_end()}));
  }
  return Shape::Scalar(TRY(ReadElementType()));
}

Status TextReader::ReadTypes(std::vector<Shape>& shapes) {
  do {
    shapes.push_back(TRY(ReadType()));
  } while (lexer_.Accept(","));
  return {};
}

Status TextReader::ReadTypesOrGroup(std::vector<Shape>& shapes) {
  if (!lexer_.Accept("(")) {
    shapes.push_back(TRY(ReadType()));
    return {};
  }
  if (!lexer_.At(")")) TRY(ReadTypes(shapes));
  return lexer_.Expect(")");
}

}  // namespace hlo::mlir
