// Pages of reports: one file each, without scripts, which needs nothing but what it holds.
#ifndef HLO_DRIVER_PAGE_H_
#define HLO_DRIVER_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

namespace hlo {

// From <!DOCTYPE> to <body>, with the style that all pages share; `rules`: CSS of this one besides.
std::string PageHead(std::string_view title, std::string_view rules = "");
inline constexpr std::string_view kPageEnd = "</body></html>\n";

// A title that begins with '>' is a column of numbers, as in TextTable.
std::string HtmlTable(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows);

// Lines of a diff, coloured; at most `most_lines`, and how many are left out: "more in the file".
std::string DiffHtml(std::string_view diff, size_t most_lines = SIZE_MAX, std::string_view left_out = "");

}  // namespace hlo

#endif  // HLO_DRIVER_PAGE_H_
