// Indices of windows whose position is known at run time only: docs/ops.md#indices.
#ifndef HLO_IR_DYNAMIC_INDICES_H_
#define HLO_IR_DYNAMIC_INDICES_H_

#include <cstdint>

#include "ir/instruction.h"
#include "ir/literal.h"

namespace hlo {

// Whether a dynamic-slice or dynamic-update-slice has a scalar for each dimension; not one vector, as old texts have
// it, which may be of one element.
bool HasScalarIndices(const Instruction& inst);

// Element i of an array of indices. A u64 of 2^63 or more, which is beyond every array, gives INT64_MAX.
int64_t IndexAt(const Literal& indices, int64_t i);

}  // namespace hlo

#endif  // HLO_IR_DYNAMIC_INDICES_H_
