#include "driver/lower.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_set>

#include "base/counted.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/codegen/host.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/device/sass.h"
#include "gpu/emitters/emitter.h"
#include "gpu/libraries/open.h"
#include "gpu/plan/planner.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

struct StageRow {
  std::string_view name, about, comment;
};

constexpr StageRow kStages[] = {
    {"kernels", "the list of kernels with their launches, emitters, buffers and HLO", "//"},
    {"llvm-before-optimizations", "LLVM IR for NVPTX before LLVM's passes", ";"},
    {"llvm", "LLVM IR for NVPTX after LLVM's passes", ";"},
    {"ptx", "PTX for the target", "//"},
    {"ptxas", "the report of ptxas: registers, spills, shared memory", "//"},
    {"sass", "machine code for the target, ahead of time: its size, registers, spills, shared memory", "//"},
    {"host-llvm",
     "LLVM IR for this machine after LLVM's passes; without --target the kernels are also planned for this machine",
     ";"},
    {"host-asm", "assembly for this machine; without --target the kernels are also planned for this machine", "#"},
};

const StageRow& RowOf(LowerStage stage) { return kStages[static_cast<int>(stage)]; }

struct Lowered {
  const Instruction* inst = nullptr;
  Result<std::vector<gpu::EmittedKernel>> kernels;
};

Result<std::vector<gpu::EmittedKernel>> KernelsOf(const Instruction& inst, const DeviceDescription& device) {
  return gpu::EmitFusion(inst, TRY(gpu::KernelPlanOf(inst, device)));
}

std::vector<Lowered> LowerFusions(const Module& module, const std::string& name, const DeviceDescription& device) {
  std::vector<Lowered> fusions;
  std::unordered_set<const Computation*> in_regions;
  const std::vector<Computation*> order = module.PostOrder();
  for (size_t i = order.size(); i-- > 0;) {
    for (const Instruction* inst : order[i]->instructions()) {
      if (!IsRegion(*inst) && !in_regions.contains(order[i])) continue;
      for (const Computation* called : CalledComputations(*inst)) in_regions.insert(called);
    }
  }
  for (const Computation* computation : order) {
    if (in_regions.contains(computation)) continue;
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kFusion) && (name.empty() || inst->name() == name)) fusions.push_back({.inst = inst});
    }
  }
  ParallelFor(std::ssize(fusions), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fusions[i].kernels = KernelsOf(*fusions[i].inst, device);
  });
  return fusions;
}

using Texts = std::vector<Result<std::string>>;
using Emitted = std::vector<const gpu::EmittedKernel*>;

Texts Each(const Emitted& kernels, const std::function<Result<std::string>(size_t)>& text) {
  Texts texts(kernels.size());
  ParallelFor(std::ssize(kernels), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) texts[i] = text(i);
  });
  return texts;
}

std::string TextOf(const kernel::PtxasKernel& kernel) {
  return Str(kernel.registers, " registers, ", kernel.spill_store_bytes, " bytes of spill stores, ",
             kernel.spill_load_bytes, " of spill loads, ", kernel.stack_bytes, " of stack, ", kernel.shared_bytes,
             " of shared memory\n");
}

std::string SpillsText(const Emitted& kernels, std::span<const kernel::PtxasKernel> found) {
  std::string spilling;
  int64_t bad = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (found[i].spill_store_bytes + found[i].spill_load_bytes == 0) continue;
    ++bad;
    spilling += Str("//   ", kernels[i]->kernel->name, ": ", found[i].spill_store_bytes, " bytes of spill stores, ",
                    found[i].spill_load_bytes, " of spill loads\n");
  }
  return bad == 0 ? Str("// no spills in ", Counted(std::ssize(kernels), "kernel"), "\n")
                  : Str("// spills in ", bad, " of ", Counted(std::ssize(kernels), "kernel"), ":\n", spilling);
}

Texts Assemble(const Emitted& kernels, std::span<const kernel::Ptx> ptx, const std::string& arch, std::string* spills) {
  std::vector<kernel::PtxasKernel> found(kernels.size());
  Texts texts = Each(kernels, [&](size_t i) -> Result<std::string> {
    found[i] = TRY(kernel::Ptxas(ptx[i].text, arch)).kernels.front();
    return TextOf(found[i]);
  });
  *spills = SpillsText(kernels, found);
  return texts;
}

Result<Texts> MachineCode(const Emitted& kernels, std::span<const kernel::Kernel* const> plain,
                          const kernel::NvptxOptions& options, const SassOptions& sass, std::string* after) {
  const gpu::Assembler assembler = TRY(gpu::FindAssembler(sass.library_path));
  const std::vector<gpu::Sass> made = TRY(gpu::MakeSass(plain, options, assembler, sass.cache));
  Texts texts;
  std::vector<kernel::PtxasKernel> reports;
  std::map<const std::string*, bool> was_kept;
  for (const gpu::Sass& one : made) {
    texts.emplace_back(TextOf(one.report));
    reports.push_back(one.report);
    was_kept[one.cubin.get()] = one.was_kept;
  }
  int64_t bytes = 0, kept = 0;
  for (const auto& [cubin, is_kept] : was_kept) {
    bytes += std::ssize(*cubin);
    kept += is_kept;
  }
  *after = Str(SpillsText(kernels, reports), "// ", HumanBytes(bytes), " in ", was_kept.size(),
               was_kept.size() == 1 ? " cubin" : " cubins", " for ", options.arch,
               sass.cache == nullptr ? "" : Str(", ", kept, " of them from the cache"), ", by ", assembler.text, "\n");
  if (sass.cache != nullptr) {
    for (const std::string& note : sass.cache->TakeNotes()) *after += Str("// note: ", note, "\n");
  }
  return texts;
}

