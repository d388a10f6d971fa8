#include "gpu/kernel/host_lowering.h"

#include "gpu/kernel/host/emission.h"

namespace hlo::kernel {

void LowerToHost(const Kernel& kernel, const std::string& name, bool masked_tails, llvm::Module& module) {
  HostEmission(kernel, masked_tails, module).Lower(name);
}

}  // namespace hlo::kernel
