#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "gpu/codegen/emulator_conversion.h"
#include "gpu/codegen/nvptx_lowering.h"
#include "gpu/kernel/mma.h"

namespace hlo::kernel {
namespace {

void SuspendHook(Machine* machine, int32_t thread, int32_t wait, int32_t site, uint32_t value, uint32_t operand) {
  machine->Suspend(thread, static_cast<Wait>(wait), site, value, operand);
}
void GiveWordHook(Machine* machine, int32_t thread, int32_t which, uint64_t word) {
  machine->GiveWord(thread, which, word);
}
uint32_t TakeWordHook(Machine* machine, int32_t thread, int32_t which) { return machine->TakeWord(thread, which); }
uint32_t ShuffledHook(Machine* machine, int32_t thread) { return machine->Shuffled(thread); }
void EndGroupHook(Machine* machine, int32_t thread) { machine->EndGroup(thread); }
void WaitForCopiesHook(Machine* machine, int32_t thread, int32_t on_their_way) {
  machine->WaitForCopies(thread, on_their_way);
}
void FenceHook(Machine* machine) { machine->Fence(); }
void SetConditionHook(Machine* machine, uint64_t handle, uint32_t value) { machine->set_condition(handle, value); }

LlvmValue Received(Conversion& code, llvm::Type* type) {
  auto* const words = llvm::dyn_cast<llvm::StructType>(type);
  if (!words) return CallHook(code, ShuffledHook, code.I32(), {code.thread});
  LlvmValue result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < words->getNumElements(); ++i) {
    LlvmValue const word = CallHook(code, TakeWordHook, code.I32(), {code.thread, code.b.getInt32(i)});
    result = code.b.CreateInsertValue(result, code.b.CreateBitCast(word, words->getElementType(i)), i);
  }
  return result;
}

void RewriteWait(Conversion& code, llvm::CallInst& call, Wait wait, LlvmValue value, LlvmValue operand) {
  BasicBlock* const before = call.getParent();
  BasicBlock* const after = before->splitBasicBlock(&call, "resumed");
  before->getTerminator()->eraseFromParent();
  code.b.SetInsertPoint(before);
  CallHook(code, SuspendHook, code.b.getVoidTy(),
           {code.thread, code.b.getInt32(static_cast<int>(wait)), code.b.getInt32(code.next_wait++), value, operand});
  Suspend(code, false, after);
  code.b.SetInsertPoint(&call);
  if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(Received(code, call.getType()));
  call.eraseFromParent();
}

void Give(Conversion& code, int which, LlvmValue word) {
  CallHook(code, GiveWordHook, code.b.getVoidTy(),
           {code.thread, code.b.getInt32(which), code.b.CreateZExt(word, code.b.getInt64Ty())});
}

void RewriteProduct(Conversion& code, llvm::IntrinsicInst& call, MmaShape shape) {
  for (unsigned i = 0; i < call.arg_size(); ++i) Give(code, i, code.b.CreateBitCast(call.getArgOperand(i), code.I32()));
  RewriteWait(code, call, Wait::kMultiply, code.b.getInt32(static_cast<int>(shape)), code.b.getInt32(0));
}

void RewriteLoadMatrices(Conversion& code, llvm::IntrinsicInst& call, int matrices, bool transposed) {
  LlvmValue const row = Watched(code, call, call.getArgOperand(0), {.bytes = 16, .alignment = 16});
  Give(code, 0, code.b.CreatePtrToInt(row, code.b.getInt64Ty()));
  RewriteWait(code, call, Wait::kLoadMatrices, code.b.getInt32(matrices), code.b.getInt32(transposed));
}

// cvt.rn.bf16.f32 as integer operations, like ScalarEmitter. Returns the bits as i16.
LlvmValue ToBF16(Conversion& code, LlvmValue value) {
  LlvmValue const bits = code.b.CreateBitCast(value, code.I32());
  LlvmValue const bias = code.b.CreateAdd(code.b.CreateAnd(code.b.CreateLShr(bits, 16), 1), code.b.getInt32(0x7fff));
  LlvmValue const rounded = code.b.CreateSelect(code.b.CreateFCmpUNO(value, value), code.b.getInt32(0x7fff),
                                                code.b.CreateLShr(code.b.CreateAdd(bits, bias), 16));
  return code.b.CreateTrunc(rounded, code.b.getInt16Ty());
}

void RewriteIntrinsic(Conversion& code, llvm::IntrinsicInst& call) {
  const auto shuffle = [&](Wait wait) { RewriteWait(code, call, wait, call.getArgOperand(1), call.getArgOperand(2)); };
  const auto replace = [&](LlvmValue value) {
    call.replaceAllUsesWith(value);
    call.eraseFromParent();
  };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x: return replace(code.thread);
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x: return replace(code.block);
    case llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank:
      return replace(code.b.CreateURem(code.block, code.b.getInt32(code.kernel.cluster)));
    // The call is removed later, because the load that uses it needs its operands.
    case llvm::Intrinsic::nvvm_mapa: code.maps.push_back(&call); return;
    case llvm::Intrinsic::nvvm_barrier_cluster_arrive_aligned: call.eraseFromParent(); return;
    case llvm::Intrinsic::nvvm_barrier_cluster_wait_aligned:
      return RewriteWait(code, call, Wait::kClusterBarrier, code.b.getInt32(0), code.b.getInt32(0));
    case llvm::Intrinsic::nvvm_barrier0:
      return RewriteWait(code, call, Wait::kBarrier, code.b.getInt32(0), code.b.getInt32(0));
    case llvm::Intrinsic::nvvm_bar_warp_sync:
      return RewriteWait(code, call, Wait::kWarpBarrier, code.b.getInt32(0), code.b.getInt32(0));
    case llvm::Intrinsic::nvvm_shfl_sync_down_i32: return shuffle(Wait::kShuffleDown);
    case llvm::Intrinsic::nvvm_shfl_sync_up_i32: return shuffle(Wait::kShuffleUp);
    case llvm::Intrinsic::nvvm_shfl_sync_bfly_i32: return shuffle(Wait::kShuffleXor);
    case llvm::Intrinsic::nvvm_shfl_sync_idx_i32: return shuffle(Wait::kShuffleIndexed);
    case llvm::Intrinsic::nvvm_vote_ballot_sync:
      return RewriteWait(code, call, Wait::kBallot, code.b.CreateZExt(call.getArgOperand(1), code.I32()),
                         code.b.getInt32(0));
    case llvm::Intrinsic::nvvm_ff2bf16x2_rn: {
      LlvmValue const high = code.b.CreateShl(code.b.CreateZExt(ToBF16(code, call.getArgOperand(0)), code.I32()), 16);
      LlvmValue const low = code.b.CreateZExt(ToBF16(code, call.getArgOperand(1)), code.I32());
      return replace(code.b.CreateBitCast(code.b.CreateOr(high, low), call.getType()));
    }
    case llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32: return RewriteProduct(code, call, MmaShape::kF16);
    case llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16: return RewriteProduct(code, call, MmaShape::kBF16);
    case llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32: return RewriteProduct(code, call, MmaShape::kTF32);
    case llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_s8: return RewriteProduct(code, call, MmaShape::kS8);
    case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16: return RewriteLoadMatrices(code, call, 2, false);
    case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16: return RewriteLoadMatrices(code, call, 4, false);
    case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16: return RewriteLoadMatrices(code, call, 2, true);
    case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16: return RewriteLoadMatrices(code, call, 4, true);
    case llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16: return RewriteCopy(code, call);
    case llvm::Intrinsic::nvvm_cp_async_commit_group:
      CallHook(code, EndGroupHook, code.b.getVoidTy(), {code.thread});
      call.eraseFromParent();
      return;
    case llvm::Intrinsic::nvvm_cp_async_wait_group:
      CallHook(code, WaitForCopiesHook, code.b.getVoidTy(), {code.thread, call.getArgOperand(0)});
      call.eraseFromParent();
      return;
    case llvm::Intrinsic::nvvm_membar_gl:
      CallHook(code, FenceHook, code.b.getVoidTy(), {});
      call.eraseFromParent();
      return;
    default: return;
  }
}

}  // namespace

