// Bounds of an array's elements from the bounds of its operands.
#ifndef HLO_JUDGE_REACH_RESULT_BOUNDS_H_
#define HLO_JUDGE_REACH_RESULT_BOUNDS_H_

#include <span>

#include "judge/reach/value_bounds.h"

namespace hlo {

Bounds AllOf(PrimitiveType type);
Bounds Join(const Bounds& a, const Bounds& b);
// Bounds of a result: floats with a margin for roundings, all integers if the result may wrap.
Bounds Computed(PrimitiveType type, double low, double high, bool nan);
// `inst` must call no computation.
Bounds BoundsOfResult(const Instruction& inst, std::span<const Bounds> operands);

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_RESULT_BOUNDS_H_
