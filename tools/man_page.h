#ifndef HLO_TOOLS_MAN_PAGE_H_
#define HLO_TOOLS_MAN_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

namespace hlo {

// A flag or a command.
struct ManEntry {
  std::string head, text;
};

struct ManSection {
  std::string title;
  std::vector<ManEntry> entries;
};

struct ManPage {
  std::string command;  // "hlo", "hlo run", "hlo inspect cost".
  std::string usage;
  std::string about;  // `apropos` shows its first clause.
  std::vector<std::string> examples;
  std::string flags_title;  // If "", each group is a section.
  std::vector<ManSection> sections;
};

// The page in the macros of man(7), for section 1.
std::string Roff(const ManPage& page);

}  // namespace hlo

#endif  // HLO_TOOLS_MAN_PAGE_H_
