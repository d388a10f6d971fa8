// Pages of reports: self-contained files without scripts.
#ifndef HLO_DRIVER_PAGE_H_
#define HLO_DRIVER_PAGE_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace hlo {

std::string PageHead(std::string_view title, std::string_view rules = "");
inline constexpr std::string_view kPageEnd = "</body></html>\n";

std::string Element(std::string_view tag, std::string_view text, std::string_view css = "");
inline std::string Cell(std::string_view text, std::string_view css = "") { return Element("td", text, css); }
// A title with '>' is above a column of numbers.
std::string TitleCells(std::initializer_list<std::string_view> titles);
// A table of rows of cells.
std::string HtmlRows(const std::vector<std::string>& rows, std::string_view css = "");

// A title with '>' marks a column of numbers, as in TextTable.
std::string HtmlTable(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows);

// Shows at most `most_lines` lines, then the number of the others with `left_out`, such as "more in the file".
std::string DiffHtml(std::string_view diff, size_t most_lines = SIZE_MAX, std::string_view left_out = "");

}  // namespace hlo

#endif  // HLO_DRIVER_PAGE_H_
