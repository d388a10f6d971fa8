// The manual: README.md and the pages of docs/, within the program.
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

  std::string_view Title() const;  // Its first line, without the '#'.
};

std::span<const ManualPage> AllPages();

// As people and texts cite one: "comparison", "docs/comparison.md", "jax" of guides/jax, in any case. Null: none.
const ManualPage* FindPage(std::string_view asked);

Result<MarkdownPage> ReadPage(const ManualPage& page);

// The page for a terminal, or the section of it that `anchor` names, with those below it; at its end where its links
// lead. Errors: kUsage [F001] where there is no such section.
Result<std::string> PageText(const ManualPage& page, std::string_view anchor = "");

// A row of a table in docs/glossary.md, as plain text.
struct GlossaryTerm {
  std::string term, meaning;
};

Result<std::vector<GlossaryTerm>> Glossary();

// The manual as a folder of HTML: index.html of README.md, the others below it as they lie in the repository. One file
// each, without scripts. Errors: of the folder; kInternal where a link leads nowhere.
Status WriteSite(const std::string& directory);

}  // namespace hlo

#endif  // HLO_DRIVER_MANUAL_PAGES_H_
