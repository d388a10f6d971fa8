#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "interp/arguments/requirement.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Whether `wrapped` is `index` + n. A select of both counts negative indices from the end.
bool IsWrapped(const Instruction& wrapped, const Instruction& index) {
  const Instruction& sum = Bare(wrapped);
  if (!sum.Is(Opcode::kAdd) || !IsInteger(sum.shape().type())) return false;
  for (int64_t side = 0; side < 2; ++side) {
    if (ConstantOf(sum.operand(1 - side)) && &Bare(sum.operand(side)) == &Bare(index)) return true;
  }
  return false;
}

// The operand's dimension for `dim` of the result, or -1. `dim` may exceed the rank, because a pad passes the dimension
// of the padded array to its scalar.
int64_t OperandDim(const Instruction& inst, int64_t dim) {
  const Shape &from = inst.operand(0).shape(), &to = inst.shape();
  if (dim < 0 || dim >= to.rank()) return -1;
  switch (inst.opcode()) {
    case Opcode::kTranspose: return inst.attrs<DimensionsAttrs>().dimensions[dim];
    case Opcode::kBroadcast: {
      const auto& dims = inst.attrs<DimensionsAttrs>().dimensions;
      const auto found = std::ranges::find(dims, dim);
      return found == dims.end() ? -1 : found - dims.begin();
    }
    case Opcode::kReshape:
    case Opcode::kBitcast: {
      const std::vector<int64_t> strides = RowMajorStrides(from.dims());
      const int64_t stride = RowMajorStrides(to.dims())[dim];
      for (int64_t d = 0; d < from.rank(); ++d) {
        if (strides[d] == stride && from.dim(d) == to.dim(dim)) return d;
      }
      return -1;
    }
    default: return from.rank() == to.rank() ? dim : -1;
  }
}

void Require(Requirements& out, const Instruction& inst, Requirement requirement) {
  out.push_back({&inst, std::move(requirement)});
}

void AtConcatenate(Requirements& out, const Instruction& inst, Requirement requirement) {
  const int64_t dim = inst.attrs<OneDimensionAttrs>().dimension.value;
  requirement.Drop(Requirement::kSorted | Requirement::kUnique);
  if (dim != requirement.component_dim) {
    requirement.Flatten();
    for (const Instruction* operand : inst.operands()) Require(out, *operand, requirement);
    return;
  }
  size_t first = 0;
  for (const Instruction* operand : inst.operands()) {
    Requirement part = requirement;
    const size_t count = static_cast<size_t>(operand->shape().dim(dim));
    part.components.assign(requirement.components.begin() + first,
                           requirement.components.begin() + std::min(first + count, requirement.components.size()));
    first += count;
    if (part.components.size() == 1) part.Flatten();
    Require(out, *operand, std::move(part));
  }
}

// A sum of products cancels if one factor cancels and the others come in equal pairs.
void SummedThrough(Requirements& out, const Instruction& inst, Requirement requirement) {
  if (inst.Is(Opcode::kNegate)) return Require(out, inst.operand(0), std::move(requirement));
  if (!inst.Is(Opcode::kMultiply)) return;
  Require(out, inst.operand(0), requirement);
  requirement.flags |= Requirement::kRepeats;
  Require(out, inst.operand(1), std::move(requirement));
}

// Passes the requirement of a positive result on. Squares and exponentials are positive anyway.
void PositiveThrough(Requirements& out, const Instruction& inst, const Requirement& requirement) {
  const auto both = [&](double low) {
    for (int64_t i = 0; i < 2; ++i) {
      if (!ConstantOf(inst.operand(i)))
        Require(out, inst.operand(i), {.kind = Requirement::Kind::kPositive, .interval = {low, kInfinity}});
    }
  };
  switch (inst.opcode()) {
    case Opcode::kAdd: return both(requirement.interval.low);
    case Opcode::kMultiply:
      if (&inst.operand(0) == &inst.operand(1)) return;
      return both(requirement.interval.low);
    case Opcode::kDivide: return both(std::max(requirement.interval.low, 0.25));
    case Opcode::kSqrt:
    case Opcode::kCbrt: return Require(out, inst.operand(0), requirement);
    case Opcode::kMaximum: {
      const auto a = ConstantOf(inst.operand(0)), b = ConstantOf(inst.operand(1));
      if ((a && *a > 0) || (b && *b > 0)) return;
      return both(requirement.interval.low);
    }
    case Opcode::kReduce: return Require(out, inst.operand(0), requirement);
    default: return;
  }
}

