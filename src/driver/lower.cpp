#include "driver/lower.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/emitters/emitter.h"
#include "gpu/kernel/host.h"
#include "gpu/kernel/nvptx.h"
#include "gpu/plan/planner.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

struct StageRow {
  std::string_view name, about, comment;
};

constexpr StageRow kStages[] = {
    {"kernels", "the list of kernels: launch, emitter, buffers, and their HLO", "//"},
    {"llvm-before-optimizations", "LLVM IR for NVPTX as lowered", ";"},
    {"llvm", "LLVM IR for NVPTX after LLVM's passes", ";"},
    {"ptx", "PTX for the target", "//"},
    {"ptxas", "what ptxas says of it: registers, spills, shared memory", "//"},
    {"host-llvm", "LLVM IR for this machine after LLVM's passes", ";"},
    {"host-asm", "assembly for this machine", "#"},
};

const StageRow& RowOf(LowerStage stage) { return kStages[static_cast<int>(stage)]; }

// What ptxas makes of the kernels, and which of them keep registers in memory.
class SpillList {
 public:
  Result<std::string> Assemble(const kernel::Kernel& kernel, const kernel::NvptxOptions& options) {
    const kernel::PtxasReport report = TRY(kernel::Ptxas(TRY(kernel::EmitPtx(kernel, options)).text, options.arch));
    const kernel::PtxasKernel& found = report.kernels.front();
    const std::string spilled =
        Str(found.spill_store_bytes, " bytes of spill stores, ", found.spill_load_bytes, " of spill loads");
    ++kernels_;
    if (found.spill_store_bytes + found.spill_load_bytes > 0)
      spilling_ += Str("//   ", kernel.name, ": ", spilled, "\n");
    return Str(found.registers, " registers, ", spilled, ", ", found.stack_bytes, " of stack, ", found.shared_bytes,
               " of shared memory\n");
  }

  std::string Summary() const {
    if (spilling_.empty()) return Str("// no spills in ", kernels_, " kernels\n");
    return Str("// spills in ", std::ranges::count(spilling_, '\n'), " of ", kernels_, " kernels:\n", spilling_);
  }

 private:
  int64_t kernels_ = 0;
  std::string spilling_;  // A line for each.
};

Result<std::string> TextOf(const gpu::EmittedKernel& emitted, LowerStage stage, const kernel::NvptxOptions& options,
                           SpillList* spills) {
  const kernel::Kernel& kernel = *emitted.kernel;
  switch (stage) {
    case LowerStage::kKernels: return Str(Print(*emitted.source), "\n");
    case LowerStage::kLlvmBefore: return kernel::EmitNvptxIr(kernel, false, options);
    case LowerStage::kLlvm: return kernel::EmitNvptxIr(kernel, true, options);
    case LowerStage::kPtx: return TRY(kernel::EmitPtx(kernel, options)).text;
    case LowerStage::kPtxas: return TRY(spills->Assemble(kernel, options));
    case LowerStage::kHostLlvm: return kernel::EmitHost(kernel, kernel::HostStage::kOptimized);
    case LowerStage::kHostAsm: return kernel::EmitHost(kernel, kernel::HostStage::kAssembly);
  }
  return std::string();
}

// What runs, or would in place of a library call or a fill.
Result<std::vector<gpu::EmittedKernel>> KernelsOf(const Instruction& inst, const DeviceDescription& device) {
  return gpu::EmitFusion(inst, TRY(gpu::KernelPlanOf(inst, device)));
}

}  // namespace

std::string_view ToString(LowerStage stage) { return RowOf(stage).name; }
std::string_view About(LowerStage stage) { return RowOf(stage).about; }

Result<std::string> Lower(const Module& module, LowerStage stage, const std::string& name,
                          const DeviceDescription& device) {
  std::string out;
  SpillList spills;
  // Kernels for what is no GPU, and for later ones than LLVM knows, are shown as those of sm_90.
  kernel::NvptxOptions options;
  if (device.is_gpu) options.arch = Str("sm_", std::min(device.compute_capability, 90));
  bool found = name.empty();
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (!inst->Is(Opcode::kFusion) || (!name.empty() && inst->name() != name)) continue;
      found = true;
      const auto kernels = KernelsOf(*inst, device);
      if (!kernels) {
        if (!name.empty() || kernels.error().exit != ExitCode::kUnsupported) FAIL(kernels.error());
        out += Str(RowOf(stage).comment, " ", inst->name(), ": ", kernels.error().message(), "\n");
        continue;
      }
      for (const gpu::EmittedKernel& kernel : *kernels) {
        out += Str(RowOf(stage).comment, " ", inst->name(), ": ", kernel.emitter, ", ", kernel.kernel->blocks,
                   " blocks of ", kernel.kernel->threads, " threads\n", TRY(TextOf(kernel, stage, options, &spills)));
      }
    }
  }
  if (!found)
    FAIL(UsageError("F008", Str("no fusion is called '", Escaped(name), "'"))
             .Hint("hlo-opt --stage=kernels lists them"));
  if (stage == LowerStage::kPtxas) out += spills.Summary();
  return out;
}

}  // namespace hlo
