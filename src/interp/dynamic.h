// Sizes that are known only when the program runs. A value of `s32[<=5]` is a literal whose shape is its actual one,
// static and compact: `s32[3]`. An instruction that is given such a value is evaluated as one of the actual shapes.
// docs/ops.md#dynamic-dimensions. Which sizes results have is as in XLA's dynamic dimension inference.
#ifndef HLO_INTERP_DYNAMIC_H_
#define HLO_INTERP_DYNAMIC_H_

#include "interp/evaluation.h"

namespace hlo {

// A dimension written <=N, of the shape or of an element of it.
bool HasDynamicDims(const Shape& shape);
// A value smaller than its shape may reach the instruction or come from it. Elsewhere nothing of this file runs.
bool MayBeDynamic(const Instruction& inst);

// A value of shape `actual` may stand where `declared` is written: the same, but for smaller sizes where it says <=.
bool Fits(const Shape& actual, const Shape& declared);
// The value with nothing dynamic in its shape.
Literal Compact(Literal literal);

// What HandlerOf gives, for instructions that MayBeDynamic. [R006]: sizes that do not suit the instruction, or a result
// that is smaller where its shape does not say <=.
Result<Literal> EvalDynamic(Evaluation& e);

// Custom calls: the bounded array and its sizes, and back.
Result<Literal> PadToStatic(Evaluation& e);
Result<Literal> SliceToDynamic(Evaluation& e);

}  // namespace hlo

#endif  // HLO_INTERP_DYNAMIC_H_
