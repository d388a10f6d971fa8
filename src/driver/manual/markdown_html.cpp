#include "base/text.h"
#include "driver/manual/markdown.h"
#include "driver/page.h"
#include "driver/xml.h"

namespace hlo {
namespace {

std::string Html(const Spans& spans) {
  std::string out;
  for (const Span& span : spans) {
    switch (span.kind) {
      case Span::Kind::kText: out += XmlText(span.text); break;
      case Span::Kind::kCode: out += Element("code", span.text); break;
      case Span::Kind::kStrong: out += Str("<strong>", Html(span.inside), "</strong>"); break;
      case Span::Kind::kEmphasis: out += Str("<em>", Html(span.inside), "</em>"); break;
      case Span::Kind::kLink:
        out += Str("<a href=\"", XmlText(HtmlTarget(span.target)), "\">", Html(span.inside), "</a>");
        break;
    }
  }
  return out;
}

// Marks commands, so that they differ from their output.
std::string CodeHtml(const Block& block) {
  std::string out = "<pre>";
  bool typed = false;
  for (const std::string_view line : Split(block.text, '\n')) {
    typed = block.language == "sh" && (line.starts_with("$ ") || typed);
    out += Str(typed ? Element("span", line, "h") : XmlText(line), "\n");
    typed = typed && line.ends_with('\\');
  }
  out.pop_back();
  return out + "</pre>\n";
}

std::string ListHtml(const Block& block) {
  const std::string_view tag = block.kind == Block::Kind::kBullets ? "ul" : "ol";
  std::string out = Str("<", tag, ">\n");
  for (const std::vector<Spans>& item : block.rows) out += Str("<li>", Html(item[0]), "</li>\n");
  return Str(out, "</", tag, ">\n");
}

std::string TableHtml(const Block& block) {
  std::string out = "<table>\n";
  for (const std::vector<Spans>& row : block.rows) {
    const std::string_view tag = &row == &block.rows.front() ? "th" : "td";
    out += "<tr>";
    for (const Spans& cell : row) out += Str("<", tag, ">", Html(cell), "</", tag, ">");
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace

std::string HtmlTarget(std::string_view target) {
  const size_t hash = std::min(target.find('#'), target.size());
  std::string_view page = target.substr(0, hash);
  if (target.find("://") != std::string_view::npos || !page.ends_with(".md")) return std::string(target);
  page.remove_suffix(3);
  if (page.ends_with("README")) return Str(page.substr(0, page.size() - 6), "index.html", target.substr(hash));
  return Str(page, ".html", target.substr(hash));
}

std::string ToHtml(const std::vector<Block>& blocks) {
  std::string out;
  for (const Block& block : blocks) {
    switch (block.kind) {
      case Block::Kind::kHeading:
        out += Str("<h", block.level, " id=\"", AnchorOf(PlainText(block.rows[0][0])), "\">", Html(block.rows[0][0]),
                   "</h", block.level, ">\n");
        break;
      case Block::Kind::kParagraph: out += Str("<p>", Html(block.rows[0][0]), "</p>\n"); break;
      case Block::Kind::kBullets:
      case Block::Kind::kNumbers: out += ListHtml(block); break;
      case Block::Kind::kTable: out += TableHtml(block); break;
      case Block::Kind::kCode: out += CodeHtml(block); break;
    }
  }
  return out;
}

}  // namespace hlo