void Rewrite(Conversion& code, llvm::Instruction& instruction) {
  code.b.SetInsertPoint(&instruction);
  if (auto* leave = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) {
    BasicBlock* const block = leave->getParent();
    leave->eraseFromParent();
    code.b.SetInsertPoint(block);
    BasicBlock* const never = BasicBlock::Create(code.context, "never", code.coroutine);
    Suspend(code, true, never);
    code.b.SetInsertPoint(never);
    code.b.CreateUnreachable();
    return;
  }
  if (auto* truncate = llvm::dyn_cast<llvm::FPTruncInst>(&instruction); truncate && truncate->getType()->isBFloatTy()) {
    truncate->replaceAllUsesWith(code.b.CreateBitCast(ToBF16(code, truncate->getOperand(0)), code.b.getBFloatTy()));
    truncate->eraseFromParent();
    return;
  }
  // LLVM combines converting an integer with rounding to bf16, but not every host has this instruction.
  if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction);
      cast && cast->getType()->isBFloatTy() && cast->getSrcTy()->isIntegerTy() && !llvm::isa<llvm::BitCastInst>(cast)) {
    LlvmValue const value = code.b.CreateCast(cast->getOpcode(), cast->getOperand(0), code.b.getFloatTy());
    cast->replaceAllUsesWith(code.b.CreateBitCast(ToBF16(code, value), code.b.getBFloatTy()));
    cast->eraseFromParent();
    return;
  }
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) return RewriteIntrinsic(code, *call);
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      call && call->getCalledFunction() && call->getCalledFunction()->getName() == kSetConditionSymbol) {
    CallHook(code, SetConditionHook, code.b.getVoidTy(), {call->getArgOperand(0), call->getArgOperand(1)});
    call->eraseFromParent();
    return;
  }
  // Inline assembly orders launches, which run one after another here.
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm()) {
    call->eraseFromParent();
    return;
  }
  RewriteAccess(code, instruction);
}

