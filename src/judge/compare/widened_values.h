// Findings about single values of a widened comparison.
#ifndef HLO_JUDGE_COMPARE_WIDENED_VALUES_H_
#define HLO_JUDGE_COMPARE_WIDENED_VALUES_H_

#include <cstdint>

#include "judge/compare/widened.h"

namespace hlo {

// `by_bits` and `opened` count elements of all arrays of the instruction's result. `checked` is the number of
// compared elements of these arrays.
void Classify(const Instruction& inst, const TensorComparison& tensor, int64_t checked, int64_t by_bits, int64_t opened,
              WidenedValue& value);

// The first open value determines the verdict and the reason. Values that passes made undetermined come first.
void DecideByValues(WidenedResult& result);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_WIDENED_VALUES_H_
