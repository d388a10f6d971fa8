// Start indices that are known only at run time: docs/ops.md#indices.
#ifndef HLO_IR_ANALYSIS_DYNAMIC_INDICES_H_
#define HLO_IR_ANALYSIS_DYNAMIC_INDICES_H_

#include <cstdint>

#include "ir/instruction.h"
#include "ir/literal.h"

namespace hlo {

// False for a vector of indices, as in old texts, even of one element.
bool HasScalarIndices(const Instruction& inst);

// A u64 of 2^63 or more becomes INT64_MAX, which is also beyond every array.
int64_t IndexAt(const Literal& indices, int64_t i);

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_DYNAMIC_INDICES_H_
