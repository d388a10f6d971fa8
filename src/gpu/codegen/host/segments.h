// A pass of the host lowering that cuts tiles into segments, to simplify divisions and comparisons of the tile's index.
//
// Between two multiples of C, (base + i) / C is constant and (base + i) % C grows by 1. So a tile is cut there if C is
// at least kLeastSegment. Gathers with divided indices then become vector loads.
//
// A tile is also cut where the comparison of a branch changes, so that the branch is uniform in a segment. The parts of
// a concatenation then become copies. Comparisons are ignored if segments would have less than kLeastBetweenComparisons
// elements on average.
#ifndef HLO_GPU_CODEGEN_HOST_SEGMENTS_H_
#define HLO_GPU_CODEGEN_HOST_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/facts.h"

namespace hlo::kernel {

constexpr int64_t kLeastSegment = 16;
constexpr int64_t kLeastBetweenComparisons = 64;

struct SegmentPlan {
  // In program order: divisions and remainders with a constant divisor, and comparisons (kLess) with a uniform value
  // that decide a branch. The left operand grows by 1 with the index.
  std::vector<const Instruction*> cuts;
  std::vector<bool> inside;                    // Whether the tile computes the value. Indexed by value.
  std::vector<const Instruction*> definition;  // The defining instruction. Indexed by value.
  int32_t index = -1;

  bool IsCut(const Instruction& instruction) const;
  // Whether the instruction is a quotient or comparison in `cuts`, and so uniform in a segment.
  bool IsFixed(const Instruction& instruction) const;
};

SegmentPlan PlanSegments(const HostFacts& facts, const Region& tile, int64_t elements);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_HOST_SEGMENTS_H_
