// Prepares an optimized module for planning buffers and steps.
#ifndef HLO_GPU_RUNTIME_PREPARE_H_
#define HLO_GPU_RUNTIME_PREPARE_H_

#include <memory>
#include <vector>

#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo::gpu {

// A copy of `module` with the same ids. Each computation that control flow enters (while, conditional, call) has a
// single caller, so its buffers and live ranges belong to one place. Regions that `device` runs as one kernel stay;
// regions of rows become fusions; others are expanded.
std::unique_ptr<Module> Prepare(const Module& module, const DeviceDescription& device);

// Whether the instruction has no work of its own at run time. These are parameter, constant, tuple, get-tuple-element,
// bitcast, ... and control flow, whose steps are in other computations.
bool IsControlOrView(const Instruction& inst);
// Whether the instruction computes at run time. Such a step has a position in the order and can be observed.
bool IsStep(const Instruction& inst);
// A copy that keeps the layout. It moves bytes, or does nothing if both sides share a buffer.
bool MovesBytes(const Instruction& inst);

// Whether the result or an operand has dynamic sizes.
bool HasDynamicSizes(const Instruction& inst);
// The bytes of an array in memory. An array with dynamic sizes has room for the largest sizes. The actual sizes,
// s64[rank], follow the elements at a multiple of 8 bytes (SizesOffset).
int64_t BytesInMemory(const Shape& array);
int64_t SizesOffset(const Shape& array);

// Whether a value of shape `value` is allowed for `shape`. It may be smaller where `shape` has <=.
bool FitsInto(const Shape& value, const Shape& shape);

// The execution order of a computation: the schedule, or else operands first.
std::vector<Instruction*> RunOrder(const Computation& computation);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_PREPARE_H_
