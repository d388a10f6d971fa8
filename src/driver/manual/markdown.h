// Pages of docs/ in the part of Markdown that they are written in, and what a browser and a terminal show of them. What
// is beyond that part is an error, since it would read well in one place and not in another:
//
//   # to ###             a heading
//   lines                a paragraph, up to a blank line
//   - item, 1. item      a list, behind a blank line; an item goes on in lines that are indented as its text
//   | a | b |            a table: titles, a line |---|---|, rows; '\|' is a '|'
//   ```sh ... ```        code, and so are lines that are indented by four
//   `code`, **strong**, *emphasis*, [text](target)     in all but code
//   ![description](file)  a picture, which a terminal and the site show as its description
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
  std::string text;          // kText, kCode.
  std::string target;        // kLink: as it is written.
  std::vector<Span> inside;  // Of the others.
  uint32_t begin = 0;        // Where it stands in the page.
};
using Spans = std::vector<Span>;

struct Block {
  enum class Kind : uint8_t { kHeading, kParagraph, kBullets, kNumbers, kTable, kCode };
  Kind kind = Kind::kParagraph;
  int level = 0;                         // kHeading: 1 to 3.
  std::string language;                  // kCode: "sh", or "".
  std::string text;                      // kCode: the lines as they stand.
  std::vector<std::vector<Spans>> rows;  // Others: a row of one, one for each item, or of each cell, the titles first.
};

struct MarkdownPage {
  std::shared_ptr<const SourceText> source;
  std::vector<Block> blocks;
};

// Errors: kInternal, at the line: the pages are ours.
Result<MarkdownPage> ParseMarkdown(std::shared_ptr<const SourceText> source);

// "Written and inferred shapes": written-and-inferred-shapes, as links to sections are spelt.
std::string AnchorOf(std::string_view heading);
std::string PlainText(const Spans& spans);

// f(const Span&) for each link.
template <class F>
void ForEachLink(const Spans& spans, const F& f) {
  for (const Span& span : spans) {
    if (span.kind == Span::Kind::kLink) f(span);
    ForEachLink(span.inside, f);
  }
}

// Headings have their anchors as ids; links to pages lead to their .html beside them.
std::string ToHtml(const std::vector<Block>& blocks);
// What a link to a page, or to a section of it, becomes on the site; README.md is index.html.
std::string HtmlTarget(std::string_view target);

// Paragraphs, lists and cells of tables filled to `width` columns, code as it stands; links without their targets.
std::string ToTerminalText(const std::vector<Block>& blocks, int width = 100);

}  // namespace hlo

#endif  // HLO_DRIVER_MANUAL_MARKDOWN_H_
