// Tables of differences for text and pages.
#ifndef HLO_DRIVER_DIFF_COLUMNS_H_
#define HLO_DRIVER_DIFF_COLUMNS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hlo {

struct Columns {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
};

// Drops empty columns.
Columns Filled(const Columns& table);
// Prints at most `top` rows and counts the others. 0 prints all.
std::string TableText(const Columns& table, int64_t top);
std::string TableHtml(const Columns& table);

std::string Signed(double difference, std::string (*text)(double));
// " (+5.7 %)", or "" if nothing changed or `left` is 0.
std::string ChangeInPercent(double left, double right);
std::string ProbabilityText(double p);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_COLUMNS_H_
