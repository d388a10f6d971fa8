#include "driver/lower.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/emitters/emitter.h"
#include "gpu/kernel/host.h"
#include "gpu/kernel/nvptx.h"
#include "ir/printer.h"

namespace hlo {
namespace {

struct StageRow {
  std::string_view name, about, comment;
};

constexpr StageRow kStages[] = {
    {"kernels", "the list of kernels: launch, emitter, buffers, and their HLO", "//"},
    {"llvm-before-optimizations", "LLVM IR for NVPTX as lowered", ";"},
    {"llvm", "LLVM IR for NVPTX after LLVM's passes", ";"},
    {"ptx", "PTX for sm_90", "//"},
    {"ptxas", "what ptxas says of it: registers, spills, shared memory", "//"},
    {"host-llvm", "LLVM IR for this machine after LLVM's passes", ";"},
    {"host-asm", "assembly for this machine", "#"},
};

const StageRow& RowOf(LowerStage stage) { return kStages[static_cast<int>(stage)]; }

// What ptxas makes of the kernels, and which of them keep registers in memory.
class SpillList {
 public:
  Result<std::string> Assemble(const kernel::Kernel& kernel) {
    const kernel::PtxasReport report = TRY(kernel::Ptxas(TRY(kernel::EmitPtx(kernel)).text));
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

Result<std::string> TextOf(const gpu::KernelPlan& plan, LowerStage stage, SpillList* spills) {
  const kernel::Kernel& kernel = *plan.kernel;
  switch (stage) {
    case LowerStage::kKernels: return Str(Print(*plan.source), "\n");
    case LowerStage::kLlvmBefore: return kernel::EmitNvptxIr(kernel, false);
    case LowerStage::kLlvm: return kernel::EmitNvptxIr(kernel, true);
    case LowerStage::kPtx: return TRY(kernel::EmitPtx(kernel)).text;
    case LowerStage::kPtxas: return TRY(spills->Assemble(kernel));
    case LowerStage::kHostLlvm: return kernel::EmitHost(kernel, kernel::HostStage::kOptimized);
    case LowerStage::kHostAsm: return kernel::EmitHost(kernel, kernel::HostStage::kAssembly);
  }
  return std::string();
}

}  // namespace

std::string_view ToString(LowerStage stage) { return RowOf(stage).name; }
std::string_view About(LowerStage stage) { return RowOf(stage).about; }

Result<std::string> Lower(const Module& module, LowerStage stage, const std::string& name) {
  std::string out;
  SpillList spills;
  bool found = name.empty();
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (!inst->Is(Opcode::kFusion) || (!name.empty() && inst->name() != name)) continue;
      found = true;
      const auto plans = gpu::EmitFusion(*inst);
      if (!plans) {
        if (!name.empty()) FAIL(plans.error());
        out += Str(RowOf(stage).comment, " ", inst->name(), ": ", plans.error().message(), "\n");
        continue;
      }
      for (const gpu::KernelPlan& plan : *plans) {
        out += Str(RowOf(stage).comment, " ", inst->name(), ": ", plan.emitter, ", ", plan.kernel->blocks,
                   " blocks of ", plan.kernel->threads, " threads\n", TRY(TextOf(plan, stage, &spills)));
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
