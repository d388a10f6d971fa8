// Finds dots in loops that read a slice of an invariant value, so that one dot can compute all trips.
#ifndef HLO_PASSES_CONTROL_LOOP_DOTS_H_
#define HLO_PASSES_CONTROL_LOOP_DOTS_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"
#include "passes/control/loop.h"

namespace hlo {

struct DeviceDescription;

// A slice of size 1 in `dimension` of the invariant state element `element`.
struct LoopSlice {
  Instruction* slice;  // A dynamic-slice.
  int64_t element, dimension;
  bool keeps;  // The dot's operand has `dimension` with size 1. Otherwise a reshape removed it.

  Instruction& whole() const { return slice->operand(0); }
  Instruction& place() const { return slice->operand(1 + dimension); }
  // Dimension of the whole value for dimension d of the dot's operand.
  int64_t DimensionOf(int64_t d) const { return d < dimension || keeps ? d : d + 1; }
};

// Whether `value` is an invariant state element that is a row-major array of static size.
bool IsGiven(const Loop& loop, const Instruction& value);
std::optional<LoopSlice> ReadLoopSlice(const Loop& loop, Instruction& operand);

// Limit in bytes for an array of the values of all trips.
constexpr int64_t kMostLoopDotBytes = 256 << 20;

// Whether a trip's product of `a` and `b` has so few rows that reading (or updating) `large`, one of the three arrays,
// takes most of the product's time. On a host `large` must exceed a core's cache, because smaller matrices gain
// nothing.
bool IsLoopDotOfFewRows(const Shape& a, const Shape& b, const Shape& product, const Shape& large,
                        const DeviceDescription& device);

}  // namespace hlo

#endif  // HLO_PASSES_CONTROL_LOOP_DOTS_H_
