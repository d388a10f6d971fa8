#include <algorithm>

#include "base/text.h"
#include "parser/mlir/stablehlo_ops.h"
#include "parser/mlir/text_reader.h"

namespace hlo::mlir {

Status TextReader::EnterDepth(int levels) {
  depth_ += levels;
  if (depth_ <= max_depth_) return {};
  const uint32_t at = lexer_.Position();
  FAIL(LimitError("P091", Str("the text is nested deeper than the limit of ", max_depth_, " levels"), {at, at + 1})
           .RaisedBy("max_depth"));
}

// ---- The module --------------------------------------------------------------------------------------------------

// A text without a module is the body of one.
Result<Document> TextReader::Read() {
  if (lexer_.AtEnd()) FAIL(lexer_.Expected("a module"));
  while (!lexer_.AtEnd()) TRY(ReadTopLevel());
  return std::move(document_);
}

Status TextReader::ReadTopLevel() {
  if (lexer_.At("#") || lexer_.At("!")) return ReadAlias();
  if (lexer_.At("\"builtin.module\"")) return ReadGenericModule();
  if (lexer_.PeekWord() == "sdy.mesh") return ReadMesh();
  if (lexer_.AcceptWord("module") || lexer_.AcceptWord("builtin.module")) return ReadModule();
  document_.operations.push_back(TRY(ReadOperation()));
  return {};
}

// `#loc1 = loc(...)`, `#name = VALUE` or `!name = TYPE`. Locations are read when they are needed, because they may
// refer to later ones.
Status TextReader::ReadAlias() {
  if (lexer_.At("!")) {
    const std::string_view name = TRY(lexer_.ReadName('!', "an alias"));
    TRY(lexer_.Expect("="));
    type_aliases_.insert_or_assign(name, TRY(ReadType()));
    return {};
  }
  const std::string_view name = TRY(lexer_.ReadName('#', "an alias"));
  TRY(lexer_.Expect("="));
  if (lexer_.PeekWord() == "loc") {
    TRY(ReadLocation(document_.locations[name]));
    return {};
  }
  attribute_aliases_.insert_or_assign(name, TRY(ReadAttribute(true)));
  return {};
}

// sdy.mesh @NAME = <...> [{...}]
Status TextReader::ReadMesh() {
  TRY(lexer_.ExpectWord("sdy.mesh"));
  const std::string_view name = TRY(lexer_.ReadName('@', "the name of a mesh"));
  TRY(lexer_.Expect("="));
  const uint32_t begin = lexer_.Position();
  if (!lexer_.At("<")) FAIL(lexer_.Expected("'<'"));
  TRY(lexer_.SkipBalanced());
  document_.meshes.emplace_back(name, lexer_.Text({begin, lexer_.last_end()}));
  std::vector<NamedAttribute> ignored;
  TRY(ReadOptionalDictionary(ignored));
  SourceRange location;
  return ReadLocation(location);
}

// [@NAME] [attributes {...}] { ... } [loc(...)]
Status TextReader::ReadModule() {
  constexpr int kLevels = 16;
  TRY(EnterDepth(kLevels));
  if (lexer_.At("@")) {
    const uint32_t begin = lexer_.Position() + 1;
    TRY(ReadAttribute(false));
    document_.name = lexer_.Text({begin, lexer_.last_end()});
  }
  if (lexer_.AcceptWord("attributes")) TRY(ReadDictionary(document_.attributes));
  TRY(lexer_.Expect("{"));
  while (!lexer_.Accept("}")) {
    if (lexer_.AtEnd()) FAIL(lexer_.Expected("an operation or '}'"));
    TRY(ReadTopLevel());
  }
  SourceRange location;
  TRY(ReadLocation(location));
  LeaveDepth(kLevels);
  return {};
}

Status TextReader::ReadGenericModule() {
  Operation op = TRY(ReadOperation());
  for (NamedAttribute& attribute : op.attributes) {
    if (attribute.name == "sym_name")
      document_.name = lexer_.Text({attribute.value.range.begin + 1, attribute.value.range.end - 1});
    document_.attributes.push_back(std::move(attribute));
  }
  for (Region& region : op.regions) std::ranges::move(region.operations, std::back_inserter(document_.operations));
  return {};
}

// Keeps the text in the parentheses of an optional `loc(...)`.
Status TextReader::ReadLocation(SourceRange& location) {
  if (lexer_.PeekWord() != "loc") return {};
  lexer_.Word();
  if (!lexer_.At("(")) FAIL(lexer_.Expected("'('"));
  location = TRY(lexer_.SkipBalanced());
  return {};
}

// ---- Operations --------------------------------------------------------------------------------------------------

ValueId TextReader::Define(std::string_view name, int32_t count) {
  const auto first = static_cast<ValueId>(document_.shapes.size());
  if (name.empty()) return first;
  Named& named = names_[name];
  hidden_.emplace_back(name, named);
  named = {first, count};
  return first;
}

// `%a, %b:2 = `
Status TextReader::ReadResults(Operation& op, std::vector<std::pair<std::string_view, int32_t>>& names) {
  if (!lexer_.At("%")) return {};
  do {
    const std::string_view name = TRY(lexer_.ReadName('%', "a result"));
    int32_t count = 1;
    if (lexer_.Accept(":")) {
      const uint32_t begin = lexer_.Position();
      const int64_t written = TRY(lexer_.ReadInteger("a number of results"));
      if (written < 1 || written > INT16_MAX)
        FAIL(Rejected("P042", "the number of results is not possible", {begin, lexer_.last_end()}));
      count = static_cast<int32_t>(written);
    }
    names.emplace_back(name, count);
    op.result_count += count;
  } while (lexer_.Accept(","));
  op.result_name = names.size() == 1 ? names[0].first : "";
  return lexer_.Expect("=");
}

Status TextReader::DefineResults(Operation& op, const std::vector<std::pair<std::string_view, int32_t>>& names,
                                 std::vector<Shape> shapes) {
  const auto count = static_cast<int32_t>(shapes.size());
  if (!names.empty() && count != op.result_count) {
    FAIL(Rejected("V001",
                  Str("'", op.name, "' has ", count, count == 1 ? " result" : " results", ", but ", op.result_count,
                      op.result_count == 1 ? " is named" : " are named"),
                  op.name_range));
  }
  op.result_count = count;
  op.first_result = static_cast<ValueId>(document_.shapes.size());
  size_t at = 0;
  for (const auto& [name, named] : names) {
    Define(name, named);
    for (int32_t i = 0; i < named; ++i) document_.shapes.push_back(std::move(shapes[at++]));
  }
  for (; at < shapes.size(); ++at) document_.shapes.push_back(std::move(shapes[at]));
  return {};
}

Result<Operation> TextReader::ReadOperation() {
  Operation op;
  std::vector<std::pair<std::string_view, int32_t>> names;
  std::vector<Shape> results;
  op.range.begin = lexer_.Position();
  TRY(ReadResults(op, names));
  op.name_range.begin = lexer_.Position();
  if (lexer_.At("\"")) {
    TRY(lexer_.ReadString("the name of an operation"));
    op.name = lexer_.Text({op.name_range.begin + 1, lexer_.last_end() - 1});
    op.name_range.end = lexer_.last_end();
    op.row = FindOp(op.name);
    TRY(ReadGeneric(op, results));
  } else {
    op.name = TRY(lexer_.ReadWord("an operation"));
    op.name_range.end = lexer_.last_end();
    if (op.name == "func.func" || op.name == "func") {
      TRY(ReadFunction(op));
    } else {
      op.row = FindOp(op.name);
      TRY(ReadPretty(op, results));
    }
  }
  if (op.range.end == 0) op.range.end = lexer_.last_end();
  TRY(ReadLocation(op.location));
  TRY(DefineResults(op, names, std::move(results)));
  return op;
}

Status TextReader::ReadOperand(Operation& op) {
  const uint32_t begin = lexer_.Position();
  const std::string_view name = TRY(lexer_.ReadName('%', "a value"));
  int64_t part = 0;
  if (lexer_.Accept("#")) part = TRY(lexer_.ReadInteger("the number of a result"));
  const SourceRange range = {begin, lexer_.last_end()};
  const auto named = names_.find(name);
  if (named == names_.end() || named->second.first < 0)
    FAIL(Rejected("V008", Str("the value '%", name, "' is not defined here"), range));
  if (part < 0 || part >= named->second.count)
    FAIL(Rejected("V008", Str("'%", name, "' has ", named->second.count, " results, so there is no '#", part, "'"),
                  range));
  op.operands.push_back(named->second.first + static_cast<ValueId>(part));
  return {};
}

Status TextReader::ReadOperands(Operation& op) {
  if (!lexer_.At("%")) return {};
  do {
    TRY(ReadOperand(op));
  } while (lexer_.Accept(","));
  return {};
}

// "NAME"(OPERANDS) <{PROPERTIES}> ({REGION}, ...) {ATTRIBUTES} : (TYPES) -> TYPES
Status TextReader::ReadGeneric(Operation& op, std::vector<Shape>& results) {
  TRY(lexer_.Expect("("));
  TRY(ReadOperands(op));
  TRY(lexer_.Expect(")"));
  if (lexer_.Accept("<")) {
    TRY(ReadDictionary(op.attributes));
    TRY(lexer_.Expect(">"));
  }
  if (lexer_.At("(")) {
    op.range.end = lexer_.last_end();
    TRY(lexer_.Expect("("));
    do {
      op.regions.push_back(TRY(ReadRegion({}, {})));
    } while (lexer_.Accept(","));
    TRY(lexer_.Expect(")"));
  }
  TRY(ReadOptionalDictionary(op.attributes));
  TRY(lexer_.Expect(":"));
  std::vector<Shape> operands;
  const uint32_t begin = lexer_.Position();
  TRY(ReadTypesOrGroup(operands));
  TRY(CheckOperandTypes(op, operands, {begin, lexer_.last_end()}));
  TRY(lexer_.Expect("->"));
  const Attribute* const arguments = op.Find("arg_attrs");
  if (arguments != nullptr && op.regions.size() == 1 && op.regions[0].arguments.size() == arguments->items.size()) {
    for (size_t i = 0; i < arguments->items.size(); ++i)
      op.regions[0].arguments[i].attributes = arguments->items[i].entries;
  }
  return ReadTypesOrGroup(results);
}

// ---- Functions and regions ---------------------------------------------------------------------------------------

Result<Argument> TextReader::ReadArgument(Shape& shape) {
  Argument argument;
  argument.range.begin = lexer_.Position();
  argument.name = TRY(lexer_.ReadName('%', "an argument"));
  TRY(lexer_.Expect(":"));
  shape = TRY(ReadType());
  argument.range.end = lexer_.last_end();
  TRY(ReadOptionalDictionary(argument.attributes));
  TRY(ReadLocation(argument.location));
  return argument;
}

// [public|private] @NAME(ARGUMENTS) -> RESULTS [attributes {...}] { ... }
Status TextReader::ReadFunction(Operation& op) {
  op.name = "func.func";
  if (lexer_.AcceptWord("public") || lexer_.AcceptWord("private") || lexer_.AcceptWord("nested")) {
  }
  NamedAttribute& name = op.attributes.emplace_back();
  name.name = "sym_name";
  if (!lexer_.At("@")) FAIL(lexer_.Expected("the name of a function"));
  name.value = TRY(ReadAttribute(false));
  TRY(lexer_.Expect("("));
  std::vector<Argument> arguments;
  std::vector<Shape> shapes;
  while (!lexer_.Accept(")")) {
    if (!lexer_.At("%"))
      FAIL(Unsupported("U011", Str("the function '", name.value.text, "' has no body"), name.value.range));
    arguments.push_back(TRY(ReadArgument(shapes.emplace_back())));
    if (!lexer_.At(")")) TRY(lexer_.Expect(","));
  }
  TRY(ReadFunctionResults(op));
  if (lexer_.AcceptWord("attributes")) TRY(ReadDictionary(op.attributes));
  op.range.end = lexer_.last_end();
  if (!lexer_.At("{"))
    FAIL(Unsupported("U011", Str("the function '", name.value.text, "' has no body"), name.value.range));
  op.regions.push_back(TRY(ReadRegion(std::move(arguments), shapes)));
  return {};
}

// -> TYPE or -> (TYPE {...}, ...)
Status TextReader::ReadFunctionResults(Operation& op) {
  if (!lexer_.Accept("->")) return {};
  if (!lexer_.Accept("(")) {
    op.declared.push_back(TRY(ReadType()));
    return {};
  }
  NamedAttribute attributes;
  attributes.name = "res_attrs";
  while (!lexer_.Accept(")")) {
    op.declared.push_back(TRY(ReadType()));
    Attribute& result = attributes.value.items.emplace_back();
    result.kind = Attribute::Kind::kDictionary;
    TRY(ReadOptionalDictionary(result.entries));
    if (!lexer_.At(")")) TRY(lexer_.Expect(","));
  }
  op.attributes.push_back(std::move(attributes));
  return {};
}

// Arguments of a pretty form are given. In the generic form, a label ^bb0(...) names them.
Result<Region> TextReader::ReadRegion(std::vector<Argument> arguments, const std::vector<Shape>& shapes) {
  constexpr int kLevels = 16;
  TRY(EnterDepth(kLevels));
  TRY(lexer_.Expect("{"));
  const size_t hidden = hidden_.size();
  Region region;
  region.first_value = static_cast<ValueId>(document_.shapes.size());
  region.arguments = std::move(arguments);
  for (size_t i = 0; i < region.arguments.size(); ++i) {
    Define(region.arguments[i].name, 1);
    document_.shapes.push_back(shapes[i]);
  }
  if (lexer_.At("^")) {
    TRY(lexer_.ReadName('^', "a block"));
    if (lexer_.Accept("(")) {
      while (!lexer_.Accept(")")) {
        Shape shape;
        region.arguments.push_back(TRY(ReadArgument(shape)));
        Define(region.arguments.back().name, 1);
        document_.shapes.push_back(std::move(shape));
        if (!lexer_.At(")")) TRY(lexer_.Expect(","));
      }
    }
    TRY(lexer_.Expect(":"));
  }
  while (!lexer_.Accept("}")) {
    if (lexer_.At("^")) {
      const uint32_t begin = lexer_.Position();
      FAIL(Unsupported("U011", "a region with several blocks is not supported", {begin, begin + 1}));
    }
    region.operations.push_back(TRY(ReadOperation()));
  }
  for (; hidden_.size() > hidden; hidden_.pop_back()) names_[hidden_.back().first] = hidden_.back().second;
  LeaveDepth(kLevels);
  return region;
}

}  // namespace hlo::mlir
