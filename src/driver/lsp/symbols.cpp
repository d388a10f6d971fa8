#include "driver/lsp/symbols.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "ir/opcode.h"
#include "parser/lexer.h"

namespace hlo {
namespace {

enum class Names : uint8_t { kNothing, kComputation, kComputations };

template <class... Structs>
std::unordered_map<std::string_view, Names> AttributesThatCall(const StructList<Structs...>*) {
  std::unordered_map<std::string_view, Names> found;
  const auto add = [&]<class Struct, class T>(const Field<Struct, T>& field) {
    if (std::is_same_v<T, Computation*>) found[field.name] = Names::kComputation;
    if (std::is_same_v<T, std::vector<Computation*>>) found[field.name] = Names::kComputations;
  };
  (ForEachField<Structs>(add), ...);
  return found;
}

Names NamesOf(std::string_view attribute) {
  static const auto kFound = AttributesThatCall(static_cast<const AttributeStructs*>(nullptr));
  const auto found = kFound.find(attribute);
  return found == kFound.end() ? Names::kNothing : found->second;
}

}  // namespace

class SymbolScanner {
 public:
  SymbolScanner(std::string_view text, SourceRange piece, SymbolIndex& index)
      : text_(text), piece_(piece), index_(index), lexer_(text, piece.begin, piece.end) {
    Advance();
    Advance();
  }

  void Run();

 private:
  // Names of a computation. With errors, a name may be used before its definition.
  struct Scope {
    int owner = -1;
    std::unordered_map<std::string_view, int> defined;
    std::vector<Token> open;
    std::vector<Token> parameters;
    bool defines_operands = false;  // A lone instruction's operands are its parameters.
  };

  void Advance();
  Token Bare(const Token& token) const;
  bool IsName(const Token& token) const {
    return token.kind == TokenKind::kName || (token.kind == TokenKind::kWord && !IsReserved(token.text));
  }
  bool BeginsLine(const Token& token) const;
  // Whether `[ROOT] NAME =` begins here. Inside brackets, it must begin a line.
  bool AtInstruction(bool in_brackets) const;
  bool AtComputation(bool opcode_possible) const;

  void Header();
  void ComputationHead(Scope& computations);
  void Signature(Scope& body);
  void Body(Scope& body, Scope& computations);
  void Instruction(Scope& body, Scope& computations);
  void RightSide(int symbol, Scope& body, Scope& computations);
  void AttributeValue(Scope& body, Scope& computations);
  void Inline(int parent, Scope& computations);
  void SkipGroup();

  int Add(Symbol symbol);
  void Define(Scope& scope, int symbol);
  void Use(Scope& scope, const Token& token);
  void Mentioned(const Token& token, int symbol);
  void Close(Scope& scope);

