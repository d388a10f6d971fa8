// Prepares an optimized module for planning buffers and steps.
#ifndef HLO_GPU_RUNTIME_PREPARE_H_
#define HLO_GPU_RUNTIME_PREPARE_H_

#include <memory>
#include <vector>

#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo::gpu {

// A copy of `module` with the same ids. Computations that control flow enters have one caller each, and thus buffers of
// their own. Regions that no planner supports are expanded (gpu/plan/planner.h).
std::unique_ptr<Module> Prepare(const Module& module, const DeviceDescription& device);

// Whether `inst` needs no step: control flow, views, parameters and constants.
bool IsControlOrView(const Instruction& inst);
bool IsStep(const Instruction& inst);
// Whether `inst` is a copy that keeps the layout. It does nothing if both sides share a buffer.
bool MovesBytes(const Instruction& inst);

bool HasDynamicSizes(const Instruction& inst);
// Bytes of an array, with room for the largest dynamic sizes. The actual sizes, s64[rank], follow at SizesOffset, a
// multiple of 8 bytes.
int64_t BytesInMemory(const Shape& array);
int64_t SizesOffset(const Shape& array);

// Whether `value` has the sizes of `shape`, or smaller ones in dynamic dimensions.
bool FitsInto(const Shape& value, const Shape& shape);

// Instructions in the order of the schedule if the module has one, otherwise operands before their users.
std::vector<Instruction*> RunOrder(const Computation& computation);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_PREPARE_H_
