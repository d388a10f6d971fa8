#include "driver/manual/markdown.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace hlo {
namespace {

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

class SpanReader {
 public:
  // `text` is at byte `begin` of the source.
  SpanReader(std::string_view text, uint32_t begin) : text_(text), begin_(begin) {}

  Result<Spans> Read() { return Until(""); }

 private:
  Result<Spans> Until(std::string_view mark) {
    const size_t opened = at_;
    Spans spans;
    while (at_ < text_.size()) {
      if (!mark.empty() && text_.substr(at_).starts_with(mark)) {
        at_ += mark.size();
        return spans;
      }
      TRY(One(&spans));
    }
    if (!mark.empty()) FAIL(Wrong(opened, Str("this text has no ", mark, " at its end")));
    return spans;
  }

  Status One(Spans* spans) {
    const std::string_view rest = text_.substr(at_);
    if (rest[0] == '`') return Code(spans);
    if (rest.starts_with("**")) return Marked(spans, Span::Kind::kStrong, "**");
    // `f8*` and `a * b` have no emphasis.
    const bool opens = (at_ == 0 || !IsWordChar(text_[at_ - 1])) && rest.size() > 1 && IsWordChar(rest[1]);
    if (rest[0] == '*' && opens) return Marked(spans, Span::Kind::kEmphasis, "*");
    if (rest.starts_with("![")) return Picture(spans);
    if (rest[0] == '[' && LinkBegins(rest)) return Link(spans);
    if (rest[0] == '<' && rest.size() > 1 && (IsWordChar(rest[1]) || rest[1] == '/' || rest[1] == '!'))
      FAIL(Wrong(at_, "pages have no HTML; write it as `code`"));
    if (rest[0] == '\\' && rest.size() > 1 && std::ispunct(static_cast<unsigned char>(rest[1]))) ++at_;
    if (spans->empty() || spans->back().kind != Span::Kind::kText)
      spans->push_back({.kind = Span::Kind::kText, .begin = Here()});
    spans->back().text += text_[at_++];
    return {};
  }

  Status Code(Spans* spans) {
    const size_t close = text_.find('`', at_ + 1);
    if (close == std::string_view::npos) FAIL(Wrong(at_, "nothing closes this `"));
    std::string code(text_.substr(at_ + 1, close - at_ - 1));
    // In a table, a '|' in code is escaped.
    for (size_t bar = code.find("\\|"); bar != std::string::npos; bar = code.find("\\|", bar)) code.erase(bar, 1);
    spans->push_back({.kind = Span::Kind::kCode, .text = std::move(code), .begin = Here()});
    at_ = close + 1;
    return {};
  }

  Status Marked(Spans* spans, Span::Kind kind, std::string_view mark) {
    Span span = {.kind = kind, .begin = Here()};
    at_ += mark.size();
    span.inside = TRY(Until(mark));
    spans->push_back(std::move(span));
    return {};
  }

  // A link is [text](target), unlike f32[4] or [a, b).
  static bool LinkBegins(std::string_view rest) {
    const size_t close = rest.find("](");
    const size_t other = rest.find_first_of("[]", 1);
    return close != std::string_view::npos && close == other;
  }

  Status Link(Spans* spans) {
    Span span = {.kind = Span::Kind::kLink, .begin = Here()};
    ++at_;
    span.inside = TRY(Until("]("));
    const size_t close = text_.find(')', at_);
    if (close == std::string_view::npos) FAIL(Wrong(at_, "nothing closes the target of this link"));
    span.target = text_.substr(at_, close - at_);
    if (span.target.empty() || span.target.find_first_of(" \n") != std::string::npos)
      FAIL(Wrong(at_, "the target of a link is one word"));
    at_ = close + 1;
    spans->push_back(std::move(span));
    return {};
  }

  Status Picture(Spans* spans) {
    if (!LinkBegins(text_.substr(at_ + 1))) FAIL(Wrong(at_, "a picture is ![description](file)"));
    ++at_;
    TRY(Link(spans));
    spans->back().kind = Span::Kind::kEmphasis;
    spans->back().target.clear();
    return {};
  }

