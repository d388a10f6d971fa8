// reduce-scatter-creator: replaces an all-reduce by a reduce-scatter if each device uses only its own block.
#include <algorithm>

#include "interp/interpreter.h"
#include "ir/analysis/dynamic_indices.h"
#include "ir/mesh/grid.h"
#include "passes/collective_groups.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

constexpr int64_t kMostSteps = 64, kMostElements = 1 << 16;

// The instructions that compute `scalar` from device ids and constants, operands first. Empty if it depends on other
// values.
std::vector<const Instruction*> StepsTo(const Instruction& scalar) {
  std::vector<const Instruction*> stack = {&scalar}, steps;
  while (!stack.empty()) {
    const Instruction& inst = *stack.back();
    const bool open = std::ranges::find(steps, &inst) == steps.end();
    const auto missing = std::ranges::find_if(
        inst.operands(), [&](const Instruction* operand) { return std::ranges::find(steps, operand) == steps.end(); });
    if (open && missing != inst.operands().end()) {
      if (std::ssize(stack) > kMostSteps) return {};
      stack.push_back(*missing);
      continue;
    }
    stack.pop_back();
    if (!open) continue;
    const bool is_number = inst.Is(Opcode::kPartitionId) || inst.Is(Opcode::kReplicaId);
    const bool moves_or_computes = inst.Is(kElementwise) || inst.Is(Opcode::kReshape) || inst.Is(Opcode::kSlice) ||
                                   inst.Is(Opcode::kDynamicSlice) || inst.Is(Opcode::kBroadcast) ||
                                   inst.Is(Opcode::kConstant) || inst.Is(Opcode::kIota);
    if (!is_number && (!moves_or_computes || !CanInterpret(inst))) return {};
    if (!inst.shape().IsArray() || inst.shape().HasDynamicDims() || inst.shape().NumElements() > kMostElements)
      return {};
    steps.push_back(&inst);
    if (std::ssize(steps) > kMostSteps) return {};
  }
  return steps;
}

// The value of the last of `steps` on this device. nullopt if the interpreter fails.
std::optional<int64_t> ValueOn(int64_t replica, int64_t partition, const std::vector<const Instruction*>& steps) {
  std::vector<Literal> values;
  for (const Instruction* step : steps) {
    if (step->Is(Opcode::kReplicaId) || step->Is(Opcode::kPartitionId)) {
      values.push_back(Literal::Scalar(step->shape().type(), step->Is(Opcode::kReplicaId) ? replica : partition));
      continue;
    }
    std::vector<Literal> operands;
    for (const Instruction* operand : step->operands())
      operands.push_back(values[std::ranges::find(steps, operand) - steps.begin()]);
    auto value = Evaluate(*step, operands);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values.back().GetInt(0);
}

// The only dimension that the slice makes smaller, or -1.
int64_t SlicedDimension(const Instruction& slice) {
  int64_t sliced = -1;
  for (int64_t d = 0; d < slice.shape().rank(); ++d) {
    if (slice.shape().dim(d) == slice.operand(0).shape().dim(d)) continue;
    if (sliced >= 0) return -1;
    sliced = d;
  }
  return sliced;
}

// Each device's slice must be its own block. Sums keep the order of their terms.
Result<Instruction*> ScatterSum(Instruction& inst, const PassContext&) {
  Instruction& sum = inst.operand(0);
  if (!IsCollectiveOfArray(sum, Opcode::kAllReduce) || sum.UseCount() != 1 || sum.IsRoot()) return nullptr;
  const int64_t d = SlicedDimension(inst);
  if (d < 0 || !HasScalarIndices(inst)) return nullptr;
  const int64_t size = inst.shape().dim(d), whole = sum.shape().dim(d);
  const auto grid = GridOf(inst.module());
  if (!grid || size == 0 || whole % size != 0 || whole / size > grid->count()) return nullptr;
  const std::vector<const Instruction*> steps = StepsTo(inst.operand(1 + d));
  if (steps.empty()) return nullptr;
  const auto groups = GroupsAt(sum, *grid);
  if (!groups) return nullptr;
  for (const std::vector<int>& group : groups->groups) {
    if (std::ssize(group) * size != whole) return nullptr;
    for (int64_t rank = 0; rank < std::ssize(group); ++rank) {
      const auto start = ValueOn(group[rank] / grid->partitions, group[rank] % grid->partitions, steps);
      if (!start || std::clamp<int64_t>(*start, 0, whole - size) != rank * size) return nullptr;
    }
  }
  auto attrs = sum.attrs<CollectiveAttrs>();
  attrs.dimension = OneDimension{d};
  return Replace(inst, Opcode::kReduceScatter, {&sum.operand(0)}, attrs);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"M.rs.1", Opcode::kDynamicSlice, ScatterSum, Preserves::kExact, "dynamic-slice(all-reduce(x), rank * size) => reduce-scatter(x)"},
};
// clang-format on

}  // namespace

std::span<const Rule> ReduceScatterRules() { return kRules; }

Result<bool> CreateReduceScatters(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRules);
}

}  // namespace hlo
