#include "ir/source_parts.h"

#include "base/source_text.h"
#include "base/text.h"
#include "ir/module.h"

namespace hlo {
namespace {

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

// Reads `[ROOT] name = [shape] opcode(operands), attribute=value, ...`. The text was parsed, so brackets and quotes are
// balanced.
class Scanner {
 public:
  Scanner(std::string_view text, uint32_t offset) : text_(text), offset_(offset) {}

  void SkipSpace() {
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with("/*")) {
        at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
      } else if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (static_cast<unsigned char>(text_[at_]) <= ' ') {
        ++at_;
      } else {
        return;
      }
    }
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Skip() { at_ += at_ < text_.size(); }

  SourceRange Word() {
    const size_t begin = at_;
    if (Peek() == '%') ++at_;
    while (at_ < text_.size() && IsWordByte(text_[at_])) ++at_;
    return Range(begin);
  }

  // The name of a lone instruction is empty.
  SourceRange Name() {
    SourceRange name = Word();
    if (TextOf(name) == "ROOT") {
      SkipSpace();
      name = Word();
    }
    SkipSpace();
    if (Peek() == '=') {
      Skip();
      SkipSpace();
      return name;
    }
    at_ = 0;
    return {};
  }

  SourceRange Until(std::string_view stops) {
    const size_t begin = at_;
    size_t end = at_;
    for (int depth = 0; at_ < text_.size(); end = at_) {
      SkipSpace();
      const char c = Peek();
      if (depth == 0 && stops.find(c) != std::string_view::npos) break;
      if (c == '"' || c == '\'') {
        SkipString(c);
        continue;
      }
      if (c == '(' || c == '{' || c == '[') ++depth;
      if (c == ')' || c == '}' || c == ']') --depth;
      Skip();
    }
    return {offset_ + static_cast<uint32_t>(begin), offset_ + static_cast<uint32_t>(end)};
  }

  void Group(char open) {
    if (Peek() != open) return;
    Skip();
    Until(open == '(' ? ")" : open == '{' ? "}" : "]");
    Skip();
  }

  std::string_view TextOf(SourceRange range) const {
    if (range.empty()) return {};
    return text_.substr(range.begin - offset_, range.end - range.begin);
  }
  SourceRange Range(size_t begin) const {
    return {offset_ + static_cast<uint32_t>(begin), offset_ + static_cast<uint32_t>(at_)};
  }
  size_t at() const { return at_; }

 private:
  void SkipString(char quote) {
    for (Skip(); at_ < text_.size() && text_[at_] != quote; Skip()) {
      if (text_[at_] == '\\') Skip();
    }
    Skip();
  }

  std::string_view text_;
  uint32_t offset_;
  size_t at_ = 0;
};

struct Parts {
  SourceRange name, result, opcode, end;
  std::vector<SourceRange> operands;
  std::vector<std::pair<std::string_view, SourceRange>> attributes;
  bool found = false;
};

Parts SourcePartsOf(const Instruction& inst) {
  Parts parts;
  const auto& source = inst.module().source;
  const SourceRange range = inst.range();
  if (source == nullptr || range.empty() || range.end > source->text().size()) return parts;
  Scanner scan(source->text().substr(range.begin, range.end - range.begin), range.begin);
  parts.name = scan.Name();
  const size_t begin = scan.at();
  if (scan.Peek() == '(') {
    scan.Group('(');
  } else {
    scan.Word();
    if (scan.Peek() == '(' && scan.TextOf(scan.Range(begin)) == "b") scan.Group('(');
    scan.Group('[');
    scan.Group('{');
  }
  parts.result = scan.Range(begin);
  scan.SkipSpace();
  if (scan.Peek() == '(') {
    parts.opcode = parts.result;
  } else {
    parts.opcode = scan.Word();
    scan.SkipSpace();
  }
  if (scan.TextOf(parts.opcode) != ToString(inst.opcode())) return parts;
  parts.found = true;
  scan.Skip();
  for (scan.SkipSpace(); scan.Peek() != ')' && scan.Peek() != '\0'; scan.SkipSpace()) {
    parts.operands.push_back(scan.Until(",)"));
    if (scan.Peek() == ',') scan.Skip();
  }
  const size_t closing = scan.at();
  scan.Skip();
  parts.end = scan.Range(closing);
  for (scan.SkipSpace(); scan.Peek() == ','; scan.SkipSpace()) {
    scan.Skip();
    scan.SkipSpace();
    const SourceRange name = scan.Word();
    const SourceRange rest = scan.Until(",");
    parts.attributes.emplace_back(scan.TextOf(name), SourceRange{name.begin, rest.end});
  }
  return parts;
}

std::string_view WrittenName(const Instruction& inst) {
  if (inst.range().empty() || inst.module().source == nullptr) return {};
  const SourceRange range = inst.range();
  Scanner scan(inst.module().source->text().substr(range.begin, range.end - range.begin), range.begin);
  std::string_view name = scan.TextOf(scan.Name());
  if (name.starts_with('%')) name.remove_prefix(1);
  return name;
}

// The message is shown beside the line of `inst`. If a pass made `inst`, that is another instruction's line, so the
// message names both. A renamed instruction is called by its name in the text.
std::string WithWrittenName(const Instruction& inst, std::string message) {
  const std::string_view written = WrittenName(inst), pass = inst.module().MakerOf(inst);
  if (written.empty() || written == inst.name()) return message;
  const std::string name = Str("'", inst.name(), "'");
  const size_t at = message.find(name);
  if (at == std::string::npos) return message;
  return pass.empty() ? message.replace(at, name.size(), Str("'", written, "'"))
                      : message.insert(at + name.size(), Str(" (made by ", pass, " from '", written, "')"));
}

Error MakeError(const Instruction& inst, SourceRange range, std::string code, std::string message,
                ExitCode exit = ExitCode::kRejected) {
  Error error(exit, std::move(code), WithWrittenName(inst, std::move(message)), range);
  error.source = inst.module().source;
  const std::string_view written = WrittenName(inst);
  const bool is_written = !written.empty() && inst.module().MakerOf(inst).empty();
  error.diagnostics.front().instruction = is_written ? written : inst.name();
  return error;
}

}  // namespace

