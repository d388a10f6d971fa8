// How hlo-inspect writes numbers and tables.
#ifndef HLO_DRIVER_INSPECT_TEXT_H_
#define HLO_DRIVER_INSPECT_TEXT_H_

#include <string>
#include <vector>

#include "base/counted.h"

namespace hlo {

// "68.7 G", "512": thousands by their letters.
std::string HumanCount(double count);

// Columns as wide as their widest cell, two blanks between; numbers to the right. Rows may be shorter than the head.
class TextTable {
 public:
  // A title that begins with '>' is a column of numbers; the '>' is not shown.
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
