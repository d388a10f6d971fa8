// Pretty forms of operations, such as `stablehlo.slice %0 [0:1] : (tensor<2xf32>) -> tensor<1xf32>`.
#include "base/text.h"
#include "parser/mlir/stablehlo_ops.h"
#include "parser/mlir/text_reader.h"

namespace hlo::mlir {
namespace {

Attribute IntsAttribute(const std::vector<int64_t>& values, SourceRange range) {
  Attribute attribute;
  attribute.kind = Attribute::Kind::kArray;
  attribute.range = range;
  for (const int64_t value : values) {
    Attribute& item = attribute.items.emplace_back();
    item.kind = Attribute::Kind::kInteger;
    item.integer = value;
    item.range = range;
  }
  return attribute;
}

bool IsReturn(std::string_view name) { return name.ends_with("return"); }

}  // namespace

Status TextReader::ReadPretty(Operation& op, std::vector<Shape>& results) {
  if (op.row == nullptr) FAIL(UnknownOp(op.name, op.name_range));
  const std::string_view form = op.row->form;
  if (form == "!while") return ReadWhile(op, results);
  if (form == "!reduce") return ReadReduce(op, results);
  if (form == "!constant") return ReadConstant(op, results);
  if (form == "!manual") return ReadManualComputation(op, results);
  TRY(ReadOptionalDictionary(op.attributes));
  if (!form.empty()) {
    for (const std::string_view item : Split(form, ' ')) TRY(ReadFormItem(item, op));
  }
  TRY(ReadOptionalDictionary(op.attributes));
  return ReadTypeClause(op, results);
}

Status TextReader::ReadFormItem(std::string_view item, Operation& op) {
  if (item == "$") return ReadOperand(op);
  if (item == "$*") return ReadOperands(op);
  if (item == "$*,") {
    while (lexer_.At("%")) {
      TRY(ReadOperand(op));
      TRY(lexer_.Expect(","));
    }
    return {};
  }
  if (item.starts_with('?')) {
    if (!lexer_.At(",")) return {};
    const size_t equals = item.find('=');
    if (equals != std::string_view::npos) {  // Another optional item may follow.
      const uint32_t begin = lexer_.Position();
      TRY(lexer_.Expect(","));
      const bool is_key = lexer_.PeekWord() == item.substr(1, equals - 1);
      lexer_.Seek(begin);
      if (!is_key) return {};
    }
    TRY(lexer_.Expect(","));
    item.remove_prefix(1);
  }
  if (item.starts_with('!')) return ReadSpecialForm(item, op);
  const size_t equals = item.find('=');
  if (!item.starts_with('<') && !item.starts_with('@') && equals == std::string_view::npos) return lexer_.Expect(item);
  NamedAttribute attribute;
  attribute.name = item.substr(1);
  attribute.range.begin = lexer_.Position();
  if (equals != std::string_view::npos) {
    attribute.name = item.substr(equals + 1);
    TRY(lexer_.ExpectWord(item.substr(0, equals)));
    TRY(lexer_.Expect("="));
  } else if (item.starts_with('@') && !lexer_.At("@")) {
    FAIL(lexer_.Expected("a symbol"));
  }
  attribute.value = TRY(ReadAttribute(false));
  attribute.range.end = lexer_.last_end();
  op.attributes.push_back(std::move(attribute));
  return {};
}

Status TextReader::ReadSpecialForm(std::string_view form, Operation& op) {
  if (form == "!slice") return ReadSliceRanges(op);
  if (form == "!dot") return ReadDotDimensions(op);
  if (form == "!bits") return ReadBits(op);
  if (form == "!window") return ReadWindow(op);
  if (form == "!labels") return ReadLabels(op);
  if (form == "!sharding") return ReadShardingText(op, "sharding");
  TRY(lexer_.Expect("["));  // !index
  NamedAttribute index = {.name = "index", .range = {}, .value = TRY(ReadAttribute(false))};
  op.attributes.push_back(std::move(index));
  return lexer_.Expect("]");
}

// ---- Types -------------------------------------------------------------------------------------------------------

Status TextReader::CheckOperandTypes(const Operation& op, const std::vector<Shape>& shapes, SourceRange range) {
  if (shapes.size() != op.operands.size()) {
    FAIL(Rejected("V001", Str("'", op.name, "' has ", op.operands.size(), " operands, but ", shapes.size(), " types"),
                  range));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& actual = document_.shapes[op.operands[i]];
    if (shapes[i] == actual) continue;
    FAIL(Rejected(
        "P026", Str("operand ", i, " of '", op.name, "' is ", actual, ", but its type is written ", shapes[i]), range));
  }
  return {};
}

// `: (OPERANDS) -> RESULTS`, `: OPERANDS -> RESULTS`, or only the types of the results. A select has `: PRED, RESULT`.
Status TextReader::ReadTypeClause(const Operation& op, std::vector<Shape>& results) {
  if (!lexer_.At(":")) {
    if (IsReturn(op.name)) return {};
    FAIL(lexer_.Expected("':' and types"));
  }
  TRY(lexer_.Expect(":"));
  std::vector<Shape> types;
  const uint32_t begin = lexer_.Position();
  const bool is_group = lexer_.At("(");
  TRY(is_group ? ReadTypesOrGroup(types) : ReadTypes(types));
  const SourceRange range = {begin, lexer_.last_end()};
  if (lexer_.Accept("->")) {
    TRY(CheckOperandTypes(op, types, range));
    return ReadTypesOrGroup(results);
  }
  if (IsReturn(op.name)) return CheckOperandTypes(op, types, range);
  if (is_group) FAIL(lexer_.Expected("'->'"));
  if (op.row->opcode == Opcode::kSelect && types.size() == 2) types.erase(types.begin());
  results = std::move(types);
  return {};
}

// ---- Forms of single operations ----------------------------------------------------------------------------------

// stablehlo.constant {ATTRIBUTES} dense<...> : TYPE, or the generic form without quotes.
Status TextReader::ReadConstant(Operation& op, std::vector<Shape>& results) {
  if (lexer_.At("(")) return ReadGeneric(op, results);
  TRY(ReadOptionalDictionary(op.attributes));
  NamedAttribute value;
  value.name = "value";
  value.range.begin = lexer_.Position();
  value.value = TRY(ReadAttribute(true));
  value.range.end = lexer_.last_end();
  if (value.value.kind != Attribute::Kind::kElements)
    FAIL(Rejected("P010", "expected dense<...> : TYPE as the value of a constant", value.range));
  results.push_back(value.value.elements->shape);
  op.attributes.push_back(std::move(value));
  return {};
}

// [start:limit:stride, ...]
Status TextReader::ReadSliceRanges(Operation& op) {
  std::vector<int64_t> starts, limits, strides;
  const uint32_t begin = lexer_.Position();
  TRY(lexer_.Expect("["));
  while (!lexer_.Accept("]")) {
    starts.push_back(TRY(lexer_.ReadInteger("the start of a slice")));
    TRY(lexer_.Expect(":"));
    limits.push_back(TRY(lexer_.ReadInteger("the limit of a slice")));
    strides.push_back(lexer_.Accept(":") ? TRY(lexer_.ReadInteger("a stride")) : 1);
    if (!lexer_.At("]")) TRY(lexer_.Expect(","));
  }
  const SourceRange range = {begin, lexer_.last_end()};
  op.attributes.push_back({"start_indices", range, IntsAttribute(starts, range)});
  op.attributes.push_back({"limit_indices", range, IntsAttribute(limits, range)});
  op.attributes.push_back({"strides", range, IntsAttribute(strides, range)});
  return {};
}

// , batching_dims = [0] x [0], contracting_dims = [1] x [0]
Status TextReader::ReadDotDimensions(Operation& op) {
  NamedAttribute numbers;
  numbers.name = "dot_dimension_numbers";
  numbers.range.begin = lexer_.Position();
  numbers.value.kind = Attribute::Kind::kDictionary;
  const auto read = [&](std::string_view key, std::string_view lhs, std::string_view rhs) -> Status {
    const uint32_t begin = lexer_.Position();
    if (!lexer_.Accept(",") || lexer_.PeekWord() != key) {
      lexer_.Seek(begin);
      return {};
    }
    TRY(lexer_.ExpectWord(key));
    TRY(lexer_.Expect("="));
    numbers.value.entries.push_back({lhs, {}, TRY(ReadAttribute(false))});
    TRY(lexer_.Expect("x"));
    numbers.value.entries.push_back({rhs, {}, TRY(ReadAttribute(false))});
    return {};
  };
  TRY(read("batching_dims", "lhs_batching_dimensions", "rhs_batching_dimensions"));
  TRY(read("contracting_dims", "lhs_contracting_dimensions", "rhs_contracting_dimensions"));
  numbers.range.end = numbers.value.range.end = lexer_.last_end();
  numbers.value.range.begin = numbers.range.begin;
  op.attributes.push_back(std::move(numbers));
  return {};
}

// format = e5m10
Status TextReader::ReadBits(Operation& op) {
  TRY(lexer_.ExpectWord("format"));
  TRY(lexer_.Expect("="));
  const uint32_t begin = lexer_.Position();
  const std::string_view word = TRY(lexer_.ReadWord("a format such as e5m10"));
  const SourceRange range = {begin, lexer_.last_end()};
  const size_t middle = word.find('m');
  int64_t exponent = 0, mantissa = 0;
  if (!word.starts_with('e') || middle == std::string_view::npos || !ParseInt(word.substr(1, middle - 1), &exponent) ||
      !ParseInt(word.substr(middle + 1), &mantissa))
    FAIL(Rejected("P010", Str("expected a format such as e5m10, found '", word, "'"), range));
  for (const auto& [name, value] : {std::pair("exponent_bits", exponent), std::pair("mantissa_bits", mantissa)}) {
    Attribute attribute;
    attribute.kind = Attribute::Kind::kInteger;
    attribute.range = range;
    attribute.integer = value;
    op.attributes.push_back({name, range, std::move(attribute)});
  }
  return {};
}

// dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
Status TextReader::ReadLabels(Operation& op) {
  TRY(lexer_.ExpectWord("dim_numbers"));
  TRY(lexer_.Expect("="));
  NamedAttribute labels;
  labels.name = "dimension_numbers";
  labels.range.begin = lexer_.Position();
  for (const std::string_view separator : {"x", "->", ""}) {
    if (!lexer_.At("[")) FAIL(lexer_.Expected("'['"));
    TRY(lexer_.SkipBalanced());
    TRY(lexer_.Expect(separator));
  }
  labels.range.end = lexer_.last_end();
  labels.value.kind = Attribute::Kind::kText;
  labels.value.range = labels.range;
  labels.value.text = lexer_.Text(labels.range);
  op.attributes.push_back(std::move(labels));
  return {};
}

// window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]}
Status TextReader::ReadWindow(Operation& op) {
  TRY(lexer_.ExpectWord("window"));
  TRY(lexer_.Expect("="));
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"stride", "window_strides"},
                                                                      {"pad", "padding"},
                                                                      {"lhs_dilate", "lhs_dilation"},
                                                                      {"rhs_dilate", "rhs_dilation"},
                                                                      {"reverse", "window_reversal"}};
  std::vector<NamedAttribute> fields;
  TRY(ReadDictionary(fields));
  for (NamedAttribute& field : fields) {
    const auto* name = std::ranges::find(kNames, field.name, [](const auto& pair) { return pair.first; });
    if (name == std::end(kNames)) FAIL(Rejected("P034", Str("a window has no field '", field.name, "'"), field.range));
    field.name = name->second;
    op.attributes.push_back(std::move(field));
  }
  return {};
}

