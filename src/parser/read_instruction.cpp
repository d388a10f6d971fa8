// Instructions: the op table and the attribute structs' field lists say what may stand in them. Only parameter,
// constant, nested operands, projections and the sugar for async ops have code of their own. What may stand there:
// docs/language.md#instructions.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "ir/shapes/shape_rules.h"
#include "ir/text/async_sugar.h"
#include "parser/attribute_rows.h"

namespace hlo {
namespace {

// By Attributes::kind().
template <class... Structs>
constexpr auto MakeTables(const StructList<Structs...>*) {
  return std::array<std::span<const AttributeRow>, sizeof...(Structs)>{
      std::span<const AttributeRow>(kRowsOf<Structs>)...};
}
constexpr auto kTables = MakeTables(static_cast<const AttributeStructs*>(nullptr));

// result_accuracy says how exact a function of floats shall be: of those the op takes it that XLA lets.
bool TakesResultAccuracy(Opcode opcode) {
  const bool complex_math = RowOf(opcode).shape_rule == ShapeOfComplexUnary;
  return complex_math || opcode == Opcode::kCbrt || opcode == Opcode::kErf;
}

constexpr int64_t kMaxTupleShapes = 1000000;

int64_t CountShapes(const Shape& shape) {
  int64_t count = 1;
  for (const Shape& element : shape.elements()) count += CountShapes(element);
  return count;
}

// Offset behind `begin` at which `name = ` stands, up to the end of the computation; 0 when it does not.
uint32_t FindDefinition(std::string_view text, uint32_t begin, std::string_view name) {
  const size_t limit = std::min(text.find("\n}", begin), text.size());
  for (size_t at = text.find(name, begin); at != std::string_view::npos && at < limit; at = text.find(name, at + 1)) {
    size_t after = at + name.size();
    if (IsWordByte(text[at - 1]) || after >= text.size() || text[after] != ' ') continue;
    while (after < text.size() && text[after] == ' ') ++after;
    if (after < text.size() && text[after] == '=') return static_cast<uint32_t>(at);
  }
  return 0;
}

// Attributes of an op's struct that the op itself does not take.
constexpr std::pair<Opcode, std::string_view> kForeign[] = {
    {Opcode::kAllGather, "to_apply"},
    {Opcode::kAllGather, "has_dynamic_root"},
    {Opcode::kAllGather, "mode"},
    {Opcode::kAllGatherStart, "to_apply"},
    {Opcode::kAllGatherStart, "has_dynamic_root"},
    {Opcode::kAllGatherStart, "mode"},
    {Opcode::kAllReduce, "dimensions"},
    {Opcode::kAllReduce, "has_dynamic_root"},
    {Opcode::kAllReduceStart, "dimensions"},
    {Opcode::kAllReduceStart, "has_dynamic_root"},
    {Opcode::kAllToAll, "to_apply"},
    {Opcode::kAllToAll, "use_global_device_ids"},
    {Opcode::kAllToAll, "has_dynamic_root"},
    {Opcode::kAllToAll, "mode"},
    {Opcode::kAsyncDone, "output_to_operand_aliasing"},
    {Opcode::kCollectiveBroadcast, "to_apply"},
    {Opcode::kCollectiveBroadcast, "constrain_layout"},
    {Opcode::kCollectiveBroadcast, "use_global_device_ids"},
    {Opcode::kCollectiveBroadcast, "dimensions"},
    {Opcode::kCollectiveBroadcast, "mode"},
    {Opcode::kCollectiveReduce, "dimensions"},
    {Opcode::kCollectiveReduce, "mode"},
    {Opcode::kRaggedAllToAll, "to_apply"},
    {Opcode::kRaggedAllToAll, "constrain_layout"},
    {Opcode::kRaggedAllToAll, "use_global_device_ids"},
    {Opcode::kRaggedAllToAll, "has_dynamic_root"},
    {Opcode::kRaggedAllToAll, "mode"},
    {Opcode::kReduceScatter, "has_dynamic_root"},
    {Opcode::kScaledDot, "sparsity_config"},
    {Opcode::kScaledDot, "block_scaling_config"},
};

constexpr auto kHasForeign = [] {
  std::array<bool, 256> has{};
  for (const auto& [opcode, attribute] : kForeign) has[static_cast<size_t>(opcode)] = true;
  return has;
}();

}  // namespace

bool TakesAttribute(Opcode opcode, std::string_view attribute) {
  if (attribute == "result_accuracy") return TakesResultAccuracy(opcode);
  if (attribute == "parameter_replication") return opcode == Opcode::kParameter;
  if (!kHasForeign[static_cast<size_t>(opcode)]) return true;
  return std::find(std::begin(kForeign), std::end(kForeign), std::pair(opcode, attribute)) == std::end(kForeign);
}

struct Reader::Pending {
  enum class Async : uint8_t { kNone, kStart, kUpdate, kDone };

