#include "gpu/codegen/host/wide.h"

#include <algorithm>

namespace hlo::kernel {
namespace {

// The greatest distance of elements that LLVM's vectoriser accesses by shuffles.
constexpr int64_t kMostInterleaved = 8;

// The most instructions of a body that may be emitted several times.
constexpr int64_t kShortBody = 16;

class WidePlanner {
 public:
  WidePlanner(const HostFacts& facts, WideContext context, WidePlan& plan)
      : facts_(facts),
        context_(context),
        plan_(plan),
        known_(facts.kernel.values),
        is_set_(facts.kernel.variables.size()) {
    plan_.stride.resize(facts.kernel.values);
  }

  void Know(int32_t id, int64_t stride) {
    plan_.stride[id] = stride;
    known_[id] = true;
  }

  bool Take(const Instruction& instruction) {
    switch (instruction.op) {
      case Op::kLoad: return TakeLoad(instruction);
      case Op::kLoadTransposed: return TakeLoadTransposed(instruction);
      case Op::kStore:
        Touch(instruction.operands[1]);
        stored_.push_back(instruction.imm);
        return Accesses(instruction, StrideOf(instruction.operands[0]) == 1);
      case Op::kSlotGet: Know(instruction.result, kOwnValue); return TakeSlot(instruction);
      case Op::kSlotSet:
        keeps_ = true;
        Touch(instruction.operands[0]);
        return TakeSlot(instruction);
      case Op::kVariableGet: return TakeVariableGet(instruction);
      case Op::kVariableSet: return TakeVariableSet(instruction);
      case Op::kLoop: return TakeLoop(instruction);
      case Op::kIf: return TakeIf(instruction);
      case Op::kBlock:
      case Op::kWarp:
      case Op::kLane:
      case Op::kThread:
#define HLO_SCALAR_OP(Name, ...) case Op::k##Name:
#define HLO_KERNEL_OP(Name, ...)
#include "gpu/kernel/kernel_ops.def"
        Know(instruction.result, StrideOfResult(instruction));
        if (plan_.stride[instruction.result] == kOwnValue && !IsIndexArithmetic(instruction.type)) ++computed_;
        return true;
      default: return false;
    }
  }

  int64_t widest() const { return widest_; }

  // Whether the access is a gather or scatter: elements too far apart for shuffles.
  bool IsScattered(const Instruction& instruction) {
    if (instruction.op != Op::kLoad && instruction.op != Op::kStore) return false;
    const int64_t stride = StrideOf(instruction.operands[0]);
    return stride == kOwnValue || stride > kMostInterleaved || stride < 0;
  }

  bool HasGaps(const Instruction& instruction) {
    if (instruction.op != Op::kLoad && instruction.op != Op::kStore) return false;
    const int64_t stride = StrideOf(instruction.operands[0]);
    return stride > 1 && stride <= kMostInterleaved;
  }

  bool MayRepeat() const {
    return !keeps_ && !stored_.empty() && std::ranges::all_of(stored_, [&](int64_t array) {
      const bool is_read = std::ranges::find(loaded_, array) != loaded_.end();
      return facts_.kernel.arrays[array].kind == ArrayKind::kShared && !is_read;
    });
  }

  bool MostlyMoves(int64_t scattered) const { return scattered > 0 && computed_ <= 2 * scattered; }

 private:
  // The body's group computes a value of another group again, or loads it from an array.
  int64_t StrideOf(int32_t id) {
    if (known_[id]) return plan_.stride[id];
    int64_t stride = 0;
    const StripPlan* const strip = context_.strip;
    if (strip && strip->group_of[id] != 0 && strip->group_of[id] != context_.group)
      stride = IsKept(strip->kept_values, id) ? kOwnValue : StrideOfResult(*strip->definition[id]);
    Know(id, stride);
    return stride;
  }

  static bool IsKept(const std::vector<int32_t>& kept, int64_t id) { return std::ranges::find(kept, id) != kept.end(); }

  static bool IsIndexArithmetic(Type type) { return type == Type::kIndex || type == Type::kPred; }

  void Touch(int32_t id) { StrideOf(id); }

  int64_t StrideOfResult(const Instruction& instruction) {
    if (instruction.op == Op::kLane || instruction.op == Op::kThread) return 1;
    int64_t strides[3] = {};
    bool same = true, lines = instruction.type == Type::kIndex;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      strides[i] = StrideOf(instruction.operands[i]);
      same = same && strides[i] == 0;
      lines = lines && strides[i] != kOwnValue;
    }
    if (same) return 0;
    if (context_.segments && context_.segments->IsCut(instruction))
      return context_.segments->IsFixed(instruction) ? 0 : 1;
    if (!lines) return kOwnValue;
    if (instruction.op == Op::kAdd) return strides[0] + strides[1];
    if (instruction.op == Op::kSub) return strides[0] - strides[1];
    if (instruction.op != Op::kMul) return kOwnValue;
    const Instruction *a = facts_.constants[instruction.operands[0]], *b = facts_.constants[instruction.operands[1]];
    int64_t stride = kOwnValue;
    if (!a && !b) return stride;
    const bool overflows =
        a ? __builtin_mul_overflow(a->imm, strides[1], &stride) : __builtin_mul_overflow(strides[0], b->imm, &stride);
    return overflows ? kOwnValue : stride;
  }

  void Note(Type type) { widest_ = std::max<int64_t>(widest_, Bytes(type)); }

  bool Accesses(const Instruction& instruction, bool contiguous) {
    Note(facts_.kernel.arrays[instruction.imm].type);
    return contiguous;
  }

