#include "gpu/kernel/dropped_term.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "gpu/kernel/rewrite.h"

namespace hlo::kernel {
namespace {

// Finds the loops and tiles that accumulate: they update a slot, variable or element from its old value, or have a
// matrix product or atomic operation.
class Accumulations {
 public:
  struct Found {
    std::vector<Range> ranges;
    std::set<const Instruction*> instructions;
    bool counts_terms = true;  // False if ranges count lanes with sums of their own.
    bool adds = false;         // Whether some accumulations are sums.
    bool stores = false;       // Whether ranges also store other values, as a scan does.
    bool is_padded = false;    // Whether terms come from shared memory, where zeros may follow.
  };

  Accumulations(const Kernel& kernel, const Before& before, const Steering& steering)
      : kernel_(kernel), before_(before), steering_(steering), ranges_(kernel, before) {
    Walk(kernel.body);
  }

  const Found* Best() const {
    const auto rank = [](const Found& found) { return 2 * found.counts_terms + found.adds; };
    const auto best = std::ranges::max_element(found_, {}, rank);
    return best == found_.end() ? nullptr : &*best;
  }

 private:
  void Walk(const Region& region) {
    for (const Instruction& instruction : region.body) {
      ranges_.Enter(instruction);
      if (instruction.op == Op::kLoop || instruction.op == Op::kTile) Look(instruction.regions[0]);
      for (const Region& inner : instruction.regions) Walk(inner);
      ranges_.Leave(instruction);
    }
  }

  void Look(const Region& region) {
    std::vector<const Instruction*> inside;
    Collect(region, inside);
    Found found;
    for (const Instruction* instruction : inside) {
      if (!Accumulates(*instruction, inside)) {
        found.stores = found.stores || (IsStore(*instruction) && kernel_.arrays[instruction->imm].IsParameter());
        continue;
      }
      found.instructions.insert(instruction);
      found.adds = found.adds || Adds(*instruction);
      found.is_padded = found.is_padded || IsFromShared(*instruction);
    }
    if (found.instructions.empty()) return;
    RangesOfTerms(&found);
    found_.push_back(std::move(found));
  }

  // Chooses the ranges over terms: for a matrix product the innermost range, for updates of an array the outermost
  // loop, for a slot or variable all ranges around the accumulation that do not initialise it. If these include loops,
  // tiles whose lanes have sums of their own do not count.
  void RangesOfTerms(Found* found) const {
    const std::set<const Instruction*>& accumulating = found->instructions;
    const std::vector<Range>& open = ranges_.open();
    const Instruction& first = **std::ranges::min_element(
        accumulating, {}, [](const Instruction* instruction) { return std::pair(instruction->op, instruction->imm); });
    const auto is_loop = [](const Range& range) { return range.instruction->op == Op::kLoop; };
    if (first.op != Op::kSlotSet && first.op != Op::kVariableSet) {
      const auto loop = std::ranges::find_if(open, is_loop);
      found->ranges = {first.op != Op::kMma && loop != open.end() ? *loop : open.back()};
      return;
    }
    size_t begin = open.size() - 1;
    while (begin > 0 && !IsInitializedIn(first, open[begin - 1].instruction->regions[0], accumulating)) --begin;
    std::vector<Range>& counting = found->ranges;
    counting.assign(open.begin() + static_cast<std::ptrdiff_t>(begin), open.end());
    const bool by_lane = first.op == Op::kVariableSet || !IsCombinedByLanes(first.imm);
    const bool has_loop = std::ranges::any_of(counting, is_loop);
    if (by_lane && has_loop) std::erase_if(counting, [&](const Range& range) { return !is_loop(range); });
    found->counts_terms = has_loop || !by_lane;
  }

  static bool IsInitializedIn(const Instruction& set, const Region& region,
                              const std::set<const Instruction*>& accumulating) {
    bool initialized = false;
    ForEach(region, [&](const Instruction& other) {
      initialized = initialized || (other.op == set.op && other.imm == set.imm && !accumulating.contains(&other));
    });
    return initialized;
  }

