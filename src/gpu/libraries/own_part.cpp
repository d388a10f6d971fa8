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
      if (buffer.kind == KernelBuffer::Kind::kLiteral || buffer.kind == KernelBuffer::Kind::kTrips)
        FAIL(Unsupported(
            "U111", Str("a ", kernel.emitter, " beside a library call cannot have constants or counters of its own")));
      if (buffer.kind != KernelBuffer::Kind::kScratch || part.scratch_.contains(buffer.scratch)) continue;
      part.scratch_[buffer.scratch] = {part.scratch_bytes_, buffer.bytes, buffer.zeroed};
      part.scratch_bytes_ += AlignedBytes(buffer.bytes);
    }
    kernels.push_back(kernel.kernel.get());
  }
  part.code_ = TRY(device.Compile(kernels, {}, nullptr));
  return part;
}

void* OwnPart::PointerOf(const KernelBuffer& buffer, std::span<void* const> operands, std::span<void* const> results,
                         void* scratch) const {
  switch (buffer.kind) {
    case KernelBuffer::Kind::kOperand:
      return operands[module_->entry().root().operand(buffer.operand).parameter_number()];
    case KernelBuffer::Kind::kScratch: return static_cast<std::byte*>(scratch) + scratch_.at(buffer.scratch).offset;
    default: return results[buffer.index.empty() ? 0 : buffer.index.front()];
  }
}

Status OwnPart::Launch(Device& device, const Loaded& loaded, std::span<void* const> operands,
                       std::span<void* const> results, void* scratch) const {
  for (const auto& [number, part] : scratch_) {
    if (part.zeroed) TRY(device.Fill(static_cast<std::byte*>(scratch) + part.offset, 0, 1, part.bytes));
  }
  std::vector<void*> arguments;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    arguments.clear();
    for (const KernelBuffer& buffer : kernels_[i].buffers)
      arguments.push_back(PointerOf(buffer, operands, results, scratch));
    TRY(device.Launch(*loaded[i], arguments));
  }
  return {};
}

}  // namespace hlo::gpu
