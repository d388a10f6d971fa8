// Capabilities of the back end on this machine, for `hlo doctor`.
#ifndef HLO_GPU_RUNTIME_DOCTOR_H_
#define HLO_GPU_RUNTIME_DOCTOR_H_

#include <string>
#include <vector>

#include "gpu/codegen/code_cache.h"

namespace hlo::gpu {

struct Capability {
  std::string name;
  bool ok = false;
  std::string text;  // The version or device found, or the error.
  std::string consequence;
};

// Opening all libraries can take a second. `cache` may be null.
std::vector<Capability> Examine(const std::vector<std::string>& library_path, kernel::CodeCache* cache);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_DOCTOR_H_