  bool IsCombinedByLanes(int64_t slot) const {
    bool combined = false;
    ForEach(kernel_.body, [&](const Instruction& instruction) {
      if (instruction.slots.empty()) return;
      combined = combined || std::ranges::find(instruction.slots, slot) != instruction.slots.end();
      for (const int32_t collective : instruction.slots) combined = combined || IsFilledFrom(collective, slot);
    });
    return combined;
  }
  bool IsFilledFrom(int64_t to, int64_t from) const {
    bool filled = false;
    ForEach(kernel_.body, [&](const Instruction& set) {
      if (set.op != Op::kSlotSet || set.imm != to) return;
      filled = filled || before_.DependsOn(set.operands[0], [&](const Instruction& get) {
        return get.op == Op::kSlotGet && get.imm == from;
      });
    });
    return filled;
  }

  static void Collect(const Region& region, std::vector<const Instruction*>& inside) {
    for (const Instruction& instruction : region.body) {
      inside.push_back(&instruction);
      if (instruction.op != Op::kIf && instruction.op != Op::kPhase && instruction.op != Op::kWarps) continue;
      for (const Region& inner : instruction.regions) Collect(inner, inside);
    }
  }

  bool Accumulates(const Instruction& instruction, const std::vector<const Instruction*>& inside) const {
    switch (instruction.op) {
      case Op::kMma: return !steering_.slots[instruction.slots[0]];
      case Op::kAtomic: return !steering_.arrays[instruction.imm];
      case Op::kSlotSet:
        return !steering_.slots[instruction.imm] && IsHeld(instruction, Op::kSlotGet, instruction.operands[0], inside);
      case Op::kVariableSet:
        return !steering_.variables[instruction.imm] &&
               IsHeld(instruction, Op::kVariableGet, instruction.operands[0], inside);
      case Op::kStore:
        return !steering_.arrays[instruction.imm] && IsHeld(instruction, Op::kLoad, instruction.operands[1], inside);
      default: return false;
    }
  }

  // Whether `value` depends on the old value of the slot or variable that `set` writes.
  bool IsHeld(const Instruction& set, Op get, int32_t value, const std::vector<const Instruction*>& inside) const {
    return before_.types[value] != Type::kIndex && before_.DependsOn(value, [&](const Instruction& at) {
      return at.op == get && at.imm == set.imm && std::ranges::find(inside, &at) != inside.end();
    });
  }

  bool IsFromShared(const Instruction& instruction) const {
    if (instruction.op == Op::kMma) return true;
    return before_.DependsOn(instruction.operands.back(), [&](const Instruction& at) {
      return (InfoOf(at.op).effects & kReads) && kernel_.arrays[at.imm].kind == ArrayKind::kShared;
    });
  }

  bool Adds(const Instruction& instruction) const {
    if (instruction.op == Op::kMma) return true;
    if (instruction.op == Op::kAtomic) return static_cast<AtomicOp>(instruction.imm2) == AtomicOp::kAdd;
    return before_.DependsOn(
        instruction.operands.back(),
        [](const Instruction& at) { return at.op == Op::kAdd || at.op == Op::kFma || at.op == Op::kDotPairs; },
        [](const Instruction& at) {
          return at.op == Op::kConvert || at.op == Op::kSelect || at.op == Op::kVariableGet;
        });
  }

