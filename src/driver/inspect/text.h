// Numbers and tables of hlo-inspect.
#ifndef HLO_DRIVER_INSPECT_TEXT_H_
#define HLO_DRIVER_INSPECT_TEXT_H_

#include <string>
#include <vector>

#include "base/counted.h"

namespace hlo {

// "68.7 G" or "512", with a letter for powers of a thousand.
std::string HumanCount(double count);

// A table whose rows may have fewer cells than there are titles.
class TextTable {
 public:
  // A title that starts with '>' marks a column of numbers, which are right-aligned. The '>' is not shown.
  explicit TextTable(std::vector<std::string> titles);
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.size() == 1; }
  std::string Text(std::string_view indent = "  ") const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;  // The titles first.
};

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_TEXT_H_
