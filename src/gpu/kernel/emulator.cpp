#include "gpu/kernel/emulator.h"

#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "base/text.h"
#include "gpu/kernel/emulator_machine.h"
#include "gpu/kernel/jit.h"
#include "gpu/kernel/mma.h"
#include "gpu/kernel/nvptx_lowering.h"
#include "gpu/kernel/passes.h"
#include "gpu/kernel/sanitizer.h"
#include "gpu/kernel/target.h"

namespace hlo::kernel {
namespace {

using llvm::BasicBlock;
using LlvmValue = llvm::Value*;

// ---- Functions that the emulated code calls ------------------------------------------------------------------------

void* FrameHook(Machine* machine, int64_t bytes) { return machine->Frame(bytes); }
void SuspendHook(Machine* machine, int32_t thread, int32_t wait, int32_t site, uint32_t value, uint32_t operand) {
  machine->Suspend(thread, static_cast<Wait>(wait), site, value, operand);
}
void GiveWordHook(Machine* machine, int32_t thread, int32_t which, uint64_t word) {
  machine->GiveWord(thread, which, word);
}
uint32_t TakeWordHook(Machine* machine, int32_t thread, int32_t which) { return machine->TakeWord(thread, which); }
uint32_t ShuffledHook(Machine* machine, int32_t thread) { return machine->Shuffled(thread); }
void* AccessHook(Machine* machine, int32_t site, int32_t thread, void* address, const void* member, int32_t rank) {
  return machine->Access(site, thread, address, member, rank);
}
void* InBlockHook(Machine* machine, void* shared, int32_t rank) { return machine->InBlock(shared, rank); }
void CopyHook(Machine* machine, int32_t thread, void* to, const void* from) { machine->Copy(thread, to, from); }
void EndGroupHook(Machine* machine, int32_t thread) { machine->EndGroup(thread); }
void WaitForCopiesHook(Machine* machine, int32_t thread, int32_t on_their_way) {
  machine->WaitForCopies(thread, on_their_way);
}
void FenceHook(Machine* machine) { machine->Fence(); }
void SetConditionHook(Machine* machine, uint64_t handle, uint32_t value) { machine->set_condition(handle, value); }

// ---- Conversion of a kernel function to a coroutine ----------------------------------------------------------------

class Converter {
 public:
  Converter(const Kernel& kernel, llvm::Module& module, Machine& machine, bool sanitize)
      : kernel_(kernel),
        module_(module),
        context_(module.getContext()),
        b_(context_),
        machine_(machine),
        sanitize_(sanitize) {}

  void Convert() {
    llvm::Function* const old = module_.getFunction(EntryName(kernel_));
    if (llvm::NamedMDNode* annotations = module_.getNamedMetadata("nvvm.annotations"))
      module_.eraseNamedMetadata(annotations);
    MakeCoroutine(*old);
    MakeGlobals();
    std::vector<llvm::Instruction*> instructions;
    for (llvm::Instruction& instruction : llvm::instructions(coroutine_)) instructions.push_back(&instruction);
    AddFrame();
    for (llvm::Instruction* instruction : instructions) Rewrite(*instruction);
    JoinBitsOfBF16();
    for (llvm::IntrinsicInst* map : maps_) map->eraseFromParent();
    MakeStart();
  }

 private:
  llvm::Type* I32() { return b_.getInt32Ty(); }
  llvm::Type* Ptr() { return b_.getPtrTy(); }
  LlvmValue Address(const void* pointer) {
    return b_.CreateIntToPtr(b_.getInt64(reinterpret_cast<uintptr_t>(pointer)), Ptr());
  }

  template <class Function>
  llvm::CallInst* CallHook(Function* hook, llvm::Type* result, llvm::ArrayRef<LlvmValue> arguments) {
    llvm::SmallVector<LlvmValue> all = {Address(&machine_)};
    llvm::SmallVector<llvm::Type*> types = {Ptr()};
    for (LlvmValue argument : arguments) {
      all.push_back(argument);
      types.push_back(argument->getType());
    }
    return b_.CreateCall(llvm::FunctionType::get(result, types, false), Address(reinterpret_cast<void*>(hook)), all);
  }

