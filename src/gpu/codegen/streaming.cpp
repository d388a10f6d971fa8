#include "gpu/codegen/streaming.h"

#include <algorithm>

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>

namespace hlo::kernel {
namespace {

constexpr const char* kMark = "hlo-streamed";

// Whether a store to a streamed output has whole aligned vectors.
bool CanStream(llvm::StoreInst& store, const llvm::DataLayout& layout) {
  const auto* to = llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(store.getPointerOperand(), 0));
  if (to == nullptr || !to->getParent()->getAttributes().hasParamAttr(to->getArgNo(), kMark)) return false;
  const uint64_t bytes = layout.getTypeStoreSize(store.getValueOperand()->getType());
  const uint64_t vector = bytes % 64 == 0 ? 64 : 32;
  return bytes % 32 == 0 && llvm::getKnownAlignment(store.getPointerOperand(), layout).value() >= vector;
}

bool StreamStores(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  llvm::MDNode* const yes = llvm::MDNode::get(
      function.getContext(),
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(function.getContext()), 1)));
  bool any = false;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    if (store == nullptr || !CanStream(*store, layout)) continue;
    store->setAlignment(llvm::getKnownAlignment(store->getPointerOperand(), layout));
    store->setMetadata(llvm::LLVMContext::MD_nontemporal, yes);
    any = true;
  }
  return any;
}

}  // namespace

void MarkStreamed(llvm::Function& function, unsigned parameter) {
  function.addParamAttr(parameter, llvm::Attribute::get(function.getContext(), kMark));
  function.addParamAttr(parameter, llvm::Attribute::getWithAlignment(function.getContext(), llvm::Align(64)));
}

void StreamStores(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!StreamStores(function)) continue;
    // The fence orders streaming stores before the flag or lock by which other threads learn that they may read.
    for (llvm::BasicBlock& block : function) {
      if (auto* leave = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
        llvm::IRBuilder<>(leave).CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
    }
  }
}

}  // namespace hlo::kernel