// `after` receives text that follows all kernels.
Result<Texts> TextsOf(const Emitted& kernels, LowerStage stage, const kernel::NvptxOptions& options,
                      const SassOptions& sass, std::string* after) {
  std::vector<const kernel::Kernel*> plain;
  for (const gpu::EmittedKernel* each : kernels) plain.push_back(each->kernel.get());
  std::vector<kernel::Ptx> ptx;
  if (stage == LowerStage::kPtx || stage == LowerStage::kPtxas) ptx = TRY(kernel::EmitPtx(plain, options));
  if (stage == LowerStage::kPtxas) return Assemble(kernels, ptx, options.arch, after);
  if (stage == LowerStage::kSass) return MachineCode(kernels, plain, options, sass, after);
  return Each(kernels, [&](size_t i) -> Result<std::string> {
    switch (stage) {
      case LowerStage::kKernels: return Str(Print(*kernels[i]->source), "\n");
      case LowerStage::kLlvmBefore: return kernel::EmitNvptxIr(*plain[i], false, options);
      case LowerStage::kLlvm: return kernel::EmitNvptxIr(*plain[i], true, options);
      case LowerStage::kPtx: return std::move(ptx[i].text);
      case LowerStage::kPtxas:
      case LowerStage::kSass: break;
      case LowerStage::kHostLlvm: return kernel::EmitHost(*plain[i], kernel::HostStage::kOptimized);
      case LowerStage::kHostAsm: return kernel::EmitHost(*plain[i], kernel::HostStage::kAssembly);
    }
    return std::string();
  });
}

std::string LibrariesText(const Instruction& call, bool on_host) {
  std::string out;
  for (const gpu::Refusal& refusal : gpu::ConsultLibraries(call, on_host)) {
    out += Str("// ", call.name(), ": ");
    if (refusal.library.empty()) out += Str(refusal.why, "\n");
    else if (refusal.why.empty()) out += Str(refusal.library, " decides when the call is compiled\n");
    else out += Str(refusal.library, " does not support it: ", refusal.why, "\n");
  }
  return out;
}

}  // namespace

std::string_view ToString(LowerStage stage) { return RowOf(stage).name; }
std::string_view About(LowerStage stage) { return RowOf(stage).about; }

Result<std::string> Lower(const Module& module, LowerStage stage, const std::string& name,
                          const DeviceDescription& device, const SassOptions& sass) {
  // Kernels for other targets, or for GPUs that LLVM does not know, are shown for sm_90.
  kernel::NvptxOptions options;
  if (device.is_gpu) options.arch = Str("sm_", std::min(device.compute_capability, 90));
  const std::unique_ptr<Module> compiled = module.Clone();
  gpu::TakeUnplannedRegionsApart(*compiled, device);
  const std::vector<Lowered> fusions = LowerFusions(*compiled, name, device);
  if (fusions.empty() && !name.empty())
    FAIL(UsageError("F008", Str("no fusion is called '", Escaped(name), "'"))
             .Hint("hlo-opt --stage=kernels lists them"));
  Emitted kernels;
  for (const Lowered& fusion : fusions) {
    if (fusion.kernels) {
      for (const gpu::EmittedKernel& kernel : *fusion.kernels) kernels.push_back(&kernel);
    } else if (!name.empty() || fusion.kernels.error().exit != ExitCode::kUnsupported) {
      FAIL(fusion.kernels.error());
    }
  }
  std::string out, after;
  const Texts texts = TRY(TextsOf(kernels, stage, options, sass, &after));
  size_t next = 0;
  for (const Lowered& fusion : fusions) {
    if (stage == LowerStage::kKernels && IsLibraryCall(*fusion.inst))
      out += LibrariesText(*fusion.inst, !device.is_gpu);
    const std::string begin = Str(RowOf(stage).comment, " ", fusion.inst->name(), ": ");
    if (!fusion.kernels) {
      out += Str(begin, fusion.kernels.error().message(), "\n");
      continue;
    }
    for (const gpu::EmittedKernel& kernel : *fusion.kernels) {
      out += Str(begin, kernel.emitter, ", ", kernel.kernel->blocks,
                 kernel.kernel->blocks == 1 ? " block of " : " blocks of ", kernel.kernel->threads, " threads\n",
                 TRY(texts[next++]));
    }
  }
  return out + after;
}

}  // namespace hlo
