#include "gpu/libraries/own_part.h"

#include "base/text.h"
#include "gpu/plan/planner.h"

namespace hlo::gpu {

Result<OwnPart> OwnPart::Make(std::unique_ptr<Module> module, Device& device) {
  OwnPart part;
  const Instruction& inst = module->entry().root();
  part.kernels_ = TRY(EmitFusion(inst, TRY(PlanKernels(inst, device.Describe()))));
  part.module_ = std::move(module);
  std::vector<const kernel::Kernel*> kernels;
  for (const EmittedKernel& kernel : part.kernels_) {
    for (const KernelBuffer& buffer : kernel.buffers) {
      if (buffer.kind != KernelBuffer::Kind::kOperand && buffer.kind != KernelBuffer::Kind::kOutput)
        FAIL(Unsupported("U111", Str("a ", kernel.emitter, " beside a library's call needs memory of its own")));
    }
    kernels.push_back(kernel.kernel.get());
  }
  part.code_ = TRY(device.Compile(kernels, {}, nullptr));
  return part;
}

Status OwnPart::Launch(Device& device, const Loaded& loaded, std::span<void* const> operands, void* result) const {
  std::vector<void*> arguments;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    arguments.clear();
    for (const KernelBuffer& buffer : kernels_[i].buffers) {
      const bool reads = buffer.kind == KernelBuffer::Kind::kOperand;
      arguments.push_back(reads ? operands[module_->entry().root().operand(buffer.operand).parameter_number()]
                                : result);
    }
    TRY(device.Launch(*loaded[i], arguments));
  }
  return {};
}

}  // namespace hlo::gpu
