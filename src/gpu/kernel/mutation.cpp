#include "gpu/kernel/mutation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gpu/kernel/host/facts.h"

namespace hlo::kernel {
namespace {

// A loop or tile around an instruction.
struct Range {
  const Instruction* instruction;  // Valid until the kernel is changed.
  // Indices of a tile or trips of a loop, if constant.
  std::optional<int64_t> count;
};

struct Before {
  explicit Before(const Kernel& kernel) : types(HostFacts(kernel).types), definitions(kernel.values) {
    Note(kernel.body);
  }

  std::optional<int64_t> Constant(int32_t value) const {
    const Instruction* const definition = definitions[value];
    if (definition == nullptr || definition->op != Op::kConstant) return std::nullopt;
    return definition->imm;
  }

  std::vector<Type> types;
  // Null for arguments of regions.
  std::vector<const Instruction*> definitions;
  std::vector<std::pair<int64_t, int32_t>> sets;

 private:
  void Note(const Region& region) {
    for (const Instruction& instruction : region.body) {
      for (int i = 0; i < Results(instruction); ++i) definitions[instruction.result + i] = &instruction;
      if (instruction.op == Op::kVariableSet) sets.emplace_back(instruction.imm, instruction.operands[0]);
      for (const Region& inner : instruction.regions) Note(inner);
    }
  }
};

class Writer {
 public:
  Writer(Kernel& kernel, std::vector<Instruction>& body) : kernel_(kernel), body_(body) {}

  int32_t Value(Op op, Type type, std::vector<int32_t> operands, int64_t imm = 0, int64_t imm2 = 0) {
    const int32_t result = kernel_.values++;
    body_.push_back(
        {.op = op, .type = type, .result = result, .imm = imm, .imm2 = imm2, .operands = std::move(operands)});
    return result;
  }
  int32_t Index(int64_t value) { return Value(Op::kConstant, Type::kIndex, {}, value); }
  int32_t Add(int32_t a, int32_t b) { return Value(Op::kAdd, Type::kIndex, {a, b}); }
  int32_t Compare(Op op, int32_t a, int32_t b) { return Value(op, Type::kPred, {a, b}); }
  int32_t Both(int32_t a, int32_t b) { return Value(Op::kAnd, Type::kPred, {a, b}); }
  void If(int32_t condition, Instruction then) {
    Instruction branch{.op = Op::kIf, .source = then.source, .statement = then.statement, .operands = {condition}};
    branch.regions.emplace_back().body.push_back(std::move(then));
    body_.push_back(std::move(branch));
  }
  void Append(Instruction instruction) { body_.push_back(std::move(instruction)); }

 private:
  Kernel& kernel_;
  std::vector<Instruction>& body_;
};

// Loops and tiles around the visited instruction, outermost first.
class Ranges {
 public:
  Ranges(const Kernel& kernel, const Before& before) : kernel_(kernel), before_(before) {}

  void Enter(const Instruction& instruction) {
    warps_ += instruction.op == Op::kWarps;
    if (instruction.op == Op::kTile) open_.push_back({&instruction, TileCount(instruction)});
    if (instruction.op == Op::kLoop) open_.push_back({&instruction, Trips(instruction)});
  }
  void Leave(const Instruction& instruction) {
    warps_ -= instruction.op == Op::kWarps;
    if (instruction.op == Op::kTile || instruction.op == Op::kLoop) open_.pop_back();
  }

  const std::vector<Range>& open() const { return open_; }
  const Range* Tile() const {
    const auto found = std::ranges::find(open_.rbegin(), open_.rend(), Op::kTile,
                                         [](const Range& range) { return range.instruction->op; });
    return found == open_.rend() ? nullptr : &*found;
  }
  // Indices of a tile without a limit.
  int64_t FullTile(const Instruction& tile) const { return (warps_ > 0 ? kWarpSize : kernel_.threads) * tile.imm; }

