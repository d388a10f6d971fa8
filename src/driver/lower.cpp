#include "driver/lower.h"

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

Result<std::string> TextOf(const gpu::KernelPlan& plan, LowerStage stage) {
  const kernel::Kernel& kernel = *plan.kernel;
  switch (stage) {
    case LowerStage::kKernels: return Str(Print(*plan.source), "\n");
    case LowerStage::kLlvmBefore: return kernel::EmitNvptxIr(kernel, false);
    case LowerStage::kLlvm: return kernel::EmitNvptxIr(kernel, true);
    case LowerStage::kPtx: return TRY(kernel::EmitPtx(kernel)).text;
    case LowerStage::kPtxas: {
      const kernel::PtxasReport report = TRY(kernel::Ptxas(TRY(kernel::EmitPtx(kernel)).text));
      return Format(
          "%d registers, %lld bytes of spill stores, %lld of spill loads, %lld of stack, %lld of shared memory\n",
          report.registers, static_cast<long long>(report.spill_store_bytes),
          static_cast<long long>(report.spill_load_bytes), static_cast<long long>(report.stack_bytes),
          static_cast<long long>(report.shared_bytes));
    }
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
                   " blocks of ", plan.kernel->threads, " threads\n", TRY(TextOf(plan, stage)));
      }
    }
  }
  if (!found)
    FAIL(UsageError("F008", Str("no fusion is called '", Escaped(name), "'"))
             .Hint("hlo-opt --stage=kernels lists them"));
  return out;
}

}  // namespace hlo
