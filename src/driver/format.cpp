#include "driver/format.h"

#include <algorithm>

#include "base/text.h"
#include "ir/text/printer.h"
#include "parser/lexer.h"
#include "parser/parser.h"

namespace hlo {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

size_t EndOfPiece(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  size_t length = 1;
  if (rest.starts_with("//")) {
    length = rest.find('\n');
  } else if (rest.starts_with("/*")) {
    length = rest.find("*/", 2);
    if (length != std::string_view::npos) length += 2;
  } else if (rest[0] == '"' || rest[0] == '\'') {
    size_t close = 1;
    while (close < rest.size() && rest[close] != rest[0]) close += rest[close] == '\\' ? 2 : 1;
    length = close + 1;
  }
  return length > rest.size() ? text.size() : at + length;
}

bool IsComment(std::string_view piece) { return piece.starts_with("//") || piece.starts_with("/*"); }

// The first piece in [begin, end) that is neither blank nor comment and for which f holds, or `end`.
template <class F>
size_t FindCode(std::string_view text, size_t begin, size_t end, F&& f) {
  for (size_t at = begin; at < end; at = EndOfPiece(text, at)) {
    const std::string_view piece = text.substr(at, EndOfPiece(text, at) - at);
    if (!IsBlank(piece[0]) && !IsComment(piece) && f(piece)) return at;
  }
  return end;
}

// Keeps blanks only between words, after commas in parentheses, around `->`, around the '=' after the name, and in
// braces and brackets of attributes, because some values are kept as text.
std::string OneLine(std::string_view text, bool is_nameless = false) {
  std::string out, nesting;
  bool blank = false, operands = false;  // `operands`: a parenthesis was seen.
  bool named = is_nameless || text.starts_with('}') || text.starts_with("HloModule");
  for (size_t at = 0; at < text.size();) {
    const size_t end = EndOfPiece(text, at);
    const std::string_view piece = text.substr(at, end - at);
    at = end;
    const char c = piece[0];
    const bool verbatim = !nesting.empty() && (nesting[0] == '{' || (nesting[0] == '[' && operands));
    if (IsBlank(c) && !verbatim) {
      blank = true;
      continue;
    }
    const char inside = nesting.empty() ? '\0' : nesting.back();
    const char before = out.empty() ? '\0' : out.back();
    const bool names = c == '=' && nesting.empty() && !named && !operands;
    if (verbatim || inside == '{') {
      // Verbatim text keeps blanks. In other braces, a run of them becomes one.
    } else if (before == ':' && inside == '(' && !named) {
      blank = true;
    } else if (names || out.ends_with(" =") || before == ',' || out.ends_with(") ->") || (c == '-' && before == ')')) {
      blank = inside != '[';
    } else if (c == ',' || c == ')' || c == ']' || c == '=' || before == '=' || before == '(' || inside == '[') {
      blank = false;
    } else if (c == '(') {
      blank = nesting.empty() && !named;  // Signatures have a blank before the parenthesis.
    } else if (nesting.empty() && !operands && c >= 'a' && c <= 'z' && (before == ']' || before == '}')) {
      blank = true;
    }
    if (blank && !out.empty()) out += ' ';
    blank = false;
    out += piece;
    named |= names;
    operands |= c == '(';
    const bool braces_only = !nesting.empty() && nesting[0] == '{';
    if (c == '{' || (!braces_only && (c == '(' || c == '['))) nesting += c;
    if ((c == '}' || (!braces_only && (c == ')' || c == ']'))) && !nesting.empty()) nesting.pop_back();
  }
  return out;
}

bool HasLineComment(std::string_view text) {
  for (size_t at = 0; at < text.size(); at = EndOfPiece(text, at)) {
    if (text.substr(at).starts_with("//")) return true;
  }
  return false;
}

int OpenBraces(std::string_view text) {
  int open = 0;
  for (size_t at = 0; at < text.size(); at = EndOfPiece(text, at)) open += (text[at] == '{') - (text[at] == '}');
  return open;
}

class Formatter {
 public:
  explicit Formatter(const Module& module) : text_(module.source->text()) {
    for (const Computation* computation : module.Computations()) {
      // Computations that the parser made for asynchronous instructions have no text, nor has the entry of a lone
      // instruction.
      if (computation->range.empty() && !computation->IsEntry()) continue;
      for (const Instruction* inst : computation->Instructions()) instructions_.push_back({inst->range(), computation});
    }
    // The text of nested instructions is a part of the outer instruction's text.
    std::stable_sort(instructions_.begin(), instructions_.end(), [](const Placed& a, const Placed& b) {
      return a.range.begin != b.range.begin ? a.range.begin < b.range.begin : a.range.end > b.range.end;
    });
    std::erase_if(instructions_, [end = uint32_t{0}](const Placed& placed) mutable {
      if (placed.range.begin < end) return true;
      end = placed.range.end;
      return false;
    });
  }

