// Dynamic sizes. A value of `s32[<=5]` is a literal with its actual shape, static and compact, such as `s32[3]`. An
// instruction with such an operand is evaluated with the actual shapes: docs/ops.md#dynamic-dimensions. The sizes of
// results follow XLA's dynamic dimension inference.
#ifndef HLO_INTERP_DYNAMIC_H_
#define HLO_INTERP_DYNAMIC_H_

#include "interp/evaluation.h"

namespace hlo {

// Whether a dimension of the shape or of an element is written <=N.
bool HasDynamicDims(const Shape& shape);
// Whether an operand or the result may be smaller than its shape. Other instructions do not use this file.
bool MayBeDynamic(const Instruction& inst);

// Whether a value of shape `actual` is allowed for `declared`: the same shape, but possibly smaller where `declared`
// has <=.
bool Fits(const Shape& actual, const Shape& declared);
// The value with a static shape.
Literal Compact(Literal literal);

// Evaluates an instruction that MayBeDynamic with its HandlerOf. Errors (R006): sizes that do not fit the instruction,
// or a smaller result where its shape has no <=.
Result<Literal> EvalDynamic(Evaluation& e);

// Custom calls that convert a bounded array to a padded array with its sizes, and back.
Result<Literal> PadToStatic(Evaluation& e);
Result<Literal> SliceToDynamic(Evaluation& e);

}  // namespace hlo

#endif  // HLO_INTERP_DYNAMIC_H_
