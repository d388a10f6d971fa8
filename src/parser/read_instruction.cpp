// Reads instructions according to the op table. Grammar: docs/language.md#instructions.
#include <algorithm>

#include "base/text.h"
#include "ir/text/async_sugar.h"
#include "parser/pending.h"

namespace hlo {
namespace {

// Offset of `name = ` after `begin` in the same computation, or 0.
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

}  // namespace

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
  // An instruction with an error defines its name, so that its users report no error.
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
  Fail("P023", Str("'", name, "' cannot be the name of an instruction"), range);
  AddHint(Str("rename it to '", bad_prefix ? "a" : "", name, bad_prefix ? "" : "_", "'"));
  return false;
}

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
    // `name =` begins an instruction. Within brackets, which may lack their end, and in the text that failed, it must
    // also begin a line.
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

// ---- The right-hand side -----------------------------------------------------------------------------------------

bool Reader::ReadRight(std::string_view name, uint32_t begin, Instruction*& inst) {
  Pending outer;
  std::vector<Pending> stack;
  outer.begin = begin;
  const char* p = token_.Is('=') ? lexer_.Pointer(token_.end) : BeginBytes();
  if (*p == ' ') ++p;
  if (ReadPlainHead(p, outer)) {
    if (!FinishPlainHead(p, outer)) return false;
  } else {
    Accept('=');
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
      top.after_operand = true;  // Set first, because ReadOperand may reallocate the stack.
      if (!ReadOperand(top, stack)) return false;
      continue;
    }
    top.operands_end = token_.range();
    Advance();
    const bool nested = !stack.empty();
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

// Reads `f32[2]{0} add(`. Otherwise reads nothing.
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

bool Reader::FinishPlainHead(const char* p, Pending& pending) {
  pending.attributes = RowOf(pending.opcode).make_attrs();
  if (pending.opcode != Opcode::kParameter && pending.opcode != Opcode::kConstant) {
    ReadPlainOperands(p, pending);
    return true;
  }
  EndBytes(p);
  return ReadSpecialOperands(pending);
}

void Reader::WarnOfMissingOperand() {
  Warn("W010", "there is no operand here, so the comma is ignored", token_.range());
}

bool Reader::ReadHead(Pending& pending) {
  if (!pending.shape && AtShape() && !Read(pending.shape.emplace())) return false;
  if (!ReadOpcode(pending)) return false;
  if (!Accept('(')) return FailExpected(Str("'(' after '", pending.opcode, "'"));
  pending.attributes = RowOf(pending.opcode).make_attrs();
  return ReadSpecialOperands(pending);
}

namespace {

struct OtherName {
  std::string_view word, now;
};

// Source: the history of XLA's hlo_opcode.h.
constexpr OtherName kFormerOpcodes[] = {
    {"equal-to", "compare(...), direction=EQ"},
    {"not-equal-to", "compare(...), direction=NE"},
    {"less-than", "compare(...), direction=LT"},
    {"less-than-or-equal-to", "compare(...), direction=LE"},
    {"greater-than", "compare(...), direction=GT"},
    {"greater-than-or-equal-to", "compare(...), direction=GE"},
    {"cross-replica-sum", "all-reduce(...), to_apply=COMPUTATION"},
    {"generate-token", "after-all(...)"},
};

// Names of other programs that look too different to be typing errors.
constexpr OtherName kForeignNames[] = {
    {"exp", "exponential"},    {"expm1", "exponential-minus-one"},
    {"log1p", "log-plus-one"}, {"neg", "negate"},
    {"mul", "multiply"},       {"div", "divide"},
    {"pow", "power"},          {"dot_general", "dot"},
    {"matmul", "dot"},         {"concat", "concatenate"},
};

const OtherName* FindFormerOpcode(std::string_view word) {
  const auto* found = std::ranges::find(kFormerOpcodes, word, &OtherName::word);
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
  if (const OtherName* former = FindFormerOpcode(word)) {
    Fail("P031", Str("unknown opcode '", word, "'"), token_.range());
    AddHint(Str("this was the name of the opcode in XLA until 2019; it is now written ", former->now));
    return false;
  }
  std::vector<std::string_view> known;
  for (const OpRow& row : AllOps()) known.push_back(row.text);
  auto near = NearNames(word, known, 1);
  if (const auto* foreign = std::ranges::find(kForeignNames, word, &OtherName::word);
      foreign != std::end(kForeignNames))
    near = {std::string(foreign->now)};
  return Fail("P031",
              near.empty() ? Str("unknown opcode '", word, "'")
                           : Str("unknown opcode '", word, "'; did you mean '", near[0], "'?"),
              token_.range());
}

bool Reader::ReadSpecialOperands(Pending& pending) {
  if (pending.async != Pending::Async::kNone) return true;
  if (pending.opcode == Opcode::kParameter) {
    const SourceRange range = token_.range();
    int64_t& number = pending.attributes.Get<ParameterAttrs>().number;
    if (!ReadInt(number, "a parameter number")) return false;
    if (number < 0) return Fail("V050", Str("the parameter number is ", number, ", expected 0 or more"), range);
    // Every parameter takes some bytes, so a larger number leaves a gap.
    if (number > static_cast<int64_t>(source_->text().size()))
      return Fail("V051", Str("the parameter number is ", number, ", but there are fewer parameters"), range);
  }
  if (pending.opcode == Opcode::kConstant) {
    if (!pending.shape) return Fail("P032", "a constant needs its shape written before it", pending.opcode_range);
    Literal& literal = pending.attributes.Get<ConstantAttrs>().literal;
    if (token_.kind == TokenKind::kWord && *lexer_.Pointer(token_.end) == '[') {
      Fail("P041", "expected the elements of the constant, found a shape", token_.range());
      AddHint("the shape is already written before 'constant'; XLA repeated it here until 2018");
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

// Reads operands such as `%a, %b`, from `p` up to `)` or to an operand of another form.
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
  Fail("P026", Str("operand '", Text(mentioned), "' is written ", *written, ", but is ", inst->shape()),
       {begin, last_end_});
  AddNote(Str("'", name, "' is defined here"), defined->range());
  return false;
}

// Reads name#1#0. Each path has one get-tuple-element, made where it occurs first.
bool Reader::ReadProjections(Instruction*& inst) {
  while (Accept('#')) {
    const SourceRange range = token_.range();
    int64_t index = 0;
    if (!ReadInt(index, "a tuple index")) return false;
    if (inst == nullptr) continue;
    const Shape& shape = inst->shape();
    if (!shape.IsTuple()) return Fail("P027", Str("'", inst->name(), "' is ", shape, ", expected a tuple"), range);
    if (index < 0 || index >= static_cast<int64_t>(shape.elements().size())) {
      return Fail("P027",
                  Str("index ", index, " is out of range: '", inst->name(), "' is a tuple of ", shape.elements().size(),
                      " elements"),
                  range);
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
  if (!shape)
    return Fail("V008", Str("operand '", name, "' is not defined, and without a shape it cannot become a parameter"),
                range);
  const auto number = static_cast<int64_t>(computation_->parameters().size());
  inst = &computation_->AddNamed(Opcode::kParameter, Shape(*shape), {}, ParameterAttrs{number}, name);
  inst->SetRange(range);
  return true;
}

bool Reader::FailUndefined(std::string_view name, SourceRange range) {
  if (Lexer(lexer_).Next().Is('=')) {
    return Fail("P010", Str("expected an operand before the instruction '", name, "'"), {last_end_, last_end_});
  }
  if (name == defining_) return Fail("V008", Str("'", name, "' cannot be its own operand"), range);
  if (const uint32_t later = FindDefinition(source_->text(), range.end, name)) {
    Fail("V008", Str("operand '", name, "' is used before its definition"), range);
    AddNote("it is defined here; an operand must be defined before its users",
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

}  // namespace hlo
