#include "gpu/codegen/emulator_conversion.h"

#include <llvm/IR/InstIterator.h>

#include "gpu/codegen/nvptx_lowering.h"

namespace hlo::kernel {
namespace {

void* FrameHook(Machine* machine, int64_t bytes) { return machine->Frame(bytes); }

void MakeCoroutine(Conversion& code, llvm::Function& old) {
  llvm::SmallVector<llvm::Type*> types(old.arg_size(), code.Ptr());
  types.append({code.I32(), code.I32()});
  code.coroutine = llvm::Function::Create(llvm::FunctionType::get(code.Ptr(), types, false),
                                          llvm::GlobalValue::InternalLinkage, "thread", code.module);
  code.coroutine->addFnAttr(llvm::Attribute::PresplitCoroutine);
  code.coroutine->addFnAttr(llvm::Attribute::NoUnwind);
  code.coroutine->splice(code.coroutine->begin(), &old);
  for (size_t i = 0; i < old.arg_size(); ++i) old.getArg(i)->replaceAllUsesWith(code.coroutine->getArg(i));
  code.thread = code.coroutine->getArg(old.arg_size());
  code.block = code.coroutine->getArg(old.arg_size() + 1);
  old.eraseFromParent();
}

void MakeGlobals(Conversion& code) {
  for (llvm::GlobalVariable& global : llvm::make_early_inc_range(code.module.globals())) {
    auto* type = global.getValueType();
    if (global.getName() == "dynamic_shared") {
      type = llvm::ArrayType::get(code.b.getInt8Ty(), code.kernel.SharedBytes());
      auto* const pool = new llvm::GlobalVariable(code.module, type, false, llvm::GlobalValue::ExternalLinkage,
                                                  llvm::Constant::getNullValue(type), "pool");
      global.replaceAllUsesWith(pool);
      global.eraseFromParent();
      pool->setName("dynamic_shared");
      pool->setAlignment(llvm::Align(64));
      pool->setDSOLocal(true);
      continue;
    }
    if (!global.isConstant()) global.setInitializer(llvm::Constant::getNullValue(type));
    global.setLinkage(llvm::GlobalValue::ExternalLinkage);
    global.setDSOLocal(true);
  }
}

void AddFrame(Conversion& code) {
  code.b.SetInsertPoint(&code.coroutine->getEntryBlock(), code.coroutine->getEntryBlock().begin());
  llvm::Constant* const null = llvm::ConstantPointerNull::get(code.b.getPtrTy());
  LlvmValue const id = code.b.CreateIntrinsic(llvm::Intrinsic::coro_id, {}, {code.b.getInt32(0), null, null, null});
  LlvmValue const bytes = code.b.CreateIntrinsic(llvm::Intrinsic::coro_size, {code.b.getInt64Ty()}, {});
  code.handle =
      code.b.CreateIntrinsic(llvm::Intrinsic::coro_begin, {}, {id, CallHook(code, FrameHook, code.Ptr(), {bytes})});
  code.leave = BasicBlock::Create(code.context, "leave", code.coroutine);
  code.b.SetInsertPoint(code.leave);
  code.b.CreateIntrinsic(llvm::Intrinsic::coro_end, {},
                         {code.handle, code.b.getFalse(), llvm::ConstantTokenNone::get(code.context)});
  code.b.CreateRet(code.handle);
}

void MakeStart(Conversion& code) {
  llvm::Type* const types[] = {code.Ptr(), code.I32(), code.I32()};
  auto* const start = llvm::Function::Create(llvm::FunctionType::get(code.Ptr(), types, false),
                                             llvm::GlobalValue::ExternalLinkage, "start", code.module);
  code.b.SetInsertPoint(BasicBlock::Create(code.context, "entry", start));
  llvm::SmallVector<LlvmValue> arguments;
  const std::vector<KernelArgument> given = code.kernel.Arguments();
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].member > 0) continue;
    LlvmValue const place = code.b.CreateConstGEP1_64(code.Ptr(), start->getArg(0), i);
    const bool is_group = code.kernel.arrays[given[i].array].members > 0;
    arguments.push_back(is_group ? place : code.b.CreateLoad(code.Ptr(), place));
  }
  arguments.append({start->getArg(1), start->getArg(2)});
  llvm::CallInst* const call = code.b.CreateCall(code.coroutine, arguments);
  call->setIsNoInline();
  code.b.CreateRet(call);
}

}  // namespace

void Suspend(Conversion& code, bool final, BasicBlock* resume) {
  LlvmValue const result = code.b.CreateIntrinsic(llvm::Intrinsic::coro_suspend, {},
                                                  {llvm::ConstantTokenNone::get(code.context), code.b.getInt1(final)});
  llvm::SwitchInst* const branch = code.b.CreateSwitch(result, code.leave, 2);
  branch->addCase(code.b.getInt8(0), resume);
  branch->addCase(code.b.getInt8(1), code.leave);
}

void ConvertToCoroutine(const Kernel& kernel, llvm::Module& module, Machine& machine, bool sanitize) {
  Conversion code(kernel, module, machine, sanitize);
  llvm::Function* const old = code.module.getFunction(EntryName(code.kernel));
  if (llvm::NamedMDNode* annotations = code.module.getNamedMetadata("nvvm.annotations"))
    code.module.eraseNamedMetadata(annotations);
  MakeCoroutine(code, *old);
  MakeGlobals(code);
  std::vector<llvm::Instruction*> instructions;
  for (llvm::Instruction& instruction : llvm::instructions(code.coroutine)) instructions.push_back(&instruction);
  AddFrame(code);
  for (llvm::Instruction* instruction : instructions) Rewrite(code, *instruction);
  JoinBitsOfBF16(code);
  for (llvm::IntrinsicInst* map : code.maps) map->eraseFromParent();
  MakeStart(code);
}

}  // namespace hlo::kernel
