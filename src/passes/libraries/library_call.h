// What the passes over library calls share. A call is a kCustom fusion (ir/fusion.h); its computation says what is
// computed, see library_rewriter.cpp.
#ifndef HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_
#define HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_

#include "ir/instruction.h"

namespace hlo {

// The dot or convolution that the call computes; null where its computation does not hold exactly one.
const Instruction* ProductOf(const Instruction& call);

}  // namespace hlo

#endif  // HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_
