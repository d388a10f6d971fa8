#include "driver/diff/columns.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/page.h"

namespace hlo {

Columns Filled(const Columns& table) {
  Columns filled;
  filled.rows.resize(table.rows.size());
  for (size_t c = 0; c < table.titles.size(); ++c) {
    if (std::ranges::all_of(table.rows, [&](const auto& row) { return row[c].empty(); })) continue;
    filled.titles.push_back(table.titles[c]);
    for (size_t r = 0; r < table.rows.size(); ++r) filled.rows[r].push_back(table.rows[r][c]);
  }
  return filled;
}

std::string TableText(const Columns& table, int64_t top) {
  if (table.rows.empty()) return "";
  const size_t shown = top > 0 ? std::min(table.rows.size(), static_cast<size_t>(top)) : table.rows.size();
  TextTable text(table.titles);
  for (size_t i = 0; i < shown; ++i) text.Row(table.rows[i]);
  std::string out = text.Text();
  if (shown < table.rows.size()) out += Str("  ... and ", table.rows.size() - shown, " more (--top=0: all)\n");
  return out;
}

std::string TableHtml(const Columns& table) { return table.rows.empty() ? "" : HtmlTable(table.titles, table.rows); }

std::string Signed(double difference, std::string (*text)(double)) {
  return difference == 0 ? "" : Str(difference > 0 ? "+" : "-", text(std::abs(difference)));
}

std::string ChangeInPercent(double left, double right) {
  return left > 0 && left != right ? Format(" (%+.1f %%)", 100 * (right / left - 1)) : "";
}

std::string ProbabilityText(double p) { return p < 0.001 ? "<0.001" : Format("%.3f", p); }

}  // namespace hlo
