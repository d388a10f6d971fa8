#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "gpu/codegen/emulator_conversion.h"

namespace hlo::kernel {
namespace {

void* AccessHook(Machine* machine, int32_t site, int32_t thread, void* address, const void* member, int32_t rank) {
  return machine->Access(site, thread, address, member, rank);
}
void* InBlockHook(Machine* machine, void* shared, int32_t rank) { return machine->InBlock(shared, rank); }
void CopyHook(Machine* machine, int32_t thread, void* to, const void* from) { machine->Copy(thread, to, from); }

// Sets `array`, to -1 if it must be found by address. False if the pointer belongs to no array of the kernel.
bool Identify(const Conversion& code, LlvmValue pointer, int* array) {
  const llvm::Value* const object = llvm::getUnderlyingObject(pointer, 0);
  *array = -1;
  if (llvm::isa<llvm::AllocaInst>(object)) return false;
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
    *array = code.kernel.Parameters()[argument->getArgNo()];
    return true;
  }
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
    llvm::StringRef name = global->getName();
    if (name == "dynamic_shared") return true;
    if (!name.consume_front("shared") && !name.consume_front("table")) return false;
    return !name.consumeInteger(10, *array);
  }
  return true;
}

}  // namespace

void RewriteAccess(Conversion& code, llvm::Instruction& instruction) {
  const llvm::DataLayout& layout = code.module.getDataLayout();
  AccessSite site;
  unsigned pointer_operand = 0;
  const auto access = [&](llvm::Type* type, llvm::Align align, bool writes, bool atomic, unsigned operand) {
    site.bytes = static_cast<int>(layout.getTypeStoreSize(type));
    site.alignment = static_cast<int>(align.value());
    site.writes = writes;
    site.atomic = atomic;
    pointer_operand = operand;
  };
  // Accesses get alignment 1, because host buffers are aligned only to elements and misaligned accesses must not
  // fault.
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    access(load->getType(), load->getAlign(), false, false, 0);
    load->setAlignment(llvm::Align(1));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    access(store->getValueOperand()->getType(), store->getAlign(), true, false, 1);
    store->setAlignment(llvm::Align(1));
  } else if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    access(atomic->getType(), atomic->getAlign(), true, true, 0);
  } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    access(exchange->getCompareOperand()->getType(), exchange->getAlign(), true, true, 0);
  } else {
    return;
  }
  instruction.setOperand(pointer_operand, Watched(code, instruction, instruction.getOperand(pointer_operand), site));
}

LlvmValue Watched(Conversion& code, const llvm::Instruction& instruction, LlvmValue pointer, AccessSite site) {
  LlvmValue member = llvm::ConstantPointerNull::get(code.b.getPtrTy()), rank = code.b.getInt32(kOwnBlock);
  const llvm::Value* const object = llvm::getUnderlyingObject(pointer, 0);
  const auto* const map = llvm::dyn_cast<llvm::IntrinsicInst>(object);
  const bool is_far = map && map->getIntrinsicID() == llvm::Intrinsic::nvvm_mapa;
  if (is_far) {
    pointer = map->getArgOperand(0);
    rank = map->getArgOperand(1);
  }
  if (!code.sanitize) return is_far ? CallHook(code, InBlockHook, code.Ptr(), {pointer, rank}) : pointer;
  if (const auto pointer_of = code.member_pointers.find(object); pointer_of != code.member_pointers.end()) {
    site.array = pointer_of->second;
    member = const_cast<llvm::Value*>(object);
  } else if (!Identify(code, pointer, &site.array)) {
    return pointer;
  }
  if (llvm::isa<llvm::Argument>(object) && code.kernel.arrays[site.array].members > 0) {
    site.pointer = true;
    member = const_cast<llvm::Value*>(object);
    code.member_pointers[&instruction] = site.array;
  }
  if (llvm::MDNode* node = instruction.getMetadata("hlo.source"))
    site.source = static_cast<int>(llvm::mdconst::extract<llvm::ConstantInt>(node->getOperand(0))->getZExtValue());
  code.machine.sites.push_back(site);
  LlvmValue const index = code.b.getInt32(code.machine.sites.size() - 1);
  return CallHook(code, AccessHook, code.Ptr(), {index, code.thread, pointer, member, rank});
}

void RewriteCopy(Conversion& code, llvm::IntrinsicInst& call) {
  LlvmValue const to = Watched(code, call, call.getArgOperand(0), {.bytes = 16, .alignment = 16, .writes = true});
  LlvmValue const from = Watched(code, call, call.getArgOperand(1), {.bytes = 16, .alignment = 16});
  CallHook(code, CopyHook, code.b.getVoidTy(), {code.thread, to, from});
  call.eraseFromParent();
}

}  // namespace hlo::kernel
