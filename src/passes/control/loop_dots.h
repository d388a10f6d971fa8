// What loops multiply in each trip: slices of their inputs, for passes that multiply for all trips at once.
#ifndef HLO_PASSES_CONTROL_LOOP_DOTS_H_
#define HLO_PASSES_CONTROL_LOOP_DOTS_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"
#include "passes/control/loop.h"

namespace hlo {

struct DeviceDescription;

// One place of dimension `dimension` of element `element` of the state, which does not change.
struct LoopSlice {
  Instruction* slice;  // The dynamic-slice.
  int64_t element, dimension;
  bool keeps;  // Does the operand that was read have it, as a dimension of 1? Otherwise it is a reshape without it.

  Instruction& whole() const { return slice->operand(0); }
  Instruction& place() const { return slice->operand(1 + dimension); }
  // Of the whole, for dimension d of the operand.
  int64_t DimensionOf(int64_t d) const { return d < dimension || keeps ? d : d + 1; }
};

// Is it an element of the state that does not change, row-major, of static dimensions?
bool IsGiven(const Loop& loop, const Instruction& value);
// Nullopt where an operand of an instruction in the body is none.
std::optional<LoopSlice> ReadLoopSlice(const Loop& loop, Instruction& operand);

// Bytes of what is kept for all trips.
constexpr int64_t kMostLoopDotBytes = 256 << 20;

// A trip's product of few rows reads (or adds to) `large`, a matrix that it does next to nothing with. On a GPU that is
// a launch at least; on a host it has to come from memory: matrices that stay in a core's cache win nothing (an LSTM of
// 128 units, 256 KiB). With more rows, reading is little of the work. `a` times `b` is `product`, one of the three
// `large`.
bool IsLoopDotOfFewRows(const Shape& a, const Shape& b, const Shape& product, const Shape& large,
                        const DeviceDescription& device);

}  // namespace hlo

#endif  // HLO_PASSES_CONTROL_LOOP_DOTS_H_