  std::string Run() {
    size_t at = 0;
    const Computation* open = nullptr;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      const Placed& placed = instructions_[i];
      if (placed.computation != open) {
        if (open != nullptr) at = Close(at);
        open = placed.computation;
        at = Open(at, placed);
      }
      InstructionAt(at, placed);
      at = placed.range.end;
    }
    if (indent_ > 0) at = Close(at);
    Between(at, text_.size());
    return Text();
  }

 private:
  struct Placed {
    SourceRange range;
    const Computation* computation;
  };
  struct Line {
    std::string text, comment;
  };

  size_t Open(size_t at, const Placed& first) {
    const size_t begin = first.range.begin;
    size_t brace = begin;
    for (size_t found = at; (found = FindCode(text_, found, begin, [](auto p) { return p == "{"; })) < begin; ++found)
      brace = found;
    if (brace == begin || first.computation->range.empty()) return at;
    size_t head = first.computation->range.begin;
    const std::string_view above = text_.substr(at, head - at);
    const std::string_view before = above.substr(0, above.find_last_not_of(" \t\r\n") + 1);
    constexpr std::string_view kEntry = "ENTRY";
    const bool entry = before.ends_with(kEntry) &&
                       (before.size() == kEntry.size() || !IsWordByte(before[before.size() - kEntry.size() - 1]));
    if (entry) head = at + before.size() - kEntry.size();
    const bool comment_above = Between(at, head);
    if (!lines_.empty() && !comment_above) BlankLine();
    const std::string_view code = text_.substr(head, brace - head);
    Code(HasLineComment(code) ? text_.substr(head, brace + 1 - head) : code);
    if (!HasLineComment(code)) lines_.back().text += " {";
    indent_ = 2;
    return brace + 1;
  }

  // Returns the position after the computation's brace and attribute.
  size_t Close(size_t at) {
    const size_t brace = FindCode(text_, at, text_.size(), [](auto) { return true; });
    Comments(text_.substr(at, brace - at));
    while (!lines_.empty() && lines_.back().text.empty()) lines_.pop_back();
    indent_ = 0;
    size_t end = std::min(brace + 1, text_.size());
    const size_t next = FindCode(text_, end, text_.size(), [](auto) { return true; });
    if (next < text_.size() && text_[next] == ',') {
      const size_t value = FindCode(text_, next, text_.size(), [](auto p) { return p[0] == '"'; });
      end = EndOfPiece(text_, value);
    }
    Code(text_.substr(brace, end - brace));
    return end;
  }

  void InstructionAt(size_t at, const Placed& placed) {
    const size_t root = FindCode(text_, at, placed.range.begin, [](auto) { return true; });
    std::string above(text_.substr(at, root - at));
    const bool is_root = root < placed.range.begin;
    if (is_root) above += text_.substr(root + 4, placed.range.begin - root - 4);
    Comments(above);
    const std::string_view code = text_.substr(placed.range.begin, placed.range.end - placed.range.begin);
    const size_t operands = std::min(code.find('('), code.size());
    const bool is_nameless = FindCode(code, 0, operands, [](auto p) { return p == "="; }) == operands;
    Code(code, is_root ? "ROOT " : "", is_nameless);
  }