// (%arg = %init, ...) : TYPES [attributes {...}] cond {...} do {...}
Status TextReader::ReadWhile(Operation& op, std::vector<Shape>& results) {
  std::vector<Argument> arguments;
  TRY(lexer_.Expect("("));
  while (!lexer_.Accept(")")) {
    Argument& argument = arguments.emplace_back();
    argument.range.begin = lexer_.Position();
    argument.name = TRY(lexer_.ReadName('%', "an argument"));
    argument.range.end = lexer_.last_end();
    TRY(lexer_.Expect("="));
    TRY(ReadOperand(op));
    if (!lexer_.At(")")) TRY(lexer_.Expect(","));
  }
  if (!arguments.empty()) {
    TRY(lexer_.Expect(":"));
    const uint32_t begin = lexer_.Position();
    TRY(ReadTypes(results));
    TRY(CheckOperandTypes(op, results, {begin, lexer_.last_end()}));
  }
  if (lexer_.AcceptWord("attributes")) TRY(ReadDictionary(op.attributes));
  op.range.end = lexer_.last_end();
  TRY(lexer_.ExpectWord("cond"));
  op.regions.push_back(TRY(ReadRegion(arguments, results)));
  TRY(lexer_.ExpectWord("do"));
  op.regions.push_back(TRY(ReadRegion(std::move(arguments), results)));
  return {};
}