  uint32_t begin = 0;
  std::optional<Shape> shape;
  Opcode opcode = Opcode::kTuple;
  Async async = Async::kNone;  // The text says OPCODE-start or its like.
  SourceRange opcode_range;
  Operands operands;
  SourceRange operands_end;
  Attributes attributes;
  std::optional<AsyncAttrs> async_attributes;  // When `async` says so.
  std::optional<Opcode> continued;             // Of `OPCODE-update` and `OPCODE-done`.
  SourceRange thread_range, calls_range;       // Where an asynchronous op says them.
  std::optional<CommonAttrs> common;
  std::vector<Instruction*> predecessors;
  bool after_operand = false;  // Where a comma or the end is to stand.
  bool broken = false;         // Depends on something that was wrong already: built into nothing, without a word.
};

// ---- One instruction ---------------------------------------------------------------------------------------------

bool Reader::ReadInstructions() {
  bool good = true;
  while (!Stopped()) {
    if (token_.Is('}')) return good;
    if (token_.kind == TokenKind::kEnd) return FailExpected("an instruction or '}'");
    const uint32_t begin = token_.begin;
    const int64_t depth = depth_;
    const bool read = ReadInstruction();
    defining_ = {};
    if (read) continue;
    good = false;
    depth_ = depth;
    if (!fatal_) Resume(begin, token_.begin);
  }
  return false;
}

bool Reader::ReadInstruction() {
  bool is_root = false;
  if (token_.IsWord("ROOT")) {
    is_root = true;
    const SourceRange keyword = token_.range();
    if (!root_keyword_.empty()) {
      Fail("P020", "this computation has a ROOT already", keyword);
      AddNote("the first ROOT", root_keyword_);
      return false;
    }
    root_keyword_ = keyword;
    Advance();
  }
  std::string_view name;
  SourceRange range;
  if (!ReadName(name, range)) return false;
  defining_ = name;
  const Scope::Place place = scope_->Prepare(name);
  Instruction* inst = nullptr;
  const bool good =
      token_.Is('=') ? ReadRight(name, range.begin, inst) : FailExpected("'=' after the instruction's name");
  // Wrong or not, the name is known from here on.
  if (!scope_->Insert(name, place, inst) && good) {
    Fail("P022", Str("instruction '", name, "' is defined twice"), range);
    if (Instruction* first = *scope_->Find(name))
      AddNote("the first definition",
              {first->range().begin, first->range().begin + static_cast<uint32_t>(name.size())});
    return false;
  }
  if (inst != nullptr && is_root) root_ = inst;
  return good;
}

bool Reader::ReadName(std::string_view& name, SourceRange& range) {
  if (token_.kind == TokenKind::kAttribute) {
    FailExpected("the name of an instruction");
    AddHint(Str("write a blank between '", token_.text, "' and '='"));
    return false;
  }
  if (token_.kind != TokenKind::kName && (token_.kind != TokenKind::kWord || IsReserved(token_.text))) {
    return FailExpected("the name of an instruction");
  }
  name = token_.text;
  range = token_.range();
  if (!CheckName(name, range)) return false;
  Advance();
  return true;
}

bool Reader::CheckName(std::string_view name, SourceRange range) {
  const bool bad_prefix = HasForbiddenPrefix(name);
  if (!bad_prefix && !PrimitiveTypeFromText(name)) return true;
  Fail("P023", Str("illegal instruction name '", name, "'"), range);
  AddHint(Str("rename it to '", bad_prefix ? "a" : "", name, bad_prefix ? "" : "_", "'"));
  return false;
}

// Skips to where the next instruction begins, or to the brace that closes the computation.
void Reader::Resume(uint32_t name_begin, uint32_t failed_at) {
  lexer_.Seek(lexer_.Pointer(name_begin));
  Advance();
  if (token_.IsWord("ROOT")) Advance();
  const uint32_t own_name = token_.begin;
  const std::string_view text = source_->text();
  const auto begins_line = [&](uint32_t offset) {
    while (offset > 0 && (text[offset - 1] == ' ' || text[offset - 1] == '\t')) --offset;
    return offset == 0 || text[offset - 1] == '\n';
  };
  int64_t depth = 0;
  Token before_last, last;
  for (;; before_last = last, last = token_, Advance()) {
    if (token_.kind == TokenKind::kEnd) return;
    if (token_.kind == TokenKind::kError) {
      lexer_.Seek(lexer_.Pointer(token_.begin + 1));
      const size_t newline = text.find('\n', token_.begin);
      if (text[token_.begin] == '"' && newline != std::string_view::npos)
        lexer_.Seek(lexer_.Pointer(static_cast<uint32_t>(newline)));
      continue;
    }
    if (token_.Is('{') || token_.Is('(') || token_.Is('[')) ++depth;
    if (token_.Is('}') || token_.Is(')') || token_.Is(']')) --depth;
    if (token_.Is('}') && token_.begin >= failed_at && (depth < 0 || begins_line(token_.begin))) return;
    // `name =` begins an instruction: anywhere behind the error, but in brackets that may never be closed, and in the
    // text that was read wrongly, only at the beginning of a line.
    if (!token_.Is('=') || (last.kind != TokenKind::kWord && last.kind != TokenKind::kName) || last.begin <= own_name)
      continue;
    const Token start = before_last.IsWord("ROOT") ? before_last : last;
    const bool plain = depth <= 0 && start.begin >= failed_at;
    if (!plain && !begins_line(start.begin)) continue;
    lexer_.Seek(lexer_.Pointer(start.begin));
    Advance();
    return;
  }
}

// ---- The right side ----------------------------------------------------------------------------------------------

// Nested operands keep their place on a stack of ours, so that deep nesting takes no stack of the machine.
bool Reader::ReadRight(std::string_view name, uint32_t begin, Instruction*& inst) {
  Pending outer;
  std::vector<Pending> stack;  // What stands in its parentheses, the innermost last.
  outer.begin = begin;
  const char* p = token_.Is('=') ? lexer_.Pointer(token_.end) : BeginBytes();
  if (*p == ' ') ++p;
  if (ReadPlainHead(p, outer)) {
    if (!FinishPlainHead(p, outer)) return false;
  } else {
    Take('=');
    if (!ReadHead(outer)) return false;
    if (token_.kind == TokenKind::kName) ReadPlainOperands(BeginBytes(), outer);
  }
  for (;;) {
    Pending& top = stack.empty() ? outer : stack.back();
    if (top.after_operand && !token_.Is(')')) {
      if (!Expect(',', "',' or ')'")) return false;
      top.after_operand = false;
      if (token_.Is(')')) WarnOfMissingOperand();
      continue;
    }
    if (token_.Is(',')) {
      WarnOfMissingOperand();
      Advance();
      continue;
    }
    if (!token_.Is(')')) {
      top.after_operand = true;  // Once it is read: what is nested has a place of its own on the stack.
      if (!ReadOperand(top, stack)) return false;
      continue;
    }
    top.operands_end = token_.range();
    Advance();
    const bool nested = !stack.empty();
    // What is nested has no attributes.
    if (nested ? !CheckRequired(top, 0) : !ReadAttributes(top)) return false;
    Instruction* built = nullptr;
    if (!Build(top, nested ? Str(top.opcode, ".anon") : name, built)) return false;
    if (!nested) {
      inst = built;
      return true;
    }
    stack.pop_back();
    LeaveDepth();
    Pending& user = stack.empty() ? outer : stack.back();
    user.operands.push_back(built);
    user.broken |= built == nullptr;
  }
}

// `f32[2]{0} add(` by the byte, up to what stands in the parentheses. False, with nothing read, for anything else.
bool Reader::ReadPlainHead(const char*& p, Pending& pending) const {
  Shape& shape = pending.shape.emplace();
  const char* const shape_end = ReadPlainShape(p, shape);
  if (shape_end != nullptr && *shape_end == ' ' && IsLetter(shape_end[1])) {
    const char* const word = shape_end + 1;
    const char* const word_end = WordEnd(word, lexer_.end());
    const auto opcode = OpcodeFromText({word, static_cast<size_t>(word_end - word)});
    if (opcode && *word_end == '(') {
      pending.opcode = *opcode;
      pending.opcode_range = {lexer_.Offset(word), lexer_.Offset(word_end)};
      p = word_end + 1;
      return true;
    }
  }
  pending.shape.reset();
  return false;
}

// What stands in the parentheses behind such a head, as far as it is as plain.
bool Reader::FinishPlainHead(const char* p, Pending& pending) {
  pending.attributes = RowOf(pending.opcode).make_attrs();
  if (pending.opcode != Opcode::kParameter && pending.opcode != Opcode::kConstant) {
    ReadPlainOperands(p, pending);
    return true;
  }
  EndBytes(p);
  return ReadSpecialOperands(pending);
}

// XLA drops what is missing between commas.
void Reader::WarnOfMissingOperand() { Warn("W010", "no operand stands here; that is left out", token_.range()); }

// Shape, opcode and opening parenthesis, and the special operands.
bool Reader::ReadHead(Pending& pending) {
  if (!pending.shape && AtShape() && !Read(pending.shape.emplace())) return false;
  if (!ReadOpcode(pending)) return false;
  if (!Take('(')) return FailExpected(Str("'(' after '", pending.opcode, "'"));
  pending.attributes = RowOf(pending.opcode).make_attrs();
  return ReadSpecialOperands(pending);
}

namespace {

// Opcodes of old texts. Source: the history of XLA's hlo_opcode.h.
struct FormerOpcode {
  std::string_view word, now;
};
constexpr FormerOpcode kFormerOpcodes[] = {
    {"equal-to", "compare(...), direction=EQ"},
    {"not-equal-to", "compare(...), direction=NE"},
    {"less-than", "compare(...), direction=LT"},
    {"less-than-or-equal-to", "compare(...), direction=LE"},
    {"greater-than", "compare(...), direction=GT"},
    {"greater-than-or-equal-to", "compare(...), direction=GE"},
    {"cross-replica-sum", "all-reduce(...), to_apply=COMPUTATION"},
    {"generate-token", "after-all(...)"},
};

const FormerOpcode* FindFormerOpcode(std::string_view word) {
  const auto* found = std::ranges::find(kFormerOpcodes, word, &FormerOpcode::word);
  return found == std::end(kFormerOpcodes) ? nullptr : found;
}

}  // namespace

bool Reader::ReadOpcode(Pending& pending) {
  if (token_.kind != TokenKind::kWord) return FailExpected("an opcode");
  pending.opcode_range = token_.range();
  const std::string_view word = token_.text;
  if (const auto opcode = OpcodeFromText(word)) {
    pending.opcode = *opcode;
    Advance();
    return true;
  }
  using Async = Pending::Async;
  for (const auto& [suffix, async] : {std::pair<std::string_view, Async>("-start", Async::kStart),
                                      {"-update", Async::kUpdate},
                                      {"-done", Async::kDone}}) {
    if (!word.ends_with(suffix)) continue;
    const auto wrapped = OpcodeFromText(word.substr(0, word.size() - suffix.size()));
    if (!wrapped) continue;
    if (!HasAsyncSugar(*wrapped))
      return Fail("P031", Str("'", *wrapped, "' cannot be made asynchronous as '", word, "'"), token_.range());
    pending.opcode = *wrapped;
    pending.async = async;
    pending.async_attributes.emplace();
    Advance();
    return true;
  }
  if (*lexer_.Pointer(token_.end) == '[') return Fail("P050", Str("unknown element type '", word, "'"), token_.range());
  if (const FormerOpcode* former = FindFormerOpcode(word)) {
    Fail("P031", Str("unknown opcode '", word, "'"), token_.range());
    AddHint(Str("XLA called it so until 2019; now it is ", former->now));
    return false;
  }
  std::vector<std::string_view> known;
  for (const OpRow& row : AllOps()) known.push_back(row.text);
  const auto near = NearNames(word, known, 1);
  return Fail("P031",
              near.empty() ? Str("unknown opcode '", word, "'")
                           : Str("unknown opcode '", word, "'; did you mean '", near[0], "'?"),
              token_.range());
}

// What stands in the parentheses of parameter and constant.
bool Reader::ReadSpecialOperands(Pending& pending) {
  if (pending.async != Pending::Async::kNone) return true;
  if (pending.opcode == Opcode::kParameter) {
    const SourceRange range = token_.range();
    int64_t& number = pending.attributes.Get<ParameterAttrs>().number;
    if (!ReadInt(number, "a parameter number")) return false;
    if (number < 0) return Fail("V050", Str("parameter number ", number), range);
    // Every parameter takes some bytes of text, so a larger number leaves a gap for certain.
    if (number > static_cast<int64_t>(source_->text().size()))
      return Fail("V051", Str("parameter ", number, ", but there are fewer parameters"), range);
  }
  if (pending.opcode == Opcode::kConstant) {
    if (!pending.shape) return Fail("P032", "a constant needs its shape written before it", pending.opcode_range);
    Literal& literal = pending.attributes.Get<ConstantAttrs>().literal;
    if (token_.kind == TokenKind::kWord && *lexer_.Pointer(token_.end) == '[') {
      Fail("P041", "expected the elements of the constant, found a shape", token_.range());
      AddHint("XLA wrote it there too until 2018; it stands before 'constant' already");
      return false;
    }
    if (!ReadLiteral(*pending.shape, literal)) return false;
    if (!literal.IsKnown()) pending.opcode = Opcode::kElidedConstant;
  } else if (pending.opcode != Opcode::kParameter) {
    return true;
  }
  if (!token_.Is(')')) return FailExpected("')'");
  return true;
}

// ---- Operands ----------------------------------------------------------------------------------------------------

// `%a, %b)` by the byte, from `p` up to the first that is anything else: that is left to ReadOperand, behind its comma.
void Reader::ReadPlainOperands(const char* p, Pending& pending) {
  const char* resume = p;
  while (*p == '%' && IsLetter(p[1])) {
    const char* const end = WordEnd(p + 1, lexer_.end());
    const bool last = *end == ')';
    if (!last && (*end != ',' || end[1] != ' ')) break;
    Instruction** found = scope_->Find({p + 1, static_cast<size_t>(end - p - 1)});
    if (found == nullptr) break;
    pending.operands.push_back(*found);
    pending.broken |= *found == nullptr;
    resume = end;
    if (last) break;
    p = end + 2;
  }
  pending.after_operand = !pending.operands.empty();
  EndBytes(resume);
}

// A reference is added to `top`; a nested instruction begins a new entry of the stack.
bool Reader::ReadOperand(Pending& top, std::vector<Pending>& stack) {
  const uint32_t begin = token_.begin;
  std::optional<Shape> shape;
  if (token_.kind != TokenKind::kName && AtShape() && !Read(shape.emplace())) return false;
  if (token_.kind == TokenKind::kWord) {
    const char* after = lexer_.Pointer(token_.end);
    if (!SkipSpace(after)) return false;
    if (*after == '(') {
      if (!EnterDepth()) return false;
      Pending& nested = stack.emplace_back();
      nested.begin = begin;
      nested.shape = std::move(shape);
      lexer_.Seek(lexer_.Pointer(token_.end));
      return ReadHead(nested);
    }
    lexer_.Seek(lexer_.Pointer(token_.end));
  }
  Instruction* operand = nullptr;
  if (!ReadReference(shape, begin, operand)) return false;
  top.operands.push_back(operand);
  top.broken |= operand == nullptr;
  return true;
}

bool Reader::ReadReference(const std::optional<Shape>& written, uint32_t begin, Instruction*& inst) {
  if (lone_ && written && (token_.Is(',') || token_.Is(')'))) {
    return MakeParameter(Str("_", computation_->parameters().size()), written, {begin, token_.begin}, inst);
  }
  const bool is_name = token_.kind == TokenKind::kName || (token_.kind == TokenKind::kWord && !IsReserved(token_.text));
  if (!is_name) return FailExpected("an operand");
  const std::string_view name = token_.text;
  const uint32_t name_begin = token_.begin;
  Instruction** found = scope_->Find(name);
  if (found == nullptr) {
    if (!lone_) return FailUndefined(name, token_.range());
    if (!MakeParameter(name, written, token_.range(), inst)) return false;
    scope_->Insert(name, inst);
    Advance();
    return true;
  }
  inst = *found;
  const Instruction* const defined = inst;
  Advance();
  if (token_.Is('#') && !ReadProjections(inst)) return false;
  if (inst == nullptr || !written || Compatible(*written, inst->shape())) return true;
  const SourceRange mentioned = {name_begin, last_end_};
  Fail("P026", Str("operand '", Text(mentioned), "' is written ", *written, " but is ", inst->shape()),
       {begin, last_end_});
  AddNote(Str("'", name, "' is defined here"), defined->range());
  return false;
}

// name#1#0: one get-tuple-element for each distinct path, where it is first mentioned.
bool Reader::ReadProjections(Instruction*& inst) {
  while (Take('#')) {
    const SourceRange range = token_.range();
    int64_t index = 0;
    if (!ReadInt(index, "a tuple index")) return false;
    if (inst == nullptr) continue;  // Of something that was wrong already.
    const Shape& shape = inst->shape();
    if (!shape.IsTuple()) return Fail("P027", Str("'", inst->name(), "' is ", shape, ", no tuple"), range);
    if (index < 0 || index >= static_cast<int64_t>(shape.elements().size())) {
      return Fail("P027", Str("'", inst->name(), "' is a tuple of ", shape.elements().size(), " elements"), range);
    }
    Instruction*& made = projections_[Str(inst->id(), "#", index)];
    if (made == nullptr) {
      made = &computation_->AddNamed(Opcode::kGetTupleElement, Shape(shape.element(index)), {inst}, IndexAttrs{index},
                                     Str(inst->name(), "_", index));
      made->SetRange(range);
    }
    inst = made;
  }
  return true;
}

bool Reader::MakeParameter(std::string_view name, const std::optional<Shape>& shape, SourceRange range,
                           Instruction*& inst) {
  if (!shape) return Fail("V008", Str("operand '", name, "' has no shape, so it cannot become a parameter"), range);
  const auto number = static_cast<int64_t>(computation_->parameters().size());
  inst = &computation_->AddNamed(Opcode::kParameter, Shape(*shape), {}, ParameterAttrs{number}, name);
  inst->SetRange(range);
  return true;
}

bool Reader::FailUndefined(std::string_view name, SourceRange range) {
  if (Lexer(lexer_).Next().Is('=')) {  // The line is unfinished, and this is the next one.
    return Fail("P010", Str("expected an operand before the instruction '", name, "'"), {last_end_, last_end_});
  }
  if (name == defining_) return Fail("V008", Str("'", name, "' cannot be its own operand"), range);
  if (const uint32_t later = FindDefinition(source_->text(), range.end, name)) {
    Fail("V008", Str("operand '", name, "' is used before its definition"), range);
    AddNote("it is defined here; operands must stand above their users",
            {later, later + static_cast<uint32_t>(name.size())});
    return false;
  }
  std::vector<std::string_view> names;
  for (const auto& [known, inst] : scope_->entries()) names.push_back(known);
  std::sort(names.begin(), names.end());
  const auto near = NearNames(name, names, 1);
  Fail("V008", Str("operand '", name, "' does not exist in '", computation_->name(), "'"), range);
  if (!near.empty()) AddHint(Str("did you mean '", near[0], "'?"));
  return false;
}

// ---- Attributes --------------------------------------------------------------------------------------------------

// `, name=`; the next token is that of the value.
bool Reader::ReadAttributeName(Token& name) {
  const char* p = lexer_.Pointer(token_.end);
  if (*p == ' ') ++p;
  const char* const end = IsLetter(*p) ? WordEnd(p, lexer_.end()) : p;
  if (end == p || *end != '=') {
    Advance();
    if (token_.kind != TokenKind::kAttribute) return FailExpected("an attribute (name=value)");
    name = token_;
    Advance();
    return true;
  }
  name.begin = lexer_.Offset(p);
  name.end = lexer_.Offset(end + 1);
  name.text = {p, static_cast<size_t>(end - p)};
  EndBytes(end + 1);
  return true;
}

bool Reader::ReadAttributes(Pending& pending) {
  const std::span<const AttributeRow> own = kTables[pending.attributes.kind()];
  const std::span<const AttributeRow> async = pending.async == Pending::Async::kNone
                                                  ? std::span<const AttributeRow>()
                                                  : std::span<const AttributeRow>(kRowsOf<AsyncAttrs>);
  const std::span<const AttributeRow> common = kRowsOf<CommonAttrs>;
  const bool sugared = pending.async != Pending::Async::kNone;  // What is wrapped `calls` cannot name.
  uint64_t seen = 0;
  while (token_.Is(',')) {
    Token name;
    if (!ReadAttributeName(name)) return false;
    uint64_t bit = 0;
    bool good = true;
    const auto check_once = [&](uint64_t position) {
      bit = uint64_t{1} << position;
      const bool again = (seen & bit) != 0;
      seen |= bit;
      return again ? Fail("P035", Str("attribute '", name.text, "' is given twice"), name.range()) : true;
    };
    if (const AttributeRow* row = FindRow(own, name.text);
        row != nullptr && TakesAttribute(pending.opcode, name.text)) {
      if (!check_once(row - own.data())) return false;
      good = row->read(*this, pending.attributes.data());
    } else if (const AttributeRow* row = FindRow(common, name.text)) {
      if (!check_once(32 + (row - common.data()))) return false;
      const bool takes = TakesAttribute(pending.opcode, name.text);
      if (name.text == "result_accuracy" && !takes)
        return Fail("V049", Str("'", pending.opcode, "' takes no result_accuracy"), name.range());
      if (!takes) return Fail("P034", Str("'", pending.opcode, "' has no attribute '", name.text, "'"), name.range());
      if (!pending.common) pending.common.emplace();
      good = row->read(*this, &*pending.common);
    } else if (const AttributeRow* row = FindRow(async, name.text);
               row != nullptr && !(sugared && name.text == "calls")) {
      if (!check_once(48 + (row - async.data()))) return false;
      good = row->read(*this, &*pending.async_attributes);
    } else if (name.text == "control-predecessors") {
      if (!check_once(63)) return false;
      good = ReadControlPredecessors(pending.predecessors);
    } else if (pending.opcode == Opcode::kCompare && name.text == "order") {
      // The newer spelling of `type`: TOTAL or PARTIAL.
      if (!token_.IsWord("TOTAL") && !token_.IsWord("PARTIAL")) return FailExpected("TOTAL or PARTIAL");
      const Instruction* compared = pending.operands.empty() ? nullptr : pending.operands[0];
      const bool floats =
          compared != nullptr && (IsFloat(compared->shape().type()) || IsComplex(compared->shape().type()));
      ComparisonType& type = pending.attributes.Get<CompareAttrs>().type;
      if (token_.IsWord("TOTAL") && floats) type = ComparisonType::kTotalOrder;
      if (token_.IsWord("PARTIAL") && !floats) type = ComparisonType::kFloat;
      Advance();
    } else {
      std::vector<std::string_view> known;
      for (const AttributeRow& row : own) {
        if (TakesAttribute(pending.opcode, row.name)) known.push_back(row.name);
      }
      const std::string its_own = Join(known, ", ");
      for (const auto rows : {async, common}) {
        for (const AttributeRow& row : rows) {
          if (TakesAttribute(pending.opcode, row.name)) known.push_back(row.name);
        }
      }
      known.push_back("control-predecessors");
      std::erase(known, name.text);  // Of another op.
      const auto near = NearNames(name.text, known, 1);
      Fail("P034",
           Str("'", Text(pending.opcode_range), "' has no attribute '", name.text, "'",
               near.empty() ? "" : Str("; did you mean '", near[0], "'?")),
           name.range());
      if (!its_own.empty()) AddHint(Str("its own attributes are ", its_own));
      return false;
    }
    if (!good) return false;
    if (name.text == "async_execution_thread") pending.thread_range = {name.begin, last_end_};
    if (name.text == "calls") pending.calls_range = {name.begin, last_end_};
  }
  return CheckRequired(pending, seen);
}

// `seen` has a bit for each of the op's own attributes.
bool Reader::CheckRequired(const Pending& pending, uint64_t seen) {
  // Sugared ends of a chain take their attributes from its start.
  if (pending.async == Pending::Async::kUpdate || pending.async == Pending::Async::kDone) return true;
  const std::span<const AttributeRow> own = kTables[pending.attributes.kind()];
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].presence != Presence::kRequired || (seen >> i & 1) != 0) continue;
    return Fail("P036", Str("'", pending.opcode, "' needs the attribute '", own[i].name, "'"), pending.opcode_range);
  }
  return true;
}