  void MakeCoroutine(llvm::Function& old) {
    llvm::SmallVector<llvm::Type*> types(old.arg_size(), Ptr());
    types.append({I32(), I32()});
    coroutine_ = llvm::Function::Create(llvm::FunctionType::get(Ptr(), types, false),
                                        llvm::GlobalValue::InternalLinkage, "thread", module_);
    coroutine_->addFnAttr(llvm::Attribute::PresplitCoroutine);
    coroutine_->addFnAttr(llvm::Attribute::NoUnwind);
    coroutine_->splice(coroutine_->begin(), &old);
    for (size_t i = 0; i < old.arg_size(); ++i) old.getArg(i)->replaceAllUsesWith(coroutine_->getArg(i));
    thread_ = coroutine_->getArg(old.arg_size());
    block_ = coroutine_->getArg(old.arg_size() + 1);
    old.eraseFromParent();
  }

  void MakeGlobals() {
    for (llvm::GlobalVariable& global : llvm::make_early_inc_range(module_.globals())) {
      auto* type = global.getValueType();
      if (global.getName() == "dynamic_shared") {
        type = llvm::ArrayType::get(b_.getInt8Ty(), kernel_.SharedBytes());
        auto* const pool = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::ExternalLinkage,
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

  void AddFrame() {
    b_.SetInsertPoint(&coroutine_->getEntryBlock(), coroutine_->getEntryBlock().begin());
    llvm::Constant* const null = llvm::ConstantPointerNull::get(b_.getPtrTy());
    LlvmValue const id = b_.CreateIntrinsic(llvm::Intrinsic::coro_id, {}, {b_.getInt32(0), null, null, null});
    LlvmValue const bytes = b_.CreateIntrinsic(llvm::Intrinsic::coro_size, {b_.getInt64Ty()}, {});
    handle_ = b_.CreateIntrinsic(llvm::Intrinsic::coro_begin, {}, {id, CallHook(FrameHook, Ptr(), {bytes})});
    leave_ = BasicBlock::Create(context_, "leave", coroutine_);
    b_.SetInsertPoint(leave_);
    b_.CreateIntrinsic(llvm::Intrinsic::coro_end, {}, {handle_, b_.getFalse(), llvm::ConstantTokenNone::get(context_)});
    b_.CreateRet(handle_);
  }

  void Suspend(bool final, BasicBlock* resume) {
    LlvmValue const result = b_.CreateIntrinsic(llvm::Intrinsic::coro_suspend, {},
                                                {llvm::ConstantTokenNone::get(context_), b_.getInt1(final)});
    llvm::SwitchInst* const branch = b_.CreateSwitch(result, leave_, 2);
    branch->addCase(b_.getInt8(0), resume);
    branch->addCase(b_.getInt8(1), leave_);
  }

  void RewriteWait(llvm::CallInst& call, Wait wait, LlvmValue value, LlvmValue operand) {
    BasicBlock* const before = call.getParent();
    BasicBlock* const after = before->splitBasicBlock(&call, "resumed");
    before->getTerminator()->eraseFromParent();
    b_.SetInsertPoint(before);
    CallHook(SuspendHook, b_.getVoidTy(),
             {thread_, b_.getInt32(static_cast<int>(wait)), b_.getInt32(next_wait_++), value, operand});
    Suspend(false, after);
    b_.SetInsertPoint(&call);
    if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(Received(call.getType()));
    call.eraseFromParent();
  }

  LlvmValue Received(llvm::Type* type) {
    auto* const words = llvm::dyn_cast<llvm::StructType>(type);
    if (!words) return CallHook(ShuffledHook, I32(), {thread_});
    LlvmValue result = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < words->getNumElements(); ++i) {
      LlvmValue const word = CallHook(TakeWordHook, I32(), {thread_, b_.getInt32(i)});
      result = b_.CreateInsertValue(result, b_.CreateBitCast(word, words->getElementType(i)), i);
    }
    return result;
  }

  void Give(int which, LlvmValue word) {
    CallHook(GiveWordHook, b_.getVoidTy(), {thread_, b_.getInt32(which), b_.CreateZExt(word, b_.getInt64Ty())});
  }

  void RewriteProduct(llvm::IntrinsicInst& call, MmaShape shape) {
    for (unsigned i = 0; i < call.arg_size(); ++i) Give(i, b_.CreateBitCast(call.getArgOperand(i), I32()));
    RewriteWait(call, Wait::kMultiply, b_.getInt32(static_cast<int>(shape)), b_.getInt32(0));
  }

  void RewriteLoadMatrices(llvm::IntrinsicInst& call, int matrices, bool transposed) {
    LlvmValue const row = Watched(call, call.getArgOperand(0), {.bytes = 16, .alignment = 16});
    Give(0, b_.CreatePtrToInt(row, b_.getInt64Ty()));
    RewriteWait(call, Wait::kLoadMatrices, b_.getInt32(matrices), b_.getInt32(transposed));
  }

  void Rewrite(llvm::Instruction& instruction) {
    b_.SetInsertPoint(&instruction);
    if (auto* leave = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) {
      BasicBlock* const block = leave->getParent();
      leave->eraseFromParent();
      b_.SetInsertPoint(block);
      BasicBlock* const never = BasicBlock::Create(context_, "never", coroutine_);
      Suspend(true, never);
      b_.SetInsertPoint(never);
      b_.CreateUnreachable();
      return;
    }
    if (auto* truncate = llvm::dyn_cast<llvm::FPTruncInst>(&instruction);
        truncate && truncate->getType()->isBFloatTy()) {
      truncate->replaceAllUsesWith(b_.CreateBitCast(ToBF16(truncate->getOperand(0)), b_.getBFloatTy()));
      truncate->eraseFromParent();
      return;
    }
    // LLVM combines converting an integer with rounding to bf16, but not every host has this instruction.
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction); cast && cast->getType()->isBFloatTy() &&
                                                                   cast->getSrcTy()->isIntegerTy() &&
                                                                   !llvm::isa<llvm::BitCastInst>(cast)) {
      LlvmValue const value = b_.CreateCast(cast->getOpcode(), cast->getOperand(0), b_.getFloatTy());
      cast->replaceAllUsesWith(b_.CreateBitCast(ToBF16(value), b_.getBFloatTy()));
      cast->eraseFromParent();
      return;
    }
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) return RewriteIntrinsic(*call);
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        call && call->getCalledFunction() && call->getCalledFunction()->getName() == kSetConditionSymbol) {
      CallHook(SetConditionHook, b_.getVoidTy(), {call->getArgOperand(0), call->getArgOperand(1)});
      call->eraseFromParent();
      return;
    }
    // Inline assembly orders launches, which run one after another here.
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm()) {
      call->eraseFromParent();
      return;
    }
    RewriteAccess(instruction);
  }

  // Replaces phis of bf16 by phis of integers. A host without bf16 would widen and round the values.
  void JoinBitsOfBF16() {
    std::vector<std::pair<llvm::PHINode*, llvm::PHINode*>> joins;
    for (llvm::Instruction& instruction : llvm::instructions(coroutine_)) {
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction); phi && phi->getType()->isBFloatTy())
        joins.emplace_back(phi, nullptr);
    }
    for (auto& [phi, bits] : joins) {
      b_.SetInsertPoint(phi);
      bits = b_.CreatePHI(b_.getInt16Ty(), phi->getNumIncomingValues());
    }
    const auto bits_of = [&](LlvmValue value, BasicBlock* from) -> LlvmValue {
      for (const auto& [phi, bits] : joins) {
        if (phi == value) return bits;
      }
      auto* const cast = llvm::dyn_cast<llvm::BitCastInst>(value);
      if (cast && cast->getSrcTy()->isIntegerTy()) return cast->getOperand(0);
      b_.SetInsertPoint(from->getTerminator());
      return b_.CreateBitCast(value, b_.getInt16Ty());
    };
    for (const auto& [phi, bits] : joins) {
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
        bits->addIncoming(bits_of(phi->getIncomingValue(i), phi->getIncomingBlock(i)), phi->getIncomingBlock(i));
    }
    for (const auto& [phi, bits] : joins) {
      b_.SetInsertPoint(phi->getParent(), phi->getParent()->getFirstInsertionPt());
      phi->replaceAllUsesWith(b_.CreateBitCast(bits, b_.getBFloatTy()));
    }
    for (const auto& [phi, bits] : joins) phi->eraseFromParent();
  }

  void RewriteIntrinsic(llvm::IntrinsicInst& call) {
    const auto shuffle = [&](Wait wait) { RewriteWait(call, wait, call.getArgOperand(1), call.getArgOperand(2)); };
    const auto replace = [&](LlvmValue value) {
      call.replaceAllUsesWith(value);
      call.eraseFromParent();
    };
    switch (call.getIntrinsicID()) {
      case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x: return replace(thread_);
      case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x: return replace(block_);
      case llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank:
        return replace(b_.CreateURem(block_, b_.getInt32(kernel_.cluster)));
      // The call is removed later, because the load that uses it needs its operands.
      case llvm::Intrinsic::nvvm_mapa: maps_.push_back(&call); return;
      case llvm::Intrinsic::nvvm_barrier_cluster_arrive_aligned: call.eraseFromParent(); return;
      case llvm::Intrinsic::nvvm_barrier_cluster_wait_aligned:
        return RewriteWait(call, Wait::kClusterBarrier, b_.getInt32(0), b_.getInt32(0));
      case llvm::Intrinsic::nvvm_barrier0: return RewriteWait(call, Wait::kBarrier, b_.getInt32(0), b_.getInt32(0));
      case llvm::Intrinsic::nvvm_bar_warp_sync:
        return RewriteWait(call, Wait::kWarpBarrier, b_.getInt32(0), b_.getInt32(0));
      case llvm::Intrinsic::nvvm_shfl_sync_down_i32: return shuffle(Wait::kShuffleDown);
      case llvm::Intrinsic::nvvm_shfl_sync_up_i32: return shuffle(Wait::kShuffleUp);
      case llvm::Intrinsic::nvvm_shfl_sync_bfly_i32: return shuffle(Wait::kShuffleXor);
      case llvm::Intrinsic::nvvm_shfl_sync_idx_i32: return shuffle(Wait::kShuffleIndexed);
      case llvm::Intrinsic::nvvm_vote_ballot_sync:
        return RewriteWait(call, Wait::kBallot, b_.CreateZExt(call.getArgOperand(1), I32()), b_.getInt32(0));
      case llvm::Intrinsic::nvvm_ff2bf16x2_rn: {
        LlvmValue const high = b_.CreateShl(b_.CreateZExt(ToBF16(call.getArgOperand(0)), I32()), 16);
        LlvmValue const low = b_.CreateZExt(ToBF16(call.getArgOperand(1)), I32());
        return replace(b_.CreateBitCast(b_.CreateOr(high, low), call.getType()));
      }
      case llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32: return RewriteProduct(call, MmaShape::kF16);
      case llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16: return RewriteProduct(call, MmaShape::kBF16);
      case llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32: return RewriteProduct(call, MmaShape::kTF32);
      case llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_s8: return RewriteProduct(call, MmaShape::kS8);
      case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16: return RewriteLoadMatrices(call, 2, false);
      case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16: return RewriteLoadMatrices(call, 4, false);
      case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16: return RewriteLoadMatrices(call, 2, true);
      case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16: return RewriteLoadMatrices(call, 4, true);
      case llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16: return RewriteCopy(call);
      case llvm::Intrinsic::nvvm_cp_async_commit_group:
        CallHook(EndGroupHook, b_.getVoidTy(), {thread_});
        call.eraseFromParent();
        return;
      case llvm::Intrinsic::nvvm_cp_async_wait_group:
        CallHook(WaitForCopiesHook, b_.getVoidTy(), {thread_, call.getArgOperand(0)});
        call.eraseFromParent();
        return;
      case llvm::Intrinsic::nvvm_membar_gl:
        CallHook(FenceHook, b_.getVoidTy(), {});
        call.eraseFromParent();
        return;
      default: return;
    }
  }

  // cvt.rn.bf16.f32 as integer operations, like ScalarEmitter. Returns the bits as i16.
  LlvmValue ToBF16(LlvmValue value) {
    LlvmValue const bits = b_.CreateBitCast(value, I32());
    LlvmValue const bias = b_.CreateAdd(b_.CreateAnd(b_.CreateLShr(bits, 16), 1), b_.getInt32(0x7fff));
    LlvmValue const rounded = b_.CreateSelect(b_.CreateFCmpUNO(value, value), b_.getInt32(0x7fff),
                                              b_.CreateLShr(b_.CreateAdd(bits, bias), 16));
    return b_.CreateTrunc(rounded, b_.getInt16Ty());
  }

  void RewriteAccess(llvm::Instruction& instruction) {
    const llvm::DataLayout& layout = module_.getDataLayout();
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
    instruction.setOperand(pointer_operand, Watched(instruction, instruction.getOperand(pointer_operand), site));
  }

  // Emits a call of the sanitizer, if any. Returns the address to use.
  LlvmValue Watched(const llvm::Instruction& instruction, LlvmValue pointer, AccessSite site) {
    LlvmValue member = llvm::ConstantPointerNull::get(b_.getPtrTy()), rank = b_.getInt32(kOwnBlock);
    const llvm::Value* const object = llvm::getUnderlyingObject(pointer, 0);
    const auto* const map = llvm::dyn_cast<llvm::IntrinsicInst>(object);
    const bool is_far = map && map->getIntrinsicID() == llvm::Intrinsic::nvvm_mapa;
    if (is_far) {
      pointer = map->getArgOperand(0);
      rank = map->getArgOperand(1);
    }
    if (!sanitize_) return is_far ? CallHook(InBlockHook, Ptr(), {pointer, rank}) : pointer;
    if (const auto pointer_of = member_pointers_.find(object); pointer_of != member_pointers_.end()) {
      site.array = pointer_of->second;
      member = const_cast<llvm::Value*>(object);
    } else if (!Identify(pointer, &site.array)) {
      return pointer;
    }
    if (llvm::isa<llvm::Argument>(object) && kernel_.arrays[site.array].members > 0) {
      site.pointer = true;
      member = const_cast<llvm::Value*>(object);
      member_pointers_[&instruction] = site.array;
    }
    if (llvm::MDNode* node = instruction.getMetadata("hlo.source"))
      site.source = static_cast<int>(llvm::mdconst::extract<llvm::ConstantInt>(node->getOperand(0))->getZExtValue());
    machine_.sites.push_back(site);
    LlvmValue const index = b_.getInt32(machine_.sites.size() - 1);
    return CallHook(AccessHook, Ptr(), {index, thread_, pointer, member, rank});
  }

  // Reports the write at the start of the copy, because from then on no other thread may access the target.
  void RewriteCopy(llvm::IntrinsicInst& call) {
    LlvmValue const to = Watched(call, call.getArgOperand(0), {.bytes = 16, .alignment = 16, .writes = true});
    LlvmValue const from = Watched(call, call.getArgOperand(1), {.bytes = 16, .alignment = 16});
    CallHook(CopyHook, b_.getVoidTy(), {thread_, to, from});
    call.eraseFromParent();
  }

  // Sets `array`, to -1 if it must be found by address. False if the pointer belongs to no array of the kernel.
  bool Identify(LlvmValue pointer, int* array) const {
    const llvm::Value* const object = llvm::getUnderlyingObject(pointer, 0);
    *array = -1;
    if (llvm::isa<llvm::AllocaInst>(object)) return false;
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
      *array = kernel_.Parameters()[argument->getArgNo()];
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

  void MakeStart() {
    llvm::Type* const types[] = {Ptr(), I32(), I32()};
    auto* const start = llvm::Function::Create(llvm::FunctionType::get(Ptr(), types, false),
                                               llvm::GlobalValue::ExternalLinkage, "start", module_);
    b_.SetInsertPoint(BasicBlock::Create(context_, "entry", start));
    llvm::SmallVector<LlvmValue> arguments;
    const std::vector<KernelArgument> given = kernel_.Arguments();
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].member > 0) continue;
      LlvmValue const place = b_.CreateConstGEP1_64(Ptr(), start->getArg(0), i);
      const bool is_group = kernel_.arrays[given[i].array].members > 0;
      arguments.push_back(is_group ? place : b_.CreateLoad(Ptr(), place));
    }
    arguments.append({start->getArg(1), start->getArg(2)});
    llvm::CallInst* const call = b_.CreateCall(coroutine_, arguments);
    call->setIsNoInline();
    b_.CreateRet(call);
  }

  const Kernel& kernel_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  Machine& machine_;
  const bool sanitize_;
  llvm::Function* coroutine_ = nullptr;
  LlvmValue thread_ = nullptr, block_ = nullptr, handle_ = nullptr;
  BasicBlock* leave_ = nullptr;
  int next_wait_ = 0;
  std::vector<llvm::IntrinsicInst*> maps_;
  // For each loaded pointer of a group's member, the array number of the group.
  std::map<const llvm::Value*, int> member_pointers_;
};

