// How the structure of two modules differs, as text, as a page and as JSON: docs/differences.md.
#ifndef HLO_DRIVER_DIFF_STRUCTURE_REPORT_H_
#define HLO_DRIVER_DIFF_STRUCTURE_REPORT_H_

#include <string>

#include "base/json.h"
#include "driver/diff/structure.h"

namespace hlo {

struct StructureView {
  const Module &left, &right;
  std::string left_name, right_name;  // Files.
  const DeviceDescription& device;
  int64_t top = 10;           // Rows of each list; 0: all.
  bool ignores_names = true;  // Then the lines of the right have those of the left.
};

std::string StructureText(const StructureDiff& diff, const StructureView& view);
// What changed, as `diff -u`: the right module with the names and in the order of the left, as far as they were
// matched.
std::string StructureUnified(const StructureDiff& diff, const StructureView& view);
// Keys of an open object.
void WriteJson(JsonWriter& json, const StructureDiff& diff);
// A page's body.
std::string StructureHtml(const StructureDiff& diff, const StructureView& view);

// "9 changed, 7 only-left, 42 only-right, 3 kernels"; "" where nothing differs.
std::string CountsText(const StructureDiff& diff);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_STRUCTURE_REPORT_H_
