#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "driver/manual/pages.h"
#include "driver/page.h"
#include "driver/xml.h"

namespace hlo {
namespace {

constexpr std::string_view kRules =
    "nav{margin:12px 0 24px;font-size:12px}\n"
    "code{font:12px ui-monospace,monospace}\n"
    // No line break behind the dashes of a flag.
    "@media(min-width:600px){p code,li code{white-space:nowrap}}\n"
    "p,li{max-width:56em}\n"
    "table{display:block;overflow-x:auto}\n"
    "th,td{white-space:normal;overflow-wrap:break-word}td:last-child{min-width:16ch}\n"
    "a{margin:0}\n";

using Anchors = std::map<std::string, std::set<std::string>, std::less<>>;

std::set<std::string> AnchorsOf(const MarkdownPage& page) {
  std::set<std::string> anchors;
  for (const Block& block : page.blocks) {
    if (block.kind == Block::Kind::kHeading) anchors.insert(AnchorOf(PlainText(block.rows[0][0])));
  }
  return anchors;
}

Status CheckLinks(std::string_view file, const MarkdownPage& page, const Anchors& anchors) {
  const Span* broken = nullptr;
  const auto check = [&](const Span& link) {
    if (link.target.find("://") != std::string::npos || broken != nullptr) return;
    const size_t hash = std::min(link.target.find('#'), link.target.size());
    const std::string path =
        (std::filesystem::path(file).parent_path() / link.target.substr(0, hash)).lexically_normal();
    const auto to = anchors.find(hash == 0 ? std::string(file) : path);
    if (to == anchors.end() || (hash < link.target.size() && !to->second.contains(link.target.substr(hash + 1))))
      broken = &link;
  };
  for (const Block& block : page.blocks) {
    for (const std::vector<Spans>& row : block.rows) {
      for (const Spans& cell : row) ForEachLink(cell, check);
    }
  }
  if (broken == nullptr) return {};
  Error error = InternalError(Str("no page or section is '", broken->target, "'"), {broken->begin, broken->begin + 1});
  error.source = page.source;
  FAIL(std::move(error));
}

// `file` itself has no link.
std::string Contents(std::string_view file, bool guides) {
  std::string out;
  for (const ManualPage& page : AllPages()) {
    if (page.is_guide != guides) continue;
    const std::string path =
        std::filesystem::path(page.file).lexically_relative(std::filesystem::path(file).parent_path());
    const std::string_view name = page.name.substr(page.name.rfind('/') + 1);
    out += Str(out.empty() ? "" : " · ");
    out += page.file == file ? Str("<b>", XmlText(name), "</b>")
                             : Str("<a href=\"", XmlText(HtmlTarget(path)), "\" title=\"", XmlText(page.Title()), "\">",
                                   XmlText(name), "</a>");
  }
  return out;
}

std::string PageHtml(const ManualPage& page, const MarkdownPage& read) {
  return Str(PageHead(page.Title(), kRules), "<nav>", Contents(page.file, false),
             "<br>guides: ", Contents(page.file, true), "</nav>\n", ToHtml(read.blocks), kPageEnd);
}

}  // namespace

Status WriteSite(const std::string& directory) {
  std::vector<MarkdownPage> pages;
  Anchors anchors;
  for (const ManualPage& page : AllPages()) {
    pages.push_back(TRY(ReadPage(page)));
    anchors[std::string(page.file)] = AnchorsOf(pages.back());
  }
  for (size_t i = 0; i < pages.size(); ++i) {
    const ManualPage& page = AllPages()[i];
    TRY(CheckLinks(page.file, pages[i], anchors));
    const std::filesystem::path path = std::filesystem::path(directory) / HtmlTarget(page.file);
    TRY(MakeDirectories(path.parent_path()));
    TRY(WriteFile(path, PageHtml(page, pages[i])));
  }
  return {};
}

}  // namespace hlo