 private:
  std::optional<int64_t> TileCount(const Instruction& tile) const {
    if (tile.operands.empty()) return FullTile(tile);
    const std::optional<int64_t> limit = before_.Constant(tile.operands[0]);
    return limit ? std::optional(std::min(*limit, FullTile(tile))) : std::nullopt;
  }
  std::optional<int64_t> Trips(const Instruction& loop) const {
    const auto begin = before_.Constant(loop.operands[0]), end = before_.Constant(loop.operands[1]),
               step = before_.Constant(loop.operands[2]);
    if (!begin || !end || !step || *step <= 0) return std::nullopt;
    return std::max<int64_t>(0, (*end - *begin + *step - 1) / *step);
  }

  const Kernel& kernel_;
  const Before& before_;
  std::vector<Range> open_;
  int warps_ = 0;
};

// Calls f for each instruction, inner ones first. f appends its replacement.
template <class F>
void Rewrite(Kernel& kernel, Region& region, Ranges& ranges, F& f) {
  std::vector<Instruction> body;
  body.reserve(region.body.size());
  for (Instruction& instruction : region.body) {
    ranges.Enter(instruction);
    for (Region& inner : instruction.regions) Rewrite(kernel, inner, ranges, f);
    ranges.Leave(instruction);
    f(instruction, Writer(kernel, body));
  }
  region.body = std::move(body);
}

template <class F>
void Rewrite(Kernel& kernel, const Before& before, F f) {
  Ranges ranges(kernel, before);
  const auto each = [&](Instruction& instruction, Writer writer) { f(instruction, writer, ranges); };
  Rewrite(kernel, kernel.body, ranges, each);
}

template <class F>
void ForEach(const Region& region, F f) {
  for (const Instruction& instruction : region.body) {
    f(instruction);
    for (const Region& inner : instruction.regions) ForEach(inner, f);
  }
}

bool IsStore(const Instruction& instruction) {
  return instruction.op == Op::kStore || instruction.op == Op::kStoreVector || instruction.op == Op::kStoreMember;
}

// ---- tail ----------------------------------------------------------------------------------------------------------

// A store in a tile leaves out the tile's last index. A store outside of tiles, or to an output in a tile without a
// limit, leaves out its array's last element.
bool Tail(Kernel& kernel, const Steering& steering) {
  const Before before(kernel);
  bool fits = false;
  Rewrite(kernel, before, [&](Instruction& store, Writer writer, const Ranges& ranges) {
    const auto keep = [&] { writer.Append(std::move(store)); };
    if (!IsStore(store)) return keep();
    const ArrayInfo& array = kernel.arrays[store.imm];
    if (!array.IsParameter() || steering.arrays[store.imm]) return keep();
    const bool is_member = store.op == Op::kStoreMember, is_whole = array.kind == ArrayKind::kOutput && !is_member;
    const Range* const tile = ranges.Tile();
    int32_t next = -1, end = -1;
    if (tile != nullptr && !(tile->instruction->operands.empty() && is_whole)) {
      const std::vector<int32_t>& limit = tile->instruction->operands;
      next = writer.Add(tile->instruction->regions[0].arguments[0], writer.Index(1));
      end = tile->count ? writer.Index(*tile->count) : limit[0];
    } else if (!is_member) {
      const int64_t width = store.op == Op::kStoreVector ? std::ssize(store.operands) - 1 : 1;
      next = writer.Add(store.operands[0], writer.Index(width));
      end = writer.Index(array.elements);
    } else {
      return keep();
    }
    fits = true;
    writer.If(writer.Compare(Op::kLess, next, end), std::move(store));
  });
  return fits;
}

// ---- dropped_term --------------------------------------------------------------------------------------------------

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
      filled = filled || DependsOn(set.operands[0],
                                   [&](const Instruction& get) { return get.op == Op::kSlotGet && get.imm == from; });
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
    return before_.types[value] != Type::kIndex && DependsOn(value, [&](const Instruction& at) {
             return at.op == get && at.imm == set.imm && std::ranges::find(inside, &at) != inside.end();
           });
  }

