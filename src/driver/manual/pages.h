// The manual: README.md and the pages of docs/, embedded in the program.
#ifndef HLO_DRIVER_MANUAL_PAGES_H_
#define HLO_DRIVER_MANUAL_PAGES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/manual/markdown.h"

namespace hlo {

struct ManualPage {
  std::string_view file;  // "docs/guides/jax.md"
  std::string_view name;  // "guides/jax"
  std::string_view text;
  bool is_guide;

  std::string_view Title() const;
};

std::span<const ManualPage> AllPages();

// Finds a page by name in any case: "comparison", "docs/comparison.md", "jax" for guides/jax. Null if there is none.
const ManualPage* FindPage(std::string_view asked);

Result<MarkdownPage> ReadPage(const ManualPage& page);

// The page, or its section `anchor` with subsections, then targets of links. Errors: F001 for an unknown section.
Result<std::string> PageText(const ManualPage& page, std::string_view anchor = "");

struct GlossaryTerm {
  std::string term, meaning;
};

Result<std::vector<GlossaryTerm>> Glossary();

// Writes HTML, with index.html for README.md. Files are self-contained, without scripts. Errors: a file cannot be
// written, kInternal for a broken link.
Status WriteSite(const std::string& directory);

}  // namespace hlo

#endif  // HLO_DRIVER_MANUAL_PAGES_H_
