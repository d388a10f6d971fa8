// Bounds for elements of a kernel that differ from the interpreter's bits.
#ifndef HLO_JUDGE_COMPARE_PARTIAL_BOUNDS_H_
#define HLO_JUDGE_COMPARE_PARTIAL_BOUNDS_H_

#include <optional>
#include <span>
#include <vector>

#include "judge/bounds/shadow.h"
#include "judge/bounds/slice.h"
#include "judge/compare/compare.h"

namespace hlo {

// A module for the bounds of only the elements that differ from `interpreted`. Nullopt if a complete evaluation costs
// no more, or if elements cannot be judged one by one, as after a sort.
std::optional<shadow::Slice> SliceOfDifferences(const Computation& computation, std::span<const Literal> inputs,
                                                const Literal& actual, const Literal& interpreted,
                                                const LocalOptions& options);
// The `points` of each leaf come from `part`. Other elements are the interpreter's, without bounds.
Shadow Spread(Shadow part, std::span<const std::vector<int64_t>> points, const Literal& interpreted);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_PARTIAL_BOUNDS_H_