  std::string_view text_;
  SourceRange piece_;
  SymbolIndex& index_;
  Lexer lexer_;
  Token token_, next_;
  uint32_t last_end_ = 0;
  int depth_ = 0;
  int module_ = -1;
  int open_strings_ = 0;
};

// ---- Tokens ------------------------------------------------------------------------------------------------------

void SymbolScanner::Advance() {
  last_end_ = token_.end;
  token_ = next_;
  next_ = lexer_.Next();
  if (next_.kind != TokenKind::kError) return;
  // An unterminated string ends with its line, an unterminated comment with the text. Each such string costs a search
  // to the end, so after many the rest is skipped.
  constexpr int kMostOpen = 100;
  const std::string_view rest = text_.substr(next_.begin, piece_.end - next_.begin);
  const bool is_string = rest.starts_with('"') || rest.starts_with('\'');
  const bool to_end = rest.starts_with("/*") || (is_string && ++open_strings_ > kMostOpen);
  const size_t length = to_end ? rest.size() : is_string ? std::min(rest.find('\n'), rest.size()) : 1;
  next_.end = next_.begin + static_cast<uint32_t>(length);
  lexer_.Seek(lexer_.Pointer(next_.end));
}

Token SymbolScanner::Bare(const Token& token) const {
  Token bare = token;
  bare.begin = static_cast<uint32_t>(token.text.begin() - text_.begin());
  bare.end = bare.begin + static_cast<uint32_t>(token.text.size());
  return bare;
}

bool SymbolScanner::BeginsLine(const Token& token) const {
  size_t at = token.begin;
  while (at > piece_.begin && (text_[at - 1] == ' ' || text_[at - 1] == '\t')) --at;
  return at == piece_.begin || text_[at - 1] == '\n';
}

bool SymbolScanner::AtInstruction(bool in_brackets) const {
  const bool root = token_.IsWord("ROOT");
  const bool named = IsName(token_) && next_.Is('=');
  return (root || named) && (!in_brackets || BeginsLine(token_));
}

// Whether a computation begins here, even if brackets before it are still open.
bool SymbolScanner::AtComputation(bool opcode_possible) const {
  if (token_.IsWord("ENTRY") || token_.IsWord("HloModule")) return true;
  const bool first_column = token_.begin == piece_.begin || text_[token_.begin - 1] == '\n';
  const bool opcode = opcode_possible && token_.kind == TokenKind::kWord;
  return first_column && IsName(token_) && (next_.Is('{') || (next_.Is('(') && !opcode));
}

// ---- Grammar -----------------------------------------------------------------------------------------------------

void SymbolScanner::Run() {
  Scope computations, alone;
  alone.defines_operands = true;
  while (token_.kind != TokenKind::kEnd) {
    if (token_.IsWord("HloModule")) {
      Header();
    } else if (AtInstruction(false)) {
      Instruction(alone, computations);
    } else if (token_.IsWord("ENTRY") || (IsName(token_) && (next_.Is('{') || next_.Is('(')))) {
      ComputationHead(computations);
    } else if (token_.Is('{')) {
      SkipGroup();
    } else {
      Advance();
    }
  }
  Close(alone);
  Close(computations);
  if (module_ >= 0) index_.symbols_[module_].range.end = std::max(last_end_, index_.symbols_[module_].range.end);
}

void SymbolScanner::Header() {
  const uint32_t begin = token_.begin;
  Advance();
  if (!IsName(token_)) return;
  const Token name = Bare(token_);
  if (module_ < 0)
    module_ = Add({Symbol::Kind::kModule, false, -1, name.text, name.range(), {begin, name.end}, {}, {}});
  Advance();
}

void SymbolScanner::ComputationHead(Scope& computations) {
  const uint32_t begin = token_.begin;
  const bool entry = token_.IsWord("ENTRY");
  if (entry) Advance();
  if (!IsName(token_)) return;
  const Token name = Bare(token_);
  const int symbol =
      Add({Symbol::Kind::kComputation, entry, module_, name.text, name.range(), {begin, name.end}, {}, {}});
  Define(computations, symbol);
  Advance();
  Scope body;
  body.owner = symbol;
  if (token_.Is('(')) Signature(body);
  if (token_.Is('{')) Body(body, computations);
  index_.symbols_[symbol].range.end = last_end_;
}

void SymbolScanner::Signature(Scope& body) {
  int brackets = 0;
  while (token_.kind != TokenKind::kEnd && !AtInstruction(true) && !token_.Is('}')) {
    if (AtComputation(false)) return;
    if (token_.Is('{')) {
      if (brackets <= 0 && (IsName(next_) || next_.IsWord("ROOT"))) return;
      SkipGroup();
      continue;
    }
    if (token_.Is('(')) ++brackets;
    if (token_.Is(')')) --brackets;
    if (brackets == 1 && token_.kind == TokenKind::kName) body.parameters.push_back(Bare(token_));
    Advance();
  }
}

void SymbolScanner::Body(Scope& body, Scope& computations) {
  Advance();
  while (token_.kind != TokenKind::kEnd && !token_.Is('}')) {
    if (AtInstruction(false)) {
      Instruction(body, computations);
    } else if (AtComputation(false)) {
      break;
    } else if (token_.Is('{')) {
      SkipGroup();
    } else {
      Advance();
    }
  }
  if (token_.Is('}')) Advance();
  Close(body);
}

void SymbolScanner::Instruction(Scope& body, Scope& computations) {
  const uint32_t begin = token_.begin;
  const bool root = token_.IsWord("ROOT");
  if (root) Advance();
  if (!IsName(token_) || !next_.Is('=')) return;
  const Token name = Bare(token_);
  const int symbol =
      Add({Symbol::Kind::kInstruction, root, body.owner, name.text, name.range(), {begin, name.end}, {}, {}});
  Advance();
  Advance();
  RightSide(symbol, body, computations);
  index_.symbols_[symbol].range.end = last_end_;
  // Defined last: an operand of the same name is another instruction or an error.
  Define(body, symbol);
}

void SymbolScanner::RightSide(int symbol, Scope& body, Scope& computations) {
  const uint32_t begin = token_.begin;
  bool operands = false;
  int brackets = 0;
  while (token_.kind != TokenKind::kEnd && !token_.Is('}') && !AtInstruction(brackets > 0)) {
    if (AtComputation(brackets > 0 || !operands)) return;
    if (token_.Is('{')) {
      SkipGroup();
      continue;
    }
    if (token_.kind == TokenKind::kAttribute) {
      AttributeValue(body, computations);
      continue;
    }
    const bool word = token_.kind == TokenKind::kWord;
    if (brackets == 0 && !operands && word && next_.Is('(') && token_.text != "b") {  // b(...) is a buffer.
      operands = true;
      index_.symbols_[symbol].opcode = token_.range();
      if (begin < last_end_) index_.symbols_[symbol].shape = {begin, last_end_};
    } else if (brackets > 0 && operands && IsName(token_) && !next_.Is('(')) {
      Use(body, token_);
    }
    if (token_.Is('(') || token_.Is('[')) ++brackets;
    if (token_.Is(')') || token_.Is(']')) --brackets;
    Advance();
  }
}

void SymbolScanner::AttributeValue(Scope& body, Scope& computations) {
  const std::string_view attribute = token_.text;
  const Names names = NamesOf(attribute);
  const bool predecessors = attribute == "control-predecessors";
  Advance();
  if (names == Names::kNothing && !predecessors) {
    if (token_.Is('{')) SkipGroup();
    return;
  }
  if (!token_.Is('{')) {
    if (IsName(token_) && !next_.Is('=') && !next_.Is('(')) {
      Use(predecessors ? body : computations, token_);
      Advance();
    }
    return;
  }
  if (names == Names::kComputation) return Inline(body.owner, computations);
  for (Advance(); token_.kind != TokenKind::kEnd && !token_.Is('}') && !AtInstruction(true) && !AtComputation(true);) {
    if (token_.Is('{')) {
      Inline(body.owner, computations);
      continue;
    }
    if (IsName(token_)) Use(predecessors ? body : computations, token_);
    Advance();
  }
  if (token_.Is('}')) Advance();
}

void SymbolScanner::Inline(int parent, Scope& computations) {
  constexpr int kDeepest = 256;
  if (depth_ >= kDeepest) return SkipGroup();
  ++depth_;
  Scope body;
  body.owner = Add({Symbol::Kind::kComputation, false, parent, {}, {}, token_.range(), {}, {}});
  Body(body, computations);
  index_.symbols_[body.owner].range.end = last_end_;
  --depth_;
}

// If '}' is missing, stops at the next instruction or computation.
void SymbolScanner::SkipGroup() {
  int braces = 0;
  for (; token_.kind != TokenKind::kEnd; Advance()) {
    if (braces > 0 && (AtInstruction(true) || AtComputation(true))) return;
    if (token_.Is('{')) ++braces;
    if (token_.Is('}') && --braces == 0) return Advance();
  }
}

// ---- Names -------------------------------------------------------------------------------------------------------

int SymbolScanner::Add(Symbol symbol) {
  index_.symbols_.push_back(symbol);
  return static_cast<int>(index_.symbols_.size()) - 1;
}

void SymbolScanner::Define(Scope& scope, int symbol) {
  const Symbol& defined = index_.symbols_[symbol];
  scope.defined[defined.name] = symbol;
  index_.mentions_.push_back({defined.name_range, symbol, true});
}

void SymbolScanner::Use(Scope& scope, const Token& token) {
  const Token bare = Bare(token);
  const auto found = scope.defined.find(bare.text);
  if (found != scope.defined.end()) return Mentioned(bare, found->second);
  if (!scope.defines_operands) return scope.open.push_back(bare);
  Define(scope, Add({Symbol::Kind::kInstruction, false, -1, bare.text, bare.range(), bare.range(), {}, {}}));
}

void SymbolScanner::Mentioned(const Token& token, int symbol) {
  index_.mentions_.push_back({token.range(), symbol, false});
}

void SymbolScanner::Close(Scope& scope) {
  for (const Token& token : scope.open) {
    if (const auto found = scope.defined.find(token.text); found != scope.defined.end())
      Mentioned(token, found->second);
    else if (scope.owner >= 0) index_.open_names_.push_back({token.text, Symbol::Kind::kInstruction, scope.owner});
    else index_.open_names_.push_back({token.text, Symbol::Kind::kComputation, module_});
  }
  for (const Token& token : scope.parameters) {
    const auto found = scope.defined.find(token.text);
    if (found == scope.defined.end()) continue;
    const SourceRange opcode = index_.symbols_[found->second].opcode;
    if (text_.substr(opcode.begin, opcode.end - opcode.begin) == ToString(Opcode::kParameter))
      Mentioned(token, found->second);
  }
}

// ---- SymbolIndex -------------------------------------------------------------------------------------------------

SymbolIndex::SymbolIndex(std::string_view text, std::span<const SourceRange> pieces) {
  for (const SourceRange piece : pieces) SymbolScanner(text, piece, *this).Run();
  std::sort(mentions_.begin(), mentions_.end(),
            [](const Mention& a, const Mention& b) { return a.range.begin < b.range.begin; });
}

const Mention* SymbolIndex::MentionAt(uint32_t offset) const {
  const auto behind = std::upper_bound(mentions_.begin(), mentions_.end(), offset,
                                       [](uint32_t at, const Mention& m) { return at < m.range.begin; });
  if (behind == mentions_.begin()) return nullptr;
  const Mention& found = *(behind - 1);
  return offset <= found.range.end ? &found : nullptr;
}

int SymbolIndex::SymbolAt(uint32_t offset, Symbol::Kind kind) const {
  int innermost = -1;
  for (size_t i = 0; i < symbols_.size() && symbols_[i].range.begin <= offset; ++i) {
    if (symbols_[i].kind == kind && offset <= symbols_[i].range.end) innermost = static_cast<int>(i);
  }
  return innermost;
}

int SymbolIndex::Sibling(int symbol, std::string_view name) const {
  const Symbol& self = symbols_[symbol];
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const Symbol& other = symbols_[i];
    if (other.kind == self.kind && other.parent == self.parent && other.name == name && !other.name.empty())
      return static_cast<int>(i);
  }
  return -1;
}

bool SymbolIndex::IsUndefined(int symbol, std::string_view name) const {
  const Symbol& self = symbols_[symbol];
  return std::any_of(open_names_.begin(), open_names_.end(), [&](const OpenName& open) {
    return open.kind == self.kind && open.parent == self.parent && open.name == name;
  });
}

bool NamesComputations(std::string_view attribute) { return NamesOf(attribute) != Names::kNothing; }

}  // namespace hlo