bool Reader::ReadControlPredecessors(std::vector<Instruction*>& predecessors) {
  if (!Expect('{', "'{' and the names of instructions")) return false;
  do {
    if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kName)
      return FailExpected("the name of an instruction");
    Instruction** found = scope_->Find(token_.text);
    if (found == nullptr)
      return Fail("V267", Str("control predecessor '", token_.text, "' is not defined above"), token_.range());
    const bool again = std::find(predecessors.begin(), predecessors.end(), *found) != predecessors.end();
    if (*found != nullptr && !again) predecessors.push_back(*found);
    Advance();
  } while (Take(','));
  return Expect('}', "',' or '}'");
}

// ---- Building ----------------------------------------------------------------------------------------------------

bool Reader::CheckOperandCount(const Pending& pending) {
  const int arity = RowOf(pending.opcode).arity;
  const size_t found = pending.operands.size();
  if (arity != kVariadic && static_cast<size_t>(arity) != found) {
    return Fail("V001",
                Str("'", pending.opcode, "' takes ", arity, arity == 1 ? " operand" : " operands", ", found ", found),
                pending.operands_end);
  }
  if (pending.opcode == Opcode::kTuple && pending.shape) {
    if (!pending.shape->IsTuple())
      return Fail("V001", Str("a tuple is written ", *pending.shape), pending.opcode_range);
    const size_t elements = pending.shape->elements().size();
    if (elements != found)
      return Fail("V001", Str("a tuple of ", elements, " elements has ", found, found == 1 ? " operand" : " operands"),
                  pending.operands_end);
  }
  return true;
}

