#include "gpu/codegen/host/emission.h"

#include <algorithm>

#include <llvm/IR/Intrinsics.h>

#include "gpu/codegen/in_register_transpose.h"

namespace hlo::kernel {

using LlvmValue = llvm::Value*;

namespace {
int64_t TileRows(const ArrayInfo& tile) { return tile.elements / tile.pitch; }
}  // namespace

llvm::Value* HostEmission::LoadFrom(LlvmValue address, Type type, bool lanes, bool constant, bool wide) {
  llvm::Type* in_memory = scalar_.MemoryTypeOf(type);
  if (wide && wide_) in_memory = llvm::FixedVectorType::get(in_memory, width_);
  llvm::LoadInst* const load = b_.CreateAlignedLoad(in_memory, address, llvm::Align(Bytes(type)));
  if (lanes && access_group_) load->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
  if (constant) load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return scalar_.FromMemory(load, type);
}

void HostEmission::StoreTo(LlvmValue address, Type type, LlvmValue value, bool lanes) {
  llvm::StoreInst* const store =
      b_.CreateAlignedStore(scalar_.ToMemory(value, type), address, llvm::Align(Bytes(type)));
  if (lanes && access_group_) store->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
}

llvm::Value* HostEmission::Address(int64_t array, LlvmValue index) {
  return b_.CreateInBoundsGEP(scalar_.MemoryTypeOf(kernel_.arrays[array].type), arrays_[array], index);
}

// Marks loads of elements that no thread writes, so that LLVM can merge them across stores.
llvm::Value* HostEmission::LoadElement(int64_t array, LlvmValue index, bool wide) {
  const ArrayInfo& info = kernel_.arrays[array];
  const bool constant = info.kind == ArrayKind::kTable || (info.kind == ArrayKind::kInput && !info.may_alias);
  return LoadFrom(Address(array, index), info.type, true, constant, wide);
}

void HostEmission::StoreElement(int64_t array, LlvmValue index, LlvmValue value) {
  StoreTo(Address(array, index), kernel_.arrays[array].type, value, true);
}

void HostEmission::EmitLoad(const Instruction& load) {
  const int32_t index = load.operands[0];
  Set(load.result, LoadElement(load.imm, Get(index), IsLine(index)));
}

void HostEmission::EmitStore(const Instruction& store) {
  LlvmValue const value = Wide(store.operands[1]);
  StoreElement(store.imm, Get(store.operands[0]), value);
}

// While `access` runs, the group's number means this member.
void HostEmission::AtMember(int64_t array, int32_t member, const std::function<void()>& access) {
  LlvmValue const group = arrays_[array];
  LlvmValue const place = b_.CreateInBoundsGEP(b_.getPtrTy(), group, Get(member));
  llvm::LoadInst* const pointer = b_.CreateLoad(b_.getPtrTy(), place);
  pointer->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  if (access_group_) pointer->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
  arrays_[array] = pointer;
  access();
  arrays_[array] = group;
}

void HostEmission::EmitLoadMember(const Instruction& load) {
  AtMember(load.imm, load.operands[1], [&] { EmitLoad(load); });
}

void HostEmission::EmitStoreMember(const Instruction& store) {
  AtMember(store.imm, store.operands[2], [&] { EmitStore(store); });
}

void HostEmission::EmitLoadVector(const Instruction& load) {
  for (int64_t i = 0; i < load.imm2; ++i) {
    LlvmValue const index = b_.CreateNSWAdd(Get(load.operands[0]), Index(i));
    Set(load.result + static_cast<int32_t>(i), LoadElement(load.imm, index));
  }
}

void HostEmission::EmitStoreVector(const Instruction& store) {
  for (int64_t i = 0; i < store.imm2; ++i) {
    StoreElement(store.imm, b_.CreateNSWAdd(Get(store.operands[0]), Index(i)), Get(store.operands[1 + i]));
  }
}

// Copies immediately, because a correct kernel does not read the target before the wait.
void HostEmission::EmitCopyAsync(const Instruction& copy) {
  LlvmValue const to = Get(copy.operands[0]);
  LlvmValue const from = Get(copy.operands[1]);
  for (int i = 0; i < 16 / Bytes(copy.type); ++i) {
    LlvmValue const element = LoadElement(copy.imm2, b_.CreateNSWAdd(from, Index(i)));
    StoreElement(copy.imm, b_.CreateNSWAdd(to, Index(i)), element);
  }
}

void HostEmission::EmitCopyWait(const Instruction&) {}

// ---- Transposed tiles: a second array contains the columns of the tile as rows -------------------------------------

llvm::Value* HostEmission::TransposedAddress(int64_t tile, LlvmValue row, LlvmValue column) {
  const ArrayInfo& array = kernel_.arrays[tile];
  LlvmValue const index = b_.CreateNSWAdd(b_.CreateNSWMul(column, Index(TileRows(array))), row);
  return b_.CreateInBoundsGEP(scalar_.MemoryTypeOf(array.type), transposed_[tile], index);
}

llvm::ArrayType* HostEmission::TransposedType(const ArrayInfo& tile) {
  return llvm::ArrayType::get(scalar_.MemoryTypeOf(tile.type), (tile.pitch - 1) * TileRows(tile));
}

void HostEmission::EmitLoadTransposed(const Instruction& load) {
  LlvmValue const column = Get(load.operands[2]);
  LlvmValue const address = TransposedAddress(load.imm, Get(load.operands[1]), column);
  Set(load.result, LoadFrom(address, load.type, true, false, IsLine(load.operands[1])));
}

void HostEmission::EmitTransposeTile(const Instruction& turn) {
  const ArrayInfo& tile = kernel_.arrays[turn.imm];
  // A tile is transposed in squares of at most 32 bytes a side, because exchanging the halves of 64-byte registers in
  // one more step is slower (bench/results/transposes.md#squares). If rows are whole cache lines, larger squares are
  // faster, because each load then reads exactly one stored vector.
  const int64_t of_line = std::min<int64_t>(kMostTransposed, VectorBytes() / Bytes(tile.type));
  const bool in_lines = tile.pitch * Bytes(tile.type) % 64 == 0 && TileRows(tile) % of_line == 0;
  const int64_t side = in_lines ? of_line : std::min<int64_t>(16, 32 / Bytes(tile.type));
  auto* const vector = llvm::FixedVectorType::get(b_.getIntNTy(8 * Bytes(tile.type)), side);
  const auto square = [&](LlvmValue row, LlvmValue column) {
    llvm::SmallVector<LlvmValue> lines;
    for (int64_t i = 0; i < side; ++i) {
      LlvmValue const index =
          b_.CreateNSWAdd(b_.CreateNSWMul(b_.CreateNSWAdd(row, Index(i)), Index(tile.pitch)), column);
      lines.push_back(b_.CreateAlignedLoad(vector, Address(turn.imm, index), llvm::Align(Bytes(tile.type))));
    }
    TransposeInRegisters(b_, lines);
    for (int64_t i = 0; i < side; ++i) {
      b_.CreateAlignedStore(lines[i], TransposedAddress(turn.imm, row, b_.CreateNSWAdd(column, Index(i))),
                            llvm::Align(side * Bytes(tile.type)));
    }
  };
  const auto along = [&](int32_t end, const std::function<void(LlvmValue)>& body) {
    const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(Get(end));
    if (constant != nullptr && constant->getSExtValue() == side) return body(Index(0));
    Loop(Index(0), Get(end), Index(side), {.unroll = false}, body);
  };
  along(turn.operands[0],
        [&](LlvmValue row) { along(turn.operands[1], [&](LlvmValue column) { square(row, column); }); });
}

// ---- Variables and slots ----

void HostEmission::EmitVariableGet(const Instruction& access) {
  if (LlvmValue const address = StripVariable(access))
    return Set(access.result, LoadFrom(address, access.type, true, false, true));
  if (const auto found = carried_.find(access.imm); found != carried_.end())
    return Set(access.result, b_.CreateLoad(found->second->getAllocatedType(), found->second));
  if (wide_ && wide_->stride[access.result] != 0) return Set(access.result, wide_variables_[access.imm]);
  Set(access.result, b_.CreateLoad(scalar_.TypeOf(access.type), variables_[access.imm]));
}

void HostEmission::EmitVariableSet(const Instruction& access) {
  if (LlvmValue const address = StripVariable(access))
    return StoreTo(address, kernel_.variables[access.imm].type, Wide(access.operands[0]), true);
  if (const auto found = carried_.find(access.imm); found != carried_.end()) {
    b_.CreateStore(Wide(access.operands[0]), found->second);
    return;
  }
  if (wide_) {
    wide_variables_[access.imm] = Wide(access.operands[0]);
    return;
  }
  b_.CreateStore(Get(access.operands[0]), variables_[access.imm]);
}

void HostEmission::EmitSlotGet(const Instruction& access) {
  Set(access.result, LoadFrom(SlotAddress(access), access.type, true, false, true));
}

void HostEmission::EmitSlotSet(const Instruction& access) {
  LlvmValue const address = SlotAddress(access);
  StoreTo(address, kernel_.slots[access.imm].type, Wide(access.operands[0]), true);
}

llvm::Type* HostEmission::SlotElement(int64_t slot) { return scalar_.MemoryTypeOf(kernel_.slots[slot].type); }

int64_t HostEmission::SlotElements(int64_t slot) const {
  const SlotInfo& info = kernel_.slots[slot];
  return (info.level == Level::kBlock ? kernel_.threads : kWarpSize) * info.width;
}

llvm::ArrayType* HostEmission::SlotType(int64_t slot) {
  return llvm::ArrayType::get(SlotElement(slot), SlotElements(slot));
}

llvm::Value* HostEmission::WarpBase(int64_t slot) {
  const SlotInfo& info = kernel_.slots[slot];
  if (info.level == Level::kWarp) return slots_[slot];
  return b_.CreateInBoundsGEP(SlotElement(slot), slots_[slot],
                              b_.CreateMul(warp_, Index(kWarpSize * info.width), "", true, true));
}

llvm::Value* HostEmission::SlotAddress(const Instruction& access) {
  const int64_t slot = access.imm;
  if (const auto kind = kernel_.slots[slot].fragment)
    return b_.CreateInBoundsGEP(SlotElement(slot), WarpBase(slot), InFragment(*kind, access.imm2));
  LlvmValue const base = in_warps_ ? WarpBase(slot) : slots_[slot];
  LlvmValue index = tile_index_;
  if (access.imm2 != kTileElement) {
    LlvmValue const thread = in_warps_ ? lane_ : thread_;
    index = b_.CreateMul(thread, Index(kernel_.slots[slot].width), "", true, true);
    index = b_.CreateAdd(index, Index(access.imm2), "", true, true);
  }
  return b_.CreateInBoundsGEP(SlotElement(slot), base, index);
}

// ---- Atomic accesses and conditions --------------------------------------------------------------------------------

void HostEmission::EmitAtomic(const Instruction& atomic) {
  LlvmValue const address = Address(atomic.imm, Get(atomic.operands[0]));
  const llvm::MaybeAlign align(Bytes(atomic.type));
  LlvmValue old;
  if (atomic.op == Op::kAtomicCas) {
    old =
        b_.CreateExtractValue(b_.CreateAtomicCmpXchg(address, Get(atomic.operands[1]), Get(atomic.operands[2]), align,
                                                     llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic),
                              0);
  } else {
    old = b_.CreateAtomicRMW(AtomicOperation(static_cast<AtomicOp>(atomic.imm2), atomic.type), address,
                             Get(atomic.operands[1]), align, llvm::AtomicOrdering::Monotonic);
  }
  if (atomic.result >= 0) Set(atomic.result, old);
}

void HostEmission::EmitAtomicFetch(const Instruction& atomic) { EmitAtomic(atomic); }
void HostEmission::EmitAtomicCas(const Instruction& atomic) { EmitAtomic(atomic); }

// Without a graph, the handle is the condition's address.
void HostEmission::EmitSetCondition(const Instruction& set) {
  b_.CreateAlignedStore(Get(set.operands[0]), arrays_[set.imm], llvm::Align(4));
}

void HostEmission::EmitArrive(const Instruction& arrive) {
  LlvmValue const counter = Address(arrive.imm, Get(arrive.operands[0]));
  LlvmValue const count = b_.CreateTrunc(Get(arrive.operands[1]), b_.getInt32Ty());
  // The last block wraps the counter to zero.
  LlvmValue const old = b_.CreateAtomicRMW(llvm::AtomicRMWInst::UIncWrap, counter, b_.CreateSub(count, b_.getInt32(1)),
                                           llvm::MaybeAlign(4), llvm::AtomicOrdering::AcquireRelease);
  Set(arrive.result, b_.CreateICmpEQ(old, b_.CreateSub(count, b_.getInt32(1))));
}

}  // namespace hlo::kernel
