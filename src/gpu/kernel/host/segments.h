// Divisions of a tile's index, a pass of the host lowering.
//
// Between two multiples of C, (base + i) / C is the same for all i and (base + i) % C counts up. So the tile is cut at
// the multiples: what would be gathers of divided indices becomes vector loads. Not for small C: the pieces would be
// too short.
#ifndef HLO_GPU_KERNEL_HOST_SEGMENTS_H_
#define HLO_GPU_KERNEL_HOST_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/host/facts.h"

namespace hlo::kernel {

constexpr int64_t kLeastSegment = 16;

struct SegmentPlan {
  std::vector<const Instruction*>
      divisions;             // kDiv and kRem by constants of something that counts up with the index; empty: no cuts.
  std::vector<bool> inside;  // By value: defined in the tile.
  std::vector<const Instruction*> definition;  // By value: of index arithmetic in the tile.
  int32_t index = -1;                          // The tile's index.

  // The same for all elements of a segment.
  bool IsQuotient(const Instruction& instruction) const;
};

SegmentPlan PlanSegments(const HostFacts& facts, const Region& tile);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_SEGMENTS_H_
