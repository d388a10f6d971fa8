// Rewrites finished kernels for mutations.
#ifndef HLO_GPU_KERNEL_REWRITE_H_
#define HLO_GPU_KERNEL_REWRITE_H_

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gpu/kernel/facts.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// A loop or tile around an instruction.
struct Range {
  const Instruction* instruction;  // Valid until the kernel is changed.
  // Indices of a tile or trips of a loop, if constant.
  std::optional<int64_t> count;
};

// The values of a kernel before it is changed.
struct Before {
  explicit Before(const Kernel& kernel) : types(HostFacts(kernel).types), definitions(kernel.values) {
    Note(kernel.body);
  }

  std::optional<int64_t> Constant(int32_t value) const {
    const Instruction* const definition = definitions[value];
    if (definition == nullptr || definition->op != Op::kConstant) return std::nullopt;
    return definition->imm;
  }

  // Whether `holds` is true for the definition of `value` or of a value that it depends on. The search ends at
  // instructions for which `goes_on` is false.
  template <class F, class G>
  bool DependsOn(int32_t value, F holds, G goes_on) const {
    std::set<int32_t> seen = {value};
    std::vector<int32_t> stack = {value};
    while (!stack.empty()) {
      const Instruction* const at = definitions[stack.back()];
      stack.pop_back();
      if (at == nullptr) continue;
      if (holds(*at)) return true;
      if (!goes_on(*at)) continue;
      for (const int32_t operand : Sources(*at)) {
        if (seen.insert(operand).second) stack.push_back(operand);
      }
    }
    return false;
  }
  template <class F>
  bool DependsOn(int32_t value, F holds) const {
    return DependsOn(value, holds, [](const Instruction&) { return true; });
  }

  std::vector<Type> types;
  // Null for arguments of regions.
  std::vector<const Instruction*> definitions;
  std::vector<std::pair<int64_t, int32_t>> sets;

 private:
  std::vector<int32_t> Sources(const Instruction& instruction) const {
    if (instruction.op != Op::kVariableGet) return instruction.operands;
    std::vector<int32_t> values;
    for (const auto& [variable, value] : sets) {
      if (variable == instruction.imm) values.push_back(value);
    }
    return values;
  }
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

inline bool IsStore(const Instruction& instruction) {
  return instruction.op == Op::kStore || instruction.op == Op::kStoreVector || instruction.op == Op::kStoreMember;
}

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_REWRITE_H_
