// The structural differences of two modules as text, page and JSON: docs/differences.md.
#ifndef HLO_DRIVER_DIFF_STRUCTURE_REPORT_H_
#define HLO_DRIVER_DIFF_STRUCTURE_REPORT_H_

#include <string>

#include "base/json.h"
#include "driver/diff/structure.h"

namespace hlo {

struct StructureView {
  const Module &left, &right;
  std::string left_name, right_name;  // Names of the files.
  const DeviceDescription& device;
  int64_t top = 10;           // Rows of each list; 0 is all.
  bool ignores_names = true;  // Lines of the right side then show names of the left side.
};

std::string StructureText(const StructureDiff& diff, const StructureView& view);
// The changes in the format of `diff -u`. The right module has the names and the order of the left one where they were
// matched.
std::string StructureUnified(const StructureDiff& diff, const StructureView& view);
// Writes members of an open object.
void WriteJson(JsonWriter& json, const StructureDiff& diff);
// The body of a page.
std::string StructureHtml(const StructureDiff& diff, const StructureView& view);

// "9 changed, 7 only-left, 42 only-right, 3 kernels", or "" for no differences.
std::string CountsText(const StructureDiff& diff);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_STRUCTURE_REPORT_H_