  bool TakeLoad(const Instruction& load) {
    loaded_.push_back(load.imm);
    const int64_t stride = StrideOf(load.operands[0]);
    Know(load.result, stride == 0 ? 0 : kOwnValue);
    const bool is_near = loops_ == 0 || stride == 0 || facts_.kernel.arrays[load.imm].kind == ArrayKind::kShared;
    return Accesses(load, is_near && (stride == 0 || stride == 1));
  }

  // In a transposed tile, elements of neighbouring rows are adjacent in memory.
  bool TakeLoadTransposed(const Instruction& load) {
    loaded_.push_back(load.imm);
    const int64_t row = StrideOf(load.operands[1]), column = StrideOf(load.operands[2]);
    Know(load.result, kOwnValue);
    return Accesses(load, row == 1 && column == 0);
  }

  bool TakeSlot(const Instruction& access) {
    const SlotInfo& slot = facts_.kernel.slots[access.imm];
    Note(slot.type);
    return !slot.fragment && (access.imm2 == kTileElement || slot.width == 1);
  }

  bool IsOfThread(const Instruction& access) const {
    return facts_.kernel.variables[access.imm].level == Level::kThread;
  }
  bool InArray(const Instruction& access) const {
    return context_.strip && IsKept(context_.strip->kept_variables, access.imm);
  }

  bool TakeVariableGet(const Instruction& access) {
    Know(access.result, IsOfThread(access) ? kOwnValue : 0);
    if (InArray(access)) Note(access.type);
    return !IsOfThread(access) || InArray(access) || is_set_[access.imm];
  }

  bool TakeVariableSet(const Instruction& access) {
    keeps_ = true;
    Touch(access.operands[0]);
    if (InArray(access)) Note(facts_.kernel.variables[access.imm].type);
    else is_set_[access.imm] = true;
    if (loops_ + branches_ > 0 && std::ranges::find(plan_.carried, access.imm) == plan_.carried.end()) {
      Note(facts_.kernel.variables[access.imm].type);
      plan_.carried.push_back(access.imm);
    }
    return IsOfThread(access);
  }

  bool TakeLoop(const Instruction& loop) {
    const bool is_written_out = facts_.IsWrittenOut(loop);
    const auto varies = [&](int32_t bound) { return StrideOf(bound) != 0; };
    if (!is_written_out && (!context_.loops_inside || std::ranges::any_of(loop.operands, varies))) return false;
    Know(loop.regions[0].arguments[0], 0);
    loops_ += is_written_out ? 0 : 1;
    const bool taken = std::ranges::all_of(loop.regions[0].body, [&](const Instruction& inner) { return Take(inner); });
    loops_ -= is_written_out ? 0 : 1;
    return taken;
  }

  // Later instructions may read a variable that both branches set.
  bool TakeIf(const Instruction& branch) {
    if (context_.loops_inside || StrideOf(branch.operands[0]) != 0) return false;
    plan_.has_branch = true;
    const std::vector<bool> before = is_set_;
    std::vector<bool> in_all = before;
    ++branches_;
    for (size_t side = 0; side < branch.regions.size(); ++side) {
      is_set_ = before;
      for (const Instruction& inner : branch.regions[side].body) {
        if (!Take(inner)) return false;
      }
      for (size_t i = 0; i < in_all.size(); ++i) in_all[i] = is_set_[i] && (side == 0 || in_all[i]);
    }
    --branches_;
    is_set_ = branch.regions.size() == 2 ? in_all : before;
    return true;
  }

  const HostFacts& facts_;
  const WideContext context_;
  WidePlan& plan_;
  // Indexed by value, and by variable.
  std::vector<bool> known_, is_set_;
  int64_t widest_ = 0, computed_ = 0;
  std::vector<int64_t> loaded_, stored_;
  // Whether the body sets slots or variables.
  bool keeps_ = false;
  // Branches, and loops that are not unrolled, around the current instruction.
  int loops_ = 0, branches_ = 0;
};

}  // namespace

// Besides the variables, a step needs `vectors` registers for varying values and one for a uniform value. With one
// variable, varying values are memory operands.
int VectorsInRegisters(size_t carried, int64_t vector_bytes) {
  const size_t registers = vector_bytes == 64 ? 32 : 16;
  for (const size_t vectors : {8, 4, 2, 1}) {
    if (carried * vectors + (carried > 1 ? vectors : 0) + 1 <= registers) return static_cast<int>(vectors);
  }
  return 0;
}

WidePlan PlanWide(const HostFacts& facts, std::span<const Instruction* const> body, std::span<const int32_t> indices,
                  WideContext context, int64_t vector_bytes) {
  WidePlan plan;
  WidePlanner planner(facts, context, plan);
  for (const int32_t index : indices) planner.Know(index, 1);
  int64_t scattered = 0, instructions = 0;
  for (const Instruction* each : body) {
    instructions += 1 + (each->regions.empty() ? 0 : kShortBody);
    if (planner.Take(*each)) continue;
    if (!planner.IsScattered(*each)) {
      plan.has_gaps = planner.HasGaps(*each);
      return plan;
    }
    ++scattered;
  }
  plan.is_short = instructions <= kShortBody;
  plan.may_repeat = planner.MayRepeat();
  plan.is_scalar = planner.MostlyMoves(scattered);
  if (scattered == 0 && planner.widest() > 0) plan.lanes = vector_bytes / planner.widest();
  return plan;
}

}  // namespace hlo::kernel