  uint32_t Here() const { return begin_ + static_cast<uint32_t>(at_); }
  Error Wrong(size_t at, std::string message) const {
    const auto begin = static_cast<uint32_t>(begin_ + at);
    return InternalError(std::move(message), {begin, begin + 1});
  }

  std::string_view text_;
  uint32_t begin_;
  size_t at_ = 0;
};

std::string Unfolded(std::string_view text) {
  std::string line;
  for (size_t i = 0; i < text.size(); ++i) {
    line += text[i] == '\n' ? ' ' : text[i];
    if (text[i] == '\n') i = std::min(text.find_first_not_of(' ', i + 1), text.size()) - 1;
  }
  return line;
}

void Unfold(Spans* spans) {
  for (Span& span : *spans) {
    span.text = Unfolded(span.text);
    Unfold(&span.inside);
  }
}

size_t ItemIndent(std::string_view line) {
  if (line.starts_with("- ")) return 2;
  size_t digits = 0;
  while (digits < line.size() && std::isdigit(static_cast<unsigned char>(line[digits]))) ++digits;
  return digits > 0 && line.substr(digits).starts_with(". ") ? digits + 2 : 0;
}

class PageReader {
 public:
  explicit PageReader(std::shared_ptr<const SourceText> source) : source_(std::move(source)) {
    for (size_t begin = 0; begin < source_->text().size();) {
      const size_t end = std::min(source_->text().find('\n', begin), source_->text().size());
      lines_.push_back({source_->text().substr(begin, end - begin), static_cast<uint32_t>(begin)});
      begin = end + 1;
    }
  }

  Result<std::vector<Block>> Read() {
    while (at_ < lines_.size()) {
      if (Trim(Line()).empty()) ++at_;
      else TRY(One());
    }
    return std::move(blocks_);
  }

 private:
  struct PageLine {
    std::string_view text;
    uint32_t begin;
  };

  std::string_view Line() const { return lines_[at_].text; }
  Error Wrong(std::string message) const {
    return InternalError(std::move(message), {lines_[at_].begin, lines_[at_].begin + 1});
  }

  Status One() {
    const std::string_view line = Line();
    if (line.starts_with('#')) return Heading();
    if (line.starts_with("```")) return Fenced();
    if (line.starts_with("    ")) return Indented();
    if (line.starts_with('|')) return Table();
    if (ItemIndent(line) > 0) return List();
    for (const std::string_view other : {" ", ">", "* ", "+ ", "~~~", "---", "===", "[^"}) {
      if (line.starts_with(other)) FAIL(Wrong(Str("pages are not written with '", other, "' at the start of a line")));
    }
    return Paragraph();
  }

  Result<Spans> Read(uint32_t begin, size_t bytes) const {
    Spans spans = TRY(SpanReader(source_->text().substr(begin, bytes), begin).Read());
    Unfold(&spans);
    return spans;
  }

  Status Heading() {
    const int level = static_cast<int>(Line().find_first_not_of('#'));
    if (level > 3 || !Line().substr(level).starts_with(' '))
      FAIL(Wrong("a heading is #, ## or ###, a blank and a text"));
    Block block = {.kind = Block::Kind::kHeading, .level = level};
    block.rows.push_back({TRY(Read(lines_[at_].begin + level + 1, Line().size() - level - 1))});
    blocks_.push_back(std::move(block));
    ++at_;
    return {};
  }

  Status Fenced() {
    Block block = {.kind = Block::Kind::kCode, .language = std::string(Line().substr(3))};
    const size_t opened = at_++;
    for (; at_ < lines_.size() && Line() != "```"; ++at_) block.text += Str(Line(), "\n");
    if (at_ == lines_.size()) {
      at_ = opened;
      FAIL(Wrong("nothing closes this ```"));
    }
    ++at_;
    blocks_.push_back(std::move(block));
    return {};
  }

  Status Indented() {
    Block block = {.kind = Block::Kind::kCode};
    for (; at_ < lines_.size() && Line().starts_with("    "); ++at_) block.text += Str(Line().substr(4), "\n");
    blocks_.push_back(std::move(block));
    return {};
  }

