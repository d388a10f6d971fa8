// What a table can be as wide as, where a person looks at it.
#ifndef HLO_BASE_TERMINAL_H_
#define HLO_BASE_TERMINAL_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hlo {

// Of the terminal that stdout goes to; 0: it goes elsewhere, where lines are as long as they are.
size_t TerminalColumns();

// The middle gives way to "...", where `text` is longer.
std::string CutTo(std::string_view text, size_t columns);

// `rows` with cells cut so that, with `between` columns between them, a line takes at most `columns` (0: any number):
// the widest of the columns that `may_shrink` first, none to less than a few characters or its title, which is the
// first row's.
void FitRows(std::vector<std::vector<std::string>>& rows, const std::vector<bool>& may_shrink, size_t between,
             size_t columns);

}  // namespace hlo

#endif  // HLO_BASE_TERMINAL_H_
