#include "gpu/codegen/nvptx/emission.h"

#include <algorithm>
#include <bit>

#include <llvm/IR/IntrinsicsNVPTX.h>

namespace hlo::kernel {

using BasicBlock = llvm::BasicBlock;
using Intr = llvm::Intrinsic::ID;
using LlvmValue = llvm::Value*;

namespace {

constexpr int kGlobalSpace = 1;

}  // namespace

LlvmValue NvptxEmission::Address(int64_t array, LlvmValue index) {
  return b_.CreateInBoundsGEP(scalar_.MemoryTypeOf(kernel_.arrays[array].type), arrays_[array], index);
}

LlvmValue NvptxEmission::LoadScalar(int64_t array, LlvmValue index) {
  const Type type = kernel_.arrays[array].type;
  llvm::LoadInst* const load =
      b_.CreateAlignedLoad(scalar_.MemoryTypeOf(type), Address(array, index), llvm::Align(Bytes(type)));
  return scalar_.FromMemory(Mark(load, array), type);
}

void NvptxEmission::StoreScalar(int64_t array, LlvmValue index, LlvmValue value) {
  const Type type = kernel_.arrays[array].type;
  Mark(b_.CreateAlignedStore(scalar_.ToMemory(value, type), Address(array, index), llvm::Align(Bytes(type))), array);
}

// Number of elements in an access: at most 16 bytes, as far as index and pointer are aligned.
int NvptxEmission::VectorWidth(int64_t array, int32_t index) const {
  const Linear& form = linear_[index];
  if (!copies_.wide || copies_.width == 1 || form.stride != 1) return 1;
  const ArrayInfo& info = kernel_.arrays[array];
  const int64_t bytes = Bytes(info.type);
  const int64_t width =
      std::min({int64_t{copies_.width}, form.multiple, 16 / bytes, std::max<int64_t>(1, info.alignment / bytes)});
  return static_cast<int>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, width))));
}

// If small elements are packed into words, LLVM uses the 16-byte instruction and no shuffles.
llvm::Type* NvptxEmission::PackedType(Type type, int width) const {
  if (Bytes(type) >= 4) return llvm::FixedVectorType::get(scalar_.TypeOf(type), width);
  const int bytes = Bytes(type) * width;
  if (bytes < 4) return llvm::IntegerType::get(context_, bytes * 8);
  return bytes == 4 ? static_cast<llvm::Type*>(llvm::Type::getInt32Ty(context_))
                    : llvm::FixedVectorType::get(llvm::Type::getInt32Ty(context_), bytes / 4);
}

llvm::SmallVector<LlvmValue, 16> NvptxEmission::LoadPacked(int64_t array, LlvmValue index, int width) {
  const Type type = kernel_.arrays[array].type;
  if (Plant(KernelFault::kMisalignedVector)) index = b_.CreateAdd(index, Index(1));
  llvm::LoadInst* const load =
      b_.CreateAlignedLoad(PackedType(type, width), Address(array, index), llvm::Align(Bytes(type) * width));
  Mark(load, array);
  llvm::SmallVector<LlvmValue, 16> elements;
  for (int i = 0; i < width; ++i) {
    if (Bytes(type) >= 4) {
      elements.push_back(b_.CreateExtractElement(load, i));
      continue;
    }
    const int bit = i * Bytes(type) * 8;
    LlvmValue word = load;
    int in_word = bit;
    if (load->getType()->isVectorTy()) {
      word = b_.CreateExtractElement(load, bit / 32);
      in_word = bit % 32;
    }
    LlvmValue const bits = b_.CreateTrunc(b_.CreateLShr(word, in_word), b_.getIntNTy(Bytes(type) * 8));
    elements.push_back(scalar_.FromMemory(b_.CreateBitCast(bits, scalar_.MemoryTypeOf(type)), type));
  }
  return elements;
}

