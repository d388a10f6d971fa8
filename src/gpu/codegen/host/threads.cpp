#include "gpu/codegen/host/emission.h"

#include <llvm/IR/Intrinsics.h>

#include <set>

#include "gpu/codegen/host/adjacent.h"
#include "gpu/codegen/host/vectors.h"

namespace hlo::kernel {

using LlvmValue = llvm::Value*;

namespace {

void FindSlots(const Region& region, std::set<int64_t>& slots) {
  for (const Instruction& instruction : region.body) {
    if (instruction.op == Op::kSlotGet || instruction.op == Op::kSlotSet) slots.insert(instruction.imm);
    for (const Region& inner : instruction.regions) FindSlots(inner, slots);
  }
}

}  // namespace

void HostEmission::EmitWarps(const Instruction& warps) {
  in_warps_ = true;
  ForWarps([&] { EmitRegion(warps.regions[0]); });
  in_warps_ = false;
}

void HostEmission::EmitPhase(const Instruction& phase) {
  const Region& region = phase.regions[0];
  const auto lanes = [&] {
    LlvmValue const first = b_.CreateMul(warp_, Index(kWarpSize), "", true, true);
    EmitThreads(region, Index(kWarpSize), nullptr, [&, first](LlvmValue lane) {
      lane_ = lane;
      thread_ = b_.CreateAdd(first, lane, "", true, true);
    });
  };
  if (in_warps_) return lanes();
  ForWarps(lanes);
}

int64_t HostEmission::Elements(const Instruction& tile) const {
  return (in_warps_ ? kWarpSize : kernel_.threads) * tile.imm;
}

llvm::Value* HostEmission::EndOf(const Instruction& tile) {
  LlvmValue const elements = Index(Elements(tile));
  if (tile.operands.empty()) return elements;
  if (const auto* const limit = llvm::dyn_cast<llvm::ConstantInt>(Get(tile.operands[0])))
    return Index(std::min(limit->getSExtValue(), Elements(tile)));
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, Get(tile.operands[0]), elements);
}

// Returns how many instructions it emitted.
size_t HostEmission::EmitTiles(std::span<const Instruction> instructions) {
  const std::vector<const Instruction*> tiles = AdjacentTiles(kernel_, instructions);
  if (tiles.size() == 1) {
    EmitTile(*tiles[0]);
    return 1;
  }
  const size_t count = tiles.back() - instructions.data() + 1;
  for (const Instruction& instruction : instructions.first(count)) {
    if (instruction.op != Op::kTile) Emit(instruction);
  }
  std::vector<const Instruction*> together;
  std::vector<int32_t> indices;
  for (const Instruction* tile : tiles) {
    for (const Instruction& instruction : tile->regions[0].body) together.push_back(&instruction);
    indices.push_back(tile->regions[0].arguments[0]);
  }
  const WidePlan wide = PlanWide(facts_, together, indices, {}, VectorBytes());
  Lanes(Index(Elements(*tiles[0])), wide, [&](LlvmValue element) {
    for (const Instruction* tile : tiles) {
      BindElement(*tile, element);
      EmitRegion(tile->regions[0]);
    }
  });
  return count;
}

void HostEmission::EmitTile(const Instruction& tile) {
  LlvmValue const limit = tile.operands.empty() ? nullptr : Get(tile.operands[0]);
  if (limit == nullptr || llvm::isa<llvm::ConstantInt>(limit) || !IsWorthTwice(facts_, tile.regions[0]))
    return EmitElements(tile, EndOf(tile));
  LlvmValue const elements = Index(Elements(tile));
  Branch(b_.CreateICmpSGE(limit, elements), true, [&](int side) {
    if (side == 0) EmitElements(tile, elements);
    else WithSlotsCopied(tile.regions[0], [&] { EmitElements(tile, limit); });
  });
}