  // Returns whether the text ends in a comment directly above code.
  bool Between(size_t begin, size_t end) {
    const std::string_view text = text_.substr(begin, end - begin);
    if (Trim(text).empty()) return false;
    size_t first = 0;
    if (!lines_.empty() && begin > 0) {
      first = std::min(text.find('\n'), text.size());
      lines_.back().comment = Trim(text.substr(0, first));
    }
    std::vector<std::string_view> lines = Split(text.substr(first), '\n');
    while (!lines.empty() && Trim(lines.front()).empty()) lines.erase(lines.begin());
    const bool parted = lines.size() > 1 && Trim(lines.back()).empty() && Trim(lines[lines.size() - 2]).empty();
    while (!lines.empty() && Trim(lines.back()).empty()) lines.pop_back();
    if (lines.empty()) return false;
    if (!lines_.empty()) BlankLine();
    int depth = 0;  // Open braces in a header's value, which stays as it is.
    for (const std::string_view line : lines) {
      const bool verbatim = depth > 0;
      depth += OpenBraces(line);
      if (verbatim) {
        lines_.push_back({std::string(line), ""});
      } else if (Trim(line).empty()) {
        BlankLine();
      } else {
        const bool header = Trim(line).starts_with("HloModule") && !HasLineComment(line);
        lines_.push_back({header ? OneLine(Trim(line)) : std::string(Trim(line)), ""});
      }
    }
    return IsComment(lines_.back().text) && !parted;
  }

  void Comments(std::string_view text) {
    int newlines = 0;
    bool behind = !lines_.empty();
    for (size_t at = 0; at < text.size();) {
      const size_t end = EndOfPiece(text, at);
      const std::string_view piece = text.substr(at, end - at);
      at = end;
      if (piece[0] == '\n') ++newlines;
      if (!IsComment(piece)) continue;
      if (newlines == 0 && behind) {
        std::string& comment = lines_.back().comment;
        comment += Str(comment.empty() ? "" : " ", Trim(piece));
        continue;
      }
      if (newlines > 1 && !BeginsBody()) BlankLine();
      for (const std::string_view line : Split(piece, '\n'))
        lines_.push_back({std::string(indent_, ' ') + std::string(Trim(line)), ""});
      newlines = 0;
      behind = false;
    }
    if (newlines > 1 && !BeginsBody()) BlankLine();
  }

  void Code(std::string_view code, std::string_view keyword = "", bool is_nameless = false) {
    const std::string text = HasLineComment(code) ? std::string(code) : OneLine(code, is_nameless);
    lines_.push_back({Str(std::string(indent_, ' '), keyword, text), ""});
  }

  static size_t Width(const Line& line) { return line.text.size() - (line.text.rfind('\n') + 1); }
  bool BeginsBody() const { return lines_.empty() || (indent_ > 0 && lines_.back().text.ends_with('{')); }
  void BlankLine() {
    if (!lines_.empty() && !lines_.back().text.empty()) lines_.push_back({});
  }

  std::string Text() const {
    constexpr size_t kFarthest = 100;
    std::string out;
    for (size_t i = 0; i < lines_.size();) {
      size_t end = i, column = 0;
      for (; end < lines_.size() && !lines_[end].comment.empty(); ++end) column = std::max(column, Width(lines_[end]));
      if (end == i) out += lines_[i++].text + "\n";
      for (; i < end; ++i) {
        const size_t gap = column <= kFarthest ? column - Width(lines_[i]) : 0;
        out += Str(lines_[i].text, std::string(gap + 2, ' '), lines_[i].comment, "\n");
      }
    }
    return out;
  }

  std::string_view text_;
  std::vector<Placed> instructions_;
  std::vector<Line> lines_;
  size_t indent_ = 0;
};

}  // namespace

Result<std::string> FormatText(const Module& module) {
  std::string text = Formatter(module).Run();
  const auto again = Parse(std::make_shared<const SourceText>(module.source->name(), text), {.max_depth = INT32_MAX});
  if (!again) FAIL(InternalError(Str("the formatted text does not parse: ", again.error().message())));
  if (Print(**again) != Print(module)) FAIL(InternalError("the formatted text is another module"));
  return text;
}

}  // namespace hlo
