#include "gpu/codegen/target.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include "base/host_isa.h"
#include "base/text.h"

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();

// LLVM's static constructors, which scripts/llvm_late.ld defers. Null if another linker let them run at start-up.
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
    // Loop strength reduction takes much time and gains nothing: addresses are simple, and ptxas has its own. There is
    // no other switch.
    static_cast<llvm::cl::opt<bool>*>(llvm::cl::getRegisteredOptions()["disable-lsr"])->setValue(true);
  });
}

struct HostCpu {
  std::string name, features;
};

// Processors with the fix for Downfall gather more slowly than they load single elements.
constexpr const char* kTuning = "+prefer-no-gather,+prefer-no-scatter";

HostCpu NativeCpu() {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> names;
  for (const auto& feature : features) names.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  std::sort(names.begin(), names.end());
  names.push_back(kTuning);
  return {llvm::sys::getHostCPUName().str(), Join(names, ",")};
}

const HostCpu& Cpu() {
  static const HostCpu avx2 = {"x86-64-v3", kTuning}, avx512 = {"x86-64-v4", kTuning}, native = NativeCpu();
  switch (ChosenHostIsa()) {
    case HostIsa::kAvx2: return avx2;
    case HostIsa::kAvx512: return avx512;
    case HostIsa::kNative: break;
  }
  return native;
}

// Without contraction, host and GPU use fma only where the kernel does, and round alike.
Result<llvm::TargetMachine*> Make(const std::string& triple, const std::string& cpu, const std::string& features,
                                  llvm::CodeGenOptLevel level) {
  Initialise();
  thread_local std::map<std::pair<std::string, llvm::CodeGenOptLevel>, std::unique_ptr<llvm::TargetMachine>> machines;
  std::unique_ptr<llvm::TargetMachine>& machine = machines[{triple + cpu + features, level}];
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

// Passes that change nothing: the PTX of all models is the same without them.
constexpr std::string_view kLeftOut[] = {"Nary reassociation", "GPU Load and Store Vectorizer"};

// The scheduler gains little, because instructions are in good order, and kernels contain nothing for the other passes.
// Models are as fast without them (bench/results/compile.md#choices-of-the-code-generator).
constexpr std::string_view kLeftOutOnHost[] = {
    "Machine Instruction Scheduler",
    "Register Allocation Pass Scoring",
    "Expand large div/rem",
    "Expand large fp convert",
    "Lower AMX intrinsics",
    "Lower AMX type for load/store",
    "Tile Register Pre-configure",
    "Tile Register Configure",
    "X86 Lower Tile Copy",
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Partially inline calls to library functions",
    "Replace intrinsics with calls to vector library",
    "Lower Garbage Collection Instructions",
    "Shadow Stack GC Lowering",
    "TLS Variable Hoist",
    "Prepare callbr",
    "Expand indirectbr instructions",
    "Exception handling preparation",
    "Safe Stack instrumentation pass",
    "Insert stack protectors",
    "Insert KCFI indirect call checks",
    "Insert fentry calls",
    "Insert XRay ops",
    "Implement the 'patchable-function' attribute",
    "X86 Indirect Branch Tracking",
    "X86 speculative load hardening",
    "X86 Load Value Injection (LVI) Load Hardening",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Indirect Thunks",
    "X86 Return Thunks",
    "X86 Insert Cache Prefetches",
    "X86 Discriminate Memory Operands",
    "X86 Domain Reassignment Pass",
    "Remove Redundant DEBUG_VALUE analysis",
    "Live DEBUG_VALUE analysis",
    "StackMap Liveness Analysis",
    "Fixup Statepoint Caller Saved",
    "Machine Sanitizer Binary Metadata",
    "Pseudo Probe Inserter",
    "Stack Frame Layout Analysis",
    "Contiguously Lay Out Funclets",
};

class CodeGenPasses : public llvm::legacy::PassManager {
 public:
  explicit CodeGenPasses(bool host) : host_(host) {}

  void add(llvm::Pass* pass) override {
    const std::string_view name = pass->getPassName();
    const bool unwanted = std::ranges::find(kLeftOut, name) != std::end(kLeftOut) ||
                          (host_ && std::ranges::find(kLeftOutOnHost, name) != std::end(kLeftOutOnHost));
    if (unwanted) delete pass;
    else llvm::legacy::PassManager::add(pass);
  }

 private:
  const bool host_;
};

}  // namespace

Result<llvm::TargetMachine*> HostTarget(Effort effort) {
  return Make(llvm::sys::getProcessTriple(), Cpu().name, Cpu().features,
              effort == Effort::kFull ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None);
}

std::string HostProcessor() { return Cpu().name; }

std::string HostTargetText(Effort effort) {
  return Str("LLVM ", LLVM_VERSION_STRING, " ", llvm::sys::getProcessTriple(), " ", Cpu().name, " ", Cpu().features,
             MayUseAvx512() ? " 512" : " 256", effort == Effort::kFull ? " full" : " little");
}

Result<llvm::TargetMachine*> NvptxTarget(const std::string& arch, int ptx_version) {
  return Make("nvptx64-nvidia-cuda", arch, "+ptx" + std::to_string(ptx_version), llvm::CodeGenOptLevel::Default);
}

void Prepare(llvm::Module& module, llvm::TargetMachine& target) {
  module.setTargetTriple(target.getTargetTriple().str());
  module.setDataLayout(target.createDataLayout());
  const bool host = target.getTargetTriple().isX86();
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", target.getTargetCPU());
    function.addFnAttr("target-features", target.getTargetFeatureString());
    if (host) function.addFnAttr("prefer-vector-width", MayUseAvx512() ? "512" : "256");
  }
}

Status Generate(llvm::Module& module, llvm::TargetMachine& target, bool object, llvm::SmallVectorImpl<char>& out) {
  llvm::raw_svector_ostream stream(out);
  CodeGenPasses passes(target.getTargetTriple().isX86());
  const auto kind = object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if (target.addPassesToEmitFile(passes, stream, nullptr, kind, /*DisableVerify=*/true)) {
    FAIL(InternalError("LLVM cannot emit files for '" + target.getTargetTriple().str() + "'"));
  }
  passes.run(module);
  return {};
}

}  // namespace hlo::kernel
