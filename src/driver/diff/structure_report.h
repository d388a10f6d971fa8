// Structural differences as text, page and JSON: docs/differences.md.
#ifndef HLO_DRIVER_DIFF_STRUCTURE_REPORT_H_
#define HLO_DRIVER_DIFF_STRUCTURE_REPORT_H_

#include <string>

#include "base/json.h"
#include "driver/diff/structure.h"

namespace hlo {

struct StructureView {
  const Module &left, &right;
  std::string left_name, right_name;
  const DeviceDescription& device;
  int64_t top = 10;           // Rows of each list. 0 prints all.
  bool ignores_names = true;  // If true, the right side is shown with names of the left side.
};

std::string StructureText(const StructureDiff& diff, const StructureView& view);
// The changes as in `diff -u`. Matched parts of the right module have the names and order of the left one.
std::string StructureUnified(const StructureDiff& diff, const StructureView& view);
void WriteJson(JsonWriter& json, const StructureDiff& diff);
std::string StructureHtml(const StructureDiff& diff, const StructureView& view);

// "9 changed, 7 only-left, 3 groups of kernels", or "".
std::string CountsText(const StructureDiff& diff);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_STRUCTURE_REPORT_H_