// A shape that is written takes as much text, but tuples of tuples that are not can double with every line.
bool Reader::CheckTupleSize(const Pending& pending) {
  int64_t shapes = 0;
  for (const Instruction* operand : pending.operands) shapes += CountShapes(operand->shape());
  if (!pending.shape) shapes = inferred_shapes_ += shapes;
  if (shapes <= kMaxTupleShapes) return true;
  return FailLimit("P095", Str("tuples hold more than ", kMaxTupleShapes, " shapes"), pending.opcode_range);
}

bool Reader::Build(Pending& pending, std::string_view name, Instruction*& inst) {
  if (pending.async != Pending::Async::kNone && !WrapAsync(pending)) return false;
  if (!CheckOperandCount(pending)) return false;
  if (pending.opcode == Opcode::kParameter) {
    const int64_t number = pending.attributes.Get<ParameterAttrs>().number;
    const auto parameters = computation_->parameters();
    if (number < static_cast<int64_t>(parameters.size()) && parameters[number] != nullptr) {
      Fail("V050", Str("parameter ", number, " is defined twice"), pending.opcode_range);
      AddNote("the first definition", parameters[number]->range());
      return false;
    }
  }
  const bool inferred = !pending.shape.has_value();
  if (inferred &&
      ((RowOf(pending.opcode).traits & kInferable) == 0 || RowOf(pending.opcode).shape_rule == ShapeAsWritten)) {
    return Fail("P032",
                Str("the result shape of '", pending.opcode, "' cannot be inferred, write it before the opcode"),
                pending.opcode_range);
  }
  if (const auto* collective = pending.attributes.GetIf<CollectiveAttrs>()) {
    // Their struct is the union of what they take; these of them cannot do without.
    const Opcode op = pending.opcode;
    const bool reduces = op == Opcode::kAllReduce || op == Opcode::kAllReduceStart || op == Opcode::kReduceScatter ||
                         op == Opcode::kCollectiveReduce;
    const bool along_dimension =
        op == Opcode::kAllGather || op == Opcode::kAllGatherStart || op == Opcode::kReduceScatter;
    const bool lacks_function = reduces && collective->to_apply == nullptr;
    if (lacks_function || (along_dimension && !collective->dimension)) {
      return Fail("P036", Str("'", op, "' needs the attribute '", lacks_function ? "to_apply" : "dimensions", "'"),
                  pending.opcode_range);
    }
    if (op == Opcode::kRaggedAllToAll && collective->dimension) {
      Warn("W010", "dimensions of a ragged-all-to-all are ignored", pending.opcode_range);
      pending.attributes.Get<CollectiveAttrs>().dimension.reset();
    }
  }
  if (pending.broken) return true;
  const bool continues = pending.opcode == Opcode::kAsyncUpdate || pending.opcode == Opcode::kAsyncDone;
  if (continues && !CheckContinued(pending)) return false;
  if (pending.opcode == Opcode::kTuple && !CheckTupleSize(pending)) return false;
  if (pending.opcode == Opcode::kMap && !pending.operands.empty()) {
    // What is written there is ignored, as in XLA: a map goes over all dimensions.
    std::vector<int64_t>& dimensions = pending.attributes.Get<MapAttrs>().dimensions;
    const std::vector<int64_t> written = std::exchange(dimensions, {});
    for (int64_t i = 0; i < pending.operands[0]->shape().rank(); ++i) dimensions.push_back(i);
    if (written != dimensions && !written.empty())
      Warn("W010", Str("dimensions={", Join(written, ","), "} are ignored: a map goes over all"), pending.opcode_range);
  }
  bool calls_broken = false;
  if (!broken_.empty()) {
    ForEachCalled(pending.attributes,
                  [&](Computation*& called) { calls_broken = calls_broken || broken_.contains(called); });
  }
  Instruction& made = computation_->AddNamed(pending.opcode, inferred ? Shape() : std::move(*pending.shape),
                                             std::move(pending.operands), std::move(pending.attributes), name);
  made.SetRange({pending.begin, last_end_});
  for (Instruction* before : pending.predecessors) made.AddControlPredecessor(*before);
  if (made.Is(Opcode::kConditional) && !calls_broken) {
    const ConditionalAttrs& a = made.attrs<ConditionalAttrs>();
    const bool two = a.true_computation != nullptr && a.false_computation != nullptr;
    const bool one = (a.true_computation != nullptr) != (a.false_computation != nullptr);
    if (one || two == !a.branch_computations.empty()) {
      return Fail("V147", "'conditional' needs either true_computation and false_computation, or branch_computations",
                  pending.opcode_range);
    }
  }
  if (inferred) {
    if (calls_broken) return true;
    Result<Shape> shape = InferShape(made);
    if (!shape) {
      for (Diagnostic& diagnostic : shape.error().diagnostics) {
        if (!Stopped()) diagnostics_.push_back(std::move(diagnostic));
      }
      return false;
    }
    if (!CheckSize(*shape, pending.opcode_range)) return false;
    made.SetShape(std::move(*shape));
  }
  if (pending.common) made.SetCommon(std::move(*pending.common));
  SpreadSharding(made);
  inst = &made;
  return true;
}

