#include "gpu/codegen/host_lowering.h"

#include <algorithm>

#include "gpu/codegen/host/emission.h"

namespace hlo::kernel {

bool TakesArgumentsOneByOne(const Kernel& kernel) {
  return kernel.Arguments().size() <= kMostDirectArguments &&
         std::ranges::none_of(kernel.arrays, [](const ArrayInfo& array) { return array.members > 0; });
}

void LowerToHost(const Kernel& kernel, const std::string& name, bool masked_tails, llvm::Module& module) {
  HostEmission(kernel, masked_tails, module).Lower(name);
}

}  // namespace hlo::kernel
