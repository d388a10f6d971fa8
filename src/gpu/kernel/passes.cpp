#include "gpu/kernel/passes.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include "gpu/kernel/streaming.h"

namespace hlo::kernel {

Status RunPasses(llvm::Module& module, llvm::TargetMachine& target, Pipeline pipeline) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&target);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  constexpr const char* kTexts[] = {
      // What early-cse<memssa> finds besides are loads that stores stand between; those of inputs are marked as
      // invariant, which early-cse knows.
      "function(sroa,early-cse,instcombine<max-iterations=1;no-verify-fixpoint>,simplifycfg,"
      "loop-unroll,early-cse,instcombine<max-iterations=1;no-verify-fixpoint>,simplifycfg)",
      "function(sroa,early-cse,simplifycfg,loop-mssa(licm),loop-vectorize,early-cse,instcombine<max-iterations=1;no-"
      "verify-fixpoint>,simplifycfg)",
      "function(sroa,early-cse,simplifycfg,loop-mssa(licm),loop-vectorize,early-cse,simplifycfg)",
      "coro-early,cgscc(coro-split),coro-cleanup,function(sroa,early-cse,instcombine<max-iterations=1;no-verify-"
      "fixpoint>,simplifycfg)",
  };
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, kTexts[static_cast<int>(pipeline)])) {
    FAIL(InternalError("LLVM pass pipeline: " + llvm::toString(std::move(error))));
  }
  passes.run(module, modules);
  if (pipeline == Pipeline::kHost || pipeline == Pipeline::kHostQuick) StreamStores(module);
  return {};
}

Status Verify(llvm::Module& module) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(module, &stream)) {
    FAIL(InternalError("kernel '" + module.getName().str() + "' became invalid LLVM IR: " + message));
  }
  return {};
}

}  // namespace hlo::kernel
