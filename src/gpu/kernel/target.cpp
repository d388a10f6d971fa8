#include "gpu/kernel/target.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();

// LLVM's static constructors, kept back by scripts/llvm_late.ld; nowhere when another linker ran them at start-up.
using Constructor = void (*)();
[[gnu::weak]] extern Constructor llvm_init_begin[];
[[gnu::weak]] extern Constructor llvm_init_end[];
}

namespace hlo::kernel {
namespace {

void Initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (Constructor* construct = llvm_init_begin; construct != llvm_init_end; ++construct) (*construct)();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Half of the time of code generation for small kernels, and nothing gained in ours: addresses are simple, and
    // ptxas has its own. There is no other way to switch it off.
    static_cast<llvm::cl::opt<bool>*>(llvm::cl::getRegisteredOptions()["disable-lsr"])->setValue(true);
  });
}

struct HostCpu {
  std::string name, features;
  bool has_v3 = false, has_avx512 = false;
};

const HostCpu& Cpu() {
  static const HostCpu cpu = [] {
    HostCpu found{.name = llvm::sys::getHostCPUName().str()};
    const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
    std::vector<std::string> names;
    for (const auto& feature : features) names.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
    std::sort(names.begin(), names.end());
    // Processors with the fix for downfall gather at a tenth of the speed of as many loads.
    names.push_back("+prefer-no-gather");
    names.push_back("+prefer-no-scatter");
    for (const std::string& name : names) found.features += (found.features.empty() ? "" : ",") + name;
    found.has_v3 = features.lookup("avx2") && features.lookup("fma") && features.lookup("f16c");
    found.has_avx512 = features.lookup("avx512f") && features.lookup("avx512dq") && features.lookup("avx512bw") &&
                       features.lookup("avx512vl");
    return found;
  }();
  return cpu;
}

// No contraction: fma stands where it is written, so that host and GPU round alike.
Result<llvm::TargetMachine*> Make(const std::string& triple, const std::string& cpu, const std::string& features,
                                  llvm::CodeGenOptLevel level) {
  Initialise();
  thread_local std::map<std::string, std::unique_ptr<llvm::TargetMachine>> machines;
  std::unique_ptr<llvm::TargetMachine>& machine = machines[triple + cpu + features];
  if (machine) return machine.get();
  std::string message;
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target) FAIL(InternalError("LLVM has no target '" + triple + "': " + message));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  machine.reset(target->createTargetMachine(triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt, level));
  if (!machine) FAIL(InternalError("LLVM cannot generate code for '" + cpu + "'"));
  return machine.get();
}

}  // namespace

Result<llvm::TargetMachine*> HostTarget() {
  if (!Cpu().has_v3) {
    FAIL(Unsupported("R101", "kernels on the host need a CPU with AVX2, FMA and F16C (x86-64-v3); this one is '" +
                                 Cpu().name + "'"));
  }
  return Make(llvm::sys::getProcessTriple(), Cpu().name, Cpu().features, llvm::CodeGenOptLevel::Default);
}

Result<llvm::TargetMachine*> NvptxTarget(const std::string& arch, int ptx_version) {
  return Make("nvptx64-nvidia-cuda", arch, "+ptx" + std::to_string(ptx_version), llvm::CodeGenOptLevel::Default);
}

bool HostHasMasks() { return Cpu().has_avx512; }

const std::string& HostCpuKey() {
  static const std::string key = Cpu().name + ":" + Cpu().features;
  return key;
}

void Prepare(llvm::Module& module, llvm::TargetMachine& target) {
  module.setTargetTriple(target.getTargetTriple().str());
  module.setDataLayout(target.createDataLayout());
  const bool host = target.getTargetTriple().isX86();
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", target.getTargetCPU());
    function.addFnAttr("target-features", target.getTargetFeatureString());
    if (host) function.addFnAttr("prefer-vector-width", HostHasMasks() ? "512" : "256");
  }
}

Status Generate(llvm::Module& module, llvm::TargetMachine& target, bool object, llvm::SmallVectorImpl<char>& out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  const auto kind = object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if (target.addPassesToEmitFile(passes, stream, nullptr, kind, /*DisableVerify=*/true)) {
    FAIL(InternalError("LLVM cannot emit files for '" + target.getTargetTriple().str() + "'"));
  }
  passes.run(module);
  return {};
}

}  // namespace hlo::kernel