// Inverts index arithmetic with constants.
void IntervalThrough(Requirements& out, const Instruction& inst, Requirement requirement) {
  if (inst.operand_count() < 1) return;
  if (inst.Is(Opcode::kClamp)) return Require(out, inst.operand(1), std::move(requirement));
  if (inst.Is(Opcode::kNegate)) {
    requirement.Flatten();
    requirement.Drop(Requirement::kSorted);
    requirement.interval = {-requirement.interval.high, -requirement.interval.low};
    return Require(out, inst.operand(0), std::move(requirement));
  }
  if (inst.operand_count() != 2) return;
  const auto a = ConstantOf(inst.operand(0)), b = ConstantOf(inst.operand(1));
  const bool left = b.has_value();
  if (!a && !b) return;
  const double c = left ? *b : *a;
  const Instruction& rest = inst.operand(left ? 0 : 1);
  const auto shift = [&](auto&& map) {
    requirement.interval = map(requirement.interval);
    for (ClosedInterval& component : requirement.components) component = map(component);
    Require(out, rest, requirement);
  };
  switch (inst.opcode()) {
    case Opcode::kAdd: return shift([&](ClosedInterval i) { return ClosedInterval{i.low - c, i.high - c}; });
    case Opcode::kSubtract:
      if (!left) requirement.Drop(Requirement::kSorted);
      if (left) return shift([&](ClosedInterval i) { return ClosedInterval{i.low + c, i.high + c}; });
      return shift([&](ClosedInterval i) { return ClosedInterval{c - i.high, c - i.low}; });
    case Opcode::kMultiply:
      if (c <= 0) return;
      return shift([&](ClosedInterval i) { return ClosedInterval{std::ceil(i.low / c), std::floor(i.high / c)}; });
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kRemainder:
    case Opcode::kAnd:
      requirement.Drop(Requirement::kSorted | Requirement::kUnique);
      return shift([](ClosedInterval i) { return i; });
    default: return;
  }
}

void Through(Requirements& out, const Instruction& inst, Requirement requirement) {
  switch (inst.opcode()) {
    case Opcode::kBitcast:
      if (inst.shape().type() != inst.operand(0).shape().type()) return;
      [[fallthrough]];
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kBroadcast:
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kReverse:
    case Opcode::kShuffle:
    case Opcode::kGather:
      requirement.dim = OperandDim(inst, requirement.dim);
      if (inst.Is(Opcode::kBroadcast) || inst.Is(Opcode::kDynamicSlice) || inst.Is(Opcode::kGather))
        requirement.Drop(Requirement::kSorted | Requirement::kUnique);
      if (inst.Is(Opcode::kTranspose) || inst.Is(Opcode::kReverse) || inst.Is(Opcode::kShuffle))
        requirement.Drop(Requirement::kSorted);
      if (inst.Is(Opcode::kReshape) && requirement.component_dim == inst.shape().rank() - 1 &&
          inst.operand(0).shape().rank() > 0 &&
          inst.operand(0).shape().dims().back() == static_cast<int64_t>(requirement.components.size())) {
        requirement.component_dim = inst.operand(0).shape().rank() - 1;
      } else {
        requirement.Flatten();
      }
      return Require(out, inst.operand(0), std::move(requirement));
    case Opcode::kPad:
    case Opcode::kDynamicUpdateSlice:
      requirement.Flatten();
      requirement.Drop(Requirement::kSorted | Requirement::kUnique);
      Require(out, inst.operand(0), requirement);
      return Require(out, inst.operand(1), std::move(requirement));
    case Opcode::kConcatenate: return AtConcatenate(out, inst, std::move(requirement));
    case Opcode::kSelect:
      if (!IsWrapped(inst.operand(1), inst.operand(2))) Require(out, inst.operand(1), requirement);
      if (!IsWrapped(inst.operand(2), inst.operand(1))) Require(out, inst.operand(2), std::move(requirement));
      return;
    default: break;
  }
  if (requirement.kind == Requirement::Kind::kSummed) return SummedThrough(out, inst, std::move(requirement));
  if (requirement.kind == Requirement::Kind::kPositive) return PositiveThrough(out, inst, requirement);
  if (requirement.kind == Requirement::Kind::kIndex || requirement.kind == Requirement::Kind::kInterval)
    return IntervalThrough(out, inst, std::move(requirement));
}

}  // namespace

Requirements RequirementsThrough(const Instruction& inst, Requirement requirement) {
  Requirements out;
  Through(out, inst, std::move(requirement));
  return out;
}

std::optional<double> ConstantOf(const Instruction& inst) {
  const Instruction* at = &inst;
  while (at->Is(kView) || at->Is(Opcode::kBroadcast) || at->Is(Opcode::kConvert) || at->Is(Opcode::kCopy)) {
    at = &at->operand(0);
  }
  if (!at->Is(Opcode::kConstant) || !at->shape().IsArray() || IsComplex(at->shape().type())) return {};
  if (at->shape().NumElements() != 1 && !at->literal().IsSplat()) return {};
  return at->literal().GetDouble(0);
}

const Instruction& Bare(const Instruction& inst) {
  const Instruction* at = &inst;
  while (at->Is(Opcode::kConvert) || at->Is(Opcode::kCopy) || at->Is(Opcode::kBroadcast) || at->Is(Opcode::kReshape))
    at = &at->operand(0);
  return *at;
}

}  // namespace hlo