  const Kernel& kernel_;
  const Before& before_;
  const Steering& steering_;
  Ranges ranges_;
  std::vector<Found> found_;
};

enum class Dropped : uint8_t { kFirst, kLast, kBeforeLast };
// Emits whether the current trip is `which`, or the index is the tile's last one.
int32_t IsDropped(const Range& range, Dropped which, const Ranges& ranges, Writer& writer) {
  const Instruction& instruction = *range.instruction;
  const int32_t at = instruction.regions[0].arguments[0];
  if (instruction.op == Op::kTile) {
    const int32_t next = writer.Add(at, writer.Index(1));
    if (range.count) return writer.Compare(Op::kEqual, next, writer.Index(*range.count));
    const int32_t full = writer.Index(ranges.FullTile(instruction));
    return writer.Compare(Op::kEqual, next, writer.Value(Op::kMin, Type::kIndex, {instruction.operands[0], full}));
  }
  const int32_t begin = instruction.operands[0], end = instruction.operands[1], step = instruction.operands[2];
  if (which == Dropped::kFirst) return writer.Compare(Op::kEqual, at, begin);
  const int32_t next = writer.Add(at, step);
  if (which == Dropped::kLast) return writer.Compare(Op::kGreaterEqual, next, end);
  const int32_t is_near = writer.Compare(Op::kGreaterEqual, writer.Add(next, step), end);
  const int32_t goes_on = writer.Compare(Op::kLess, next, end), is_first = writer.Compare(Op::kEqual, at, begin);
  return writer.Both(is_near, writer.Value(Op::kOr, Type::kPred, {goes_on, is_first}));
}

void Hold(Instruction& set, int32_t dropped, const Before& before, Writer& writer) {
  const size_t place = set.op == Op::kStore ? 1 : 0;
  const Type type = before.types[set.operands[place]];
  const int32_t held = set.op == Op::kSlotSet       ? writer.Value(Op::kSlotGet, type, {}, set.imm, set.imm2)
                       : set.op == Op::kVariableSet ? writer.Value(Op::kVariableGet, type, {}, set.imm)
                                                    : writer.Value(Op::kLoad, type, {set.operands[0]}, set.imm);
  set.operands[place] = writer.Value(Op::kSelect, type, {dropped, held, set.operands[place]});
  writer.Append(std::move(set));
}

bool DropFromLoop(Kernel& kernel, const Before& before, const Steering& steering) {
  const Accumulations accumulations(kernel, before, steering);
  const Accumulations::Found* const found = accumulations.Best();
  if (found == nullptr) return false;
  Rewrite(kernel, before, [&](Instruction& instruction, Writer writer, const Ranges& ranges) {
    if (!found->instructions.contains(&instruction)) return writer.Append(std::move(instruction));
    // The outermost loop drops a term of its last trip. If it also stores results, it drops a term of the trip before,
    // because a scan never reads its last sum. Inner loops, and loops over shared memory, drop the first term, because
    // the last terms may be padding.
    Dropped which = found->is_padded ? Dropped::kFirst : found->stores ? Dropped::kBeforeLast : Dropped::kLast;
    int32_t dropped = -1;
    for (const Range& range : found->ranges) {
      const int32_t one = IsDropped(range, which, ranges, writer);
      dropped = dropped < 0 ? one : writer.Both(dropped, one);
      if (range.instruction->op == Op::kLoop) which = Dropped::kFirst;
    }
    if (instruction.op != Op::kMma && instruction.op != Op::kAtomic) return Hold(instruction, dropped, before, writer);
    writer.If(writer.Value(Op::kNot, Type::kPred, {dropped}), std::move(instruction));
  });
  return true;
}

// The operand that continues a chain of equal ops, or -1.
int32_t ChainOperand(const Instruction& link, const Before& before) {
  const auto is_link = [&](int32_t value) {
    const Instruction* const at = before.definitions[value];
    return at != nullptr && at->op == link.op && at->type == link.type;
  };
  if (link.op == Op::kFma) return is_link(link.operands[2]) ? link.operands[2] : -1;
  if (link.op != Op::kAdd && link.op != Op::kMax && link.op != Op::kMin) return -1;
  for (const int32_t operand : link.operands) {
    if (is_link(operand)) return operand;
  }
  return -1;
}

// Drops the last link of the longest chain, as in an unrolled sum.
bool DropFromChain(Kernel& kernel, const Before& before, const Steering& steering) {
  std::vector<int> lengths(kernel.values);
  const Instruction* last = nullptr;
  ForEach(kernel.body, [&](const Instruction& link) {
    if (link.result < 0 || link.type == Type::kIndex || steering.values[link.result]) return;
    const int32_t operand = ChainOperand(link, before);
    if (operand < 0) return;
    lengths[link.result] = lengths[operand] + 1;
    if (last == nullptr || lengths[link.result] > lengths[last->result]) last = &link;
  });
  if (last == nullptr) return false;
  const int32_t dropped = last->result, without = ChainOperand(*last, before);
  const auto replace = [&](std::vector<int32_t>& values) { std::ranges::replace(values, dropped, without); };
  const auto replace_in = [&](const auto& self, Region& region) -> void {
    replace(region.yields);
    for (Instruction& instruction : region.body) {
      replace(instruction.operands);
      for (Region& inner : instruction.regions) self(self, inner);
    }
  };
  replace_in(replace_in, kernel.body);
  return true;
}

}  // namespace

bool DroppedTerm(Kernel& kernel, const Steering& steering) {
  const Before before(kernel);
  return DropFromLoop(kernel, before, steering) || DropFromChain(kernel, before, steering);
}

}  // namespace hlo::kernel
