// Fits tables into the width of a terminal.
#ifndef HLO_BASE_TERMINAL_H_
#define HLO_BASE_TERMINAL_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hlo {

// The width of stdout's terminal, or 0 if stdout is not a terminal.
size_t TerminalColumns();

// Shortens a text to at most `columns` bytes: "..." replaces its middle.
std::string CutTo(std::string_view text, size_t columns);

// Shortens cells until each line, with `between` characters between columns, has at most `columns` characters. 0 means
// no limit. Shortens the widest column that `may_shrink` first. A column keeps at least 10 characters and the width of
// its title, which is in the first row.
void FitRows(std::vector<std::vector<std::string>>& rows, const std::vector<bool>& may_shrink, size_t between,
             size_t columns);

}  // namespace hlo

#endif  // HLO_BASE_TERMINAL_H_
