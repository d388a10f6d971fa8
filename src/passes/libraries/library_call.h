// A library call is a kCustom fusion whose computation defines its value (library_rewriter.cpp).
#ifndef HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_
#define HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_

#include <cstdint>

#include "ir/attrs.h"
#include "ir/instruction.h"

namespace hlo {

// The only dot or convolution of the call, or null.
const Instruction* ProductOf(const Instruction& call);

// A library call whose convolution reads two row-major operands of the call that nothing else in the call reads.
// `input` and `filter` are their operand numbers.
struct ConvolutionCall {
  const Instruction* convolution = nullptr;  // Null for other calls.
  int64_t input = 0, filter = 0;
};
ConvolutionCall ReadConvolutionCall(const Instruction& call);

// The call with another input, filter and convolution. `shape` may be new only if the convolution is the whole
// computation.
Instruction& WithConvolution(Instruction& inst, const ConvolutionCall& call, Instruction& input, Instruction& filter,
                             const ConvolutionAttrs& attrs, const Shape& shape);

// `x` itself if the padding is empty. `like` gives the computation and metadata.
Instruction* PadWithZeros(Instruction& like, Instruction& x, const PaddingConfig& padding);

}  // namespace hlo

#endif  // HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_
