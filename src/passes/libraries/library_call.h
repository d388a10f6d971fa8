// What the passes over library calls share. A call is a kCustom fusion (ir/fusion.h); its computation says what is
// computed, see library_rewriter.cpp.
#ifndef HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_
#define HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_

#include <cstdint>

#include "ir/attrs.h"
#include "ir/instruction.h"

namespace hlo {

// The dot or convolution that the call computes; null where its computation does not hold exactly one.
const Instruction* ProductOf(const Instruction& call);

// A call that convolves two of its operands as they are, each of which nothing else in it reads.
struct ConvolutionCall {
  const Instruction* convolution = nullptr;  // Null: it is none.
  int64_t input = 0, filter = 0;             // Numbers of operands.
};
ConvolutionCall ReadConvolutionCall(const Instruction& call);

// The call with another input, filter and convolution. A `shape` other than the convolution's only where the
// convolution is all that it computes.
Instruction& WithConvolution(Instruction& inst, const ConvolutionCall& call, Instruction& input, Instruction& filter,
                             const ConvolutionAttrs& attrs, const Shape& shape);

// `x` itself where there is nothing to pad. New ones stand beside `like`.
Instruction* PadWithZeros(Instruction& like, Instruction& x, const PaddingConfig& padding);

}  // namespace hlo

#endif  // HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_
