// Parses the pages of docs/, and renders them for browsers and terminals. Other Markdown than this is an error, because
// they would show it differently:
//
//   # to ###             a heading
//   lines                a paragraph, up to a blank line
//   - item, 1. item      a list, after a blank line; further lines of an item are indented like its text
//   | a | b |            a table: titles, a line |---|---|, rows; '\|' is a '|'
//   ```sh ... ```        code; lines indented by four are code too
//   `code`, **strong**, *emphasis*, [text](target)     in everything except code
//   ![description](file)  a picture; terminals and the site show its description
#ifndef HLO_DRIVER_MANUAL_MARKDOWN_H_
#define HLO_DRIVER_MANUAL_MARKDOWN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/source_text.h"

namespace hlo {

struct Span {
  enum class Kind : uint8_t { kText, kCode, kStrong, kEmphasis, kLink };
  Kind kind = Kind::kText;
  std::string text;    // For kText and kCode.
  std::string target;  // For kLink: as written.
  std::vector<Span> inside;
  uint32_t begin = 0;
};
using Spans = std::vector<Span>;

struct Block {
  enum class Kind : uint8_t { kHeading, kParagraph, kBullets, kNumbers, kTable, kCode };
  Kind kind = Kind::kParagraph;
  int level = 0;         // For kHeading: 1 to 3.
  std::string language;  // For kCode: "sh" or "".
  std::string text;      // For kCode: the lines.
  // Headings and paragraphs have one row, lists a row for each item, and tables rows of cells, the titles first.
  std::vector<std::vector<Spans>> rows;
};

struct MarkdownPage {
  std::shared_ptr<const SourceText> source;
  std::vector<Block> blocks;
};

// Errors: kInternal, because the pages are ours.
Result<MarkdownPage> ParseMarkdown(std::shared_ptr<const SourceText> source);

// The anchor of "Written and inferred shapes" is written-and-inferred-shapes.
std::string AnchorOf(std::string_view heading);
std::string PlainText(const Spans& spans);

template <class F>
void ForEachLink(const Spans& spans, const F& f) {
  for (const Span& span : spans) {
    if (span.kind == Span::Kind::kLink) f(span);
    ForEachLink(span.inside, f);
  }
}

// Headings have their anchors as ids. Links to pages lead to .html files.
std::string ToHtml(const std::vector<Block>& blocks);
// The target of a link on the site. README.md is index.html.
std::string HtmlTarget(std::string_view target);

// Wraps all but code at `width` columns. Prints targets of links to other sites.
std::string ToTerminalText(const std::vector<Block>& blocks, int width = 100);

}  // namespace hlo

#endif  // HLO_DRIVER_MANUAL_MARKDOWN_H_
