// Floats of a byte or less, to f32 and back, by arithmetic on the bits of eight at a time rather than from tables: a
// gather costs a vector more than the dozen operations here, and a GPU has no gather at all.
#ifndef HLO_GPU_KERNEL_BYTE_FLOATS_H_
#define HLO_GPU_KERNEL_BYTE_FLOATS_H_

#include "base/small_floats.h"
#include "gpu/kernel/builder.h"

namespace hlo::kernel {

FloatFormat FormatOf(Type type);  // Of a byte float.

// What hlo::DecodeFloat and hlo::EncodeFloat do. The byte as kU8, its bits beyond the format's not looked at; the
// number as kF32.
Value DecodeByteFloat(FloatFormat format, Value byte);
Value EncodeByteFloat(FloatFormat format, Value number);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_BYTE_FLOATS_H_
