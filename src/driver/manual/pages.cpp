#include "driver/manual/pages.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/embed.h"
#include "base/text.h"

#define PAGE(symbol, file) HLO_EMBED(hlo_page_##symbol, file);
#include "driver/manual/pages.def"

extern "C" {
#define PAGE(symbol, file) extern const char hlo_page_##symbol[], hlo_page_##symbol##_end[];
#include "driver/manual/pages.def"
}

namespace hlo {
namespace {

ManualPage Embedded(std::string_view file, bool is_guide, const char* begin, const char* end) {
  std::string_view name = file.substr(0, file.size() - 3);
  if (name.starts_with("docs/")) name.remove_prefix(5);
  return {file, name, std::string_view(begin, end), is_guide};
}

std::string Folded(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

std::string Topic(const ManualPage& from, std::string_view target) {
  const size_t hash = std::min(target.find('#'), target.size());
  const ManualPage* page = hash == 0 ? &from : FindPage(target.substr(0, hash));
  return page == nullptr ? "" : Str(page->name, target.substr(hash));
}

std::string SeeAlso(const ManualPage& page, std::span<const Block> blocks) {
  std::vector<std::string> topics;
  const auto add = [&](const Span& link) {
    const std::string topic = Topic(page, link.target);
    if (!topic.empty() && std::find(topics.begin(), topics.end(), topic) == topics.end()) topics.push_back(topic);
  };
  for (const Block& block : blocks) {
    for (const std::vector<Spans>& row : block.rows) {
      for (const Spans& cell : row) ForEachLink(cell, add);
    }
  }
  std::string out;
  for (const std::string& topic : topics) out += Str(out.empty() ? "\nSee also: hlo help " : ", ", topic);
  return out.empty() ? "" : out + "\n";
}

}  // namespace

std::string_view ManualPage::Title() const { return text.substr(2, text.find('\n') - 2); }

std::span<const ManualPage> AllPages() {
  static const ManualPage kPages[] = {
#define PAGE(symbol, file) Embedded(file, false, hlo_page_##symbol, hlo_page_##symbol##_end),
#define GUIDE(symbol, file) Embedded(file, true, hlo_page_##symbol, hlo_page_##symbol##_end),
#include "driver/manual/pages.def"
  };
  return kPages;
}

const ManualPage* FindPage(std::string_view asked) {
  std::string folded = Folded(asked);
  while (folded.starts_with("../")) folded.erase(0, 3);
  if (folded.starts_with("docs/")) folded.erase(0, 5);
  if (folded.ends_with(".md")) folded.resize(folded.size() - 3);
  for (const ManualPage& page : AllPages()) {
    const std::string name = Folded(page.name);
    if (name == folded || name == "guides/" + folded) return &page;
  }
  return nullptr;
}

Result<MarkdownPage> ReadPage(const ManualPage& page) {
  return ParseMarkdown(std::make_shared<const SourceText>(std::string(page.file), std::string(page.text)));
}

Result<std::string> PageText(const ManualPage& page, std::string_view anchor) {
  std::vector<Block> blocks = TRY(ReadPage(page)).blocks;
  if (!anchor.empty()) {
    const auto begins = [&](const Block& block) {
      return block.kind == Block::Kind::kHeading && AnchorOf(PlainText(block.rows[0][0])) == anchor;
    };
    const auto first = std::find_if(blocks.begin(), blocks.end(), begins);
    if (first == blocks.end()) {
      std::vector<std::string> sections;
      for (const Block& block : blocks) {
        if (block.kind == Block::Kind::kHeading) sections.push_back(AnchorOf(PlainText(block.rows[0][0])));
      }
      FAIL(UsageError("F001", Str("page '", page.name, "' has no section '", Escaped(anchor), "'"))
               .Hint(Str("its sections: ", Join(sections, ", "))));
    }
    const auto last = std::find_if(first + 1, blocks.end(), [&](const Block& block) {
      return block.kind == Block::Kind::kHeading && block.level <= first->level;
    });
    blocks = std::vector<Block>(first, last);
  }
  return Str(ToTerminalText(blocks), SeeAlso(page, blocks));
}

Result<std::vector<GlossaryTerm>> Glossary() {
  std::vector<GlossaryTerm> terms;
  for (const Block& block : TRY(ReadPage(*FindPage("glossary"))).blocks) {
    // Other tables do not explain terms.
    if (block.kind != Block::Kind::kTable || PlainText(block.rows[0][0]) != "term") continue;
    for (size_t i = 1; i < block.rows.size(); ++i)
      terms.push_back({PlainText(block.rows[i][0]), PlainText(block.rows[i][1])});
  }
  return terms;
}

}  // namespace hlo
