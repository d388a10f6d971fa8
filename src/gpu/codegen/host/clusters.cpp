// The blocks of a cluster take turns: each runs up to the cluster's next barrier. Shared arrays, slots, variables and
// block-level values exist once for each block.
#include "gpu/codegen/host/emission.h"

#include <algorithm>

namespace hlo::kernel {

using LlvmValue = llvm::Value*;

namespace {

bool HasClusterBarrier(const Instruction& instruction) {
  if (instruction.op == Op::kClusterBarrier) return true;
  return std::ranges::any_of(instruction.regions,
                             [](const Region& region) { return std::ranges::any_of(region.body, HasClusterBarrier); });
}

}  // namespace

llvm::Value* HostEmission::Storage(llvm::Type* type) {
  if (kernel_.cluster == 1) return Alloca(type);
  constexpr int64_t kAlignment = 64;  // For vectors of slots.
  const int64_t bytes = static_cast<int64_t>(module_.getDataLayout().getTypeAllocSize(type));
  const int64_t step = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  LlvmValue const storage = Alloca(llvm::ArrayType::get(b_.getInt8Ty(), kernel_.cluster * step));
  block_bytes_[storage] = step;
  return storage;
}

llvm::Value* HostEmission::OfBlock(LlvmValue storage, LlvmValue rank) {
  const auto bytes = block_bytes_.find(storage);
  if (bytes == block_bytes_.end()) return storage;
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), storage, b_.CreateMul(rank, Index(bytes->second), "", true, true));
}

void HostEmission::EnterBlock(LlvmValue rank) {
  rank_ = rank;
  block_ = b_.CreateAdd(first_block_, rank, "", true, true);
  const auto enter = [&](const std::vector<LlvmValue>& of_all, std::vector<LlvmValue>& own) {
    for (size_t i = 0; i < own.size(); ++i) own[i] = OfBlock(of_all[i], rank);
  };
  enter(of_all_blocks_.arrays, arrays_);
  enter(of_all_blocks_.transposed, transposed_);
  enter(of_all_blocks_.slots, slots_);
  enter(of_all_blocks_.variables, variables_);
}

// All blocks of a cluster execute an instruction with a barrier of the cluster alike, so the first block's values
// control it.
void HostEmission::EmitCluster(const Region& region) {
  std::vector<const Instruction*> turn;
  for (const Instruction& instruction : region.body) {
    if (!HasClusterBarrier(instruction)) {
      turn.push_back(&instruction);
      continue;
    }
    EmitByTurns(turn);
    turn.clear();
    rank_ = Index(0);
    TakeUp(instruction.operands);
    if (instruction.op == Op::kIf) {
      Branch(Get(instruction.operands[0]), instruction.regions.size() == 2,
             [&](int side) { EmitCluster(instruction.regions[side]); });
    }
    if (instruction.op != Op::kLoop) continue;
    const Region& body = instruction.regions[0];
    Loop(Get(instruction.operands[0]), Get(instruction.operands[1]), Get(instruction.operands[2]), {.unroll = false},
         [&](LlvmValue index) {
           Set(body.arguments[0], index);
           EmitCluster(body);
         });
  }
  EmitByTurns(turn);
}

void HostEmission::EmitByTurns(const std::vector<const Instruction*>& instructions) {
  if (instructions.empty()) return;
  Loop(Index(0), Index(kernel_.cluster), Index(1), {.unroll = false}, [&](LlvmValue rank) {
    EnterBlock(rank);
    for (const Instruction* instruction : instructions) TakeUp(*instruction);
    for (const Instruction* instruction : instructions) {
      Emit(*instruction);
      for (int i = 0; i < Results(*instruction); ++i) KeepOfBlock(instruction->result + i);
    }
  });
}

void HostEmission::KeepOfBlock(int32_t id) {
  LlvmValue const value = values_[id];
  if (llvm::isa<llvm::Constant>(value)) return;
  if (!kept_of_blocks_[id]) {
    const llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(allocas_);
    kept_of_blocks_[id] = Alloca(llvm::ArrayType::get(value->getType(), kernel_.cluster));
  }
  auto* const type = kept_of_blocks_[id]->getAllocatedType()->getArrayElementType();
  b_.CreateStore(value, b_.CreateInBoundsGEP(type, kept_of_blocks_[id], rank_));
}

void HostEmission::TakeUp(std::span<const int32_t> values) {
  for (const int32_t id : values) {
    if (!kept_of_blocks_[id]) continue;
    auto* const type = kept_of_blocks_[id]->getAllocatedType()->getArrayElementType();
    values_[id] = b_.CreateLoad(type, b_.CreateInBoundsGEP(type, kept_of_blocks_[id], rank_));
  }
}

void HostEmission::TakeUp(const Instruction& instruction) {
  TakeUp(instruction.operands);
  for (const Region& region : instruction.regions) {
    TakeUp(region.yields);
    for (const Instruction& inner : region.body) TakeUp(inner);
  }
}

void HostEmission::EmitClusterRank(const Instruction& instruction) { Set(instruction.result, rank_); }

void HostEmission::EmitLoadCluster(const Instruction& load) {
  LlvmValue const storage = OfBlock(of_all_blocks_.arrays[load.imm], Get(load.operands[1]));
  LlvmValue const address =
      b_.CreateInBoundsGEP(scalar_.MemoryTypeOf(kernel_.arrays[load.imm].type), storage, Get(load.operands[0]));
  Set(load.result, LoadFrom(address, load.type, true));
}

}  // namespace hlo::kernel
