#include "gpu/runtime/doctor.h"

#include "base/text.h"
#include "gpu/device/device.h"
#include "gpu/kernel/nvptx.h"
#include "gpu/libraries/cublaslt.h"
#include "gpu/libraries/onednn.h"

namespace hlo::gpu {
namespace {

Capability Cpu() { return {"cpu", true, OpenHostDevice()->description(), ""}; }

Capability Cuda() {
  auto device = OpenDevice("cuda");
  if (device) return {"cuda", true, Str((*device)->name(), " ", (*device)->description()), ""};
  return {"cuda", false, device.error().message(), "kernels run on the cpu"};
}

Capability Versioned(std::string name, const Result<std::string>& version, std::string consequence) {
  if (version) return {std::move(name), true, *version, ""};
  return {std::move(name), false, version.error().message(), std::move(consequence)};
}

Capability Ptxas() {
  const std::string path = kernel::FindPtxas();
  if (!path.empty()) return {"ptxas", true, path, ""};
  return {"ptxas", false, "not on PATH, in $CUDA_HOME/bin or /usr/local/cuda/bin",
          "PTX is not assembled in tests; the driver does it on a GPU"};
}

}  // namespace

std::vector<Capability> Examine(const std::vector<std::string>& library_path) {
  return {
      Cpu(),
      Versioned("oneDNN", OneDnnVersion(library_path), "products and convolutions run as our own kernels on the cpu"),
      Cuda(), Versioned("cublasLt", CublasLtVersion(library_path), "products run as our own kernels on cuda"), Ptxas()};
}

}  // namespace hlo::gpu
