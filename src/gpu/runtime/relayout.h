// Converts between row-major literals and memory in the layout of a shape.
#ifndef HLO_GPU_RUNTIME_RELAYOUT_H_
#define HLO_GPU_RUNTIME_RELAYOUT_H_

#include <cstddef>

#include "ir/shape.h"

namespace hlo::gpu {

// `shape` is an array. Both sides have shape.ByteSize() bytes and do not overlap.
void ToLayout(const Shape& shape, const void* row_major, void* memory);
void FromLayout(const Shape& shape, const void* memory, void* row_major);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_RELAYOUT_H_
