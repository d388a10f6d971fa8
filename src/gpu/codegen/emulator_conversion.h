// Converts a kernel function to a coroutine that calls the machine (emulator_machine.h).
#ifndef HLO_GPU_CODEGEN_EMULATOR_CONVERSION_H_
#define HLO_GPU_CODEGEN_EMULATOR_CONVERSION_H_

#include <map>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "gpu/codegen/emulator_machine.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

using llvm::BasicBlock;
using LlvmValue = llvm::Value*;

struct Conversion {
  Conversion(const Kernel& kernel, llvm::Module& module, Machine& machine, bool sanitize)
      : kernel(kernel),
        module(module),
        context(module.getContext()),
        b(context),
        machine(machine),
        sanitize(sanitize) {}

  llvm::Type* I32() { return b.getInt32Ty(); }
  llvm::Type* Ptr() { return b.getPtrTy(); }

  const Kernel& kernel;
  llvm::Module& module;
  llvm::LLVMContext& context;
  llvm::IRBuilder<> b;
  Machine& machine;
  const bool sanitize;
  llvm::Function* coroutine = nullptr;
  LlvmValue thread = nullptr, block = nullptr, handle = nullptr;
  BasicBlock* leave = nullptr;
  int next_wait = 0;
  std::vector<llvm::IntrinsicInst*> maps;
  // For each loaded pointer of a group's member, the array number of the group.
  std::map<const llvm::Value*, int> member_pointers;
};

// Converts the only kernel function of `module`. The code contains the machine's address.
void ConvertToCoroutine(const Kernel& kernel, llvm::Module& module, Machine& machine, bool sanitize);

// ---- Steps of the conversion ---------------------------------------------------------------------------------------

void Suspend(Conversion& code, bool final, BasicBlock* resume);
void Rewrite(Conversion& code, llvm::Instruction& instruction);
// Replaces phis of bf16 by phis of integers. A host without bf16 would widen and round the values.
void JoinBitsOfBF16(Conversion& code);
void RewriteAccess(Conversion& code, llvm::Instruction& instruction);
// Emits a call of the sanitizer, if any. Returns the address to use.
LlvmValue Watched(Conversion& code, const llvm::Instruction& instruction, LlvmValue pointer, AccessSite site);
// Reports the write at the start of the copy, because from then on no other thread may access the target.
void RewriteCopy(Conversion& code, llvm::IntrinsicInst& call);

inline LlvmValue Address(Conversion& code, const void* pointer) {
  return code.b.CreateIntToPtr(code.b.getInt64(reinterpret_cast<uintptr_t>(pointer)), code.Ptr());
}

template <class Function>
llvm::CallInst* CallHook(Conversion& code, Function* hook, llvm::Type* result, llvm::ArrayRef<LlvmValue> arguments) {
  llvm::SmallVector<LlvmValue> all = {Address(code, &code.machine)};
  llvm::SmallVector<llvm::Type*> types = {code.Ptr()};
  for (LlvmValue argument : arguments) {
    all.push_back(argument);
    types.push_back(argument->getType());
  }
  return code.b.CreateCall(llvm::FunctionType::get(result, types, false), Address(code, reinterpret_cast<void*>(hook)),
                           all);
}

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_EMULATOR_CONVERSION_H_
