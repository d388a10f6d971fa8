// Divisions and comparisons of a tile's index, a pass of the host lowering.
//
// Between two multiples of C, (base + i) / C is the same for all i and (base + i) % C counts up. So the tile is cut at
// the multiples: what would be gathers of divided indices becomes vector loads. Not for small C: the pieces would be
// too short.
//
// A comparison of what counts up with what does not changes once; where a branch hangs on it, the tile is cut there
// too, so that the branch is the same for all: the parts of a concatenation become copies. Not where that would leave
// short pieces on average.
#ifndef HLO_GPU_KERNEL_HOST_SEGMENTS_H_
#define HLO_GPU_KERNEL_HOST_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/host/facts.h"

namespace hlo::kernel {

constexpr int64_t kLeastSegment = 16;
constexpr int64_t kLeastBetweenComparisons = 64;

struct SegmentPlan {
  // kDiv and kRem by constants of something that counts up with the index, and kLess of it than what does not, in the
  // order of the tile; empty: no cuts.
  std::vector<const Instruction*> cuts;
  std::vector<bool> inside;                    // By value: defined in the tile.
  std::vector<const Instruction*> definition;  // By value: of index arithmetic and comparisons in the tile.
  int32_t index = -1;                          // The tile's index.

  bool IsCut(const Instruction& instruction) const;
  // The same for all elements of a segment: a quotient or a comparison.
  bool IsFixed(const Instruction& instruction) const;
};

SegmentPlan PlanSegments(const HostFacts& facts, const Region& tile, int64_t elements);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_SEGMENTS_H_
