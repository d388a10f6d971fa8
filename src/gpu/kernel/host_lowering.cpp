#include "gpu/kernel/host_lowering.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include "base/check.h"
#include "gpu/kernel/in_register_transpose.h"
#include "gpu/kernel/scalar.h"
#include "gpu/kernel/streaming.h"

namespace hlo::kernel {
namespace {

using llvm::BasicBlock;
using LlvmValue = llvm::Value*;

// A loop in a thread body that is no more than this many instructions when written out is written out, so that the loop
// over the lanes is the innermost.
constexpr int64_t kMostWrittenOut = 256;
// Longer loops with the same bounds in all lanes run outside the loop over lanes, for so many lanes at a time.
constexpr int64_t kStrip = 128;
// The scheduler of a CPU holds about a hundred instructions that wait. Of a body of this many it holds few iterations,
// too few to hide the latency of its chain; so several vectors go by turns (a gelu in the cache: 0.8 of the time), in
// kernels over arrays of kMuchWork elements.
constexpr int64_t kLongBody = 24;
constexpr int64_t kMuchWork = 1 << 18;

class HostLowering {
 public:
  HostLowering(const Kernel& kernel, bool masked_tails, llvm::Module& module)
      : kernel_(kernel),
        masked_tails_(masked_tails),
        context_(module.getContext()),
        module_(module),
        b_(context_),
        scalar_(b_, Place::kHost, kernel.wide_index),
        values_(kernel.values),
        constants_(kernel.values) {
    types_of_.resize(kernel.values, Type::kIndex);
    FindConstantsAndTypes(kernel.body);
  }

  void Lower(const std::string& name) {
    parameters_ = kernel_.Parameters();
    const bool direct = parameters_.size() <= kMostDirectArguments;
    MakeBody(direct ? name : name + ".blocks",
             direct ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage);
    if (!direct) MakeEntry(name);
  }