void JoinBitsOfBF16(Conversion& code) {
  std::vector<std::pair<llvm::PHINode*, llvm::PHINode*>> joins;
  for (llvm::Instruction& instruction : llvm::instructions(code.coroutine)) {
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction); phi && phi->getType()->isBFloatTy())
      joins.emplace_back(phi, nullptr);
  }
  for (auto& [phi, bits] : joins) {
    code.b.SetInsertPoint(phi);
    bits = code.b.CreatePHI(code.b.getInt16Ty(), phi->getNumIncomingValues());
  }
  const auto bits_of = [&](LlvmValue value, BasicBlock* from) -> LlvmValue {
    for (const auto& [phi, bits] : joins) {
      if (phi == value) return bits;
    }
    auto* const cast = llvm::dyn_cast<llvm::BitCastInst>(value);
    if (cast && cast->getSrcTy()->isIntegerTy()) return cast->getOperand(0);
    code.b.SetInsertPoint(from->getTerminator());
    return code.b.CreateBitCast(value, code.b.getInt16Ty());
  };
  for (const auto& [phi, bits] : joins) {
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
      bits->addIncoming(bits_of(phi->getIncomingValue(i), phi->getIncomingBlock(i)), phi->getIncomingBlock(i));
  }
  for (const auto& [phi, bits] : joins) {
    code.b.SetInsertPoint(phi->getParent(), phi->getParent()->getFirstInsertionPt());
    phi->replaceAllUsesWith(code.b.CreateBitCast(bits, code.b.getBFloatTy()));
  }
  for (const auto& [phi, bits] : joins) phi->eraseFromParent();
}

}  // namespace hlo::kernel
