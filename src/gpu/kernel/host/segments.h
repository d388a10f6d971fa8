// A pass of the host lowering for divisions and comparisons of a tile's index.
//
// Between two multiples of C, (base + i) / C is constant and (base + i) % C grows by 1. So the tile is cut at the
// multiples, and gathers with divided indices become vector loads, unless C is small.
//
// The tile is also cut where the comparison of a branch changes, so that the branch is uniform in a segment. So the
// parts of a concatenation become copies. Comparisons that leave short segments on average are ignored.
#ifndef HLO_GPU_KERNEL_HOST_SEGMENTS_H_
#define HLO_GPU_KERNEL_HOST_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/host/facts.h"

namespace hlo::kernel {

constexpr int64_t kLeastSegment = 16;
constexpr int64_t kLeastBetweenComparisons = 64;

struct SegmentPlan {
  // In order: divisions and remainders by constants of values that grow with the index, and comparisons (kLess) of such
  // values with uniform values.
  std::vector<const Instruction*> cuts;
  std::vector<bool> inside;                    // Indexed by value.
  std::vector<const Instruction*> definition;  // Indexed by value.
  int32_t index = -1;

  bool IsCut(const Instruction& instruction) const;
  // Whether the instruction is a quotient or comparison in `cuts`, so that it is uniform in a segment.
  bool IsFixed(const Instruction& instruction) const;
};

SegmentPlan PlanSegments(const HostFacts& facts, const Region& tile, int64_t elements);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_SEGMENTS_H_