// In a loop of unknown length, slots cannot be registers. Such a loop works on copies of small slots, which are written
// back afterwards, so that other code keeps these slots in registers.
void HostEmission::WithSlotsCopied(const Region& region, const std::function<void()>& emit) {
  std::set<int64_t> slots;
  if (kernel_.cluster == 1) FindSlots(region, slots);
  std::vector<LlvmValue> originals = slots_;
  const auto copy = [&](int64_t slot, LlvmValue from, LlvmValue to) {
    const int64_t lanes = VectorBytes() / Bytes(kernel_.slots[slot].type);
    const llvm::Align align(VectorBytes());
    for (int64_t i = 0; i < SlotElements(slot); i += lanes) {
      const auto at = [&](LlvmValue base) { return b_.CreateInBoundsGEP(SlotElement(slot), base, Index(i)); };
      auto* const vector = llvm::FixedVectorType::get(SlotElement(slot), lanes);
      b_.CreateAlignedStore(b_.CreateAlignedLoad(vector, at(from), align), at(to), align);
    }
  };
  std::erase_if(slots, [&](int64_t slot) {
    const int64_t bytes = SlotElements(slot) * Bytes(kernel_.slots[slot].type);
    const bool is_all = !in_warps_ || kernel_.slots[slot].level == Level::kWarp;
    return !is_all || bytes % VectorBytes() != 0 || bytes > kVectorsWrittenOut * VectorBytes();
  });
  for (const int64_t slot : slots) {
    slots_[slot] = AllocaAtEntry(SlotType(slot));
    copy(slot, originals[slot], slots_[slot]);
  }
  emit();
  for (const int64_t slot : slots) copy(slot, slots_[slot], originals[slot]);
  slots_ = std::move(originals);
}

void HostEmission::BindElement(const Instruction& tile, LlvmValue element) {
  tile_index_ = element;
  Set(tile.regions[0].arguments[0], element);
}

void HostEmission::EmitElements(const Instruction& tile, LlvmValue end) {
  const auto bind = [this, &tile](LlvmValue element) { BindElement(tile, element); };
  const SegmentPlan plan = PlanSegments(facts_, tile.regions[0], Elements(tile));
  if (plan.cuts.empty()) return EmitThreads(tile.regions[0], end, nullptr, bind);
  Segment segment{.plan = &plan};
  LoopWithSteps(Index(0), end, {.unroll = false}, [&](LlvmValue begin) {
    LlvmValue const count = BeginSegment(segment, begin, b_.CreateNSWSub(end, begin));
    segment_ = &segment;
    EmitThreads(tile.regions[0], count, &plan, [&](LlvmValue position) {
      segment.position = position;
      bind(b_.CreateAdd(begin, position, "", true, true));
    });
    segment_ = nullptr;
    return count;
  });
}

llvm::Value* HostEmission::AtBegin(const Segment& segment, int32_t id) {
  if (id == segment.plan->index) return segment.begin;
  if (!segment.plan->inside[id]) return Get(id);
  const Instruction& definition = *segment.plan->definition[id];
  if (const auto found = segment.at_begin.find(&definition); found != segment.at_begin.end()) return found->second;
  llvm::SmallVector<LlvmValue, 2> operands;
  for (const int32_t operand : definition.operands) operands.push_back(AtBegin(segment, operand));
  const Type types[] = {Type::kIndex, Type::kIndex};
  return scalar_.Emit(definition, operands, types);
}

// Returns the segment's elements, at most `left`.
llvm::Value* HostEmission::BeginSegment(Segment& segment, LlvmValue begin, LlvmValue left) {
  segment.begin = begin;
  segment.at_begin.clear();
  LlvmValue count = left;
  for (const Instruction* cut : segment.plan->cuts) {
    if (cut->op == Op::kLess) {
      LlvmValue const line = AtBegin(segment, cut->operands[0]), end = AtBegin(segment, cut->operands[1]);
      LlvmValue const is_below = b_.CreateICmpSLT(line, end);
      segment.at_begin[cut] = is_below;
      count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count,
                                       b_.CreateSelect(is_below, b_.CreateNSWSub(end, line), left));
      continue;
    }
    LlvmValue const dividend = AtBegin(segment, cut->operands[0]);
    LlvmValue const divisor = Index(facts_.constants[cut->operands[1]]->imm);
    LlvmValue const operands[] = {dividend, divisor};
    const Type types[] = {Type::kIndex, Type::kIndex};
    LlvmValue const value = scalar_.Emit(*cut, operands, types);
    // The remainder is not dividend - value * divisor: an index that a guard excludes may exceed the division's 32
    // bits, and make the segment empty.
    const Instruction rest{.op = Op::kRem, .type = Type::kIndex};
    LlvmValue const remainder = scalar_.Emit(rest, operands, types);
    // Elements with a negative dividend, which a guard excludes, form a segment of their own. Their quotient 0 keeps
    // the next divisor's bound from being negative.
    LlvmValue const negative = b_.CreateICmpSLT(dividend, Index(0));
    segment.at_begin[cut] = b_.CreateSelect(negative, Index(0), value);
    LlvmValue const bound = b_.CreateSelect(negative, b_.CreateNeg(dividend), b_.CreateSub(divisor, remainder));
    count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, bound);
  }
  return count;
}