// (%x init: %i), ... [applies OP] across dimensions = [...] {...} : TYPES [reducer...]
Status TextReader::ReadReduce(Operation& op, std::vector<Shape>& results) {
  std::vector<ValueId> initial;
  do {
    TRY(lexer_.Expect("("));
    TRY(ReadOperand(op));
    TRY(lexer_.ExpectWord("init"));
    TRY(lexer_.Expect(":"));
    TRY(ReadOperand(op));
    initial.push_back(op.operands.back());
    op.operands.pop_back();
    TRY(lexer_.Expect(")"));
  } while (lexer_.Accept(","));
  for (const ValueId value : initial) op.operands.push_back(value);
  std::string_view inner;
  SourceRange inner_range;
  if (lexer_.AcceptWord("applies")) {
    inner_range.begin = lexer_.Position();
    inner = TRY(lexer_.ReadWord("an operation"));
    inner_range.end = lexer_.last_end();
  }
  TRY(lexer_.ExpectWord("across"));
  TRY(ReadFormItem("dimensions=dimensions", op));
  TRY(ReadOptionalDictionary(op.attributes));
  TRY(ReadTypeClause(op, results));
  op.range.end = lexer_.last_end();
  return inner.empty() ? ReadReducer(op) : MakeReducer(op, inner, inner_range);
}

