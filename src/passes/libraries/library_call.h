// Shared parts of the passes over library calls. A library call is a kCustom fusion (ir/fusion.h), and its computation
// defines its value (library_rewriter.cpp).
#ifndef HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_
#define HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_

#include <cstdint>

#include "ir/attrs.h"
#include "ir/instruction.h"

namespace hlo {

// The dot or convolution in the call's computation, or null if there is not exactly one.
const Instruction* ProductOf(const Instruction& call);

// A call whose convolution takes two operands of the call directly. Nothing else in the call reads these operands.
struct ConvolutionCall {
  const Instruction* convolution = nullptr;  // Null if it is not such a call.
  int64_t input = 0, filter = 0;             // Operand numbers.
};
ConvolutionCall ReadConvolutionCall(const Instruction& call);

// The call with another input, filter and convolution. `shape` may differ from the old shape only if the convolution is
// the whole computation of the call.
Instruction& WithConvolution(Instruction& inst, const ConvolutionCall& call, Instruction& input, Instruction& filter,
                             const ConvolutionAttrs& attrs, const Shape& shape);

// Pads `x` with zeros, or returns `x` if there is no padding. `like` gives the computation and metadata.
Instruction* PadWithZeros(Instruction& like, Instruction& x, const PaddingConfig& padding);

}  // namespace hlo

#endif  // HLO_PASSES_LIBRARIES_LIBRARY_CALL_H_
