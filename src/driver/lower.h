// The kernels of an optimized module, as text at each stage below HLO.
#ifndef HLO_DRIVER_LOWER_H_
#define HLO_DRIVER_LOWER_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/code_cache.h"
#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo {

enum class LowerStage : uint8_t { kKernels, kLlvmBefore, kLlvm, kPtx, kPtxas, kSass, kHostLlvm, kHostAsm };
std::string_view ToString(LowerStage stage);  // "llvm-before-optimizations"
std::string_view About(LowerStage stage);     // One line for people.

// Of kSass.
struct SassOptions {
  std::vector<std::string> library_path;  // Where to look first for nvJitLink.
  kernel::CodeCache* cache = nullptr;     // Where code of other processes is, and theirs is kept.
};

// Every kernel of the module's fusions, in order of the module's text, each under a comment line that names its
// instruction, by the plan that stands on it or one for `device`; only those of instruction `name` unless it is empty.
// What has no emitter is said in a comment. Library fusions are shown as the kernels that stand in for them. kPtxas:
// registers, spills and shared memory of each, and at the end a list of those that spill; kSass: the same of machine
// code that is made as it would be for a run, and by what.
Result<std::string> Lower(const Module& module, LowerStage stage, const std::string& name,
                          const DeviceDescription& device, const SassOptions& sass = {});

}  // namespace hlo

#endif  // HLO_DRIVER_LOWER_H_