namespace {

// The asynchronous op that makes `state`, through tuples; null when it comes from elsewhere.
const Instruction* AsyncProducer(const Instruction& state) {
  std::vector<int64_t> index;
  const Instruction* at = &state;
  for (;;) {
    if (at->attributes().GetIf<AsyncAttrs>() != nullptr) return index.empty() ? at : nullptr;
    if (at->Is(Opcode::kGetTupleElement)) {
      index.push_back(at->tuple_index());
      at = &at->operand(0);
    } else if (at->Is(Opcode::kTuple) && !index.empty() && index.back() < at->operand_count()) {
      at = &at->operand(index.back());
      index.pop_back();
    } else {
      return nullptr;
    }
  }
}

}  // namespace

// V171: what wraps something begins a chain; its updates and its done say the same of it, or nothing.
bool Reader::CheckContinued(const Pending& pending) {
  const AsyncAttrs& said = pending.attributes.Get<AsyncAttrs>();
  const Instruction* before = pending.operands.empty() ? nullptr : AsyncProducer(*pending.operands[0]);
  while (before != nullptr && !before->Is(Opcode::kAsyncStart) && before->operand_count() > 0)
    before = AsyncProducer(before->operand(0));
  if (before == nullptr) return true;
  const AsyncAttrs& start = before->attrs<AsyncAttrs>();
  if (!pending.thread_range.empty() && said.thread != start.thread) {
    return Fail("V171", Str("it runs on \"", said.thread, "\", '", before->name(), "' on \"", start.thread, "\""),
                pending.thread_range);
  }
  if (start.calls == nullptr || !start.calls->has_root()) return true;
  if (!pending.calls_range.empty() && said.calls != start.calls) {
    return Fail("V171", Str("the chain wraps '", start.calls->name(), "', not '", said.calls->name(), "'"),
                pending.calls_range);
  }
  const Opcode wrapped = start.calls->root().opcode();
  if (!pending.continued || *pending.continued == wrapped) return true;
  return Fail("V171", Str("the chain wraps '", wrapped, "', not '", *pending.continued, "'"), pending.opcode_range);
}

