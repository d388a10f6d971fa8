// What the back end finds on this machine, and why not what it does not find. For `hlo doctor`.
#ifndef HLO_GPU_RUNTIME_DOCTOR_H_
#define HLO_GPU_RUNTIME_DOCTOR_H_

#include <string>
#include <vector>

#include "gpu/kernel/code_cache.h"

namespace hlo::gpu {

struct Capability {
  std::string name;  // "cpu", "oneDNN", "cuda", "cublasLt", "cuDNN", "CUPTI", "nvJitLink", "ptxas", "cache".
  bool ok = false;
  std::string text;         // What was found: version, device, threads; or what was tried.
  std::string consequence;  // When it is missing: what happens instead.
};

// Opens every library it asks about; cuBLASLt alone takes up to a second. `cache`: null where none is wanted.
std::vector<Capability> Examine(const std::vector<std::string>& library_path, kernel::CodeCache* cache);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_DOCTOR_H_