// The f32 from which `element` was rounded to bf16, or null. One instruction rounds and packs two.
LlvmValue NvptxEmission::RoundedFrom(LlvmValue element) {
  const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(element);
  const auto* truncate = cast ? llvm::dyn_cast<llvm::FPTruncInst>(cast->getOperand(0)) : nullptr;
  return truncate && truncate->getType()->isBFloatTy() ? truncate->getOperand(0) : nullptr;
}

void NvptxEmission::StorePacked(int64_t array, LlvmValue index, std::span<LlvmValue const> elements) {
  const Type type = kernel_.arrays[array].type;
  const int width = static_cast<int>(elements.size());
  llvm::Type* const packed_type = PackedType(type, width);
  LlvmValue packed = llvm::PoisonValue::get(packed_type);
  if (Bytes(type) >= 4) {
    for (int i = 0; i < width; ++i) packed = b_.CreateInsertElement(packed, elements[i], i);
  } else {
    const auto word = [&](int begin, int count, llvm::Type* word_type) {
      LlvmValue const low = RoundedFrom(elements[begin]);
      LlvmValue const high = count == 2 ? RoundedFrom(elements[begin + 1]) : nullptr;
      if (low && high)
        return b_.CreateBitCast(b_.CreateIntrinsic(llvm::Intrinsic::nvvm_ff2bf16x2_rn, {}, {high, low}), word_type);
      LlvmValue bits = nullptr;
      for (int i = 0; i < count; ++i) {
        LlvmValue const element =
            b_.CreateBitCast(scalar_.ToMemory(elements[begin + i], type), b_.getIntNTy(Bytes(type) * 8));
        LlvmValue const placed = b_.CreateShl(b_.CreateZExt(element, word_type), i * Bytes(type) * 8);
        bits = bits ? b_.CreateOr(bits, placed) : placed;
      }
      return bits;
    };
    if (packed_type->isVectorTy()) {
      const int per_word = 4 / Bytes(type);
      for (int i = 0; i * per_word < width; ++i)
        packed = b_.CreateInsertElement(packed, word(i * per_word, per_word, b_.getInt32Ty()), i);
    } else {
      packed = word(0, width, packed_type);
    }
  }
  Mark(b_.CreateAlignedStore(packed, Address(array, index), llvm::Align(Bytes(type) * width)), array);
}

void NvptxEmission::EmitLoad(const Instruction& load) {
  types_[load.result] = load.type;
  const int width = VectorWidth(load.imm, load.operands[0]);
  if (width == 1 || linear_[load.result].stride == 0) {
    return Define(load, [&](int copy) { return LoadScalar(load.imm, Get(load.operands[0], copy)); });
  }
  for (int copy = 0; copy < copies_.width; copy += width) {
    const auto elements = LoadPacked(load.imm, Get(load.operands[0], copy), width);
    for (int i = 0; i < width; ++i) Set(load.result, copy + i, elements[i]);
  }
}

void NvptxEmission::EmitStore(const Instruction& store) {
  const ArrayInfo& array = kernel_.arrays[store.imm];
  const bool shared = array.kind == ArrayKind::kShared;
  if (shared && Plant(KernelFault::kUninitialisedShared)) return;
  const bool overrun = !shared && Plant(KernelFault::kOutOfBounds);
  const bool same_place = shared && Plant(KernelFault::kSharedRace);
  const bool cross = !shared && options_.fault == KernelFault::kCrossBlockRace;
  const auto index_of = [&](int copy) {
    LlvmValue index = Get(store.operands[0], copy);
    if (overrun) index = b_.CreateAdd(index, Index(array.elements));
    if (cross) index = b_.CreateSelect(b_.CreateICmpEQ(b_.CreateAnd(block_, 1), Index(1)), thread_, index);
    return index;
  };
  if (level_ != Level::kThread) {
    LlvmValue const index = index_of(0);
    LlvmValue const thread = level_ == Level::kWarp ? lane_ : thread_;
    if (same_place) return StoreScalar(store.imm, index, Get(store.operands[1], 0));
    return If(b_.CreateICmpEQ(thread, Index(0)), [&] { StoreScalar(store.imm, index, Get(store.operands[1], 0)); });
  }
  if (same_place) {
    StoreScalar(store.imm, Index(0), Get(store.operands[1], copies_.begin));
  }
  const int width = overrun || cross ? 1 : VectorWidth(store.imm, store.operands[0]);
  for (int copy = copies_.begin; copy < copies_.end; copy += width) {
    if (width == 1) {
      StoreScalar(store.imm, index_of(copy), Get(store.operands[1], copy));
      continue;
    }
    llvm::SmallVector<LlvmValue, 16> elements;
    for (int i = 0; i < width; ++i) elements.push_back(Get(store.operands[1], copy + i));
    StorePacked(store.imm, index_of(copy), elements);
  }
}

