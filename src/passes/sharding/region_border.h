// The values that enter or leave a manual region, as Shardy's attributes state them.
#ifndef HLO_PASSES_SHARDING_REGION_BORDER_H_
#define HLO_PASSES_SHARDING_REGION_BORDER_H_

#include <optional>
#include <vector>

#include "ir/mesh/axes.h"

namespace hlo {

class Instruction;

// A value at the border. Inside the region, its manual axes split nothing: an array there is a device's part.
struct BorderValue {
  ArraySplit stated;       // Outside.
  std::vector<bool> open;  // By dimension: whether other axes may split it behind the stated ones.

  // The split outside, if the region has the split `inside`. Open dimensions have all axes of `inside`.
  ArraySplit Outside(const ArraySplit& inside) const;
};

struct RegionBorder {
  bool begins = false;  // Operands are outside and results inside. Otherwise the reverse.
  AxisSet manual;       // The axes of this region, without those of regions around it.
  std::vector<BorderValue> values;
};

// Whether a manual region begins or ends at the instruction.
bool IsRegionBorder(const Instruction& inst);
// nullopt without Shardy's attributes, as in GSPMD's texts, and if they cannot be read or do not fit the mesh.
std::optional<RegionBorder> RegionBorderOf(const Instruction& inst, const Axes& axes);

// The atoms of `split` except those of `manual`.
ArraySplit WithoutAtoms(const ArraySplit& split, AxisSet manual);

}  // namespace hlo

#endif  // HLO_PASSES_SHARDING_REGION_BORDER_H_