// A cut's value for the current element, or null for other instructions.
llvm::Value* HostEmission::InSegment(const Instruction& instruction) {
  if (!segment_) return nullptr;
  const auto found = segment_->at_begin.find(&instruction);
  if (found == segment_->at_begin.end()) return nullptr;
  return segment_->plan->IsFixed(instruction) ? found->second
                                              : b_.CreateAdd(found->second, segment_->position, "", true, true);
}

void HostEmission::EmitThreads(const Region& region, LlvmValue end, const SegmentPlan* segments,
                               const std::function<void(LlvmValue)>& bind) {
  const StripPlan plan = PlanStrips(facts_, region, segments);
  if (plan.needed) {
    if (!EmitInRegisters(region, end, segments, bind)) EmitStrips(region, end, plan, segments, bind);
    return;
  }
  const auto* const elements = llvm::dyn_cast<llvm::ConstantInt>(end);
  const int interleave = elements ? Interleave(facts_, region, elements->getSExtValue(), masked_tails_) : 1;
  std::vector<const Instruction*> body;
  for (const Instruction& instruction : region.body) body.push_back(&instruction);
  const WidePlan wide = PlanWide(facts_, body, region.arguments, {.segments = segments}, VectorBytes());
  Lanes(
      end, wide,
      [&](LlvmValue lane) {
        bind(lane);
        EmitRegion(region);
      },
      interleave);
}

// Emits a few vectors of lanes at a time, and keeps variables in registers across loops. False if the body does not
// fit. For products of tiles in shared arrays this is much faster than strips, which load and store arrays in each
// step.
bool HostEmission::EmitInRegisters(const Region& region, LlvmValue end, const SegmentPlan* segments,
                                   const std::function<void(LlvmValue)>& bind) {
  std::vector<const Instruction*> body;
  for (const Instruction& instruction : region.body) body.push_back(&instruction);
  const WidePlan wide =
      PlanWide(facts_, body, region.arguments, {.segments = segments, .loops_inside = true}, VectorBytes());
  int64_t vectors = VectorsInRegisters(wide.carried.size(), VectorBytes());
  if (wide.lanes < 2 || wide.carried.empty() || vectors == 0) return false;
  const auto* elements = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (elements && elements->getSExtValue() % wide.lanes != 0) elements = nullptr;
  while (elements && vectors > 1 && elements->getSExtValue() % (wide.lanes * vectors) != 0) vectors /= 2;
  const auto emit = [&](LlvmValue lane) {
    bind(lane);
    EmitRegion(region);
  };
  LlvmValue begin = Index(0);
  LlvmValue const most = elements ? end : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, end, begin);
  const auto emit_vectors = [&](int64_t width) {
    width_ = static_cast<unsigned>(width);
    CarryVariables(wide);
    LlvmValue const whole = b_.CreateAnd(most, Index(-width));
    wide_ = &wide;
    Loop(begin, whole, Index(width), {.lanes = true, .unroll = false, .is_done = true}, emit);
    wide_ = nullptr;
    carried_.clear();
    begin = whole;
  };
  emit_vectors(wide.lanes * vectors);
  if (elements) return true;
  if (vectors > 1) emit_vectors(wide.lanes);
  Loop(begin, end, Index(1), {.lanes = true, .unroll = false, .is_done = true}, emit);
  return true;
}

