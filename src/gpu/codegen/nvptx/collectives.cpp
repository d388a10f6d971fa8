#include "gpu/codegen/nvptx/emission.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

namespace hlo::kernel {

using BasicBlock = llvm::BasicBlock;
using Intr = llvm::Intrinsic::ID;
using LlvmValue = llvm::Value*;

namespace {

constexpr int kSharedSpace = 3;

}  // namespace

LlvmValue NvptxEmission::Shuffle(Intr id, LlvmValue value, LlvmValue amount) {
  llvm::Type* const type = value->getType();
  const unsigned bits = type->getScalarSizeInBits();
  LlvmValue const clamp = b_.getInt32(id == llvm::Intrinsic::nvvm_shfl_sync_up_i32 ? 0 : 31);
  const auto shuffle = [&](LlvmValue word) {
    return b_.CreateIntrinsic(b_.getInt32Ty(), id, {b_.getInt32(-1), word, amount, clamp});
  };
  LlvmValue const integer = b_.CreateBitCast(value, b_.getIntNTy(bits));
  if (bits <= 32)
    return b_.CreateBitCast(b_.CreateTrunc(shuffle(b_.CreateZExt(integer, b_.getInt32Ty())), b_.getIntNTy(bits)), type);
  LlvmValue const low = b_.CreateZExt(shuffle(b_.CreateTrunc(integer, b_.getInt32Ty())), integer->getType());
  LlvmValue const high =
      b_.CreateZExt(shuffle(b_.CreateTrunc(b_.CreateLShr(integer, 32), b_.getInt32Ty())), integer->getType());
  return b_.CreateBitCast(b_.CreateOr(low, b_.CreateShl(high, 32)), type);
}

NvptxEmission::Values NvptxEmission::LoadSlots(const Instruction& instruction) {
  Values values;
  for (const int32_t slot : instruction.slots) values.push_back(LoadSlot(slot));
  return values;
}

NvptxEmission::Values NvptxEmission::Combine(const Instruction& instruction, const Values& a, const Values& b) {
  const Region& region = instruction.regions[0];
  for (size_t i = 0; i < a.size(); ++i) {
    const int32_t left = region.arguments[i], right = region.arguments[a.size() + i];
    types_[left] = types_[right] = kernel_.slots[instruction.slots[i]].type;
    SetUniform(left, a[i]);
    SetUniform(right, b[i]);
  }
  EmitRegion(region);
  Values combined;
  for (const int32_t yield : region.yields) combined.push_back(Get(yield, 0));
  return combined;
}

NvptxEmission::Values NvptxEmission::ShuffleAll(Intr id, const Values& values, LlvmValue amount) {
  Values shuffled;
  for (LlvmValue const value : values) shuffled.push_back(Shuffle(id, value, amount));
  return shuffled;
}

void NvptxEmission::EmitReduce(const Instruction& reduce) {
  const bool warp = reduce.op == Op::kWarpReduce;
  const int lanes = warp ? kWarpSize : static_cast<int>(reduce.imm2);
  Values values = LoadSlots(reduce);
  for (int distance = 1; distance < lanes; distance *= 2) {
    values =
        Combine(reduce, values, ShuffleAll(llvm::Intrinsic::nvvm_shfl_sync_down_i32, values, b_.getInt32(distance)));
  }
  LlvmValue const first = warp ? b_.getInt32(0) : b_.CreateAnd(ToI32(lane_), b_.getInt32(~(lanes - 1)));
  values = ShuffleAll(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, values, first);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!warp) {
      StoreSlot(reduce.slots[i], values[i]);
      continue;
    }
    types_[reduce.result + i] = kernel_.slots[reduce.slots[i]].type;
    SetUniform(reduce.result + static_cast<int32_t>(i), values[i]);
  }
}

void NvptxEmission::EmitWarpScan(const Instruction& scan) {
  Values values = LoadSlots(scan);
  for (int distance = 1; distance < kWarpSize; distance *= 2) {
    const Values combined =
        Combine(scan, ShuffleAll(llvm::Intrinsic::nvvm_shfl_sync_up_i32, values, b_.getInt32(distance)), values);
    LlvmValue const inside = b_.CreateICmpUGE(lane_, Index(distance));
    for (size_t i = 0; i < values.size(); ++i) values[i] = b_.CreateSelect(inside, combined[i], values[i]);
  }
  for (size_t i = 0; i < values.size(); ++i) StoreSlot(scan.slots[i], values[i]);
}

