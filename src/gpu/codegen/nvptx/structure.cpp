#include "gpu/codegen/nvptx/emission.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "gpu/codegen/nvptx_lowering.h"

namespace hlo::kernel {

using BasicBlock = llvm::BasicBlock;
using Intr = llvm::Intrinsic::ID;
using LlvmValue = llvm::Value*;

namespace {

constexpr int64_t kNeverUnroll = -1;

}  // namespace

class NvptxEmission::AtThreadLevel {
 public:
  explicit AtThreadLevel(NvptxEmission& emission) : emission_(emission) { emission_.level_ = Level::kThread; }
  ~AtThreadLevel() { emission_.level_ = emission_.in_warps_ ? Level::kWarp : Level::kBlock; }

 private:
  NvptxEmission& emission_;
};

void NvptxEmission::EmitPhase(const Instruction& phase) {
  const AtThreadLevel at_thread_level(*this);
  EmitRegion(phase.regions[0]);
}

void NvptxEmission::EmitWarps(const Instruction& warps) {
  level_ = Level::kWarp;
  in_warps_ = true;
  EmitRegion(warps.regions[0]);
  in_warps_ = false;
  level_ = Level::kBlock;
}

void NvptxEmission::If(LlvmValue condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  BasicBlock* const on_true = NewBlock("then");
  BasicBlock* const on_false = otherwise ? NewBlock("else") : nullptr;
  BasicBlock* const join = NewBlock("join");
  b_.CreateCondBr(condition, on_true, otherwise ? on_false : join);
  b_.SetInsertPoint(on_true);
  then();
  b_.CreateBr(join);
  if (otherwise) {
    b_.SetInsertPoint(on_false);
    otherwise();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
}

// The driver links the called function.
void NvptxEmission::EmitSetCondition(const Instruction& set) {
  llvm::Type* const types[] = {b_.getInt64Ty(), b_.getInt32Ty()};
  const llvm::FunctionCallee function =
      module_->getOrInsertFunction(kSetConditionSymbol, llvm::FunctionType::get(b_.getVoidTy(), types, false));
  LlvmValue const handle = b_.CreatePtrToInt(arrays_[set.imm], b_.getInt64Ty());
  const auto call = [&] { b_.CreateCall(function, {handle, Get(set.operands[0], copies_.begin)}); };
  if (level_ == Level::kThread) return call();
  If(b_.CreateICmpEQ(level_ == Level::kWarp ? lane_ : thread_, Index(0)), call);
}

// A rotated loop: if (begin < end) do { body(index) } while ((index += step) < end).
void NvptxEmission::Loop(LlvmValue begin, LlvmValue end, LlvmValue step, int64_t unroll,
                         const std::function<void(LlvmValue)>& body) {
  If(b_.CreateICmpSLT(begin, end), [&] {
    BasicBlock* const before = b_.GetInsertBlock();
    BasicBlock* const loop = NewBlock("loop");
    BasicBlock* const after = NewBlock("after");
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode* const index = b_.CreatePHI(begin->getType(), 2);
    index->addIncoming(begin, before);
    body(index);
    LlvmValue const next = b_.CreateNSWAdd(index, step);
    index->addIncoming(next, b_.GetInsertBlock());
    llvm::BranchInst* const back = b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop, after);
    if (unroll != 1) {
      llvm::SmallVector<llvm::Metadata*, 2> nodes = {nullptr};
      if (unroll == kNeverUnroll) {
        nodes.push_back(llvm::MDNode::get(context_, llvm::MDString::get(context_, "llvm.loop.unroll.disable")));
      } else if (unroll == 0) {
        nodes.push_back(llvm::MDNode::get(context_, llvm::MDString::get(context_, "llvm.loop.unroll.full")));
      } else {
        nodes.push_back(llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.unroll.count"),
                                                     llvm::ConstantAsMetadata::get(b_.getInt32(unroll))}));
      }
      llvm::MDNode* const node = llvm::MDNode::getDistinct(context_, nodes);
      node->replaceOperandWith(0, node);
      back->setMetadata(llvm::LLVMContext::MD_loop, node);
    }
    b_.SetInsertPoint(after);
  });
}