void HostEmission::EmitStrips(const Region& region, LlvmValue end, const StripPlan& plan, const SegmentPlan* segments,
                              const std::function<void(LlvmValue)>& bind) {
  Strip strip{.plan = &plan,
              .bind = bind,
              .segments = segments,
              .indices = region.arguments,
              .values = std::vector<llvm::AllocaInst*>(kernel_.values),
              .variables = std::vector<llvm::AllocaInst*>(kernel_.variables.size())};
  for (const int32_t variable : plan.kept_variables)
    strip.variables[variable] = StripArray(kernel_.variables[variable].type);
  for (const int32_t value : plan.kept_values) strip.values[value] = StripArray(facts_.types[value]);
  strip_ = &strip;
  const auto emit = [&](LlvmValue begin, LlvmValue count) {
    strip.begin = begin;
    strip.count = count;
    strip.next_group = 1;
    EmitStripRegion(region);
  };
  const auto* const elements = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (elements && elements->getSExtValue() > 0 && elements->getSExtValue() <= kStrip) {
    emit(Index(0), end);
  } else {
    const bool whole = elements && elements->getSExtValue() % kStrip == 0;
    Loop(Index(0), end, Index(kStrip), {.unroll = false}, [&](LlvmValue begin) {
      LlvmValue const left = b_.CreateNSWSub(end, begin);
      emit(begin, whole ? Index(kStrip) : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, Index(kStrip)));
    });
  }
  strip_ = nullptr;
}

llvm::AllocaInst* HostEmission::StripArray(Type type) {
  return AllocaAtEntry(llvm::ArrayType::get(scalar_.MemoryTypeOf(type), kStrip));
}

void HostEmission::EmitStripRegion(const Region& region) {
  WalkStrip(
      facts_, *strip_->plan, region, [&](const Instruction& instruction) { Emit(instruction); },
      [&](const std::vector<const Instruction*>& members) { EmitGroup(members); },
      [&](const Instruction& cut) { EmitCut(cut); });
}

void HostEmission::EmitGroup(const std::vector<const Instruction*>& members) {
  Strip& strip = *strip_;
  strip.current = strip.next_group++;
  const WideContext context = {.segments = strip.segments, .strip = strip.plan, .group = strip.current};
  const WidePlan wide = PlanWide(facts_, members, strip.indices, context, VectorBytes());
  Lanes(strip.count, wide, [&](LlvmValue lane) {
    strip.lane = lane;
    strip.bind(b_.CreateAdd(strip.begin, lane, "", true, true));
    for (const Instruction* member : members) {
      Emit(*member);
      if (member->result >= 0 && member->regions.empty()) KeepResults(*member);
    }
  });
  strip.current = 0;
}

void HostEmission::EmitCut(const Instruction& cut) {
  if (cut.op == Op::kIf) {
    Branch(Get(cut.operands[0]), cut.regions.size() == 2, [&](int side) { EmitStripRegion(cut.regions[side]); });
    return;
  }
  Loop(Get(cut.operands[0]), Get(cut.operands[1]), Get(cut.operands[2]), {.unroll = false}, [&](LlvmValue index) {
    Set(cut.regions[0].arguments[0], index);
    EmitStripRegion(cut.regions[0]);
  });
}

llvm::Value* HostEmission::StripElement(llvm::AllocaInst* array) {
  return b_.CreateInBoundsGEP(array->getAllocatedType()->getArrayElementType(), array, strip_->lane);
}

void HostEmission::KeepResults(const Instruction& instruction) {
  for (int32_t id = instruction.result; id < instruction.result + Results(instruction); ++id) {
    if (llvm::AllocaInst* array = strip_->values[id]) StoreTo(StripElement(array), instruction.type, Wide(id), true);
  }
}

llvm::Value* HostEmission::FromOtherGroup(int32_t id) {
  if (llvm::AllocaInst* array = strip_->values[id])
    return LoadFrom(StripElement(array), facts_.types[id], true, false, true);
  const Instruction& definition = *strip_->plan->definition[id];
  if (definition.op == Op::kLane) return lane_;
  if (definition.op == Op::kThread) return thread_;
  return Compute(definition);
}

// The variable's address in its strip array, or null.
llvm::Value* HostEmission::StripVariable(const Instruction& access) {
  if (!strip_ || !strip_->variables[access.imm]) return nullptr;
  return StripElement(strip_->variables[access.imm]);
}

}  // namespace hlo::kernel
