#include "gpu/codegen/passes.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Coroutines/CoroCleanup.h>
#include <llvm/Transforms/Coroutines/CoroEarly.h>
#include <llvm/Transforms/Coroutines/CoroSplit.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

#include "gpu/codegen/streaming.h"

namespace hlo::kernel {
namespace {

// Loads of inputs are marked as invariant, so MemorySSA is not needed.
void AddEarlyCse(llvm::FunctionPassManager& passes) { passes.addPass(llvm::EarlyCSEPass()); }
void AddPromotion(llvm::FunctionPassManager& passes) { passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG)); }
void AddSimplifyCfg(llvm::FunctionPassManager& passes) { passes.addPass(llvm::SimplifyCFGPass()); }
void AddFolding(llvm::FunctionPassManager& passes) {
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1).setVerifyFixpoint(false)));
}

void AddHoisting(llvm::FunctionPassManager& passes) {
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
}

// Adds passes in code, because PassBuilder::parsePassPipeline would link all passes of LLVM.
llvm::FunctionPassManager FunctionPasses(Pipeline pipeline) {
  llvm::FunctionPassManager passes;
  AddPromotion(passes);
  AddEarlyCse(passes);
  const bool host = pipeline == Pipeline::kHost || pipeline == Pipeline::kHostQuick;
  if (!host) AddFolding(passes);
  AddSimplifyCfg(passes);
  if (pipeline == Pipeline::kEmulator) return passes;
  if (host) {
    AddHoisting(passes);
    passes.addPass(llvm::LoopVectorizePass());
  } else {
    passes.addPass(llvm::LoopUnrollPass());
  }
  AddEarlyCse(passes);
  if (pipeline != Pipeline::kHostQuick) AddFolding(passes);
  // Folding has moved address computations into loops.
  if (pipeline == Pipeline::kHost) AddHoisting(passes);
  AddSimplifyCfg(passes);
  // A tile whose loops became a few vectors, such as a transposed square, now stays in registers.
  if (pipeline == Pipeline::kHost) AddPromotion(passes);
  return passes;
}

}  // namespace

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

  llvm::ModulePassManager passes;
  if (pipeline == Pipeline::kEmulator) {
    passes.addPass(llvm::CoroEarlyPass());
    passes.addPass(llvm::createModuleToPostOrderCGSCCPassAdaptor(llvm::CoroSplitPass()));
    passes.addPass(llvm::CoroCleanupPass());
  }
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(FunctionPasses(pipeline)));
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
