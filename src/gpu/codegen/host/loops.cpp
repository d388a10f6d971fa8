#include "gpu/codegen/host/emission.h"

#include <llvm/IR/Intrinsics.h>

namespace hlo::kernel {

using llvm::BasicBlock;
using LlvmValue = llvm::Value*;

void HostEmission::Loop(LlvmValue begin, LlvmValue end, LlvmValue step, LoopKind kind,
                        const std::function<void(LlvmValue)>& body) {
  LoopWithSteps(begin, end, kind, [&](LlvmValue index) {
    body(index);
    return step;
  });
}

// A rotated loop: if (begin < end) do { index += body(index) } while (index < end).
void HostEmission::LoopWithSteps(LlvmValue begin, LlvmValue end, LoopKind kind,
                                 const std::function<LlvmValue(LlvmValue)>& body) {
  const auto *first = llvm::dyn_cast<llvm::ConstantInt>(begin), *last = llvm::dyn_cast<llvm::ConstantInt>(end);
  const bool runs = first && last && first->getSExtValue() < last->getSExtValue();
  BasicBlock* const loop = BasicBlock::Create(context_, "loop", function_);
  BasicBlock* const after = BasicBlock::Create(context_, "after", function_);
  BasicBlock* const before = b_.GetInsertBlock();
  if (runs) b_.CreateBr(loop);
  else b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, after);
  b_.SetInsertPoint(loop);
  llvm::PHINode* const index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(begin, before);
  llvm::MDNode* const outer = access_group_;
  if (kind.lanes) access_group_ = llvm::MDNode::getDistinct(context_, {});
  LlvmValue const step = body(index);
  LlvmValue const next = b_.CreateAdd(index, step, "", true, true);
  index->addIncoming(next, b_.GetInsertBlock());
  llvm::BranchInst* const back = b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop, after);
  back->setMetadata(llvm::LLVMContext::MD_loop, LoopProperties(kind));
  access_group_ = outer;
  b_.SetInsertPoint(after);
}

llvm::MDNode* HostEmission::LoopProperties(LoopKind kind) {
  llvm::SmallVector<llvm::Metadata*, 3> nodes = {nullptr};
  if (kind.lanes)
    nodes.push_back(
        llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.parallel_accesses"), access_group_}));
  if (kind.is_done) {
    nodes.push_back(llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.isvectorized"),
                                                 llvm::ConstantAsMetadata::get(b_.getInt32(1))}));
  }
  if (kind.lanes && !kind.is_done && !kind.has_gaps && masked_tails_) {
    nodes.push_back(llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.vectorize.predicate.enable"),
                                                 llvm::ConstantAsMetadata::get(b_.getTrue())}));
  }
  if (kind.interleave > 1) {
    nodes.push_back(llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.interleave.count"),
                                                 llvm::ConstantAsMetadata::get(b_.getInt32(kind.interleave))}));
  }
  if (!kind.unroll)
    nodes.push_back(llvm::MDNode::get(context_, llvm::MDString::get(context_, "llvm.loop.unroll.disable")));
  llvm::MDNode* const node = llvm::MDNode::getDistinct(context_, nodes);
  node->replaceOperandWith(0, node);
  return node;
}

void HostEmission::Lanes(LlvmValue end, const std::function<void(LlvmValue)>& body, int interleave, bool has_gaps) {
  Loop(Index(0), end, Index(1), {.lanes = true, .interleave = interleave, .has_gaps = has_gaps}, body);
}