  Status Table() {
    Block block = {.kind = Block::Kind::kTable};
    const size_t first = at_;
    for (size_t row = 0; at_ < lines_.size() && Line().starts_with('|'); ++at_, ++row) {
      if (row == 1) {
        if (Line().find_first_not_of("|-") != std::string_view::npos)
          FAIL(Wrong("expected the line |---|---| after the titles"));
        continue;
      }
      block.rows.push_back(TRY(Cells()));
      if (block.rows.back().size() != block.rows.front().size())
        FAIL(Wrong(Str("the row has ", block.rows.back().size(), " cells, but the number of titles is ",
                       block.rows.front().size())));
    }
    if (block.rows.size() < 2) {
      at_ = first;
      FAIL(Wrong("a table has titles, a line |---|---| and rows"));
    }
    blocks_.push_back(std::move(block));
    return {};
  }

  Result<std::vector<Spans>> Cells() const {
    std::vector<Spans> cells;
    const std::string_view line = Line();
    size_t begin = 1;
    for (size_t i = 1; i < line.size(); ++i) {
      if (line[i] != '|' || line[i - 1] == '\\') continue;
      const std::string_view cell = line.substr(begin, i - begin), text = Trim(cell);
      const auto offset = static_cast<uint32_t>(text.empty() ? begin : text.data() - line.data());
      cells.push_back(TRY(Read(lines_[at_].begin + offset, text.size())));
      begin = i + 1;
    }
    if (begin != line.size()) FAIL(Wrong("a row of a table ends with '|'"));
    return cells;
  }

  Status List() {
    Block block = {.kind = Line().starts_with("- ") ? Block::Kind::kBullets : Block::Kind::kNumbers};
    while (at_ < lines_.size() && ItemIndent(Line()) > 0) {
      const size_t indent = ItemIndent(Line());
      if (Line().starts_with("- ") != (block.kind == Block::Kind::kBullets))
        FAIL(Wrong("one list has items with '-' and items with numbers"));
      const PageLine& first = lines_[at_];
      size_t end = at_ + 1;
      while (end < lines_.size() && !Trim(lines_[end].text).empty() && ItemIndent(lines_[end].text) == 0) {
        at_ = end++;
        if (Line().find_first_not_of(' ') != indent)
          FAIL(Wrong(Str("further lines of this item begin with ", indent, " blanks")));
      }
      const PageLine& last = lines_[end - 1];
      const auto begin = static_cast<uint32_t>(first.begin + indent);
      block.rows.push_back({TRY(Read(begin, last.begin + last.text.size() - begin))});
      at_ = end;
      // A blank line may separate items of one list.
      if (at_ + 1 < lines_.size() && Trim(Line()).empty() && ItemIndent(lines_[at_ + 1].text) > 0 &&
          lines_[at_ + 1].text.starts_with("- ") == (block.kind == Block::Kind::kBullets))
        ++at_;
    }
    blocks_.push_back(std::move(block));
    return {};
  }

  Status Paragraph() {
    const uint32_t begin = lines_[at_].begin;
    uint32_t end = begin;
    for (; at_ < lines_.size() && !Trim(Line()).empty(); ++at_) {
      const bool begins_other =
          Line().starts_with('#') || Line().starts_with('|') || Line().starts_with("```") || ItemIndent(Line()) > 0;
      if (begins_other) FAIL(Wrong("expected a blank line between this line and the paragraph before it"));
      end = static_cast<uint32_t>(lines_[at_].begin + Line().size());
    }
    Block block = {.kind = Block::Kind::kParagraph};
    block.rows.push_back({TRY(Read(begin, end - begin))});
    blocks_.push_back(std::move(block));
    return {};
  }

  std::shared_ptr<const SourceText> source_;
  std::vector<PageLine> lines_;
  size_t at_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace

Result<MarkdownPage> ParseMarkdown(std::shared_ptr<const SourceText> source) {
  auto blocks = PageReader(source).Read();
  if (!blocks) {
    blocks.error().source = std::move(source);
    FAIL(std::move(blocks).error());
  }
  return MarkdownPage{std::move(source), std::move(*blocks)};
}

std::string AnchorOf(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    if (IsWordChar(c)) anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ' || c == '-') anchor += '-';
  }
  return anchor;
}

std::string PlainText(const Spans& spans) {
  std::string text;
  for (const Span& span : spans) text += Str(span.text, PlainText(span.inside));
  return text;
}

}  // namespace hlo
