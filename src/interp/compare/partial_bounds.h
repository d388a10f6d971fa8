// Bounds of some elements of a kernel: those with other bits than the interpreter's. The others are right.
#ifndef HLO_INTERP_COMPARE_PARTIAL_BOUNDS_H_
#define HLO_INTERP_COMPARE_PARTIAL_BOUNDS_H_

#include <optional>
#include <span>
#include <vector>

#include "interp/compare/compare.h"
#include "interp/shadow/shadow.h"
#include "interp/shadow/slice.h"

namespace hlo {

// A computation of the elements of `actual` that differ from `interpreted`. Nothing if all elements together cost no
// more, or if elements are not judged one by one, as after a sort or a factorisation.
std::optional<shadow::Slice> SliceOfDifferences(const Computation& computation, std::span<const Literal> inputs,
                                                const Literal& actual, const Literal& interpreted,
                                                const LocalOptions& options);
// The shadow of the whole: `part` at `points`, by leaf, and elsewhere the interpreter's values without bounds.
Shadow Spread(Shadow part, std::span<const std::vector<int64_t>> points, const Literal& interpreted);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_PARTIAL_BOUNDS_H_
