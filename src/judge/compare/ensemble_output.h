// The verdict of an ensemble (ensemble.h) on one array.
#ifndef HLO_JUDGE_COMPARE_ENSEMBLE_OUTPUT_H_
#define HLO_JUDGE_COMPARE_ENSEMBLE_OUTPUT_H_

#include <span>

#include "ir/literal.h"
#include "judge/compare/ensemble.h"

namespace hlo {

// `shape` has the declared type of the result `t`. `own` is the interpreter's value in the declared types, or null.
EnsembleOutput JudgeEnsemble(const ShapeIndex& index, const Shape& shape, const Literal& m,
                             std::span<const Literal> runs, const Literal& t, const Literal* own);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_ENSEMBLE_OUTPUT_H_