// OPCODE-start wraps OPCODE into a computation; OPCODE-update and OPCODE-done continue the chain.
bool Reader::WrapAsync(Pending& pending) {
  const Pending::Async async = std::exchange(pending.async, Pending::Async::kNone);
  const Opcode wrapped = std::exchange(pending.opcode, async == Pending::Async::kStart    ? Opcode::kAsyncStart
                                                       : async == Pending::Async::kUpdate ? Opcode::kAsyncUpdate
                                                                                          : Opcode::kAsyncDone);
  if (!pending.shape) return Fail("V170", "an asynchronous op needs its shape written before it", pending.opcode_range);
  const Shape& state = *pending.shape;
  if (async != Pending::Async::kDone &&
      (!state.IsTuple() || state.elements().size() < 2 || !state.element(0).IsTuple())) {
    return Fail("V170", Str("the shape is ", state, ", expected ((operands...), result, ...)"), pending.opcode_range);
  }
  if (async != Pending::Async::kStart) {
    pending.continued = wrapped;
    pending.attributes = std::move(*pending.async_attributes);
    return true;
  }
  if (pending.broken) return true;
  Computation& computation = module_->AddComputation("async_wrapped");
  computation.execution_thread = pending.async_attributes->thread;
  Operands parameters;
  for (const Shape& shape : state.element(0).elements()) {
    const auto number = static_cast<int64_t>(parameters.size());
    parameters.push_back(
        &computation.AddNamed(Opcode::kParameter, Shape(shape), {}, ParameterAttrs{number}, "async_param"));
  }
  if (RowOf(wrapped).arity != kVariadic && static_cast<size_t>(RowOf(wrapped).arity) != parameters.size()) {
    return Fail("V001", Str("'", wrapped, "' takes ", RowOf(wrapped).arity, " operands, found ", parameters.size()),
                pending.operands_end);
  }
  Instruction& root = computation.AddNamed(wrapped, Shape(state.element(1)), std::move(parameters),
                                           std::move(pending.attributes), "async_op");
  root.SetRange({pending.begin, last_end_});
  computation.SetRoot(root);
  if (pending.common) {
    CommonAttrs copied = *pending.common;
    copied.sharding = {};
    SchedulingName& scheduled = copied.metadata.scheduling_name;
    scheduled = {.other = scheduled.Of(defining_)};
    root.mutable_common() = std::move(copied);
  }
  module_->ClaimNames(computation);
  pending.async_attributes->calls = &computation;
  pending.attributes = std::move(*pending.async_attributes);
  return true;
}

}  // namespace hlo
