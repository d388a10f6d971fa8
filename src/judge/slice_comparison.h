// Compares the results of two slices. Private to judge.
#ifndef HLO_JUDGE_SLICE_COMPARISON_H_
#define HLO_JUDGE_SLICE_COMPARISON_H_

#include <cstdint>
#include <string>

#include "judge/bounds/slice.h"
#include "judge/sample.h"

namespace hlo {

struct SliceOutcome {
  enum class Kind : uint8_t { kEqualBits, kEqualResidues, kEqualInF64, kDiffers, kOpen } kind = Kind::kOpen;
  std::string why_open;
  Comparison comparison;  // Only for kDiffers.
};

// The results are elements of `after`, or of the element of it with the shape `shape`.
Result<SliceOutcome> CompareSlices(const shadow::SlicesOfTwo& slices, const Instruction& after, const Shape& shape,
                                   const Module& before, Preserves promise, const SampleOptions& options);

}  // namespace hlo

#endif  // HLO_JUDGE_SLICE_COMPARISON_H_
