#include "gpu/kernel/nvptx_lowering.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include "base/check.h"
#include "gpu/kernel/linear.h"
#include "gpu/kernel/scalar.h"

namespace hlo::kernel {
namespace {

using llvm::BasicBlock;
using Intr = llvm::Intrinsic::ID;
using LlvmValue = llvm::Value*;

constexpr int kGlobalSpace = 1, kSharedSpace = 3, kConstantSpace = 4;
constexpr int64_t kNeverUnroll = -1;
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;  // Of any launch.
constexpr int64_t kStaticSharedLimit = 48 << 10;

// Whether it compares, divides or bounds what it counts, so that the number of blocks can decide a condition.
bool ComparesIndices(const Region& region) {
  return std::ranges::any_of(region.body, [](const Instruction& instruction) {
    const Op op = instruction.op;
    if (op == Op::kIf || (op == Op::kTile && !instruction.operands.empty())) return true;
    if (op >= Op::kEqual && op <= Op::kSelect) return true;
    const bool bounds = op == Op::kDiv || op == Op::kRem || op == Op::kMin || op == Op::kMax;
    if (bounds && instruction.type == Type::kIndex) return true;
    return std::ranges::any_of(instruction.regions, ComparesIndices);
  });
}

// What the code may assume: a number that says nothing where none of its conditions asks.
int64_t BlocksInCode(const Kernel& kernel) { return ComparesIndices(kernel.body) ? kernel.blocks : kMostBlocks; }

class NvptxLowering {
 public:
  NvptxLowering(const Kernel& kernel, const NvptxOptions& options, llvm::LLVMContext& context)
      : kernel_(kernel),
        options_(options),
        context_(context),
        module_(std::make_unique<llvm::Module>(EntryName(kernel), context)),
        b_(context),
        scalar_(b_, Place::kGpu, kernel.wide_index),
        linear_(LinearForms(kernel)),
        types_(kernel.values),
        values_(kernel.values),
        variables_(kernel.variables.size()) {}

  std::unique_ptr<llvm::Module> Lower() {
    MakeFunction();
    MakeArrays();
    BasicBlock* const entry = BasicBlock::Create(context_, "entry", function_);
    BasicBlock* const body = BasicBlock::Create(context_, "body", function_);
    b_.SetInsertPoint(entry);
    for (const SlotInfo& slot : kernel_.slots) {
      slots_.push_back(b_.CreateAlloca(llvm::ArrayType::get(scalar_.TypeOf(slot.type), slot.width)));
    }
    thread_ = ReadIndex(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, kernel_.threads);
    block_ = ReadIndex(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, BlocksInCode(kernel_));
    warp_ = b_.CreateLShr(thread_, 5);
    lane_ = b_.CreateAnd(thread_, 31);
    allocas_ = b_.CreateBr(body);
    b_.SetInsertPoint(body);
    EmitRegion(kernel_.body);
    b_.CreateRetVoid();
    return std::move(module_);
  }

 private:
  // How many copies of the code being emitted there are: the elements [begin, end) of the tile; `wide`: all of them.
  struct Copies {
    int begin = 0, end = 1;
    int width = 1;
    bool wide = true;
  };

  void MakeFunction() {
    std::vector<llvm::Type*> types;
    const std::vector<int> parameters = kernel_.Parameters();
    for (size_t i = 0; i < parameters.size(); ++i) types.push_back(llvm::PointerType::get(context_, kGlobalSpace));
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, EntryName(kernel_), *module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    for (size_t i = 0; i < parameters.size(); ++i) {
      const ArrayInfo& array = kernel_.arrays[parameters[i]];
      llvm::AttrBuilder attributes(context_);
      // Threads talk through kInOut arrays; `noalias` would let LLVM keep their elements in registers across barriers.
      if (!array.may_alias && array.kind != ArrayKind::kInOut) attributes.addAttribute(llvm::Attribute::NoAlias);
      if (array.kind == ArrayKind::kInput) attributes.addAttribute(llvm::Attribute::ReadOnly);
      attributes.addAlignmentAttr(llvm::Align(array.alignment));
      function_->addParamAttrs(i, attributes);
      function_->getArg(i)->setName("p" + std::to_string(i));
    }
    Annotate("kernel", 1);
    Annotate("maxntidx", kernel_.threads);
    if (kernel_.min_blocks_per_sm > 0) Annotate("minctasm", kernel_.min_blocks_per_sm);
  }

