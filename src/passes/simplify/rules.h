// The rules of algsimp by family.
//
// Rules compare whole shapes, with layouts, and hold after layout assignment too. New instructions usually have the
// layout of the replaced one or row-major order.
#ifndef HLO_PASSES_SIMPLIFY_RULES_H_
#define HLO_PASSES_SIMPLIFY_RULES_H_

#include <span>
#include <vector>

#include "ir/instruction.h"
#include "ir/module.h"
#include "ir/reducer.h"
#include "passes/rewrite.h"

namespace hlo {

std::span<const Rule> ArithmeticRules();
std::span<const Rule> LogicRules();
std::span<const Rule> ReshapeRules();
std::span<const Rule> BroadcastRules();
std::span<const Rule> MovementRules();  // Slices, pads, concatenations, sorts.
std::span<const Rule> ReductionRules();
std::span<const Rule> IntegerRules();
std::span<const Rule> RoundingRules();
std::span<const Rule> UpdateRules();
std::span<const Rule> ViewRules();
std::span<const Rule> SumRules();          // Reduces and windows.
std::span<const Rule> ContractionRules();  // Dots.
std::span<const Rule> ConvolutionRules();
std::span<const Rule> CallRules();  // Conditionals, barriers, custom calls, collectives.

// Adds an instruction with shape, source range and metadata of `inst`.
inline Instruction* Replace(Instruction& inst, Opcode opcode, const std::vector<Instruction*>& operands,
                            Attributes attrs = NoAttrs()) {
  return &inst.computation().AddLike(inst, opcode, inst.shape(), operands, std::move(attrs));
}
inline Instruction* Step(Instruction& inst, Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                         Attributes attrs = NoAttrs()) {
  return &inst.computation().AddLike(inst, opcode, std::move(shape), operands, std::move(attrs));
}
// Gives the bytes of `x` another shape. Between row-major shapes this is a reshape, which can be fused, otherwise a
// bitcast.
inline Instruction* Recast(Instruction& inst, const Shape& shape, Instruction* x) {
  if (x->shape() == shape) return x;
  const bool row_major = shape.HasDefaultLayout() && x->shape().HasDefaultLayout();
  return Step(inst, row_major ? Opcode::kReshape : Opcode::kBitcast, shape, {x});
}
inline Instruction* ConstantLike(Instruction& inst, double value) {
  Instruction& scalar = inst.computation().AddConstant(Literal::Scalar(inst.shape().type(), value));
  if (inst.shape().IsScalar()) return &scalar;
  return Replace(inst, Opcode::kBroadcast, {&scalar}, DimensionsAttrs{});
}

// Whether `to` represents every value of `from`.
bool HoldsAllOf(PrimitiveType to, PrimitiveType from);

// For each dimension of `to` its dimension of `from`, or -1 for an added dimension of size 1. nullopt if a reshape does
// more than add and remove dimensions of size 1. Ambiguous dimensions are paired from the left.
std::optional<std::vector<int64_t>> PairDimensions(const Shape& from, const Shape& to);

// For each dimension of `shape` the dimension of `x` with the same size and the same product of sizes before it, or -1.
std::vector<int64_t> SamePlaces(const Shape& shape, const Shape& x);

// Whether one array is reduced in its own type, without dynamic dimensions, which could be empty.
bool IsPlainReduce(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_PASSES_SIMPLIFY_RULES_H_
