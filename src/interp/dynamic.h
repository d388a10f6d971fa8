// Dynamic sizes. A value of `s32[<=5]` has its actual shape, such as `s32[3]`: docs/ops.md#dynamic-dimensions. The
// sizes of results follow XLA's dynamic dimension inference.
#ifndef HLO_INTERP_DYNAMIC_H_
#define HLO_INTERP_DYNAMIC_H_

#include "interp/evaluation.h"

namespace hlo {

// True also for a tuple with a dynamic element.
bool HasDynamicDims(const Shape& shape);
// True if an operand or the result may be smaller than its shape.
bool MayBeDynamic(const Instruction& inst);

// True if `actual` equals `declared`, or is smaller in dimensions where `declared` has <=.
bool Fits(const Shape& actual, const Shape& declared);
// Makes all dimensions of the shape static.
Literal Compact(Literal literal);

// Evaluates an instruction that MayBeDynamic. Errors (R006): sizes that do not fit, or a smaller result where its shape
// has no <=.
Result<Literal> EvalDynamic(Evaluation& e);

Result<Literal> PadToStatic(Evaluation& e);
Result<Literal> SliceToDynamic(Evaluation& e);

}  // namespace hlo

#endif  // HLO_INTERP_DYNAMIC_H_