void NvptxEmission::EmitShuffle(const Instruction& shuffle) {
  constexpr Intr kIntrinsics[] = {llvm::Intrinsic::nvvm_shfl_sync_down_i32, llvm::Intrinsic::nvvm_shfl_sync_up_i32,
                                  llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, llvm::Intrinsic::nvvm_shfl_sync_idx_i32};
  const bool indexed = static_cast<ShuffleMode>(shuffle.imm) == ShuffleMode::kIndexed;
  LlvmValue const amount =
      indexed ? b_.CreateAnd(LoadSlot(shuffle.slots[2]), 31) : static_cast<LlvmValue>(b_.getInt32(shuffle.imm2));
  StoreSlot(shuffle.slots[0], Shuffle(kIntrinsics[shuffle.imm], LoadSlot(shuffle.slots[1]), amount));
}

// A vote for each bit excludes the lanes that differ in it. Lanes without the bit vote, because LLVM compiles a vote
// for set bits to two tests.
void NvptxEmission::EmitMatch(const Instruction& match) {
  LlvmValue const from = LoadSlot(match.slots[1]);
  LlvmValue differs = b_.getInt32(0);
  for (int bit = 0; bit < match.imm; ++bit) {
    LlvmValue const is_clear = b_.CreateICmpEQ(b_.CreateAnd(from, b_.getInt32(1U << bit)), b_.getInt32(0));
    LlvmValue const clear = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_vote_ballot_sync, {}, {b_.getInt32(-1), is_clear});
    differs = b_.CreateOr(differs, b_.CreateXor(clear, b_.CreateSExt(is_clear, b_.getInt32Ty())));
  }
  StoreSlot(match.slots[0], b_.CreateNot(differs));
}

void NvptxEmission::EmitArrive(const Instruction& arrive) {
  auto* const flag = new llvm::GlobalVariable(*module_, b_.getInt8Ty(), false, llvm::GlobalValue::InternalLinkage,
                                              llvm::UndefValue::get(b_.getInt8Ty()), "arrived_last", nullptr,
                                              llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  const auto fence = [&] { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_membar_gl, {}, {}); };
  const auto barrier = [&] { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); };
  LlvmValue const counter = Address(arrive.imm, Get(arrive.operands[0], 0));
  LlvmValue const last_count = b_.CreateSub(ToI32(Get(arrive.operands[1], 0)), b_.getInt32(1));
  fence();
  barrier();
  If(b_.CreateICmpEQ(thread_, Index(0)), [&] {
    LlvmValue const old = Mark(b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter, b_.getInt32(1),
                                                  llvm::MaybeAlign(4), llvm::AtomicOrdering::Monotonic),
                               arrive.imm);
    LlvmValue const last = b_.CreateICmpEQ(old, last_count);
    If(last, [&] {
      Mark(b_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, counter, b_.getInt32(0), llvm::MaybeAlign(4),
                              llvm::AtomicOrdering::Monotonic),
           arrive.imm);
    });
    b_.CreateStore(b_.CreateZExt(last, b_.getInt8Ty()), flag);
  });
  barrier();
  types_[arrive.result] = Type::kPred;
  SetUniform(arrive.result, b_.CreateICmpNE(b_.CreateLoad(b_.getInt8Ty(), flag), b_.getInt8(0)));
  fence();
  barrier();
}

void NvptxEmission::EmitWarpReduce(const Instruction& reduce) { EmitReduce(reduce); }
void NvptxEmission::EmitGroupReduce(const Instruction& reduce) { EmitReduce(reduce); }

void NvptxEmission::EmitWarpBroadcast(const Instruction& broadcast) {
  Define(broadcast, [&](int) {
    return Shuffle(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, LoadSlot(broadcast.slots[0]),
                   ToI32(Get(broadcast.operands[0], 0)));
  });
}

}  // namespace hlo::kernel
