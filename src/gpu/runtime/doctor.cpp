#include "gpu/runtime/doctor.h"

#include "base/text.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/device/cupti.h"
#include "gpu/device/device.h"
#include "gpu/device/nvjitlink.h"
#include "gpu/libraries/cublaslt.h"
#include "gpu/libraries/cudnn.h"
#include "gpu/libraries/onednn.h"

namespace hlo::gpu {
namespace {

Capability Cpu() { return {"cpu", true, OpenHostDevice()->description(), ""}; }

Capability Cuda(const std::vector<std::string>& library_path) {
  auto device = OpenDevice("cuda", library_path);
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
          "tests do not assemble PTX; on a GPU the driver assembles it"};
}

Capability Cache(kernel::CodeCache* cache) {
  if (cache == nullptr)
    return {"cache", false, "neither --cache_dir nor HLO_CACHE_DIR is given", "each process compiles its kernels anew"};
  const kernel::CodeCache::Contents contents = cache->Count();
  const std::vector<std::string> notes = cache->TakeNotes();
  if (!notes.empty()) return {"cache", false, notes.front(), "each process compiles its kernels anew"};
  return {"cache", true,
          Str(cache->directory(), ", code of ", contents.entries, contents.entries == 1 ? " kernel, " : " kernels, ",
              HumanBytes(static_cast<double>(contents.bytes)), " of ",
              HumanBytes(static_cast<double>(cache->most_bytes()))),
          ""};
}

}  // namespace

std::vector<Capability> Examine(const std::vector<std::string>& library_path, kernel::CodeCache* cache) {
  return {
      Cpu(),
      Versioned("oneDNN", OneDnnVersion(library_path), "products and convolutions run as kernels of hlokit on the cpu"),
      Cuda(library_path),
      Versioned("cublasLt", CublasLtVersion(library_path), "products run as kernels of hlokit on cuda"),
      Versioned("cuDNN", CudnnVersion(library_path), "convolutions run as kernels of hlokit on cuda"),
      Versioned("CUPTI", CuptiVersion(library_path), "--profile on cuda waits for each step and times it by events"),
      Versioned("nvJitLink", NvJitLinkVersion(library_path), "without ptxas no machine code is made ahead of time"),
      Ptxas(),
      Cache(cache)};
}

}  // namespace hlo::gpu
