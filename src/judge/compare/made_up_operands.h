// Random operands in place of the values that a program computes.
#ifndef HLO_JUDGE_COMPARE_MADE_UP_OPERANDS_H_
#define HLO_JUDGE_COMPARE_MADE_UP_OPERANDS_H_

#include <cstdint>
#include <optional>

#include "judge/compare/both_sides.h"
#include "judge/compare/correspondence.h"

namespace hlo {

// Replaces kept floats by seeded numbers between `least` and 2. Nullopt if there are too many.
std::optional<PairOfComputations> WithMadeUpOperands(const PairOfComputations& pair, const Correspondence& pairs,
                                                     double least, uint64_t seed);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_MADE_UP_OPERANDS_H_