SourceRange NameRange(const Instruction& inst) {
  const Parts parts = SourcePartsOf(inst);
  return parts.found && !parts.name.empty() ? parts.name : inst.range();
}

SourceRange ResultRange(const Instruction& inst) {
  const Parts parts = SourcePartsOf(inst);
  return parts.found ? parts.result : inst.range();
}

SourceRange OpcodeRange(const Instruction& inst) {
  const Parts parts = SourcePartsOf(inst);
  return parts.found ? parts.opcode : inst.range();
}

SourceRange OperandRange(const Instruction& inst, int64_t operand) {
  const Parts parts = SourcePartsOf(inst);
  if (!parts.found) return inst.range();
  return operand < static_cast<int64_t>(parts.operands.size()) ? parts.operands[operand] : parts.end;
}

SourceRange OperandListEnd(const Instruction& inst) {
  const Parts parts = SourcePartsOf(inst);
  return parts.found ? parts.end : inst.range();
}

SourceRange AttributeRange(const Instruction& inst, std::string_view name) {
  const Parts parts = SourcePartsOf(inst);
  if (!parts.found) return inst.range();
  for (const auto& [written, range] : parts.attributes) {
    if (written == name) return range;
  }
  return parts.opcode;
}

Error ErrorAt(const Instruction& inst, std::string code, std::string message, ExitCode exit) {
  return MakeError(inst, inst.range(), std::move(code), std::move(message), exit);
}

Error UnsupportedAt(const Instruction& inst, std::string code, std::string message) {
  return MakeError(inst, inst.range(), std::move(code), std::move(message), ExitCode::kUnsupported);
}

Error ErrorAtResult(const Instruction& inst, std::string code, std::string message) {
  return MakeError(inst, ResultRange(inst), std::move(code), std::move(message));
}

Error ErrorAtOpcode(const Instruction& inst, std::string code, std::string message) {
  return MakeError(inst, OpcodeRange(inst), std::move(code), std::move(message));
}

Error ErrorAtOperand(const Instruction& inst, int64_t operand, std::string code, std::string message) {
  Error error = MakeError(inst, OperandRange(inst, operand), std::move(code), std::move(message));
  if (operand >= inst.operand_count()) return error;
  const Instruction& definition = inst.operand(operand);
  if (definition.range().empty()) return error;
  return std::move(error).AddNote(
      WithWrittenName(definition, Str("'", definition.name(), "' is ", definition.shape(), " here")),
      NameRange(definition));
}

Error ErrorAtOperandListEnd(const Instruction& inst, std::string code, std::string message) {
  return MakeError(inst, OperandListEnd(inst), std::move(code), std::move(message));
}

Error ErrorAtAttribute(const Instruction& inst, std::string_view name, std::string code, std::string message) {
  return MakeError(inst, AttributeRange(inst, name), std::move(code), std::move(message));
}

}  // namespace hlo
