#ifndef HLO_IR_ANALYSIS_TAKEN_BRANCH_H_
#define HLO_IR_ANALYSIS_TAKEN_BRANCH_H_

#include <cstdint>

#include "ir/literal.h"

namespace hlo {

// The number of the selected branch. For pred, true is 0 and false is 1. An s32 out of range selects the last branch.
inline int64_t TakenBranch(const Literal& selector, int64_t branches) {
  const int64_t value = selector.GetInt(0);
  if (selector.shape().type() == PrimitiveType::kPred) return value != 0 ? 0 : 1;
  return value < 0 || value >= branches ? branches - 1 : value;
}

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_TAKEN_BRANCH_H_
