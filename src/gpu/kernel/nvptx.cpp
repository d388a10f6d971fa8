#include "gpu/kernel/nvptx.h"

#include <string_view>

#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include "gpu/kernel/nvptx_lowering.h"
#include "gpu/kernel/passes.h"
#include "gpu/kernel/target.h"

namespace hlo::kernel {

Result<Ptx> EmitPtx(const Kernel& kernel, const NvptxOptions& options) {
  llvm::TargetMachine* const target = TRY(NvptxTarget(options.arch, options.ptx_version));
  llvm::LLVMContext context;
  const auto module = LowerToNvptx(kernel, options, context);
  Prepare(*module, *target);
  TRY(RunPasses(*module, *target, Pipeline::kNvptx));
  llvm::SmallVector<char, 0> text;
  TRY(Generate(*module, *target, /*object=*/false, text));
  Ptx ptx{.text = std::string(text.begin(), text.end()), .entry = EntryName(kernel)};
  if (module->getNamedGlobal("dynamic_shared")) ptx.dynamic_shared_bytes = kernel.SharedBytes();
  return ptx;
}

std::string JoinPtx(std::span<const Ptx> parts) {
  std::string joined;
  for (const Ptx& part : parts) {
    std::string_view text = part.text;
    constexpr std::string_view kLastDirective = ".address_size 64\n";
    if (!joined.empty()) text.remove_prefix(text.find(kLastDirective) + kLastDirective.size());
    joined += text;
  }
  return joined;
}

Result<std::string> EmitNvptxIr(const Kernel& kernel, bool optimized, const NvptxOptions& options) {
  llvm::TargetMachine* const target = TRY(NvptxTarget(options.arch, options.ptx_version));
  llvm::LLVMContext context;
  const auto module = LowerToNvptx(kernel, options, context);
  Prepare(*module, *target);
  TRY(Verify(*module));
  if (optimized) {
    TRY(RunPasses(*module, *target, Pipeline::kNvptx));
    TRY(Verify(*module));
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

}  // namespace hlo::kernel