 private:
  // Unpacks the arguments: `noalias` says more on parameters than on loaded pointers.
  void MakeEntry(const std::string& name) {
    llvm::Type* const types[] = {b_.getInt64Ty(), b_.getInt64Ty(), b_.getPtrTy()};
    auto* const entry = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                               llvm::GlobalValue::ExternalLinkage, name, module_);
    entry->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(BasicBlock::Create(context_, "entry", entry));
    llvm::SmallVector<LlvmValue> arguments = {entry->getArg(0), entry->getArg(1)};
    for (size_t i = 0; i < parameters_.size(); ++i) {
      arguments.push_back(b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), entry->getArg(2), i)));
    }
    b_.CreateCall(function_, arguments)->setIsNoInline();
    b_.CreateRetVoid();
  }

  void MakeBody(const std::string& name, llvm::GlobalValue::LinkageTypes linkage) {
    llvm::SmallVector<llvm::Type*> types(2, b_.getInt64Ty());
    types.append(parameters_.size(), b_.getPtrTy());
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false), linkage, name, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const ArrayInfo& array = kernel_.arrays[parameters_[i]];
      if (!array.may_alias) function_->addParamAttr(2 + i, llvm::Attribute::NoAlias);
      if (array.kind == ArrayKind::kInput) function_->addParamAttr(2 + i, llvm::Attribute::ReadOnly);
      if (IsStreamed(array)) MarkStreamed(*function_, 2 + i);
    }
    BasicBlock* const entry = BasicBlock::Create(context_, "entry", function_);
    BasicBlock* const body = BasicBlock::Create(context_, "body", function_);
    b_.SetInsertPoint(entry);
    allocas_ = b_.CreateBr(body);
    b_.SetInsertPoint(allocas_);
    MakeStorage();
    b_.SetInsertPoint(body);
    Loop(function_->getArg(0), function_->getArg(1), Index(1), {.unroll = false}, [&](LlvmValue block) {
      block_ = block;
      EmitRegion(kernel_.body);
    });
    b_.CreateRetVoid();
  }

  void MakeStorage() {
    int parameter = 2;
    for (const ArrayInfo& array : kernel_.arrays) {
      auto* const type = llvm::ArrayType::get(scalar_.MemoryTypeOf(array.type), array.elements);
      if (array.IsParameter()) {
        arrays_.push_back(function_->getArg(parameter++));
      } else if (array.kind == ArrayKind::kTable) {
        std::vector<llvm::Constant*> elements;
        for (const int64_t bits : array.table) {
          elements.push_back(array.type == Type::kPred ? b_.getInt8(bits) : scalar_.Constant(array.type, bits));
        }
        arrays_.push_back(new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                                   llvm::ConstantArray::get(type, elements)));
      } else {
        arrays_.push_back(Alloca(type));
      }
      turned_.push_back(array.pitch ? Alloca(TurnedType(array)) : nullptr);
    }
    for (const SlotInfo& slot : kernel_.slots) {
      const int64_t threads = slot.level == Level::kBlock ? kernel_.threads : kWarpSize;
      slots_.push_back(Alloca(llvm::ArrayType::get(scalar_.MemoryTypeOf(slot.type), threads * slot.width)));
    }
    for (const VariableInfo& variable : kernel_.variables) variables_.push_back(Alloca(scalar_.TypeOf(variable.type)));
  }

  llvm::AllocaInst* Alloca(llvm::Type* type) {
    llvm::AllocaInst* const alloca = b_.CreateAlloca(type);
    if (type->isArrayTy()) alloca->setAlignment(llvm::Align(64));
    return alloca;
  }

  LlvmValue Index(int64_t value) { return b_.getInt64(value); }

  // ---- Loops ----

  struct LoopKind {
    bool lanes = false;  // Iterations are independent: the loop to vectorise.
    bool unroll = true;
    int interleave = 1;  // So many vectors by turns.
  };

  // for (index = begin; index < end; index += step) body(index).
  void Loop(LlvmValue begin, LlvmValue end, LlvmValue step, LoopKind kind, const std::function<void(LlvmValue)>& body) {
    LoopWithSteps(begin, end, kind, [&](LlvmValue index) {
      body(index);
      return step;
    });
  }

  // In rotated form: if (begin < end) do { index += body(index) } while (index < end).
  void LoopWithSteps(LlvmValue begin, LlvmValue end, LoopKind kind, const std::function<LlvmValue(LlvmValue)>& body) {
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
    llvm::SmallVector<llvm::Metadata*, 3> nodes = {nullptr};
    if (kind.lanes)
      nodes.push_back(
          llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.parallel_accesses"), access_group_}));
    if (kind.lanes && masked_tails_) {
      nodes.push_back(
          llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.vectorize.predicate.enable"),
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
    back->setMetadata(llvm::LLVMContext::MD_loop, node);
    access_group_ = outer;
    b_.SetInsertPoint(after);
  }

  void Lanes(LlvmValue end, const std::function<void(LlvmValue)>& body, int interleave = 1) {
    Loop(Index(0), end, Index(1), {.lanes = true, .interleave = interleave}, body);
  }

  void ForWarps(const std::function<void()>& body) {
    Loop(Index(0), Index(kernel_.warps()), Index(1), {.unroll = false}, [&](LlvmValue warp) {
      warp_ = warp;
      body();
    });
  }

  // ---- Instructions ----

  LlvmValue Get(int32_t id) {
    if (strip_ && strip_->group_of[id] != 0 && strip_->group_of[id] != strip_->current) return FromOtherGroup(id);
    CHECK(values_[id], "kernel '", kernel_.name, "': %", id, " has no value yet");
    return values_[id];
  }

  void Set(int32_t id, Type type, LlvmValue value) {
    values_[id] = value;
    types_of_[id] = type;
  }

  void EmitRegion(const Region& region) {
    for (const Instruction& instruction : region.body) Emit(instruction);
  }

  void Emit(const Instruction& instruction) {
    const auto define = [&](LlvmValue value) { Set(instruction.result, instruction.type, value); };
    switch (instruction.op) {
      case Op::kBlock: return define(block_);
      case Op::kWarp: return define(warp_);
      case Op::kLane: return define(lane_);
      case Op::kThread: return define(thread_);
      case Op::kLoad: return define(LoadElement(instruction.imm, Get(instruction.operands[0])));
      case Op::kLoadTurned: return define(LoadTurned(instruction));
      case Op::kTurn: return EmitTurn(instruction);
      case Op::kStore: return StoreElement(instruction.imm, Get(instruction.operands[0]), Get(instruction.operands[1]));
      case Op::kLoadVector:
        for (int64_t i = 0; i < instruction.imm2; ++i) {
          LlvmValue const index = b_.CreateNSWAdd(Get(instruction.operands[0]), Index(i));
          Set(instruction.result + static_cast<int32_t>(i), instruction.type, LoadElement(instruction.imm, index));
        }
        return;
      case Op::kStoreVector:
        for (int64_t i = 0; i < instruction.imm2; ++i) {
          StoreElement(instruction.imm, b_.CreateNSWAdd(Get(instruction.operands[0]), Index(i)),
                       Get(instruction.operands[1 + i]));
        }
        return;
      case Op::kAtomic:
      case Op::kAtomicFetch:
      case Op::kAtomicCas: return EmitAtomic(instruction);
      case Op::kSlotGet: return define(LoadFrom(SlotAddress(instruction), instruction.type, true));
      case Op::kSlotSet:
        return StoreTo(SlotAddress(instruction), kernel_.slots[instruction.imm].type, Get(instruction.operands[0]),
                       true);
      case Op::kVariableGet:
        if (LlvmValue const address = StripVariable(instruction))
          return define(LoadFrom(address, instruction.type, true));
        return define(b_.CreateLoad(scalar_.TypeOf(instruction.type), variables_[instruction.imm]));
      case Op::kVariableSet:
        if (LlvmValue const address = StripVariable(instruction))
          return StoreTo(address, instruction.type, Get(instruction.operands[0]), true);
        return (void)b_.CreateStore(Get(instruction.operands[0]), variables_[instruction.imm]);
      case Op::kPhase: return EmitPhase(instruction.regions[0]);
      case Op::kTile: return EmitTile(instruction);
      case Op::kWarps:
        in_warps_ = true;
        ForWarps([&] { EmitRegion(instruction.regions[0]); });
        in_warps_ = false;
        return;
      case Op::kLoop: return EmitLoop(instruction);
      case Op::kIf: return EmitIf(instruction);
      case Op::kBarrier:
      case Op::kWarpBarrier: return;  // The loops over threads end between phases.
      case Op::kWarpReduce: return EmitWarpReduce(instruction);
      case Op::kGroupReduce: return EmitGroupReduce(instruction);
      case Op::kWarpScan: return EmitWarpScan(instruction);
      case Op::kShuffle: return EmitShuffle(instruction);
      case Op::kWarpBroadcast: {
        const int32_t slot = instruction.slots[0];
        LlvmValue const address = b_.CreateInBoundsGEP(SlotElement(slot), WarpBase(slot), Get(instruction.operands[0]));
        return define(LoadFrom(address, instruction.type, false));
      }
      case Op::kArrive: return EmitArrive(instruction);
      default: return define(Compute(instruction));
    }
  }

  LlvmValue Compute(const Instruction& instruction) {
    if (segment_) {
      if (LlvmValue const value = segment_->Find(instruction, b_)) return value;
    }
    llvm::SmallVector<LlvmValue, 4> operands;
    llvm::SmallVector<Type, 4> types;
    for (const int32_t operand : instruction.operands) {
      operands.push_back(Get(operand));
      types.push_back(types_of_[operand]);
    }
    return scalar_.Emit(instruction, operands, types);
  }

  // ---- Structure ----

  void EmitPhase(const Region& region) {
    const auto lanes = [&] {
      LlvmValue const first = b_.CreateMul(warp_, Index(kWarpSize), "", true, true);
      EmitThreads(region, Index(kWarpSize), [&, first](LlvmValue lane) {
        lane_ = lane;
        thread_ = b_.CreateAdd(first, lane, "", true, true);
      });
    };
    if (in_warps_) return lanes();
    ForWarps(lanes);
  }

  void EmitTile(const Instruction& tile) {
    const int64_t elements = (in_warps_ ? kWarpSize : kernel_.threads) * tile.imm;
    if (tile.operands.empty()) return EmitElements(tile, Index(elements));
    LlvmValue const limit = Get(tile.operands[0]);
    const Region& region = tile.regions[0];
    if (!StoresStreamed(region) && !IsWorthInterleaving(region)) {
      return EmitElements(tile, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, limit, Index(elements)));
    }
    // Masked stores cannot stream, a loop of unknown length is not interleaved, and only the last tile is cut short.
    Branch(b_.CreateICmpSGE(limit, Index(elements)), true,
           [&](int side) { EmitElements(tile, side == 0 ? Index(elements) : limit); });
  }

  bool IsStreamed(const ArrayInfo& array) const {
    return array.kind == ArrayKind::kOutput && array.elements * Bytes(array.type) >= kLeastStreamedBytes;
  }

  bool StoresStreamed(const Region& region) const {
    return std::ranges::any_of(region.body, [&](const Instruction& instruction) {
      if (instruction.op == Op::kStore && IsStreamed(kernel_.arrays[instruction.imm])) return true;
      return std::ranges::any_of(instruction.regions, [&](const Region& inner) { return StoresStreamed(inner); });
    });
  }

  void EmitElements(const Instruction& tile, LlvmValue end) {
    const int32_t index = tile.regions[0].arguments[0];
    const auto bind = [this, index](LlvmValue element) {
      tile_index_ = element;
      Set(index, Type::kIndex, element);
    };
    Segment segment = FindSegment(tile.regions[0]);
    if (segment.divisions.empty()) return EmitThreads(tile.regions[0], end, bind);
    LoopWithSteps(Index(0), end, {.unroll = false}, [&](LlvmValue begin) {
      LlvmValue const count = BeginSegment(segment, begin, b_.CreateNSWSub(end, begin));
      segment_ = &segment;
      EmitThreads(tile.regions[0], count, [&](LlvmValue position) {
        segment.position = position;
        bind(b_.CreateAdd(begin, position, "", true, true));
      });
      segment_ = nullptr;
      return count;
    });
  }

  // ---- Divisions of the tile's index ----
  //
  // Between two multiples of C, (base + i) / C is the same for all i and (base + i) % C counts up. So the tile is cut
  // at the multiples: what would be gathers of divided indices becomes vector loads. Not for small C: the pieces would
  // be too short.
  static constexpr int64_t kLeastSegment = 16;

  struct Segment {
    std::vector<const Instruction*>
        divisions;  // kDiv and kRem by constants of something that counts up with the index.
    std::vector<bool> inside, line,
        fixed;  // By value: defined in the tile; counts up; the same for all, and index arithmetic.
    std::vector<const Instruction*> definition;
    int32_t index = -1;  // The tile's index.
    std::unordered_map<const Instruction*, LlvmValue> at_begin;
    LlvmValue begin = nullptr, position = nullptr;

    // The value of a division in the current element; null if it is none of these.
    LlvmValue Find(const Instruction& instruction, llvm::IRBuilder<>& b) const {
      const auto found = at_begin.find(&instruction);
      if (found == at_begin.end()) return nullptr;
      return instruction.op == Op::kDiv ? found->second : b.CreateAdd(found->second, position, "", true, true);
    }
  };

  Segment FindSegment(const Region& region) const {
    Segment segment{.divisions = {},
                    .inside = std::vector<bool>(kernel_.values),
                    .line = std::vector<bool>(kernel_.values),
                    .fixed = std::vector<bool>(kernel_.values),
                    .definition = std::vector<const Instruction*>(kernel_.values),
                    .index = region.arguments[0],
                    .at_begin = {}};
    segment.inside[segment.index] = segment.line[segment.index] = true;
    FindDivisions(region, segment);
    return segment;
  }

  void FindDivisions(const Region& region, Segment& segment) const {
    const auto fixed = [&](int32_t id) { return !segment.inside[id] || segment.fixed[id]; };
    for (const Instruction& instruction : region.body) {
      const int32_t id = instruction.result;
      const int results = instruction.op == Op::kLoadVector ? static_cast<int>(instruction.imm2) : id >= 0 ? 1 : 0;
      for (int i = 0; i < results; ++i) segment.inside[id + i] = true;
      for (const Region& inner : instruction.regions) {
        for (const int32_t argument : inner.arguments) segment.inside[argument] = true;
        FindDivisions(inner, segment);
      }
      if (id < 0 || instruction.type != Type::kIndex) continue;
      segment.definition[id] = &instruction;
      if (instruction.op == Op::kConstant) segment.fixed[id] = true;
      if (instruction.operands.size() != 2 || instruction.op > Op::kRem) continue;
      const int32_t a = instruction.operands[0], b = instruction.operands[1];
      segment.fixed[id] = fixed(a) && fixed(b);
      if (instruction.op == Op::kAdd) segment.line[id] = (segment.line[a] && fixed(b)) || (segment.line[b] && fixed(a));
      if (instruction.op == Op::kSub) segment.line[id] = segment.line[a] && fixed(b);
      if (instruction.op != Op::kDiv && instruction.op != Op::kRem) continue;
      if (!segment.line[a] || !constants_[b] || constants_[b]->imm < kLeastSegment) continue;
      segment.divisions.push_back(&instruction);
      (instruction.op == Op::kDiv ? segment.fixed : segment.line)[id] = true;
    }
  }

  // Index arithmetic at the first element of the segment.
  LlvmValue AtBegin(const Segment& segment, int32_t id) {
    if (id == segment.index) return segment.begin;
    if (!segment.inside[id]) return Get(id);
    const Instruction& definition = *segment.definition[id];
    if (const auto found = segment.at_begin.find(&definition); found != segment.at_begin.end()) return found->second;
    llvm::SmallVector<LlvmValue, 2> operands;
    for (const int32_t operand : definition.operands) operands.push_back(AtBegin(segment, operand));
    const Type types[] = {Type::kIndex, Type::kIndex};
    return scalar_.Emit(definition, operands, types);
  }

  // The values of the divisions at `begin`; returns how many elements the segment has, at most `left`.
  LlvmValue BeginSegment(Segment& segment, LlvmValue begin, LlvmValue left) {
    segment.begin = begin;
    segment.at_begin.clear();
    LlvmValue count = left;
    for (const Instruction* division : segment.divisions) {
      LlvmValue const dividend = AtBegin(segment, division->operands[0]);
      LlvmValue const divisor = Index(constants_[division->operands[1]]->imm);
      LlvmValue const operands[] = {dividend, divisor};
      const Type types[] = {Type::kIndex, Type::kIndex};
      LlvmValue const value = scalar_.Emit(*division, operands, types);
      LlvmValue const remainder =
          division->op == Op::kRem ? value : b_.CreateSub(dividend, b_.CreateMul(value, divisor));
      // Below zero nothing divides, behind some guard; the elements from zero on are segments of their own. What comes
      // out there is no quotient: 0 instead, since a division of it by the next must not make that one's bound
      // negative.
      LlvmValue const negative = b_.CreateICmpSLT(dividend, Index(0));
      segment.at_begin[division] = b_.CreateSelect(negative, Index(0), value);
      LlvmValue const bound = b_.CreateSelect(negative, b_.CreateNeg(dividend), b_.CreateSub(divisor, remainder));
      count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, bound);
    }
    return count;
  }

  // Is the body a long chain in a kernel that runs long enough to pay for more code?
  bool IsWorthInterleaving(const Region& region) const {
    const auto is_large = [](const ArrayInfo& array) { return array.IsParameter() && array.elements >= kMuchWork; };
    return std::ranges::any_of(kernel_.arrays, is_large) && WrittenOut(region) >= kLongBody;
  }

  // The widest type that the body keeps in memory: the vectoriser's vectors have as many elements as fit of it.
  int64_t WidestInMemory(const Region& region) const {
    int64_t bytes = 1;
    for (const Instruction& instruction : region.body) {
      switch (instruction.op) {
        case Op::kLoad:
        case Op::kLoadVector:
        case Op::kLoadTurned:
        case Op::kStore:
        case Op::kStoreVector: bytes = std::max<int64_t>(bytes, Bytes(kernel_.arrays[instruction.imm].type)); break;
        case Op::kSlotGet:
        case Op::kSlotSet: bytes = std::max<int64_t>(bytes, Bytes(kernel_.slots[instruction.imm].type)); break;
        default: break;
      }
      for (const Region& inner : instruction.regions) bytes = std::max(bytes, WidestInMemory(inner));
    }
    return bytes;
  }

  // No more vectors by turns than there are, and no tail where one vector at a time leaves none: under a mask, what is
  // loaded with gaps between is loaded one by one, in branches, and the vectoriser takes 20 s to move a chain of bf16
  // maxima into them.
  int Interleave(const Region& region, LlvmValue end) const {
    const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(end);
    if (constant == nullptr || !IsWorthInterleaving(region)) return 1;
    const int64_t elements = constant->getSExtValue();
    const int64_t vector = (masked_tails_ ? 64 : 32) / WidestInMemory(region);
    const bool whole = elements % vector == 0;
    int interleave = masked_tails_ ? 4 : 2;  // Half the registers without AVX-512.
    while (interleave > 1 && (elements < vector * interleave || (whole && elements % (vector * interleave) != 0)))
      interleave /= 2;
    return interleave;
  }

  // The body of a phase or tile for lanes (elements) 0 to `end`; `bind` says which one is being emitted.
  void EmitThreads(const Region& region, LlvmValue end, const std::function<void(LlvmValue)>& bind) {
    Strip strip{.bind = bind,
                .varying = std::vector<bool>(kernel_.values),
                .group_of = std::vector<int>(kernel_.values),
                .group_of_member = {},
                .definition = std::vector<const Instruction*>(kernel_.values),
                .spills = std::vector<llvm::AllocaInst*>(kernel_.values),
                .variables = std::vector<llvm::AllocaInst*>(kernel_.variables.size())};
    if (!region.arguments.empty()) strip.varying[region.arguments[0]] = true;
    FindVarying(region, strip.varying);
    if (!HasStripLoop(region, strip.varying)) {
      return Lanes(
          end,
          [&](LlvmValue lane) {
            bind(lane);
            EmitRegion(region);
          },
          Interleave(region, end));
    }
    PlanStrip(region, strip);
    strip_ = &strip;
    Loop(Index(0), end, Index(kStrip), {.unroll = false}, [&](LlvmValue begin) {
      strip.begin = begin;
      strip.count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateNSWSub(end, begin), Index(kStrip));
      strip.next_group = 1;
      EmitStripRegion(region);
    });
    strip_ = nullptr;
  }

  // ---- Loops in thread bodies, outside the loop over lanes ----
  //
  // The body is cut at loops whose bounds are the same for all lanes. What lies between the cuts is a group: a loop
  // over the lanes of the strip. Values that cross from group to group are computed again when they are index
  // arithmetic, and kept in arrays of one element per lane otherwise; so are the variables. What is the same for all
  // lanes is computed once, outside.

  struct Strip {
    std::function<void(LlvmValue)> bind;
    std::vector<bool> varying;  // By value: differs between lanes.
    std::vector<int> group_of;  // By value: where a varying value is defined; 0: not in a group.
    std::unordered_map<const Instruction*, int> group_of_member;
    std::vector<const Instruction*> definition;  // By value.
    std::vector<llvm::AllocaInst*> spills;       // By value.
    std::vector<llvm::AllocaInst*> variables;    // By variable; null: lives in one group.
    LlvmValue begin = nullptr, count = nullptr, lane = nullptr;
    int next_group = 1, current = 0;
  };

  void FindConstantsAndTypes(const Region& region) {
    for (const Instruction& instruction : region.body) {
      if (instruction.op == Op::kConstant) constants_[instruction.result] = &instruction;
      const int results = instruction.op == Op::kLoadVector ? static_cast<int>(instruction.imm2)
                          : instruction.result >= 0         ? 1
                                                            : 0;
      for (int i = 0; i < results; ++i) types_of_[instruction.result + i] = instruction.type;
      for (const Region& inner : instruction.regions) FindConstantsAndTypes(inner);
    }
  }

  void FindVarying(const Region& region, std::vector<bool>& varying) const {
    for (const Instruction& instruction : region.body) {
      const Op op = instruction.op;
      bool varies = op == Op::kLane || op == Op::kThread || op == Op::kSlotGet || op == Op::kAtomicFetch ||
                    op == Op::kAtomicCas ||
                    (op == Op::kVariableGet && kernel_.variables[instruction.imm].level == Level::kThread);
      for (const int32_t operand : instruction.operands) varies = varies || varying[operand];
      if (op == Op::kDiv && segment_ && segment_->at_begin.contains(&instruction)) varies = false;
      const int results = op == Op::kLoadVector ? static_cast<int>(instruction.imm2) : instruction.result >= 0 ? 1 : 0;
      for (int i = 0; i < results; ++i) varying[instruction.result + i] = varies;
      if (op == Op::kLoop) varying[instruction.regions[0].arguments[0]] = varies;
      for (const Region& inner : instruction.regions) FindVarying(inner, varying);
    }
  }

  bool Varies(const Instruction& instruction, const std::vector<bool>& varying) const {
    for (const int32_t operand : instruction.operands) {
      if (varying[operand]) return true;
    }
    return false;
  }

  // The steps of a loop with constant bounds; -1 for others.
  int64_t Steps(const Instruction& loop) const {
    const Instruction *begin = constants_[loop.operands[0]], *end = constants_[loop.operands[1]],
                      *step = constants_[loop.operands[2]];
    if (!begin || !end || !step || step->imm <= 0) return -1;
    return std::max<int64_t>(0, (end->imm - begin->imm + step->imm - 1) / step->imm);
  }

  // Instructions when every loop in it with constant bounds is written out.
  int64_t WrittenOut(const Region& region) const {
    int64_t count = 0;
    for (const Instruction& instruction : region.body) {
      if (instruction.op == Op::kConstant) continue;
      int64_t inner = 1;
      for (const Region& nested : instruction.regions) inner += WrittenOut(nested);
      if (instruction.op == Op::kLoop) inner *= std::max<int64_t>(1, Steps(instruction));
      count = std::min<int64_t>(count + inner, 1 << 20);
    }
    return count;
  }

  bool IsWrittenOut(const Instruction& loop) const {
    return Steps(loop) >= 0 && WrittenOut(loop.regions[0]) * Steps(loop) <= kMostWrittenOut;
  }

  // Whether the body is cut at this instruction.
  bool IsCut(const Instruction& instruction, const std::vector<bool>& varying) const {
    if (Varies(instruction, varying)) return false;
    if (instruction.op == Op::kLoop) return !IsWrittenOut(instruction);
    if (instruction.op != Op::kIf) return false;
    for (const Region& branch : instruction.regions) {
      if (HasStripLoop(branch, varying)) return true;
    }
    return false;
  }

  bool HasStripLoop(const Region& region, const std::vector<bool>& varying) const {
    for (const Instruction& instruction : region.body) {
      if (IsCut(instruction, varying)) return true;
    }
    return false;
  }

  // Once for the strip, outside the loop over lanes.
  bool IsUniform(const Instruction& instruction, const std::vector<bool>& varying) const {
    const Op op = instruction.op;
    if (instruction.result < 0 || op == Op::kLoadVector || !instruction.regions.empty()) return false;
    return !varying[instruction.result];
  }

  // Visits cuts, instructions of the strip and groups in order. Planning and emission go the same way, so that groups
  // have the same numbers in both.
  template <class Uniform, class Group, class Cut>
  void WalkStrip(const Region& region, const std::vector<bool>& varying, Uniform uniform, Group group, Cut cut) {
    std::vector<const Instruction*> members;
    const auto flush = [&] {
      if (!members.empty()) group(members);
      members.clear();
    };
    for (const Instruction& instruction : region.body) {
      if (IsCut(instruction, varying)) {
        flush();
        cut(instruction);
      } else if (IsUniform(instruction, varying)) {
        uniform(instruction);
      } else {
        members.push_back(&instruction);
      }
    }
    flush();
  }

  void PlanStrip(const Region& region, Strip& strip) {
    int next_group = 1;
    std::vector<int> variable_group(kernel_.variables.size());
    FindGroups(region, strip, next_group, variable_group);
    FindSpills(region, strip);
  }

  llvm::AllocaInst* StripArray(Type type) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(allocas_);
    return Alloca(llvm::ArrayType::get(scalar_.MemoryTypeOf(type), kStrip));
  }

  void FindGroups(const Region& region, Strip& strip, int& next_group, std::vector<int>& variable_group) {
    WalkStrip(
        region, strip.varying,
        [&](const Instruction& instruction) { strip.definition[instruction.result] = &instruction; },
        [&](const std::vector<const Instruction*>& members) {
          const int group = next_group++;
          for (const Instruction* member : members) PlaceInGroup(*member, group, /*top=*/true, strip, variable_group);
        },
        [&](const Instruction& cut) {
          for (const Region& inner : cut.regions) FindGroups(inner, strip, next_group, variable_group);
        });
  }

  void PlaceInGroup(const Instruction& instruction, int group, bool top, Strip& strip,
                    std::vector<int>& variable_group) {
    strip.group_of_member[&instruction] = group;
    const int results = instruction.op == Op::kLoadVector ? static_cast<int>(instruction.imm2)
                        : instruction.result >= 0         ? 1
                                                          : 0;
    for (int i = 0; i < results; ++i) {
      strip.group_of[instruction.result + i] = group;
      strip.definition[instruction.result + i] = &instruction;
    }
    const bool is_set = instruction.op == Op::kVariableSet;
    if ((is_set || instruction.op == Op::kVariableGet) && kernel_.variables[instruction.imm].level == Level::kThread) {
      // Begins with a value of its own in one group only: needs no array.
      int& only = variable_group[instruction.imm];
      if (only == 0 && is_set && top) only = group;
      if (only != group && !strip.variables[instruction.imm])
        strip.variables[instruction.imm] = StripArray(kernel_.variables[instruction.imm].type);
    }
    for (const Region& inner : instruction.regions) {
      for (const Instruction& nested : inner.body) PlaceInGroup(nested, group, false, strip, variable_group);
      for (const int32_t argument : inner.arguments) strip.group_of[argument] = group;
    }
  }

  // Index arithmetic on what every lane knows.
  bool CanRepeat(int32_t id, const Strip& strip) const {
    if (strip.group_of[id] == 0) return true;
    const Instruction* const definition = strip.definition[id];
    if (!definition) return false;
    const Op op = definition->op;
    if (op == Op::kLane || op == Op::kThread) return true;
    const bool pure = (op >= Op::kAdd && op <= Op::kXor) || (op >= Op::kEqual && op <= Op::kSelect);
    if (!pure) return false;
    for (const int32_t operand : definition->operands) {
      if (types_of_[operand] != Type::kIndex && types_of_[operand] != Type::kPred) return false;
      if (!CanRepeat(operand, strip)) return false;
    }
    return true;
  }

  void FindSpills(const Region& region, Strip& strip) {
    for (const Instruction& instruction : region.body) {
      const auto member = strip.group_of_member.find(&instruction);
      const int own = member == strip.group_of_member.end() ? 0 : member->second;
      for (const int32_t operand : instruction.operands) {
        if (strip.group_of[operand] == 0 || strip.group_of[operand] == own || CanRepeat(operand, strip)) continue;
        if (!strip.spills[operand]) strip.spills[operand] = StripArray(types_of_[operand]);
      }
      for (const Region& inner : instruction.regions) FindSpills(inner, strip);
    }
  }

  void EmitStripRegion(const Region& region) {
    Strip& strip = *strip_;
    WalkStrip(
        region, strip.varying, [&](const Instruction& instruction) { Emit(instruction); },
        [&](const std::vector<const Instruction*>& members) {
          strip.current = strip.next_group++;
          Lanes(strip.count, [&](LlvmValue lane) {
            strip.lane = lane;
            strip.bind(b_.CreateAdd(strip.begin, lane, "", true, true));
            for (const Instruction* member : members) {
              Emit(*member);
              if (member->result >= 0 && member->regions.empty()) SpillResults(*member);
            }
          });
          strip.current = 0;
        },
        [&](const Instruction& cut) {
          if (cut.op == Op::kLoop) {
            Loop(Get(cut.operands[0]), Get(cut.operands[1]), Get(cut.operands[2]), {.unroll = false},
                 [&](LlvmValue index) {
                   Set(cut.regions[0].arguments[0], Type::kIndex, index);
                   EmitStripRegion(cut.regions[0]);
                 });
            return;
          }
          Branch(Get(cut.operands[0]), cut.regions.size() == 2,
                 [&](int branch) { EmitStripRegion(cut.regions[branch]); });
        });
  }

  LlvmValue StripElement(llvm::AllocaInst* array) {
    return b_.CreateInBoundsGEP(array->getAllocatedType()->getArrayElementType(), array, strip_->lane);
  }

  void SpillResults(const Instruction& instruction) {
    const int results = instruction.op == Op::kLoadVector ? static_cast<int>(instruction.imm2) : 1;
    for (int32_t id = instruction.result; id < instruction.result + results; ++id) {
      if (llvm::AllocaInst* spill = strip_->spills[id])
        StoreTo(StripElement(spill), instruction.type, values_[id], true);
    }
  }

  // A value of another group: from its array, or computed again.
  LlvmValue FromOtherGroup(int32_t id) {
    if (llvm::AllocaInst* spill = strip_->spills[id]) return LoadFrom(StripElement(spill), types_of_[id], true);
    const Instruction& definition = *strip_->definition[id];
    if (definition.op == Op::kLane) return lane_;
    if (definition.op == Op::kThread) return thread_;
    return Compute(definition);
  }

  // Where a variable of the lane is kept; null when it is an alloca of its own.
  LlvmValue StripVariable(const Instruction& access) {
    if (!strip_ || !strip_->variables[access.imm]) return nullptr;
    return StripElement(strip_->variables[access.imm]);
  }

  void EmitLoop(const Instruction& loop) {
    const Region& region = loop.regions[0];
    const auto body = [&](LlvmValue index) {
      Set(region.arguments[0], Type::kIndex, index);
      EmitRegion(region);
    };
    if (access_group_ && IsWrittenOut(loop)) {
      const int64_t begin = constants_[loop.operands[0]]->imm, step = constants_[loop.operands[2]]->imm;
      for (int64_t i = 0; i < Steps(loop); ++i) body(Index(begin + i * step));
      return;
    }
    Loop(Get(loop.operands[0]), Get(loop.operands[1]), Get(loop.operands[2]), {}, body);
  }

  void EmitIf(const Instruction& branch) {
    Branch(Get(branch.operands[0]), branch.regions.size() == 2, [&](int side) { EmitRegion(branch.regions[side]); });
  }

  // emit(0) where the condition holds, emit(1) where it does not.
  void Branch(LlvmValue condition, bool has_else, const std::function<void(int)>& emit) {
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

  // ---- Memory ----

  LlvmValue LoadFrom(LlvmValue address, Type type, bool lanes) {
    llvm::LoadInst* const load = b_.CreateAlignedLoad(scalar_.MemoryTypeOf(type), address, llvm::Align(Bytes(type)));
    if (lanes && access_group_) load->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
    return scalar_.FromMemory(load, type);
  }

  void StoreTo(LlvmValue address, Type type, LlvmValue value, bool lanes) {
    llvm::StoreInst* const store =
        b_.CreateAlignedStore(scalar_.ToMemory(value, type), address, llvm::Align(Bytes(type)));
    if (lanes && access_group_) store->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
  }

  LlvmValue Address(int64_t array, LlvmValue index) {
    return b_.CreateInBoundsGEP(scalar_.MemoryTypeOf(kernel_.arrays[array].type), arrays_[array], index);
  }

  LlvmValue LoadElement(int64_t array, LlvmValue index) {
    return LoadFrom(Address(array, index), kernel_.arrays[array].type, true);
  }
  void StoreElement(int64_t array, LlvmValue index, LlvmValue value) {
    StoreTo(Address(array, index), kernel_.arrays[array].type, value, true);
  }

  // ---- Tiles that are read across: a second array has the columns of the tile as its rows ----

  static int64_t TileRows(const ArrayInfo& tile) { return tile.elements / tile.pitch; }

  llvm::ArrayType* TurnedType(const ArrayInfo& tile) {
    return llvm::ArrayType::get(scalar_.MemoryTypeOf(tile.type), (tile.pitch - 1) * TileRows(tile));
  }

  LlvmValue TurnedAddress(int64_t tile, LlvmValue row, LlvmValue column) {
    const ArrayInfo& array = kernel_.arrays[tile];
    LlvmValue const index = b_.CreateNSWAdd(b_.CreateNSWMul(column, Index(TileRows(array))), row);
    return b_.CreateInBoundsGEP(scalar_.MemoryTypeOf(array.type), turned_[tile], index);
  }

  LlvmValue LoadTurned(const Instruction& load) {
    LlvmValue const address = TurnedAddress(load.imm, Get(load.operands[1]), Get(load.operands[2]));
    return LoadFrom(address, load.type, true);
  }

  void EmitTurn(const Instruction& turn) {
    const ArrayInfo& tile = kernel_.arrays[turn.imm];
    // A square of as many rows as a vector has elements.
    const int64_t side = std::min<int64_t>(kMostTurned, (masked_tails_ ? 64 : 32) / Bytes(tile.type));
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
        b_.CreateAlignedStore(lines[i], TurnedAddress(turn.imm, row, b_.CreateNSWAdd(column, Index(i))),
                              llvm::Align(side * Bytes(tile.type)));
      }
    };
    Loop(Index(0), Get(turn.operands[0]), Index(side), {.unroll = false}, [&](LlvmValue row) {
      Loop(Index(0), Get(turn.operands[1]), Index(side), {.unroll = false},
           [&](LlvmValue column) { square(row, column); });
    });
  }

  llvm::Type* SlotElement(int64_t slot) { return scalar_.MemoryTypeOf(kernel_.slots[slot].type); }

  // The elements of the current warp.
  LlvmValue WarpBase(int64_t slot) {
    const SlotInfo& info = kernel_.slots[slot];
    if (info.level == Level::kWarp) return slots_[slot];
    return b_.CreateInBoundsGEP(SlotElement(slot), slots_[slot],
                                b_.CreateMul(warp_, Index(kWarpSize * info.width), "", true, true));
  }

  LlvmValue SlotAddress(const Instruction& access) {
    const int64_t slot = access.imm;
    LlvmValue const base = in_warps_ ? WarpBase(slot) : slots_[slot];
    LlvmValue index = tile_index_;
    if (access.imm2 != kTileElement) {
      LlvmValue const thread = in_warps_ ? lane_ : thread_;
      index = b_.CreateMul(thread, Index(kernel_.slots[slot].width), "", true, true);
      index = b_.CreateAdd(index, Index(access.imm2), "", true, true);
    }
    return b_.CreateInBoundsGEP(SlotElement(slot), base, index);
  }

  void EmitAtomic(const Instruction& atomic) {
    LlvmValue const address = Address(atomic.imm, Get(atomic.operands[0]));
    const llvm::MaybeAlign align(Bytes(atomic.type));
    LlvmValue old;
    if (atomic.op == Op::kAtomicCas) {
      old = b_.CreateExtractValue(
          b_.CreateAtomicCmpXchg(address, Get(atomic.operands[1]), Get(atomic.operands[2]), align,
                                 llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic),
          0);
    } else {
      old = b_.CreateAtomicRMW(AtomicOperation(static_cast<AtomicOp>(atomic.imm2), atomic.type), address,
                               Get(atomic.operands[1]), align, llvm::AtomicOrdering::Monotonic);
    }
    if (atomic.result >= 0) Set(atomic.result, atomic.type, old);
  }

  void EmitArrive(const Instruction& arrive) {
    LlvmValue const counter = Address(arrive.imm, Get(arrive.operands[0]));
    LlvmValue const count = b_.CreateTrunc(Get(arrive.operands[1]), b_.getInt32Ty());
    // Wraps to zero in the last block.
    LlvmValue const old =
        b_.CreateAtomicRMW(llvm::AtomicRMWInst::UIncWrap, counter, b_.CreateSub(count, b_.getInt32(1)),
                           llvm::MaybeAlign(4), llvm::AtomicOrdering::AcquireRelease);
    Set(arrive.result, Type::kPred, b_.CreateICmpEQ(old, b_.CreateSub(count, b_.getInt32(1))));
  }

  // ---- Collectives: the slots of a warp as one vector ----

  using Values = llvm::SmallVector<LlvmValue, 2>;

  LlvmValue LoadLanes(int32_t slot) {
    const Type type = kernel_.slots[slot].type;
    auto* const vector = llvm::FixedVectorType::get(SlotElement(slot), kWarpSize);
    return scalar_.FromMemory(b_.CreateAlignedLoad(vector, WarpBase(slot), llvm::Align(32)), type);
  }

  void StoreLanes(int32_t slot, LlvmValue value) {
    b_.CreateAlignedStore(scalar_.ToMemory(value, kernel_.slots[slot].type), WarpBase(slot), llvm::Align(32));
  }

  Values LoadAllLanes(const Instruction& instruction) {
    Values values;
    for (const int32_t slot : instruction.slots) values.push_back(LoadLanes(slot));
    return values;
  }

  // Lane l of the result is lane source(l) of `vector`.
  template <class Source>
  LlvmValue Permute(LlvmValue vector, int lanes, Source source) {
    llvm::SmallVector<int, kWarpSize> mask;
    for (int lane = 0; lane < lanes; ++lane) mask.push_back(source(lane));
    return b_.CreateShuffleVector(vector, mask);
  }

  static bool HasStructure(const Region& region) {
    return std::any_of(region.body.begin(), region.body.end(),
                       [](const Instruction& instruction) { return !instruction.regions.empty(); });
  }

  // Branches and loops do not come in vectors (sin and rem have some): lane by lane.
  Values CombineByLane(const Instruction& instruction, const Values& a, const Values& b) {
    const auto lanes_of = [](LlvmValue value) {
      return llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
    };
    Values combined;
    for (LlvmValue const value : a) combined.push_back(llvm::PoisonValue::get(value->getType()));
    for (uint64_t lane = 0; lane < lanes_of(a[0]); ++lane) {
      Values left, right;
      for (size_t i = 0; i < a.size(); ++i) {
        left.push_back(b_.CreateExtractElement(a[i], lane));
        right.push_back(b_.CreateExtractElement(b[i], lane));
      }
      const Values one = Combine(instruction, left, right);
      for (size_t i = 0; i < a.size(); ++i) combined[i] = b_.CreateInsertElement(combined[i], one[i], lane);
    }
    return combined;
  }

  Values Combine(const Instruction& instruction, const Values& a, const Values& b) {
    const Region& region = instruction.regions[0];
    if (a[0]->getType()->isVectorTy() && HasStructure(region)) return CombineByLane(instruction, a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const Type type = kernel_.slots[instruction.slots[i]].type;
      Set(region.arguments[i], type, a[i]);
      Set(region.arguments[a.size() + i], type, b[i]);
    }
    EmitRegion(region);
    Values combined;
    for (size_t i = 0; i < a.size(); ++i) {
      LlvmValue value = Get(region.yields[i]);
      const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a[i]->getType());
      if (vector && !value->getType()->isVectorTy()) value = b_.CreateVectorSplat(vector->getNumElements(), value);
      combined.push_back(value);
    }
    return combined;
  }

  // Neighbours first; half as many lanes after each step. The same tree as the GPU's for lane 0.
  void EmitWarpReduce(const Instruction& reduce) {
    Values values = LoadAllLanes(reduce);
    for (int lanes = kWarpSize / 2; lanes >= 1; lanes /= 2) {
      Values even, odd;
      for (LlvmValue const value : values) {
        even.push_back(Permute(value, lanes, [](int lane) { return 2 * lane; }));
        odd.push_back(Permute(value, lanes, [](int lane) { return 2 * lane + 1; }));
      }
      values = Combine(reduce, even, odd);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      Set(reduce.result + static_cast<int32_t>(i), kernel_.slots[reduce.slots[i]].type,
          b_.CreateExtractElement(values[i], uint64_t{0}));
    }
  }

  void EmitGroupReduce(const Instruction& reduce) {
    const int group = static_cast<int>(reduce.imm2);
    Values values = LoadAllLanes(reduce);
    for (int distance = 1; distance < group; distance *= 2) {
      Values others;
      for (LlvmValue const value : values) {
        others.push_back(
            Permute(value, kWarpSize, [&](int lane) { return lane + distance < kWarpSize ? lane + distance : lane; }));
      }
      values = Combine(reduce, values, others);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      StoreLanes(reduce.slots[i], Permute(values[i], kWarpSize, [&](int lane) { return lane & ~(group - 1); }));
    }
  }

  void EmitWarpScan(const Instruction& scan) {
    Values values = LoadAllLanes(scan);
    for (int distance = 1; distance < kWarpSize; distance *= 2) {
      Values before;
      for (LlvmValue const value : values) {
        before.push_back(
            Permute(value, kWarpSize, [&](int lane) { return lane >= distance ? lane - distance : lane; }));
      }
      const Values combined = Combine(scan, before, values);
      llvm::SmallVector<int, kWarpSize> mask;
      for (int lane = 0; lane < kWarpSize; ++lane) mask.push_back(lane >= distance ? kWarpSize + lane : lane);
      for (size_t i = 0; i < values.size(); ++i) values[i] = b_.CreateShuffleVector(values[i], combined[i], mask);
    }
    for (size_t i = 0; i < values.size(); ++i) StoreLanes(scan.slots[i], values[i]);
  }

  void EmitShuffle(const Instruction& shuffle) {
    const int amount = static_cast<int>(shuffle.imm2);
    LlvmValue const from = LoadLanes(shuffle.slots[1]);
    const auto permute = [&](auto source) { StoreLanes(shuffle.slots[0], Permute(from, kWarpSize, source)); };
    switch (static_cast<ShuffleMode>(shuffle.imm)) {
      case ShuffleMode::kDown:
        return permute([&](int lane) { return lane + amount < kWarpSize ? lane + amount : lane; });
      case ShuffleMode::kUp: return permute([&](int lane) { return lane >= amount ? lane - amount : lane; });
      case ShuffleMode::kXor: return permute([&](int lane) { return lane ^ amount; });
      case ShuffleMode::kIndexed: break;
    }
    LlvmValue const lanes =
        b_.CreateAnd(LoadLanes(shuffle.slots[2]),
                     llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(kWarpSize), b_.getInt32(31)));
    LlvmValue result = llvm::PoisonValue::get(from->getType());
    for (int lane = 0; lane < kWarpSize; ++lane) {
      result =
          b_.CreateInsertElement(result, b_.CreateExtractElement(from, b_.CreateExtractElement(lanes, lane)), lane);
    }
    StoreLanes(shuffle.slots[0], result);
  }

  const Kernel& kernel_;
  const bool masked_tails_;
  llvm::LLVMContext& context_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  ScalarEmitter scalar_;
  llvm::Function* function_ = nullptr;
  llvm::Instruction* allocas_ = nullptr;
  std::vector<int> parameters_;
  std::vector<LlvmValue> arrays_, turned_, slots_, variables_;
  std::vector<LlvmValue> values_;
  std::vector<const Instruction*> constants_;  // By value.
  std::vector<Type> types_of_;                 // By value, known before emission.
  Strip* strip_ = nullptr;
  Segment* segment_ = nullptr;
  LlvmValue block_ = nullptr, warp_ = nullptr, lane_ = nullptr, thread_ = nullptr, tile_index_ = nullptr;
  llvm::MDNode* access_group_ = nullptr;  // Of the loop over lanes; null outside.
  bool in_warps_ = false;
};

}  // namespace

void LowerToHost(const Kernel& kernel, const std::string& name, bool masked_tails, llvm::Module& module) {
  HostLowering(kernel, masked_tails, module).Lower(name);
}

}  // namespace hlo::kernel
