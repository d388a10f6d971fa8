// Brings an optimized module into the form that buffers and steps are planned on.
#ifndef HLO_GPU_RUNTIME_PREPARE_H_
#define HLO_GPU_RUNTIME_PREPARE_H_

#include <memory>
#include <vector>

#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo::gpu {

// A copy of `module` (ids kept) in which every computation that control flow enters (while, conditional, call) is
// entered from one place: buffers and live ranges are then those of one place. Of regions there are those that are one
// kernel on `device` as they stand; of rows a fusion each.
std::unique_ptr<Module> Prepare(const Module& module, const DeviceDescription& device);

// No work of its own at run time: parameter, constant, tuple, get-tuple-element, bitcast, ... and control flow, whose
// steps are those of the computations it enters.
bool IsControlOrView(const Instruction& inst);
// Computes at run time: has a place in the order of steps, and observers see it.
bool IsStep(const Instruction& inst);
// A copy that keeps the layout: bytes are moved, or nothing happens when both sides share a buffer.
bool MovesBytes(const Instruction& inst);

// Has sizes that are known only at run time, or is given or made of such.
bool HasDynamicSizes(const Instruction& inst);
// What an array takes in memory. With sizes that are known only at run time these stand behind the elements, of which
// there is room for the most: s64[rank], at a multiple of 8 bytes.
int64_t BytesInMemory(const Shape& array);
int64_t SizesOffset(const Shape& array);

// Whether a value of shape `value` may stand where `shape` is said: it may be smaller where that says <=.
bool FitsInto(const Shape& value, const Shape& shape);

// The order in which a computation's instructions run: as scheduled, else operands first.
std::vector<Instruction*> RunOrder(const Computation& computation);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_PREPARE_H_