// Emits whole vectors and then the remaining elements. If the end is known and elements may be computed twice, a last
// vector overlaps the one before it. If the end is known and the body short, vectors of half as many lanes follow, then
// a quarter, and so on. Otherwise the rest is emitted lane by lane. LLVM's vectoriser gets loops without a vector plan,
// of less than one vector, or whose remaining elements need masks.
void HostEmission::Lanes(LlvmValue end, const WidePlan& wide, const std::function<void(LlvmValue)>& body,
                         int interleave) {
  if (wide.is_scalar) return Loop(Index(0), end, Index(1), {.lanes = true, .unroll = false, .is_done = true}, body);
  const auto* const known_end = llvm::dyn_cast<llvm::ConstantInt>(end);
  const int64_t elements = known_end ? known_end->getSExtValue() : 0;
  const int64_t width = wide.lanes * interleave;
  const bool is_whole = known_end && width > 0 && elements % width == 0;
  const bool is_short = known_end && elements < width;
  const bool repeats = known_end && wide.may_repeat && !is_short && !is_whole;
  const bool has_masks = masked_tails_ && !wide.has_branch && !repeats;
  if (width < 2 || is_short || (has_masks && !is_whole)) return Lanes(end, body, interleave, wide.has_gaps);
  LlvmValue const most = known_end ? end : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, end, Index(0));
  LlvmValue begin = Index(0);
  const auto vectors = [&](LlvmValue to, int64_t lanes) {
    const auto vector = [&](LlvmValue index) {
      wide_ = &wide;
      width_ = static_cast<unsigned>(lanes);
      CarryVariables(wide);
      body(index);
      carried_.clear();
      wide_ = nullptr;
    };
    const auto *const from = llvm::dyn_cast<llvm::ConstantInt>(begin), *const until =
                                                                           llvm::dyn_cast<llvm::ConstantInt>(to);
    const bool is_written_out =
        from && until && wide.is_short && until->getSExtValue() - from->getSExtValue() <= kVectorsWrittenOut * lanes;
    if (is_written_out) {
      for (int64_t i = from->getSExtValue(); i < until->getSExtValue(); i += lanes) vector(Index(i));
    } else {
      Loop(begin, to, Index(lanes), {.lanes = true, .unroll = false, .is_done = true}, vector);
    }
    begin = to;
  };
  vectors(b_.CreateAnd(most, Index(-width)), width);
  if (is_whole) return;
  if (repeats) {
    const int64_t left = elements % width;
    if (left > wide.lanes) vectors(Index(elements - left % wide.lanes), wide.lanes);
    begin = Index(elements - wide.lanes);
    return vectors(end, wide.lanes);
  }
  for (int64_t lanes = width / 2; known_end && wide.is_short && lanes > 1; lanes /= 2) {
    const int64_t left = elements % (2 * lanes);
    if (left >= lanes) vectors(Index(elements - left % lanes), lanes);
  }
  if (known_end && begin == end) return;
  Loop(begin, end, Index(1), {.lanes = true, .unroll = false, .is_done = true}, body);
}

void HostEmission::CarryVariables(const WidePlan& wide) {
  for (const int64_t variable : wide.carried) {
    llvm::Type* const type = scalar_.TypeOf(kernel_.variables[variable].type);
    carried_[variable] = AllocaAtEntry(llvm::FixedVectorType::get(type, width_));
  }
}

// Returns a vector, or the scalar outside of a vector body.
llvm::Value* HostEmission::Wide(int32_t id) {
  LlvmValue const value = Get(id);
  if (!wide_ || value->getType()->isVectorTy()) return value;
  LlvmValue const same = b_.CreateVectorSplat(width_, value);
  const int64_t stride = wide_->stride[id];
  if (stride == 0) return same;
  llvm::SmallVector<llvm::Constant*> steps;
  for (unsigned lane = 0; lane < width_; ++lane) steps.push_back(b_.getInt64(stride * lane));
  return b_.CreateAdd(same, llvm::ConstantVector::get(steps), "", false, true);
}

void HostEmission::ForWarps(const std::function<void()>& body) {
  Loop(Index(0), Index(kernel_.warps()), Index(1), {.unroll = false}, [&](LlvmValue warp) {
    warp_ = warp;
    body();
  });
}

void HostEmission::EmitLoop(const Instruction& loop) {
  const Region& region = loop.regions[0];
  const auto body = [&](LlvmValue index) {
    Set(region.arguments[0], index);
    EmitRegion(region);
  };
  if (access_group_ && facts_.IsWrittenOut(loop)) {
    const int64_t begin = facts_.constants[loop.operands[0]]->imm, step = facts_.constants[loop.operands[2]]->imm;
    for (int64_t i = 0; i < facts_.Steps(loop); ++i) body(Index(begin + i * step));
    return;
  }
  Loop(Get(loop.operands[0]), Get(loop.operands[1]), Get(loop.operands[2]), {}, body);
}

void HostEmission::EmitWhile(const Instruction& loop) {
  BasicBlock* const condition = BasicBlock::Create(context_, "condition", function_);
  BasicBlock* const body = BasicBlock::Create(context_, "body", function_);
  BasicBlock* const after = BasicBlock::Create(context_, "after", function_);
  b_.CreateBr(condition);
  b_.SetInsertPoint(condition);
  EmitRegion(loop.regions[0]);
  b_.CreateCondBr(Get(loop.regions[0].yields[0]), body, after);
  b_.SetInsertPoint(body);
  EmitRegion(loop.regions[1]);
  b_.CreateBr(condition);
  b_.SetInsertPoint(after);
}

void HostEmission::EmitIf(const Instruction& branch) {
  Branch(Get(branch.operands[0]), branch.regions.size() == 2, [&](int side) { EmitRegion(branch.regions[side]); });
}

void HostEmission::Branch(LlvmValue condition, bool has_else, const std::function<void(int)>& emit) {
  BasicBlock* const then = BasicBlock::Create(context_, "then", function_);
  BasicBlock* const otherwise = has_else ? BasicBlock::Create(context_, "else", function_) : nullptr;
  BasicBlock* const join = BasicBlock::Create(context_, "join", function_);
  b_.CreateCondBr(condition, then, otherwise ? otherwise : join);
  b_.SetInsertPoint(then);
  emit(0);
  b_.CreateBr(join);
  if (otherwise) {
    b_.SetInsertPoint(otherwise);
    emit(1);
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
}

}  // namespace hlo::kernel