// While `access` runs, the group's number means this member.
void NvptxEmission::AtMember(int64_t array, int32_t member, const std::function<void()>& access) {
  ForCopies(std::span(&member, 1), [&] {
    auto* const pointer = llvm::PointerType::get(context_, kGlobalSpace);
    auto* const pointers = llvm::ArrayType::get(pointer, kernel_.arrays[array].members);
    LlvmValue const group = arrays_[array];
    LlvmValue const place = b_.CreateInBoundsGEP(pointers, group, {Index(0), Get(member, copies_.begin)});
    llvm::LoadInst* const load = b_.CreateAlignedLoad(pointer, place, llvm::Align(sizeof(void*)));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    arrays_[array] = Mark(load, array);
    access();
    arrays_[array] = group;
  });
}

void NvptxEmission::EmitLoadMember(const Instruction& load) {
  AtMember(load.imm, load.operands[1], [&] { EmitLoad(load); });
}

void NvptxEmission::EmitStoreMember(const Instruction& store) {
  AtMember(store.imm, store.operands[2], [&] { EmitStore(store); });
}

// ld.shared reads only the thread's own block, so addresses are generic.
void NvptxEmission::EmitLoadCluster(const Instruction& load) {
  const Type type = kernel_.arrays[load.imm].type;
  Define(load, [&](int copy) {
    LlvmValue const own = b_.CreateAddrSpaceCast(Address(load.imm, Get(load.operands[0], copy)), b_.getPtrTy());
    LlvmValue const rank = b_.CreateIntCast(Get(load.operands[1], copy), b_.getInt32Ty(), false);
    LlvmValue const address = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_mapa, {}, {own, rank});
    llvm::LoadInst* const far = b_.CreateAlignedLoad(scalar_.MemoryTypeOf(type), address, llvm::Align(Bytes(type)));
    return scalar_.FromMemory(Mark(far, load.imm), type);
  });
}

void NvptxEmission::EmitLoadVector(const Instruction& load) {
  const int width = static_cast<int>(load.imm2);
  for (int i = 0; i < width; ++i) types_[load.result + i] = load.type;
  for (int copy = copies_.begin; copy < copies_.end; ++copy) {
    const auto elements = width == 1
                              ? llvm::SmallVector<LlvmValue, 16>{LoadScalar(load.imm, Get(load.operands[0], copy))}
                              : LoadPacked(load.imm, Get(load.operands[0], copy), width);
    for (int i = 0; i < width; ++i) Set(load.result + i, copy, elements[i]);
  }
}

void NvptxEmission::EmitStoreVector(const Instruction& store) {
  for (int copy = copies_.begin; copy < copies_.end; ++copy) {
    llvm::SmallVector<LlvmValue, 16> elements;
    for (size_t i = 1; i < store.operands.size(); ++i) elements.push_back(Get(store.operands[i], copy));
    if (elements.size() == 1) StoreScalar(store.imm, Get(store.operands[0], copy), elements[0]);
    else StorePacked(store.imm, Get(store.operands[0], copy), elements);
  }
}

