// The kernels of an optimized module as text at each stage below HLO.
#ifndef HLO_DRIVER_LOWER_H_
#define HLO_DRIVER_LOWER_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/codegen/code_cache.h"
#include "ir/device_description.h"
#include "ir/module.h"

namespace hlo {

enum class LowerStage : uint8_t { kKernels, kLlvmBefore, kLlvm, kPtx, kPtxas, kSass, kHostLlvm, kHostAsm };
std::string_view ToString(LowerStage stage);
std::string_view About(LowerStage stage);

struct SassOptions {
  std::vector<std::string> library_path;  // Folders to search first for nvJitLink.
  kernel::CodeCache* cache = nullptr;     // A cache shared with other processes.
};

// The kernels in text order, or only the kernels of instruction `name` if not empty. Uses the plan in the text, or
// makes a plan for `device`. For a library call, prints the kernels that could replace it. kPtxas prints registers,
// spills and shared memory. kSass prints them for the machine code that a run would use.
Result<std::string> Lower(const Module& module, LowerStage stage, const std::string& name,
                          const DeviceDescription& device, const SassOptions& sass = {});

}  // namespace hlo

#endif  // HLO_DRIVER_LOWER_H_
