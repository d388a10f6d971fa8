#include <algorithm>

#include "base/text.h"
#include "driver/manual/markdown.h"

namespace hlo {
namespace {

// Counts code points.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Code keeps its backquotes. Another site's address follows the link's text, unless the text contains it.
std::string Text(const Spans& spans) {
  std::string out;
  for (const Span& span : spans) {
    if (span.kind == Span::Kind::kText) out += span.text;
    else if (span.kind == Span::Kind::kCode) out += Str("`", span.text, "`");
    else out += Text(span.inside);
    const bool elsewhere = span.kind == Span::Kind::kLink && span.target.find("://") != std::string::npos;
    if (elsewhere && span.target.find(PlainText(span.inside)) == std::string::npos) out += Str(" (", span.target, ")");
  }
  return out;
}

std::vector<std::string> Filled(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : Split(text, ' ')) {
    if (word.empty()) continue;
    if (!lines.back().empty() && Columns(lines.back()) + 1 + Columns(word) > width) lines.emplace_back();
    lines.back() += Str(lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

std::string Underlined(const Block& heading) {
  const std::string text = Text(heading.rows[0][0]);
  if (heading.level == 3) return text + "\n";
  return Str(text, "\n", std::string(Columns(text), heading.level == 1 ? '=' : '-'), "\n");
}

std::string ListText(const Block& block, size_t width) {
  std::string out;
  int number = 0;
  for (const std::vector<Spans>& item : block.rows) {
    const std::string mark = block.kind == Block::Kind::kBullets ? "- " : Str(++number, ". ");
    std::string before = mark;
    for (const std::string& line : Filled(Text(item[0]), width - mark.size())) {
      out += Str(before, line, "\n");
      before.assign(mark.size(), ' ');
    }
  }
  return out;
}

std::vector<size_t> ColumnWidths(const std::vector<std::vector<std::string>>& rows, size_t width) {
  std::vector<size_t> widths(rows[0].size());
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Columns(row[i]));
  }
  size_t total = 2 * (widths.size() - 1);
  for (const size_t one : widths) total += one;
  for (; total > width; --total) {
    size_t& widest = *std::max_element(widths.begin(), widths.end());
    if (widest <= 12) break;
    --widest;
  }
  return widths;
}

std::string TableText(const Block& block, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const std::vector<Spans>& row : block.rows) {
    std::vector<std::string>& cells = rows.emplace_back();
    for (const Spans& cell : row) cells.push_back(Text(cell));
  }
  const std::vector<size_t> widths = ColumnWidths(rows, width);
  std::string out;
  for (const std::vector<std::string>& row : rows) {
    std::vector<std::vector<std::string>> cells;
    size_t height = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      cells.push_back(Filled(row[i], widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (size_t y = 0; y < height; ++y) {
      std::string line;
      size_t column = 0;
      for (size_t i = 0; i < cells.size(); ++i) {
        if (y < cells[i].size() && !cells[i][y].empty()) {
          line.append(column - std::min(column, Columns(line)), ' ');
          line += cells[i][y];
        }
        column += widths[i] + 2;
      }
      if (!line.empty()) out += line + "\n";
    }
    if (&row == &rows.front() && !out.empty()) {
      for (const size_t one : widths) out += std::string(one, '-') + "  ";
      out.resize(out.size() - 2);
      out += "\n";
    }
  }
  return out;
}

std::string CodeText(const Block& block) {
  std::string out;
  for (const std::string_view line : Split(block.text, '\n')) out += line.empty() ? "\n" : Str("    ", line, "\n");
  out.pop_back();
  return out;
}

}  // namespace

std::string ToTerminalText(const std::vector<Block>& blocks, int width) {
  std::string out;
  for (const Block& block : blocks) {
    if (!out.empty()) out += "\n";
    switch (block.kind) {
      case Block::Kind::kHeading: out += Underlined(block); break;
      case Block::Kind::kParagraph: out += Join(Filled(Text(block.rows[0][0]), width), "\n") + "\n"; break;
      case Block::Kind::kBullets:
      case Block::Kind::kNumbers: out += ListText(block, width); break;
      case Block::Kind::kTable: out += TableText(block, width); break;
      case Block::Kind::kCode: out += CodeText(block); break;
    }
  }
  return out;
}

}  // namespace hlo