void NvptxEmission::EmitTile(const Instruction& tile) {
  const AtThreadLevel at_thread_level(*this);
  const int width = static_cast<int>(tile.imm);
  const Region& region = tile.regions[0];
  const int32_t index = region.arguments[0];
  types_[index] = Type::kIndex;
  LlvmValue const thread = in_warps_ ? lane_ : thread_;
  LlvmValue const first = b_.CreateMul(thread, Index(width), "", true, true);
  const auto all = [&] {
    copies_ = {.begin = 0, .end = width, .width = width, .wide = true};
    for (int copy = 0; copy < width; ++copy) Set(index, copy, b_.CreateAdd(first, Index(copy), "", true, true));
    EmitRegion(region);
    copies_ = {};
  };
  if (tile.operands.empty()) return all();
  LlvmValue const limit = Get(tile.operands[0], 0);
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(limit)) {
    const int64_t threads = in_warps_ ? kWarpSize : kernel_.threads;
    if (constant->getSExtValue() >= threads * width) return all();
  }
  if (linear_[tile.operands[0]].multiple % width == 0) return If(b_.CreateICmpSLT(first, limit), all);
  const auto one = [&](int copy, LlvmValue element) {
    copies_ = {.begin = copy, .end = copy + 1, .width = width, .wide = false};
    Set(index, copy, element);
    EmitRegion(region);
    copies_ = {};
  };
  const auto some = [&] {
    if (!UsesSlots(region)) {
      return Loop(first, limit, Index(1), kNeverUnroll, [&](LlvmValue element) { one(0, element); });
    }
    for (int copy = 0; copy < width; ++copy) {
      LlvmValue const element = b_.CreateAdd(first, Index(copy), "", true, true);
      If(b_.CreateICmpSLT(element, limit), [&] { one(copy, element); });
    }
  };
  LlvmValue const past = b_.CreateAdd(first, Index(width), "", true, true);
  If(b_.CreateICmpSLE(past, limit), all, some);
}

bool NvptxEmission::UsesSlots(const Region& region) {
  for (const Instruction& instruction : region.body) {
    if (instruction.op == Op::kSlotGet || instruction.op == Op::kSlotSet) return true;
    for (const Region& inner : instruction.regions) {
      if (UsesSlots(inner)) return true;
    }
  }
  return false;
}

// Calls `emit` once if all copies agree on the values `steering`, otherwise once for each copy.
void NvptxEmission::ForCopies(std::span<const int32_t> steering, const std::function<void()>& emit) {
  bool agree = true;
  for (const int32_t value : steering) agree = agree && linear_[value].stride == 0;
  if (agree) return emit();
  const Copies outer = copies_;
  for (int copy = outer.begin; copy < outer.end; ++copy) {
    copies_ = {.begin = copy, .end = copy + 1, .width = outer.width, .wide = false};
    emit();
  }
  copies_ = outer;
}

void NvptxEmission::EmitLoop(const Instruction& loop) {
  const int32_t index = loop.regions[0].arguments[0];
  types_[index] = Type::kIndex;
  ForCopies(loop.operands, [&] {
    const int copy = copies_.begin;
    Loop(Get(loop.operands[0], copy), Get(loop.operands[1], copy), Get(loop.operands[2], copy), loop.imm,
         [&](LlvmValue value) {
           if (linear_[index].stride == 0) SetUniform(index, value);
           else Set(index, copy, value);
           EmitRegion(loop.regions[0]);
         });
  });
}

void NvptxEmission::EmitWhile(const Instruction& loop) {
  BasicBlock* const condition = NewBlock("condition");
  BasicBlock* const body = NewBlock("body");
  BasicBlock* const after = NewBlock("after");
  b_.CreateBr(condition);
  b_.SetInsertPoint(condition);
  EmitRegion(loop.regions[0]);
  b_.CreateCondBr(Get(loop.regions[0].yields[0], 0), body, after);
  b_.SetInsertPoint(body);
  EmitRegion(loop.regions[1]);
  b_.CreateBr(condition);
  b_.SetInsertPoint(after);
}

void NvptxEmission::EmitIf(const Instruction& branch) {
  ForCopies(branch.operands, [&] {
    std::function<void()> otherwise;
    if (branch.regions.size() == 2) otherwise = [&] { EmitRegion(branch.regions[1]); };
    If(Get(branch.operands[0], copies_.begin), [&] { EmitRegion(branch.regions[0]); }, otherwise);
  });
}

void NvptxEmission::EmitBarrier(const Instruction&) {
  const auto barrier = [&] { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); };
  if (Plant(KernelFault::kMissingBarrier)) return;
  if (Plant(KernelFault::kDivergentBarrier)) return If(b_.CreateICmpULT(thread_, Index(16)), barrier);
  barrier();
}

void NvptxEmission::EmitClusterBarrier(const Instruction& barrier) {
  if (Plant(KernelFault::kMissingClusterBarrier)) return;
  if (&barrier == &kernel_.body.body.back() && Plant(KernelFault::kEarlyExit)) return;
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cluster_arrive_aligned, {}, {});
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cluster_wait_aligned, {}, {});
}

void NvptxEmission::EmitWarpBarrier(const Instruction&) {
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {b_.getInt32(-1)});
}

}  // namespace hlo::kernel
