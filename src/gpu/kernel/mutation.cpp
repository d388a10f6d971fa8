#include "gpu/kernel/mutation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/kernel/dropped_term.h"
#include "gpu/kernel/rewrite.h"

namespace hlo::kernel {
namespace {

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
  return before.DependsOn(
      value, [](const Instruction& at) { return (InfoOf(at.op).effects & kReads) != 0; },
      [](const Instruction& at) { return at.op != Op::kVariableGet; });
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
