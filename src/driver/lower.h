// The kernels of an optimized module, as text at each stage below HLO.
#ifndef HLO_DRIVER_LOWER_H_
#define HLO_DRIVER_LOWER_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo {

enum class LowerStage : uint8_t { kKernels, kLlvmBefore, kLlvm, kPtx, kPtxas, kHostLlvm, kHostAsm };
std::string_view ToString(LowerStage stage);  // "llvm-before-optimizations"
std::string_view About(LowerStage stage);     // One line for people.

// Every kernel of the module's fusions, in order of the module's text, each under a comment line that names its
// instruction, by the plan that stands on it or one for `device`; only those of instruction `name` unless it is empty.
// What has no emitter is said in a comment. Library fusions are shown as the kernels that stand in for them. kPtxas:
// registers, spills and shared memory of each, and at the end a list of those that spill.
Result<std::string> Lower(const Module& module, LowerStage stage, const std::string& name,
                          const DeviceDescription& device);

}  // namespace hlo

#endif  // HLO_DRIVER_LOWER_H_
