// Where a dynamic-slice or dynamic-update-slice begins.
#ifndef HLO_IR_DYNAMIC_INDICES_H_
#define HLO_IR_DYNAMIC_INDICES_H_

#include "ir/instruction.h"

namespace hlo {

// A scalar for each dimension; not one vector, as old texts have it, which may be of one element.
bool HasScalarIndices(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_IR_DYNAMIC_INDICES_H_