  bool IsFromShared(const Instruction& instruction) const {
    if (instruction.op == Op::kMma) return true;
    return DependsOn(instruction.operands.back(), [&](const Instruction& at) {
      return (InfoOf(at.op).effects & kReads) && kernel_.arrays[at.imm].kind == ArrayKind::kShared;
    });
  }

  template <class F>
  bool DependsOn(int32_t value, F holds) const {
    std::set<int32_t> seen = {value};
    std::vector<int32_t> stack = {value};
    while (!stack.empty()) {
      const Instruction* const at = before_.definitions[stack.back()];
      stack.pop_back();
      if (at == nullptr) continue;
      if (holds(*at)) return true;
      for (const int32_t operand : Sources(*at)) {
        if (seen.insert(operand).second) stack.push_back(operand);
      }
    }
    return false;
  }

  std::vector<int32_t> Sources(const Instruction& instruction) const {
    if (instruction.op != Op::kVariableGet) return instruction.operands;
    std::vector<int32_t> values;
    for (const auto& [variable, value] : before_.sets) {
      if (variable == instruction.imm) values.push_back(value);
    }
    return values;
  }

  bool Adds(const Instruction& instruction) const {
    if (instruction.op == Op::kMma) return true;
    if (instruction.op == Op::kAtomic) return static_cast<AtomicOp>(instruction.imm2) == AtomicOp::kAdd;
    std::set<int32_t> seen;
    std::vector<int32_t> stack = {instruction.operands.back()};
    while (!stack.empty()) {
      const Instruction* const at = before_.definitions[stack.back()];
      stack.pop_back();
      if (at == nullptr) continue;
      if (at->op == Op::kAdd || at->op == Op::kFma || at->op == Op::kDotPairs) return true;
      if (at->op != Op::kConvert && at->op != Op::kSelect && at->op != Op::kVariableGet) continue;
      for (const int32_t operand : Sources(*at)) {
        if (seen.insert(operand).second) stack.push_back(operand);
      }
    }
    return false;
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

bool DroppedTerm(Kernel& kernel, const Steering& steering) {
  const Before before(kernel);
  return DropFromLoop(kernel, before, steering) || DropFromChain(kernel, before, steering);
}

// ---- Single operations ---------------------------------------------------------------------------------------------

bool MaxIgnoresNan(Kernel& kernel, const Steering& steering) {
  const Before before(kernel);
  bool fits = false;
  Rewrite(kernel, before, [&](Instruction& max, Writer writer, const Ranges&) {
    if (max.op == Op::kMax && IsFloat(max.type) && !steering.values[max.result]) {
      const int32_t a = max.operands[0], b = max.operands[1];
      const int32_t is_nan = writer.Compare(Op::kNotEqual, b, b), greater = writer.Compare(Op::kGreater, a, b);
      const int32_t larger = writer.Value(Op::kSelect, max.type, {greater, a, b});
      max.op = Op::kSelect;
      max.operands = {is_nan, a, larger};
      fits = true;
    }
    writer.Append(std::move(max));
  });
  return fits;
}

template <class F>
bool BeforeRounding(Kernel& kernel, const Steering& steering, F f) {
  const Before before(kernel);
  bool fits = false;
  Rewrite(kernel, before, [&](Instruction& round, Writer writer, const Ranges&) {
    if (round.op == Op::kConvert && round.type == Type::kBF16 && before.types[round.operands[0]] == Type::kF32 &&
        !steering.values[round.result]) {
      round.operands[0] = f(round.operands[0], writer);
      fits = true;
    }
    writer.Append(std::move(round));
  });
  return fits;
}

bool RoundedTwice(Kernel& kernel, const Steering& steering) {
  return BeforeRounding(kernel, steering, [](int32_t x, Writer& writer) {
    return writer.Value(Op::kConvert, Type::kF32, {writer.Value(Op::kConvert, Type::kF16, {x})});
  });
}

bool TiesAway(Kernel& kernel, const Steering& steering) {
  return BeforeRounding(kernel, steering, [](int32_t x, Writer& writer) {
    const auto constant = [&](int64_t value) { return writer.Value(Op::kConstant, Type::kU32, {}, value); };
    const int32_t bits = writer.Value(Op::kBitcast, Type::kU32, {x}), half = constant(0x8000);
    const int32_t lost = writer.Value(Op::kAnd, Type::kU32, {bits, constant(0xFFFF)});
    const int32_t is_tie = writer.Compare(Op::kEqual, lost, half);
    const int32_t away = writer.Value(Op::kAdd, Type::kU32, {bits, half});
    return writer.Value(Op::kBitcast, Type::kF32, {writer.Value(Op::kSelect, Type::kU32, {is_tie, away, bits})});
  });
}

// A number from an array of one element, such as a reduction's initial value, becomes 0.
bool ZeroScalar(Kernel& kernel, const Steering& steering) {
  const Before before(kernel);
  bool fits = false;
  Rewrite(kernel, before, [&](Instruction& load, Writer writer, const Ranges&) {
    if (load.op == Op::kLoad && kernel.arrays[load.imm].IsParameter() && kernel.arrays[load.imm].elements == 1 &&
        !steering.arrays[load.imm]) {
      load.op = Op::kConstant;
      load.imm = 0;
      load.operands.clear();
      fits = true;
    }
    writer.Append(std::move(load));
  });
  return fits;
}

// ---- near_limit ----------------------------------------------------------------------------------------------------

bool ReadsMemory(int32_t value, const Before& before) {
  std::set<int32_t> seen = {value};
  std::vector<int32_t> stack = {value};
  while (!stack.empty()) {
    const Instruction* const at = before.definitions[stack.back()];
    stack.pop_back();
    if (at == nullptr) continue;
    if (InfoOf(at->op).effects & kReads) return true;
    for (const int32_t operand : at->operands) {
      if (seen.insert(operand).second) stack.push_back(operand);
    }
  }
  return false;
}

// The constant that limits a loaded number: min(x, limit), or limit where x > limit.
std::optional<int64_t> UpperLimit(const Instruction& inst, const Before& before) {
  if (inst.op == Op::kMin) {
    for (const int side : {0, 1}) {
      const std::optional<int64_t> limit = before.Constant(inst.operands[side]);
      if (limit && ReadsMemory(inst.operands[1 - side], before)) return limit;
    }
  }
  if (inst.op != Op::kSelect) return std::nullopt;
  const Instruction* const above = before.definitions[inst.operands[0]];
  const bool limits = above != nullptr && above->op == Op::kGreater && above->operands[0] == inst.operands[2];
  if (!limits || !ReadsMemory(inst.operands[2], before)) return std::nullopt;
  return before.Constant(inst.operands[1]);
}

// Half of a positive limit, as bits. Indices stay valid, because the limit only becomes smaller.
std::optional<int64_t> Halved(Type type, int64_t limit) {
  if (type == Type::kF32) {
    const auto number = std::bit_cast<float>(static_cast<int32_t>(limit));
    if (!(number > 0) || std::isinf(number)) return std::nullopt;
    return std::bit_cast<int32_t>(number / 2);
  }
  if (IsFloat(type) || type == Type::kPred || limit <= 0) return std::nullopt;
  return limit / 2;
}

bool NearLimit(Kernel& kernel, const Steering&) {
  const Before before(kernel);
  std::map<int32_t, int64_t> halves;
  ForEach(kernel.body, [&](const Instruction& limited) {
    const std::optional<int64_t> limit = UpperLimit(limited, before);
    const std::optional<int64_t> half = limit ? Halved(limited.type, *limit) : std::nullopt;
    if (half) halves[limited.result] = *half;
  });
  Rewrite(kernel, before, [&](Instruction& limited, Writer writer, const Ranges&) {
    const auto half = Results(limited) == 1 ? halves.find(limited.result) : halves.end();
    if (half == halves.end()) return writer.Append(std::move(limited));
    Instruction nearer{.op = Op::kMin, .type = limited.type, .result = limited.result, .source = limited.source};
    limited.result = kernel.values++;
    nearer.operands = {limited.result, writer.Value(Op::kConstant, limited.type, {}, half->second)};
    writer.Append(std::move(limited));
    writer.Append(std::move(nearer));
  });
  return !halves.empty();
}

// ---- wrong_index ---------------------------------------------------------------------------------------------------

// Number of elements that `read` reads from `array`.
int64_t StepOf(const Instruction& read, int64_t array, const Kernel& kernel) {
  if (read.op == Op::kLoad && read.imm == array) return 1;
  if (read.op == Op::kLoadVector && read.imm == array) return read.imm2;
  if (read.op == Op::kCopyAsync && read.imm2 == array) return 16 / Bytes(kernel.arrays[array].type);
  return 0;
}

// The first read-only array that is long enough for a wrong index, or -1.
int64_t FirstReadArray(const Kernel& kernel, const Steering& steering) {
  for (int64_t array = 0; array < std::ssize(kernel.arrays); ++array) {
    const ArrayInfo& info = kernel.arrays[array];
    if (!info.IsParameter() || info.members > 0 || steering.arrays[array]) continue;
    bool fits = false, is_written = false;
    ForEach(kernel.body, [&](const Instruction& instruction) {
      const bool writes = InfoOf(instruction.op).effects & kWrites;
      is_written = is_written || (writes && instruction.imm == array);
      const int64_t step = StepOf(instruction, array, kernel);
      fits = fits || (step > 0 && info.elements >= 2 * step);
    });
    if (fits && !is_written) return array;
  }
  return -1;
}

bool WrongIndex(Kernel& kernel, const Steering& steering) {
  const int64_t array = FirstReadArray(kernel, steering);
  if (array < 0) return false;
  const Before before(kernel);
  Rewrite(kernel, before, [&](Instruction& read, Writer writer, const Ranges&) {
    if (const int64_t step = StepOf(read, array, kernel); step > 0) {
      int32_t& index = read.operands[read.op == Op::kCopyAsync ? 1 : 0];
      const int32_t by = writer.Index(step), next = writer.Add(index, by);
      const int32_t fits =
          writer.Compare(Op::kLessEqual, writer.Add(next, by), writer.Index(kernel.arrays[array].elements));
      index = writer.Value(Op::kSelect, Type::kIndex, {fits, next, index});
    }
    writer.Append(std::move(read));
  });
  return true;
}

constexpr Mutation kMutations[] = {
    {"tail", "the last element that a loop stores is left out", Tail},
    {"dropped_term", "a sum misses one of its terms", DroppedTerm},
    {"max_ignores_nan", "a maximum ignores NaN", MaxIgnoresNan},
    {"rounded_twice", "f32 becomes bf16 by way of f16", RoundedTwice},
    {"ties_away", "ties between two numbers of bf16 are rounded away from 0", TiesAway},
    {"wrong_index", "the first operand is read one element off", WrongIndex},
    {"near_limit", "a number is limited to half of its largest value", NearLimit},
    {"zero_scalar", "an operand of one element is read as 0", ZeroScalar},
};

}  // namespace

std::span<const Mutation> Mutations() { return kMutations; }

const Mutation* FindMutation(std::string_view name) {
  const auto* const found = std::ranges::find(kMutations, name, &Mutation::name);
  return found == std::end(kMutations) ? nullptr : found;
}

}  // namespace hlo::kernel