// LLVM IR as text: replacing text moves all pointers to a single address space at once.
Result<std::string> FinishedText(const Kernel& kernel, const NvptxOptions& options) {
  std::string text = TRY(EmitNvptxIr(kernel, /*optimized=*/true, options));
  for (const char* space : {" addrspace(1)", " addrspace(3)", " addrspace(4)"}) text = Replaced(text, space, "");
  return Replaced(text, "addrspacecast", "bitcast");
}

std::vector<std::vector<ArrayPlace>> Places(const Kernel& kernel, std::span<void* const> arguments,
                                            const LoadedObject& object) {
  std::vector<std::vector<ArrayPlace>> places(kernel.arrays.size());
  const std::vector<KernelArgument> given = kernel.Arguments();
  for (size_t i = 0; i < given.size(); ++i)
    places[given[i].array].push_back({static_cast<char*>(arguments[i]), kernel.arrays[given[i].array].elements});
  char* const pool = static_cast<char*>(object.Symbol("dynamic_shared"));
  int64_t offset = 0;
  for (size_t i = 0; i < kernel.arrays.size(); ++i) {
    const ArrayInfo& array = kernel.arrays[i];
    for (int64_t m = 0; m < array.members; ++m) {
      int64_t& elements = places[i][m].elements;
      if (array.sizes < 0) elements = array.member_elements[m];
      else std::memcpy(&elements, places[array.sizes].front().base + m * sizeof elements, sizeof elements);
    }
    if (array.IsParameter()) continue;
    char* base = nullptr;
    if (array.kind == ArrayKind::kTable) {
      base = static_cast<char*>(object.Symbol(Str("table", i, "_", EntryName(kernel))));
    } else if (pool) {
      offset = (offset + 15) / 16 * 16;
      base = pool + offset;
      offset += array.elements * Bytes(array.type);
    } else {
      base = static_cast<char*>(object.Symbol(Str("shared", i)));
    }
    places[i].push_back({base, array.elements});
  }
  return places;
}

}  // namespace

