#include "driver/inspect/text.h"

#include <algorithm>

#include "base/terminal.h"
#include "base/text.h"

namespace hlo {

std::string HumanCount(double count) {
  constexpr const char* kUnits[] = {"", " K", " M", " G", " T", " P"};
  size_t unit = 0;
  for (; count >= 999.95 && unit + 1 < std::size(kUnits); ++unit) count /= 1000;
  return Format(unit == 0 ? "%.0f%s" : "%.1f%s", count, kUnits[unit]);
}

TextTable::TextTable(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    right_.push_back(title.starts_with('>'));
    if (right_.back()) title.erase(0, 1);
  }
  rows_.push_back(std::move(titles));
}

std::string TextTable::Text(std::string_view indent) const {
  std::vector<std::vector<std::string>> rows = rows_;
  std::vector<bool> may_shrink;
  for (const bool is_number : right_) may_shrink.push_back(!is_number);
  if (const size_t columns = TerminalColumns(); columns > indent.size())
    FitRows(rows, may_shrink, /*between=*/2, columns - indent.size());
  std::vector<size_t> widths(right_.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += Str(i == 0 ? indent : "  ", right_[i] ? padding + row[i] : row[i] + padding);
    }
    out += Str(line.substr(0, line.find_last_not_of(' ') + 1), "\n");
  }
  return out;
}

}  // namespace hlo
