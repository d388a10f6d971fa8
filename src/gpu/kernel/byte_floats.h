// Conversions between floats of at most 8 bits and f32 by bit arithmetic. A table would need slower gathers.
#ifndef HLO_GPU_KERNEL_BYTE_FLOATS_H_
#define HLO_GPU_KERNEL_BYTE_FLOATS_H_

#include "base/small_floats.h"
#include "gpu/kernel/builder.h"

namespace hlo::kernel {

FloatFormat FormatOf(Type type);

// Same results as hlo::DecodeFloat and hlo::EncodeFloat, between kU8 and kF32. Bits outside the format are ignored.
Value DecodeByteFloat(FloatFormat format, Value byte);
Value EncodeByteFloat(FloatFormat format, Value number);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_BYTE_FLOATS_H_
