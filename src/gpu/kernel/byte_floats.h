// Conversions between floats of at most 8 bits and f32 by bit arithmetic. A table would need gathers, which are slower.
#ifndef HLO_GPU_KERNEL_BYTE_FLOATS_H_
#define HLO_GPU_KERNEL_BYTE_FLOATS_H_

#include "base/small_floats.h"
#include "gpu/kernel/builder.h"

namespace hlo::kernel {

FloatFormat FormatOf(Type type);

// Convert kU8 to kF32 and back, with the results of hlo::DecodeFloat and hlo::EncodeFloat. Decoding ignores bits
// outside the format.
Value DecodeByteFloat(FloatFormat format, Value byte);
Value EncodeByteFloat(FloatFormat format, Value number);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_BYTE_FLOATS_H_