  void Annotate(const char* key, int value) {
    llvm::Metadata* const operands[] = {llvm::ConstantAsMetadata::get(function_), llvm::MDString::get(context_, key),
                                        llvm::ConstantAsMetadata::get(b_.getInt32(value))};
    module_->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context_, operands));
  }

  void MakeArrays() {
    const bool dynamic = kernel_.SharedBytes() > kStaticSharedLimit;
    llvm::GlobalVariable* pool = nullptr;
    if (dynamic) {
      pool = new llvm::GlobalVariable(*module_, llvm::ArrayType::get(b_.getInt8Ty(), 0), false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, "dynamic_shared", nullptr,
                                      llvm::GlobalValue::NotThreadLocal, kSharedSpace);
      pool->setAlignment(llvm::Align(16));
    }
    int parameter = 0;
    int64_t offset = 0;
    for (size_t i = 0; i < kernel_.arrays.size(); ++i) {
      const ArrayInfo& array = kernel_.arrays[i];
      llvm::Type* const element = scalar_.MemoryTypeOf(array.type);
      auto* const type = llvm::ArrayType::get(element, array.elements);
      if (array.IsParameter()) {
        arrays_.push_back(function_->getArg(parameter++));
      } else if (array.kind == ArrayKind::kTable) {
        std::vector<llvm::Constant*> elements;
        for (const int64_t bits : array.table) {
          elements.push_back(array.type == Type::kPred ? b_.getInt8(bits) : scalar_.Constant(array.type, bits));
        }
        auto* const table = new llvm::GlobalVariable(*module_, type, true, llvm::GlobalValue::InternalLinkage,
                                                     llvm::ConstantArray::get(type, elements),
                                                     "table" + std::to_string(i) + "_" + EntryName(kernel_), nullptr,
                                                     llvm::GlobalValue::NotThreadLocal, kConstantSpace);
        table->setAlignment(llvm::Align(16));
        arrays_.push_back(table);
      } else if (dynamic) {
        offset = (offset + 15) / 16 * 16;
        arrays_.push_back(llvm::ConstantExpr::getGetElementPtr(b_.getInt8Ty(), pool, b_.getInt64(offset)));
        offset += array.elements * Bytes(array.type);
      } else {
        auto* const shared = new llvm::GlobalVariable(*module_, type, false, llvm::GlobalValue::InternalLinkage,
                                                      llvm::UndefValue::get(type), "shared" + std::to_string(i),
                                                      nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
        shared->setAlignment(llvm::Align(16));
        arrays_.push_back(shared);
      }
    }
  }

  LlvmValue ReadIndex(Intr id, int64_t limit) {
    llvm::CallInst* const read = b_.CreateIntrinsic(b_.getInt32Ty(), id, {});
    read->setMetadata(
        llvm::LLVMContext::MD_range,
        llvm::MDBuilder(context_).createRange(llvm::APInt(32, 0), llvm::APInt(32, std::max<int64_t>(1, limit))));
    return b_.CreateZExt(read, scalar_.TypeOf(Type::kIndex));
  }

  LlvmValue Index(int64_t value) { return scalar_.Index(value); }
  BasicBlock* NewBlock(const char* name) { return BasicBlock::Create(context_, name, function_); }

  // Runs `then` under a condition.
  void If(LlvmValue condition, const std::function<void()>& then, const std::function<void()>& otherwise = nullptr) {
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

  // In rotated form: if (begin < end) do { body(index) } while ((index += step) < end).
  void Loop(LlvmValue begin, LlvmValue end, LlvmValue step, int64_t unroll,
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

  LlvmValue Get(int32_t id, int copy) const {
    const auto& values = values_[id];
    CHECK(!values.empty(), "kernel '", kernel_.name, "': %", id, " has no value yet");
    return values.size() == 1 ? values[0] : values[copy];
  }

  void Set(int32_t id, int copy, LlvmValue value) {
    auto& values = values_[id];
    if (static_cast<int>(values.size()) != copies_.width) values.assign(copies_.width, nullptr);
    values[copy] = value;
  }

  void SetUniform(int32_t id, LlvmValue value) { values_[id].assign(1, value); }

  // Emits once if all copies agree on the value, else once for each copy.
  void Define(const Instruction& instruction, const std::function<LlvmValue(int copy)>& make) {
    const int32_t id = instruction.result;
    types_[id] = instruction.type;
    if (linear_[id].stride == 0) return SetUniform(id, make(copies_.begin));
    for (int copy = copies_.begin; copy < copies_.end; ++copy) Set(id, copy, make(copy));
  }

  void EmitRegion(const Region& region) {
    for (const Instruction& instruction : region.body) Emit(instruction);
  }

  void Emit(const Instruction& instruction) {
    const Op op = instruction.op;
    source_ = instruction.source;
    switch (op) {
      case Op::kBlock: return Define(instruction, [&](int) { return block_; });
      case Op::kWarp: return Define(instruction, [&](int) { return warp_; });
      case Op::kLane: return Define(instruction, [&](int) { return lane_; });
      case Op::kThread: return Define(instruction, [&](int) { return thread_; });
      case Op::kLoad:
      case Op::kLoadTurned: return EmitLoad(instruction);
      case Op::kStore: return EmitStore(instruction);
      case Op::kLoadVector: return EmitLoadVector(instruction);
      case Op::kStoreVector: return EmitStoreVector(instruction);
      case Op::kAtomic:
      case Op::kAtomicFetch:
      case Op::kAtomicCas: return EmitAtomic(instruction);
      case Op::kSlotGet:
        return Define(instruction, [&](int copy) {
          return b_.CreateLoad(scalar_.TypeOf(instruction.type), SlotElement(instruction.imm, instruction.imm2, copy));
        });
      case Op::kSlotSet:
        for (int copy = copies_.begin; copy < copies_.end; ++copy) {
          b_.CreateStore(Get(instruction.operands[0], copy), SlotElement(instruction.imm, instruction.imm2, copy));
        }
        return;
      case Op::kVariableGet:
        return Define(instruction, [&](int copy) {
          return b_.CreateLoad(scalar_.TypeOf(instruction.type), VariableElement(instruction.imm, copy));
        });
      case Op::kVariableSet:
        for (int copy = copies_.begin; copy < copies_.end; ++copy) {
          b_.CreateStore(Get(instruction.operands[0], copy), VariableElement(instruction.imm, copy));
        }
        return;
      case Op::kPhase:
        level_ = Level::kThread;
        EmitRegion(instruction.regions[0]);
        level_ = in_warps_ ? Level::kWarp : Level::kBlock;
        return;
      case Op::kTile:
        level_ = Level::kThread;
        EmitTile(instruction);
        level_ = in_warps_ ? Level::kWarp : Level::kBlock;
        return;
      case Op::kWarps:
        level_ = Level::kWarp;
        in_warps_ = true;
        EmitRegion(instruction.regions[0]);
        in_warps_ = false;
        level_ = Level::kBlock;
        return;
      case Op::kLoop: return EmitLoop(instruction);
      case Op::kIf: return EmitIf(instruction);
      case Op::kTurn: return;  // Columns are read as they are.
      case Op::kBarrier: return EmitBarrier();
      case Op::kWarpBarrier:
        return (void)b_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {b_.getInt32(-1)});
      case Op::kWarpReduce:
      case Op::kGroupReduce: return EmitReduce(instruction);
      case Op::kWarpScan: return EmitScan(instruction);
      case Op::kShuffle: return EmitShuffle(instruction);
      case Op::kWarpBroadcast:
        return Define(instruction, [&](int) {
          return Shuffle(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, LoadSlot(instruction.slots[0]),
                         ToI32(Get(instruction.operands[0], 0)));
        });
      case Op::kArrive: return EmitArrive(instruction);
      default:
        return Define(instruction, [&](int copy) {
          llvm::SmallVector<LlvmValue, 4> operands;
          llvm::SmallVector<Type, 4> types;
          for (const int32_t operand : instruction.operands) {
            operands.push_back(Get(operand, copy));
            types.push_back(types_[operand]);
          }
          return scalar_.Emit(instruction, operands, types);
        });
    }
  }

  // ---- Structure ----

  void EmitTile(const Instruction& tile) {
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

  static bool UsesSlots(const Region& region) {
    for (const Instruction& instruction : region.body) {
      if (instruction.op == Op::kSlotGet || instruction.op == Op::kSlotSet) return true;
      for (const Region& inner : instruction.regions) {
        if (UsesSlots(inner)) return true;
      }
    }
    return false;
  }

  // Emits structure once for all copies if they agree on what steers it, else once for each.
  void ForCopies(std::span<const int32_t> steering, const std::function<void()>& emit) {
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

  void EmitLoop(const Instruction& loop) {
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

  void EmitIf(const Instruction& branch) {
    ForCopies(branch.operands, [&] {
      std::function<void()> otherwise;
      if (branch.regions.size() == 2) otherwise = [&] { EmitRegion(branch.regions[1]); };
      If(Get(branch.operands[0], copies_.begin), [&] { EmitRegion(branch.regions[0]); }, otherwise);
    });
  }

  void EmitBarrier() {
    const auto barrier = [&] { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); };
    if (Plant(KernelFault::kMissingBarrier)) return;
    if (Plant(KernelFault::kDivergentBarrier)) return If(b_.CreateICmpULT(thread_, Index(16)), barrier);
    barrier();
  }

  // True once: at the first place where the fault of the options fits.
  bool Plant(KernelFault fault) {
    if (options_.fault != fault || planted_) return false;
    planted_ = true;
    return true;
  }

  // ---- Memory ----

  LlvmValue Address(int64_t array, LlvmValue index) {
    return b_.CreateInBoundsGEP(scalar_.MemoryTypeOf(kernel_.arrays[array].type), arrays_[array], index);
  }

  template <class Access>
  Access* Mark(Access* access, int64_t array) {
    const ArrayInfo& info = kernel_.arrays[array];
    if (llvm::isa<llvm::LoadInst>(access) && info.kind == ArrayKind::kInput && !info.may_alias) {
      access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    }
    if (source_ >= 0) {
      access->setMetadata("hlo.source",
                          llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt32(source_))));
    }
    return access;
  }

  LlvmValue LoadScalar(int64_t array, LlvmValue index) {
    const Type type = kernel_.arrays[array].type;
    llvm::LoadInst* const load =
        b_.CreateAlignedLoad(scalar_.MemoryTypeOf(type), Address(array, index), llvm::Align(Bytes(type)));
    return scalar_.FromMemory(Mark(load, array), type);
  }

  void StoreScalar(int64_t array, LlvmValue index, LlvmValue value) {
    const Type type = kernel_.arrays[array].type;
    Mark(b_.CreateAlignedStore(scalar_.ToMemory(value, type), Address(array, index), llvm::Align(Bytes(type))), array);
  }

  // Elements of one vector access: up to 16 bytes, as far as index and pointer are aligned.
  int VectorWidth(int64_t array, int32_t index) const {
    const Linear& form = linear_[index];
    if (!copies_.wide || copies_.width == 1 || form.stride != 1) return 1;
    const ArrayInfo& info = kernel_.arrays[array];
    const int64_t bytes = Bytes(info.type);
    const int64_t width =
        std::min({int64_t{copies_.width}, form.multiple, 16 / bytes, std::max<int64_t>(1, info.alignment / bytes)});
    return static_cast<int>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, width))));
  }

  // Elements below 32 bits travel packed in words: LLVM then writes the 16-byte instruction, and no shuffles.
  llvm::Type* PackedType(Type type, int width) const {
    if (Bytes(type) >= 4) return llvm::FixedVectorType::get(scalar_.TypeOf(type), width);
    const int bytes = Bytes(type) * width;
    if (bytes < 4) return llvm::IntegerType::get(context_, bytes * 8);
    return bytes == 4 ? static_cast<llvm::Type*>(llvm::Type::getInt32Ty(context_))
                      : llvm::FixedVectorType::get(llvm::Type::getInt32Ty(context_), bytes / 4);
  }

  llvm::SmallVector<LlvmValue, 16> LoadPacked(int64_t array, LlvmValue index, int width) {
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

  // The f32 of which `element` is the bf16; null when it is none. Two of them round and pack in one instruction.
  static LlvmValue RoundedFrom(LlvmValue element) {
    const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(element);
    const auto* truncate = cast ? llvm::dyn_cast<llvm::FPTruncInst>(cast->getOperand(0)) : nullptr;
    return truncate && truncate->getType()->isBFloatTy() ? truncate->getOperand(0) : nullptr;
  }

  void StorePacked(int64_t array, LlvmValue index, std::span<LlvmValue const> elements) {
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

  void EmitLoad(const Instruction& load) {
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

  void EmitStore(const Instruction& store) {
    const ArrayInfo& array = kernel_.arrays[store.imm];
    const bool shared = array.kind == ArrayKind::kShared;
    if (shared && Plant(KernelFault::kUninitialisedShared)) return;
    const bool overrun = !shared && Plant(KernelFault::kOutOfBounds);
    const bool same_place = shared && Plant(KernelFault::kSharedRace);
    const bool cross = !shared && options_.fault == KernelFault::kCrossBlockRace;
    const auto index_of = [&](int copy) {
      LlvmValue index = Get(store.operands[0], copy);
      if (overrun) index = b_.CreateAdd(index, Index(array.elements));
      // Odd blocks write over the begin of the array, where block 0 writes too.
      if (cross) index = b_.CreateSelect(b_.CreateICmpEQ(b_.CreateAnd(block_, 1), Index(1)), thread_, index);
      return index;
    };
    if (level_ != Level::kThread) {  // Once per block, once per warp.
      LlvmValue const index = index_of(0);
      LlvmValue const thread = level_ == Level::kWarp ? lane_ : thread_;
      if (same_place) return StoreScalar(store.imm, index, Get(store.operands[1], 0));
      return If(b_.CreateICmpEQ(thread, Index(0)), [&] { StoreScalar(store.imm, index, Get(store.operands[1], 0)); });
    }
    if (same_place) {  // Every thread also writes element 0.
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

  void EmitLoadVector(const Instruction& load) {
    const int width = static_cast<int>(load.imm2);
    for (int i = 0; i < width; ++i) types_[load.result + i] = load.type;
    for (int copy = copies_.begin; copy < copies_.end; ++copy) {
      const auto elements = width == 1
                                ? llvm::SmallVector<LlvmValue, 16>{LoadScalar(load.imm, Get(load.operands[0], copy))}
                                : LoadPacked(load.imm, Get(load.operands[0], copy), width);
      for (int i = 0; i < width; ++i) Set(load.result + i, copy, elements[i]);
    }
  }

  void EmitStoreVector(const Instruction& store) {
    for (int copy = copies_.begin; copy < copies_.end; ++copy) {
      llvm::SmallVector<LlvmValue, 16> elements;
      for (size_t i = 1; i < store.operands.size(); ++i) elements.push_back(Get(store.operands[i], copy));
      if (elements.size() == 1) StoreScalar(store.imm, Get(store.operands[0], copy), elements[0]);
      else StorePacked(store.imm, Get(store.operands[0], copy), elements);
    }
  }

  void EmitAtomic(const Instruction& atomic) {
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

  LlvmValue SlotElement(int64_t slot, int64_t element, int copy) {
    auto* const type = llvm::ArrayType::get(scalar_.TypeOf(kernel_.slots[slot].type), kernel_.slots[slot].width);
    return b_.CreateConstInBoundsGEP2_32(type, slots_[slot], 0, element == kTileElement ? copy : element);
  }

  LlvmValue LoadSlot(int32_t slot) {
    return b_.CreateLoad(scalar_.TypeOf(kernel_.slots[slot].type), SlotElement(slot, 0, 0));
  }
  void StoreSlot(int32_t slot, LlvmValue value) { b_.CreateStore(value, SlotElement(slot, 0, 0)); }

  LlvmValue VariableElement(int64_t variable, int copy) {
    const VariableInfo& info = kernel_.variables[variable];
    constexpr int kMostCopies = 64;  // SROA drops those that are not used.
    auto* const type = llvm::ArrayType::get(scalar_.TypeOf(info.type), kMostCopies);
    if (!variables_[variable]) variables_[variable] = new llvm::AllocaInst(type, 0, "", allocas_->getIterator());
    return b_.CreateConstInBoundsGEP2_32(type, variables_[variable], 0, info.level == Level::kThread ? copy : 0);
  }

  // ---- Collectives ----

  LlvmValue ToI32(LlvmValue value) { return b_.CreateIntCast(value, b_.getInt32Ty(), false); }

  // A value of any type through 32-bit shuffles.
  LlvmValue Shuffle(Intr id, LlvmValue value, LlvmValue amount) {
    llvm::Type* const type = value->getType();
    const unsigned bits = type->getScalarSizeInBits();
    LlvmValue const clamp = b_.getInt32(id == llvm::Intrinsic::nvvm_shfl_sync_up_i32 ? 0 : 31);
    const auto shuffle = [&](LlvmValue word) {
      return b_.CreateIntrinsic(b_.getInt32Ty(), id, {b_.getInt32(-1), word, amount, clamp});
    };
    LlvmValue const integer = b_.CreateBitCast(value, b_.getIntNTy(bits));
    if (bits <= 32)
      return b_.CreateBitCast(b_.CreateTrunc(shuffle(b_.CreateZExt(integer, b_.getInt32Ty())), b_.getIntNTy(bits)),
                              type);
    LlvmValue const low = b_.CreateZExt(shuffle(b_.CreateTrunc(integer, b_.getInt32Ty())), integer->getType());
    LlvmValue const high =
        b_.CreateZExt(shuffle(b_.CreateTrunc(b_.CreateLShr(integer, 32), b_.getInt32Ty())), integer->getType());
    return b_.CreateBitCast(b_.CreateOr(low, b_.CreateShl(high, 32)), type);
  }

  using Values = llvm::SmallVector<LlvmValue, 2>;

  Values LoadSlots(const Instruction& instruction) {
    Values values;
    for (const int32_t slot : instruction.slots) values.push_back(LoadSlot(slot));
    return values;
  }

  Values Combine(const Instruction& instruction, const Values& a, const Values& b) {
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

  Values ShuffleAll(Intr id, const Values& values, LlvmValue amount) {
    Values shuffled;
    for (LlvmValue const value : values) shuffled.push_back(Shuffle(id, value, amount));
    return shuffled;
  }

  void EmitReduce(const Instruction& reduce) {
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

  void EmitScan(const Instruction& scan) {
    Values values = LoadSlots(scan);
    for (int distance = 1; distance < kWarpSize; distance *= 2) {
      const Values combined =
          Combine(scan, ShuffleAll(llvm::Intrinsic::nvvm_shfl_sync_up_i32, values, b_.getInt32(distance)), values);
      LlvmValue const inside = b_.CreateICmpUGE(lane_, Index(distance));
      for (size_t i = 0; i < values.size(); ++i) values[i] = b_.CreateSelect(inside, combined[i], values[i]);
    }
    for (size_t i = 0; i < values.size(); ++i) StoreSlot(scan.slots[i], values[i]);
  }

  void EmitShuffle(const Instruction& shuffle) {
    constexpr Intr kIntrinsics[] = {llvm::Intrinsic::nvvm_shfl_sync_down_i32, llvm::Intrinsic::nvvm_shfl_sync_up_i32,
                                    llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, llvm::Intrinsic::nvvm_shfl_sync_idx_i32};
    const bool indexed = static_cast<ShuffleMode>(shuffle.imm) == ShuffleMode::kIndexed;
    LlvmValue const amount =
        indexed ? b_.CreateAnd(LoadSlot(shuffle.slots[2]), 31) : static_cast<LlvmValue>(b_.getInt32(shuffle.imm2));
    StoreSlot(shuffle.slots[0], Shuffle(kIntrinsics[shuffle.imm], LoadSlot(shuffle.slots[1]), amount));
  }

  void EmitArrive(const Instruction& arrive) {
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

  const Kernel& kernel_;
  const NvptxOptions& options_;
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
  ScalarEmitter scalar_;
  const std::vector<Linear> linear_;
  llvm::Function* function_ = nullptr;
  llvm::Instruction* allocas_ = nullptr;  // Allocas go before it.
  std::vector<LlvmValue> arrays_, slots_;
  std::vector<Type> types_;
  std::vector<llvm::SmallVector<LlvmValue, 1>> values_;
  std::vector<llvm::AllocaInst*> variables_;
  LlvmValue thread_ = nullptr, block_ = nullptr, warp_ = nullptr, lane_ = nullptr;
  Copies copies_;
  Level level_ = Level::kBlock;
  bool in_warps_ = false;
  bool planted_ = false;
  int32_t source_ = -1;
};

}  // namespace

void ForgetForNvptx(Kernel& kernel) {
  kernel.blocks = BlocksInCode(kernel);
  for (ArrayInfo& array : kernel.arrays) {
    if (array.IsParameter()) array.elements = 0;
  }
}

std::string EntryName(const Kernel& kernel) {
  std::string name = kernel.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "k_");
  return name;
}

std::unique_ptr<llvm::Module> LowerToNvptx(const Kernel& kernel, const NvptxOptions& options,
                                           llvm::LLVMContext& context) {
  return NvptxLowering(kernel, options, context).Lower();
}

}  // namespace hlo::kernel