// reducer(%a: TYPE, %b: TYPE) ... {...}: a pair for each operand. All first arguments precede all second ones.
Status TextReader::ReadReducer(Operation& op) {
  std::vector<Argument> arguments, seconds;
  std::vector<Shape> shapes, second_shapes;
  TRY(lexer_.ExpectWord("reducer"));
  while (lexer_.Accept("(")) {
    arguments.push_back(TRY(ReadArgument(shapes.emplace_back())));
    TRY(lexer_.Expect(","));
    seconds.push_back(TRY(ReadArgument(second_shapes.emplace_back())));
    TRY(lexer_.Expect(")"));
  }
  std::ranges::move(seconds, std::back_inserter(arguments));
  std::ranges::move(second_shapes, std::back_inserter(shapes));
  op.regions.push_back(TRY(ReadRegion(std::move(arguments), shapes)));
  return {};
}

// The region of `applies stablehlo.add`.
Status TextReader::MakeReducer(Operation& op, std::string_view inner, SourceRange range) {
  const OpRow* const row = FindOp(inner);
  if (row == nullptr || RowOf(row->opcode).arity != 2) FAIL(UnknownOp(inner, range));
  Region region;
  region.first_value = static_cast<ValueId>(document_.shapes.size());
  const Shape scalar = Shape::Scalar(document_.shapes[op.operands[0]].type());
  region.arguments.resize(2);
  for (Argument& argument : region.arguments) argument.range = range;
  document_.shapes.insert(document_.shapes.end(), 3, scalar);
  Operation& apply = region.operations.emplace_back();
  apply.name = inner;
  apply.row = row;
  apply.range = apply.name_range = range;
  apply.operands = {region.first_value, region.first_value + 1};
  apply.first_result = region.first_value + 2;
  apply.result_count = 1;
  Operation& result = region.operations.emplace_back();
  result.name = "stablehlo.return";
  result.row = FindOp(result.name);
  result.range = result.name_range = range;
  result.operands = {region.first_value + 2};
  op.regions.push_back(std::move(region));
  return {};
}

// ---- Shardy ------------------------------------------------------------------------------------------------------

// Keeps the text between brackets.
Status TextReader::ReadShardingText(Operation& op, std::string_view name) {
  NamedAttribute attribute;
  attribute.name = name;
  attribute.range.begin = lexer_.Position();
  attribute.value.kind = Attribute::Kind::kText;
  if (!lexer_.At("<") && !lexer_.At("[") && !lexer_.At("{")) FAIL(lexer_.Expected("a sharding"));
  attribute.value.text = lexer_.Text(TRY(lexer_.SkipBalanced()));
  attribute.range.end = lexer_.last_end();
  attribute.value.range = attribute.range;
  op.attributes.push_back(std::move(attribute));
  return {};
}

// (%x) in_shardings=[...] out_shardings=[...] manual_axes={...} (%a: TYPE) {...} : TYPES -> TYPES
Status TextReader::ReadManualComputation(Operation& op, std::vector<Shape>& results) {
  TRY(lexer_.Expect("("));
  TRY(ReadOperands(op));
  TRY(lexer_.Expect(")"));
  for (const std::string_view name : {"in_shardings", "out_shardings", "manual_axes"}) {
    TRY(lexer_.ExpectWord(name));
    TRY(lexer_.Expect("="));
    TRY(ReadShardingText(op, name));
  }
  op.range.end = lexer_.last_end();
  std::vector<Argument> arguments;
  std::vector<Shape> shapes;
  TRY(lexer_.Expect("("));
  while (!lexer_.Accept(")")) {
    arguments.push_back(TRY(ReadArgument(shapes.emplace_back())));
    if (!lexer_.At(")")) TRY(lexer_.Expect(","));
  }
  op.regions.push_back(TRY(ReadRegion(std::move(arguments), shapes)));
  TRY(ReadOptionalDictionary(op.attributes));
  return ReadTypeClause(op, results);
}

}  // namespace hlo::mlir
