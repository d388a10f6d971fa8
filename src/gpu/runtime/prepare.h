// Prepares an optimized module for planning buffers and steps.
#ifndef HLO_GPU_RUNTIME_PREPARE_H_
#define HLO_GPU_RUNTIME_PREPARE_H_

#include <memory>
#include <vector>

#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo::gpu {

// A copy of `module` with the same ids. Each computation that control flow enters has a single caller, and thus its own
// buffers. Regions that no planner supports are expanded (gpu/plan/planner.h).
std::unique_ptr<Module> Prepare(const Module& module, const DeviceDescription& device);

// Whether `inst` needs no step itself: control flow, views, parameters and constants.
bool IsControlOrView(const Instruction& inst);
bool IsStep(const Instruction& inst);
// Whether `inst` is a copy with an unchanged layout. Such a copy does nothing if both sides share a buffer.
bool MovesBytes(const Instruction& inst);

bool HasDynamicSizes(const Instruction& inst);
// Bytes of an array in memory. If its sizes are dynamic, there is room for the largest sizes. The actual sizes,
// s64[rank], follow at SizesOffset, a multiple of 8 bytes.
int64_t BytesInMemory(const Shape& array);
int64_t SizesOffset(const Shape& array);

// Whether `value` has the sizes of `shape`, or smaller ones in dynamic dimensions.
bool FitsInto(const Shape& value, const Shape& shape);

// The instructions in the order of the schedule. Without a schedule, operands precede their users.
std::vector<Instruction*> RunOrder(const Computation& computation);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_PREPARE_H_
