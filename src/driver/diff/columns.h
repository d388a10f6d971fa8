// Tables of differences, for text and page alike.
#ifndef HLO_DRIVER_DIFF_COLUMNS_H_
#define HLO_DRIVER_DIFF_COLUMNS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hlo {

struct Columns {
  std::vector<std::string> titles;  // As of TextTable.
  std::vector<std::vector<std::string>> rows;
};

// Without columns in which nothing stands.
Columns Filled(const Columns& table);
// At most `top` rows, and how many more there are; 0: all.
std::string TableText(const Columns& table, int64_t top);
std::string TableHtml(const Columns& table);

// "+3", "-41"; nothing for nothing.
std::string Signed(double difference, std::string (*text)(double));
// " (+5.7 %)"; "" where nothing changed, or there was nothing.
std::string ChangeInPercent(double left, double right);
std::string ProbabilityText(double p);  // "0.041", "<0.001".

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_COLUMNS_H_
