// Fits tables into the width of a terminal.
#ifndef HLO_BASE_TERMINAL_H_
#define HLO_BASE_TERMINAL_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hlo {

// Returns 0 if stdout is not a terminal.
size_t TerminalColumns();

// Shortens a text to `columns` bytes: "..." replaces its middle.
std::string CutTo(std::string_view text, size_t columns);

// Shortens cells until each line, with `between` characters between columns, has at most `columns` characters (0: no
// limit). Begins with the widest column that `may_shrink`. A column keeps 10 characters and the width of its title in
// the first row.
void FitRows(std::vector<std::vector<std::string>>& rows, const std::vector<bool>& may_shrink, size_t between,
             size_t columns);

}  // namespace hlo

#endif  // HLO_BASE_TERMINAL_H_
