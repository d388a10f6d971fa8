// Manual pages, from what --help is made of: the declarations of flags and the table of commands.
#ifndef HLO_TOOLS_MAN_PAGE_H_
#define HLO_TOOLS_MAN_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

namespace hlo {

// --name=VALUE, --name[=VALUE], a command; and what it does.
struct ManEntry {
  std::string head, text;
};

struct ManSection {
  std::string title;
  std::vector<ManEntry> entries;
};

struct ManPage {
  std::string command;  // "hlo", "hlo run", "hlo inspect cost".
  std::string usage;    // What stands behind the command.
  std::string about;    // Its first clause is the line that `apropos` shows.
  std::vector<std::string> examples;
  std::string flags_title;  // Above the flags, each group of which has a heading; "" where each is a section.
  std::vector<ManSection> sections;
};

// In the macros of man(7), for the volume of commands.
std::string Roff(const ManPage& page);

}  // namespace hlo

#endif  // HLO_TOOLS_MAN_PAGE_H_
