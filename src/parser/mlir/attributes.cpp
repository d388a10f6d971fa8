#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "parser/mlir/text_reader.h"

namespace hlo::mlir {

using Kind = Attribute::Kind;

const Attribute* Attribute::Find(std::string_view name) const {
  for (const NamedAttribute& entry : entries) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

const Attribute* Operation::Find(std::string_view attribute) const {
  for (const NamedAttribute& entry : attributes) {
    if (entry.name == attribute) return &entry.value;
  }
  return nullptr;
}

Result<Attribute> TextReader::ReadAttribute(bool typed) {
  constexpr int kLevels = 8;
  TRY(EnterDepth(kLevels));
  Attribute attribute;
  const char first = lexer_.Peek();
  attribute.range.begin = lexer_.Position();
  if (first == '"') {
    attribute.kind = Kind::kString;
    attribute.text = TRY(lexer_.ReadString("a string"));
  } else if (first == '-' || (first >= '0' && first <= '9')) {
    TRY(ReadNumber(attribute));
  } else if (first == '[') {
    attribute.kind = Kind::kArray;
    TRY(lexer_.Expect("["));
    while (!lexer_.Accept("]")) {
      attribute.items.push_back(TRY(ReadAttribute(true)));
      if (!lexer_.At("]")) TRY(lexer_.Expect(","));
    }
  } else if (first == '{') {
    attribute.kind = Kind::kDictionary;
    TRY(ReadDictionary(attribute.entries));
  } else if (first == '<') {
    TRY(ReadFields(attribute));
  } else if (first == '#') {
    TRY(ReadDialectAttribute(attribute));
  } else if (first == '@') {
    attribute.kind = Kind::kSymbol;
    do {
      TRY(lexer_.Expect("@"));
      attribute.text = lexer_.At("\"") ? TRY(lexer_.ReadString("a symbol"))
                                       : std::string(TRY(lexer_.ReadWord("the name of a symbol")));
    } while (lexer_.Accept("::"));
  } else if (first == '!') {
    attribute.kind = Kind::kType;
    TRY(ReadType());
  } else if (first == '(') {  // A function type.
    attribute.kind = Kind::kType;
    TRY(lexer_.SkipBalanced());
    TRY(lexer_.Expect("->"));
    if (lexer_.At("(")) TRY(lexer_.SkipBalanced());
    else TRY(ReadType());
  } else {
    TRY(ReadWordAttribute(attribute));
  }
  if (typed && attribute.kind != Kind::kElements && lexer_.At(":") && !lexer_.At("::")) {
    TRY(lexer_.Expect(":"));
    TRY(ReadType());
  }
  attribute.range.end = lexer_.last_end();
  LeaveDepth(kLevels);
  return attribute;
}

Status TextReader::ReadNumber(Attribute& attribute) {
  const uint32_t begin = lexer_.Position();
  const std::string_view rest = lexer_.Rest();
  const bool is_hex = rest.starts_with("0x") && rest.size() > 2 && std::isxdigit(static_cast<unsigned char>(rest[2]));
  const size_t end = is_hex ? rest.size() : rest.find_first_not_of("-0123456789");
  if (is_hex) {
    uint64_t bits = 0;
    const auto [p, error] = std::from_chars(rest.data() + 2, rest.data() + rest.size(), bits, 16);
    const uint32_t at = begin + static_cast<uint32_t>(p - rest.data());
    if (error != std::errc()) FAIL(Rejected("P042", "the number does not fit 64 bits", {begin, at}));
    lexer_.Seek(begin);
    lexer_.Accept(rest.substr(0, p - rest.data()));
    attribute.kind = Kind::kInteger;
    attribute.integer = static_cast<int64_t>(bits);
    return {};
  }
  if (end == std::string_view::npos || rest[end] != '.') {
    attribute.kind = Kind::kInteger;
    attribute.integer = TRY(lexer_.ReadInteger("a number"));
    return {};
  }
  attribute.kind = Kind::kFloat;
  const auto [p, error] = std::from_chars(rest.data(), rest.data() + rest.size(), attribute.real);
  if (error == std::errc::invalid_argument) FAIL(lexer_.Expected("a number"));
  lexer_.Accept(rest.substr(0, p - rest.data()));
  return {};
}

// `key = value, ...` between '<' and '>'. Other texts are kept as they are.
Status TextReader::ReadFields(Attribute& attribute) {
  const uint32_t begin = lexer_.Position();
  TRY(lexer_.Expect("<"));
  const std::string_view word = lexer_.Word();
  if (!word.empty() && lexer_.At(">")) {
    attribute.kind = Kind::kWord;
    attribute.text = word;
    return lexer_.Expect(">");
  }
  const bool has_fields = lexer_.At(">") || (!word.empty() && lexer_.At("="));
  lexer_.Seek(begin);
  if (!has_fields) {
    attribute.kind = Kind::kText;
    attribute.text = Trim(lexer_.Text(TRY(lexer_.SkipBalanced())));
    return {};
  }
  attribute.kind = Kind::kDictionary;
  TRY(lexer_.Expect("<"));
  while (!lexer_.Accept(">")) {
    NamedAttribute& field = attribute.entries.emplace_back();
    field.range.begin = lexer_.Position();
    field.name = TRY(lexer_.ReadWord("the name of a field"));
    field.range.end = lexer_.last_end();
    TRY(lexer_.Expect("="));
    field.value = TRY(ReadAttribute(true));
    if (!lexer_.At(">")) TRY(lexer_.Expect(","));
  }
  return {};
}

// An alias, #stablehlo<precision DEFAULT>, or #stablehlo.dot<...>.
Status TextReader::ReadDialectAttribute(Attribute& attribute) {
  const uint32_t begin = attribute.range.begin;
  const std::string_view name = TRY(lexer_.ReadName('#', "an attribute"));
  if (!lexer_.At("<") || name.find('.') == std::string_view::npos) {
    if (const auto alias = attribute_aliases_.find(name); alias != attribute_aliases_.end()) {
      attribute = alias->second;
      attribute.range.begin = begin;
      return {};
    }
    if (!lexer_.At("<")) FAIL(Rejected("P010", Str("there is no attribute '#", name, "'"), {begin, lexer_.last_end()}));
  }
  if (name.find('.') != std::string_view::npos) {
    attribute.name = name;
    return ReadFields(attribute);
  }
  TRY(lexer_.Expect("<"));
  attribute.name = TRY(lexer_.ReadWord("the name of an attribute"));
  if (lexer_.At("<")) {
    TRY(ReadFields(attribute));
  } else {
    attribute.kind = Kind::kWord;
    attribute.text = TRY(lexer_.ReadWord("the value of an attribute"));
  }
  return lexer_.Expect(">");
}

Status TextReader::ReadWordAttribute(Attribute& attribute) {
  const std::string_view word = lexer_.PeekWord();
  if (word.empty()) FAIL(lexer_.Expected("the value of an attribute"));
  if (word == "tensor" || word == "tuple" || word == "complex") {
    attribute.kind = Kind::kType;
    TRY(ReadType());
    return {};
  }
  lexer_.Word();
  if (word == "true" || word == "false") {
    attribute.kind = Kind::kBool;
    attribute.integer = word == "true" ? 1 : 0;
    return {};
  }
  if (word == "unit") return {};
  if (word == "array") return ReadArrayAttribute(attribute);
  if (word == "dense") return ReadElements(attribute);
  if (word == "dense_resource")
    FAIL(Unsupported("U011", "the value of a dense_resource is not in the text",
                     {attribute.range.begin, lexer_.last_end()})
             .Hint("print the module with all values: in JAX, lowered.as_text() or jax.config.update("
                   "'jax_mlir_print_large_constants', True)"));
  if (lexer_.At("<") || (word == "loc" && lexer_.At("("))) {
    attribute.kind = Kind::kText;
    attribute.name = word;
    attribute.text = Trim(lexer_.Text(TRY(lexer_.SkipBalanced())));
    return {};
  }
  attribute.kind = Kind::kWord;
  attribute.text = word;
  return {};
}

// array<i64: 1, 2>
Status TextReader::ReadArrayAttribute(Attribute& attribute) {
  attribute.kind = Kind::kArray;
  TRY(lexer_.Expect("<"));
  TRY(ReadElementType());
  if (lexer_.Accept(":")) {
    do {
      attribute.items.push_back(TRY(ReadAttribute(false)));
    } while (lexer_.Accept(","));
  }
  return lexer_.Expect(">");
}

Status TextReader::ReadDictionary(std::vector<NamedAttribute>& entries) {
  TRY(lexer_.Expect("{"));
  while (!lexer_.Accept("}")) {
    NamedAttribute& entry = entries.emplace_back();
    entry.range.begin = lexer_.Position();
    if (lexer_.At("\"")) {
      TRY(lexer_.ReadString("the name of an attribute"));
      entry.name = lexer_.Text({entry.range.begin + 1, lexer_.last_end() - 1});
    } else {
      entry.name = TRY(lexer_.ReadWord("the name of an attribute"));
    }
    entry.range.end = lexer_.last_end();
    if (lexer_.Accept("=")) entry.value = TRY(ReadAttribute(true));
    else entry.value.range = entry.range;
    if (!lexer_.At("}")) TRY(lexer_.Expect(","));
  }
  return {};
}

Status TextReader::ReadOptionalDictionary(std::vector<NamedAttribute>& entries) {
  if (!lexer_.At("{")) return {};
  return ReadDictionary(entries);
}

}  // namespace hlo::mlir