// Must not be moved, because the code contains the address of the machine.
struct EmulatedCode::Parts {
  Parts(const Kernel& kernel, const EmulateOptions& options)
      : kernel(kernel), options(options), machine(this->kernel) {}

  const Kernel kernel;
  const EmulateOptions options;
  Machine machine;
  std::shared_ptr<const LoadedObject> object;
  Machine::Start start = nullptr;
};

EmulatedCode::EmulatedCode(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
EmulatedCode::EmulatedCode(EmulatedCode&&) noexcept = default;
EmulatedCode::~EmulatedCode() = default;

Result<EmulatedCode> EmulatedCode::Make(const Kernel& kernel, const EmulateOptions& options) {
  const std::string text = TRY(FinishedText(kernel, options.nvptx));
  llvm::TargetMachine* const target = TRY(HostTarget());
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
  CHECK(module, "kernel '", kernel.name, "': ", diagnostic.getMessage().str());

  auto parts = std::make_unique<Parts>(kernel, options);
  Converter(parts->kernel, *module, parts->machine, options.sanitize).Convert();
  Prepare(*module, *target);
  TRY(Verify(*module));
  TRY(RunPasses(*module, *target, Pipeline::kEmulator));
  llvm::SmallVector<char, 0> bytes;
  TRY(Generate(*module, *target, /*object=*/true, bytes));
  parts->object = TRY(LoadObject(bytes));
  parts->start = reinterpret_cast<Machine::Start>(parts->object->Symbol("start"));
  CHECK(parts->start, "emulated kernel without its start");
  return EmulatedCode(std::move(parts));
}

SanitizerReport EmulatedCode::Run(std::span<void* const> arguments, const SetCondition& set_condition) {
  const Kernel& kernel = parts_->kernel;
  parts_->machine.set_condition = set_condition;
  const std::vector<std::vector<ArrayPlace>> places = Places(kernel, arguments, *parts_->object);
  std::vector<std::pair<char*, int64_t>> shared;
  for (size_t i = 0; i < kernel.arrays.size(); ++i) {
    const ArrayInfo& array = kernel.arrays[i];
    char* const base = places[i].front().base;
    if (array.kind == ArrayKind::kShared && base) shared.emplace_back(base, array.elements * Bytes(array.type));
  }
  std::vector<int64_t> blocks = parts_->options.blocks;
  if (blocks.empty()) {
    blocks.resize(kernel.blocks);
    std::iota(blocks.begin(), blocks.end(), 0);
  }
  if (!parts_->options.sanitize) {
    parts_->machine.Run(parts_->start, arguments, blocks, nullptr, shared);
    return SanitizerReport{.kernel = kernel.name};
  }
  Sanitizer sanitizer(kernel, places);
  parts_->machine.Run(parts_->start, arguments, blocks, &sanitizer, shared);
  return sanitizer.TakeReport();
}

Result<SanitizerReport> Emulate(const Kernel& kernel, std::span<void* const> arguments, const EmulateOptions& options) {
  return TRY(EmulatedCode::Make(kernel, options)).Run(arguments);
}

}  // namespace hlo::kernel