void NvptxEmission::EmitAtomic(const Instruction& atomic) {
  if (atomic.result >= 0) types_[atomic.result] = atomic.type;
  for (int copy = copies_.begin; copy < copies_.end; ++copy) {
    LlvmValue const address = Address(atomic.imm, Get(atomic.operands[0], copy));
    LlvmValue const value = Get(atomic.operands[1], copy);
    LlvmValue old;
    if (atomic.op == Op::kAtomicCas) {
      auto* const exchange =
          b_.CreateAtomicCmpXchg(address, value, Get(atomic.operands[2], copy), llvm::MaybeAlign(Bytes(atomic.type)),
                                 llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
      old = b_.CreateExtractValue(Mark(exchange, atomic.imm), 0);
    } else {
      old = Mark(b_.CreateAtomicRMW(AtomicOperation(static_cast<AtomicOp>(atomic.imm2), atomic.type), address, value,
                                    llvm::MaybeAlign(Bytes(atomic.type)), llvm::AtomicOrdering::Monotonic),
                 atomic.imm);
    }
    if (atomic.result >= 0) Set(atomic.result, copy, old);
  }
}

LlvmValue NvptxEmission::SlotElement(int64_t slot, int64_t element, int copy) {
  auto* const type = llvm::ArrayType::get(scalar_.TypeOf(kernel_.slots[slot].type), kernel_.slots[slot].width);
  return b_.CreateConstInBoundsGEP2_32(type, slots_[slot], 0, element == kTileElement ? copy : element);
}

LlvmValue NvptxEmission::LoadSlot(int32_t slot) {
  return b_.CreateLoad(scalar_.TypeOf(kernel_.slots[slot].type), SlotElement(slot, 0, 0));
}

LlvmValue NvptxEmission::VariableElement(int64_t variable, int copy) {
  const VariableInfo& info = kernel_.variables[variable];
  constexpr int kMostCopies = 64;  // SROA removes unused copies.
  auto* const type = llvm::ArrayType::get(scalar_.TypeOf(info.type), kMostCopies);
  if (!variables_[variable]) variables_[variable] = new llvm::AllocaInst(type, 0, "", allocas_->getIterator());
  return b_.CreateConstInBoundsGEP2_32(type, variables_[variable], 0, info.level == Level::kThread ? copy : 0);
}

void NvptxEmission::EmitLoadTransposed(const Instruction& load) { EmitLoad(load); }
void NvptxEmission::EmitTransposeTile(const Instruction&) {}
void NvptxEmission::EmitAtomicFetch(const Instruction& atomic) { EmitAtomic(atomic); }
void NvptxEmission::EmitAtomicCas(const Instruction& atomic) { EmitAtomic(atomic); }

void NvptxEmission::EmitSlotGet(const Instruction& access) {
  Define(access, [&](int copy) {
    return b_.CreateLoad(scalar_.TypeOf(access.type), SlotElement(access.imm, access.imm2, copy));
  });
}

void NvptxEmission::EmitSlotSet(const Instruction& access) {
  for (int copy = copies_.begin; copy < copies_.end; ++copy)
    b_.CreateStore(Get(access.operands[0], copy), SlotElement(access.imm, access.imm2, copy));
}

void NvptxEmission::EmitVariableGet(const Instruction& access) {
  Define(access,
         [&](int copy) { return b_.CreateLoad(scalar_.TypeOf(access.type), VariableElement(access.imm, copy)); });
}

void NvptxEmission::EmitVariableSet(const Instruction& access) {
  for (int copy = copies_.begin; copy < copies_.end; ++copy)
    b_.CreateStore(Get(access.operands[0], copy), VariableElement(access.imm, copy));
}

void NvptxEmission::EmitCopyAsync(const Instruction& copy) {
  for (int each = copies_.begin; each < copies_.end; ++each) {
    LlvmValue const to = Address(copy.imm, Get(copy.operands[0], each));
    LlvmValue const from = Address(copy.imm2, Get(copy.operands[1], each));
    Mark(b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16, {}, {to, from}), copy.imm);
  }
}

void NvptxEmission::EmitCopyWait(const Instruction& wait) {
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {}, {b_.getInt32(wait.imm)});
}

}  // namespace hlo::kernel
