// A pass of the host lowering for divisions and comparisons of a tile's index.
//
// Between two multiples of C, (base + i) / C is constant and (base + i) % C grows by 1. So the tile is cut at the
// multiples, and gathers with divided indices become vector loads. C must not be small, because short segments would be
// slow.
//
// A comparison of a growing value with a constant value changes once. If a branch depends on it, the tile is cut there,
// so that the branch is the same for all elements of a segment. The parts of a concatenation become copies in this way.
// Cuts that leave short segments on average are omitted.
#ifndef HLO_GPU_KERNEL_HOST_SEGMENTS_H_
#define HLO_GPU_KERNEL_HOST_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/host/facts.h"

namespace hlo::kernel {

constexpr int64_t kLeastSegment = 16;
constexpr int64_t kLeastBetweenComparisons = 64;

struct SegmentPlan {
  // Divisions and remainders by constants of values that grow with the index, and comparisons (kLess) of such values
  // with constant ones, in order. Empty if there are no cuts.
  std::vector<const Instruction*> cuts;
  std::vector<bool> inside;                    // Indexed by value.
  std::vector<const Instruction*> definition;  // Indexed by value: its index arithmetic or comparison in the tile.
  int32_t index = -1;                          // The tile's index.

  bool IsCut(const Instruction& instruction) const;
  // Whether a quotient or comparison is the same for all elements of a segment.
  bool IsFixed(const Instruction& instruction) const;
};

SegmentPlan PlanSegments(const HostFacts& facts, const Region& tile, int64_t elements);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_SEGMENTS_H_
