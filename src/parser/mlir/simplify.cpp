#include "parser/mlir/simplify.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "parser/mlir/lowering.h"
#include "parser/mlir/stablehlo_ops.h"

namespace hlo::mlir {
namespace {

class Simplifier {
 public:
  explicit Simplifier(Document& document)
      : document_(document), same_(document.shapes.size()), uses_(document.shapes.size()) {
    std::iota(same_.begin(), same_.end(), 0);
  }

  void Run() {
    FindInvariants(document_.operations);
    Replace(document_.operations);
    RemoveDead(document_.operations);
  }

 private:
  // Finds loop-invariant values, those of inner loops first.
  void FindInvariants(std::vector<Operation>& operations);
  void FindInvariants(Operation& loop);
  void Replace(std::vector<Operation>& operations);
  void RemoveDead(std::vector<Operation>& operations);
  bool IsDead(const Operation& op) const;
  void Forget(const Operation& op);
  ValueId Resolve(ValueId value) const {
    while (same_[value] != value) value = same_[value];
    return value;
  }

  Document& document_;
  std::vector<ValueId> same_;  // Maps a loop-invariant value to its initial value, others to themselves.
  std::vector<int32_t> uses_;
};

void Simplifier::FindInvariants(std::vector<Operation>& operations) {
  for (Operation& op : operations) {
    for (Region& region : op.regions) FindInvariants(region.operations);
    if (op.row != nullptr && op.row->opcode == Opcode::kWhile) FindInvariants(op);
  }
}

void Simplifier::FindInvariants(Operation& loop) {
  const size_t count = loop.operands.size();
  const bool is_complete = loop.regions.size() == 2 && loop.result_count == std::ssize(loop.operands) &&
                           loop.regions[0].arguments.size() == count && loop.regions[1].arguments.size() == count &&
                           !loop.regions[1].operations.empty() &&
                           loop.regions[1].operations.back().operands.size() == count;
  if (!is_complete) return;
  Operation& result = loop.regions[1].operations.back();
  InlineVector<ValueId, 3> operands, returned;
  for (size_t i = 0; i < count; ++i) {
    const auto offset = static_cast<ValueId>(i);
    const ValueId argument = loop.regions[1].first_value + offset;
    if (Resolve(result.operands[i]) == argument) {
      for (const ValueId value : {argument, loop.regions[0].first_value + offset, loop.first_result + offset})
        same_[value] = loop.operands[i];
      continue;
    }
    loop.carried.push_back(static_cast<int32_t>(i));
    operands.push_back(loop.operands[i]);
    returned.push_back(result.operands[i]);
  }
  loop.operands = std::move(operands);
  result.operands = std::move(returned);
}

void Simplifier::Replace(std::vector<Operation>& operations) {
  for (Operation& op : operations) {
    for (ValueId& operand : op.operands) {
      operand = Resolve(operand);
      ++uses_[operand];
    }
    for (Region& region : op.regions) Replace(region.operations);
  }
}

bool HasEffect(const Operation& op) {
  if (op.row == nullptr) return true;
  const Opcode opcode = op.row->opcode;
  if (opcode == Opcode::kCustomCall) {
    const Attribute* const effect = op.Find("has_side_effect");
    return effect != nullptr && effect->integer != 0;
  }
  if (opcode == Opcode::kCall || opcode == Opcode::kRng || opcode == Opcode::kOptimizationBarrier) return true;
  if ((RowOf(opcode).traits & (kSideEffect | kCollective)) != 0) return true;
  return std::ranges::any_of(op.regions,
                             [](const Region& region) { return std::ranges::any_of(region.operations, HasEffect); });
}

bool Simplifier::IsDead(const Operation& op) const {
  if (op.result_count == 0 || HasEffect(op)) return false;
  for (int32_t i = 0; i < op.result_count; ++i) {
    if (uses_[op.first_result + i] > 0) return false;
  }
  return true;
}

void Simplifier::Forget(const Operation& op) {
  for (const ValueId operand : op.operands) --uses_[operand];
  for (const Region& region : op.regions) {
    for (const Operation& inner : region.operations) Forget(inner);
  }
}

void Simplifier::RemoveDead(std::vector<Operation>& operations) {
  for (auto op = operations.rbegin(); op != operations.rend(); ++op) {
    if (IsDead(*op)) {
      Forget(*op);
      op->is_dead = true;
      continue;
    }
    for (Region& region : op->regions) RemoveDead(region.operations);
  }
  std::erase_if(operations, [](const Operation& op) { return op.is_dead; });
}

// Whether the numbers are 0, 1, 2, ...
bool CountsUp(const std::vector<int64_t>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool AreAll(const Operation& op, std::string_view name, int64_t value) {
  const auto values = IntsOf(op, name);
  return values && std::ranges::count(*values, value) == std::ssize(*values);
}

}  // namespace

void Simplify(Document& document) { Simplifier(document).Run(); }

bool IsConstantValue(const Instruction& inst) {
  return inst.Is(Opcode::kConstant) ||
         (inst.Is(Opcode::kBroadcast) && inst.operand(0).Is(Opcode::kConstant) && inst.operand(0).shape().IsScalar());
}

// The other operand if one is `value`, the neutral element, or null. As in XLA, -0.0 + 0.0 is -0.0.
Instruction* Lowering::WithNeutral(const Operation& op, double value) const {
  if (op.operands.size() != 2) return nullptr;
  const bool is_commutative = (RowOf(op.row->opcode).traits & kCommutative) != 0;
  for (const size_t i : {1, 0}) {
    const Instruction& neutral = Operand(op, i);
    if ((i == 0 && !is_commutative) || !IsConstantValue(neutral)) continue;
    const Literal& literal = neutral.Is(Opcode::kConstant) ? neutral.literal() : neutral.operand(0).literal();
    const bool is_float = IsFloat(literal.shape().type());
    const bool is_minus_zero = value == 0 && is_float && literal.IsAll(0) && std::signbit(literal.GetDouble(0));
    Instruction& other = Operand(op, 1 - i);
    if (literal.IsAll(value) && !is_minus_zero && Compatible(other.shape(), ResultShape(op))) return &other;
  }
  return nullptr;
}

// The value that an operation repeats, or null.
Instruction* Lowering::SameValue(const Operation& op) {
  if (op.operands.empty() || op.result_count != 1 || !op.name.starts_with("stablehlo.")) return nullptr;
  Instruction& operand = Operand(op, 0);
  if (!Compatible(operand.shape(), ResultShape(op))) return nullptr;
  switch (op.row->opcode) {
    case Opcode::kConvert:
    case Opcode::kReshape: return &operand;
    case Opcode::kOr:
    case Opcode::kAdd:
    case Opcode::kSubtract: return IsComplex(operand.shape().type()) ? nullptr : WithNeutral(op, 0);
    case Opcode::kMultiply:
    case Opcode::kDivide: return IsComplex(operand.shape().type()) ? nullptr : WithNeutral(op, 1);
    case Opcode::kConcatenate: return op.operands.size() == 1 ? &operand : nullptr;
    case Opcode::kBroadcast: {
      const auto dims = IntsOf(op, "broadcast_dimensions");
      return dims && CountsUp(*dims) ? &operand : nullptr;
    }
    case Opcode::kTranspose: {
      const auto dims = IntsOf(op, "permutation");
      return dims && CountsUp(*dims) ? &operand : nullptr;
    }
    case Opcode::kSlice: return AreAll(op, "start_indices", 0) && AreAll(op, "strides", 1) ? &operand : nullptr;
    case Opcode::kPad:
      return AreAll(op, "edge_padding_low", 0) && AreAll(op, "interior_padding", 0) ? &operand : nullptr;
    default: return nullptr;
  }
}

}  // namespace hlo::mlir
