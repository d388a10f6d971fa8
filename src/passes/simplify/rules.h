// The laws of algsimp by family, and the few constructors that they share. A function is a law, with its reason; its
// row at the end of the file has the id, which stays with it, and what `hlo help algebra` shows.
//
// Rules compare whole shapes, layouts included, so they hold after layout assignment as before; what a rule makes has
// the layout of what it replaces or row-major order.
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
std::span<const Rule> MovementRules();  // Slices, pads, concatenations, gathers, updates.
std::span<const Rule> ReductionRules();
std::span<const Rule> IntegerRules();
std::span<const Rule> RoundingRules();
std::span<const Rule> UpdateRules();
std::span<const Rule> ViewRules();
std::span<const Rule> SumRules();          // Reduces and windows.
std::span<const Rule> ContractionRules();  // Dots and convolutions.
std::span<const Rule> CallRules();         // Conditionals, barriers, custom calls, collectives.

// In place of `inst`, with its shape; range and metadata of `inst`.
inline Instruction* Replace(Instruction& inst, Opcode opcode, const std::vector<Instruction*>& operands,
                            Attributes attrs = NoAttrs()) {
  return &inst.computation().AddLike(inst, opcode, inst.shape(), operands, std::move(attrs));
}
// A step on the way there, with a shape of its own.
inline Instruction* Step(Instruction& inst, Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                         Attributes attrs = NoAttrs()) {
  return &inst.computation().AddLike(inst, opcode, std::move(shape), operands, std::move(attrs));
}
// The bytes of `x` as another shape. Between row-major arrays a reshape says that as well as a bitcast, and is fused;
// where none takes it in, fusion makes a bitcast of it.
inline Instruction* Recast(Instruction& inst, const Shape& shape, Instruction* x) {
  if (x->shape() == shape) return x;
  const bool row_major = shape.HasDefaultLayout() && x->shape().HasDefaultLayout();
  return Step(inst, row_major ? Opcode::kReshape : Opcode::kBitcast, shape, {x});
}
// A scalar constant, or a broadcast of it, with the shape of `inst`.
inline Instruction* ConstantLike(Instruction& inst, double value) {
  Instruction& scalar = inst.computation().AddConstant(Literal::Scalar(inst.shape().type(), value));
  if (inst.shape().IsScalar()) return &scalar;
  return Replace(inst, Opcode::kBroadcast, {&scalar}, DimensionsAttrs{});
}

// For each dimension of `to` the dimension of `from` that it is, or -1 for one of size 1 that was added; nullopt when a
// reshape between the two does more than add and remove dimensions of size 1. Where sizes of 1 could be paired in
// several ways, leftmost.
std::optional<std::vector<int64_t>> PairDimensions(const Shape& from, const Shape& to);

// For each dimension of `shape` the one of `x` that it is, of the same size and behind as many elements; or -1.
std::vector<int64_t> SamePlaces(const Shape& shape, const Shape& x);

// One array, reduced by a computation of its own type. Without dynamic dimensions: one of at most 1 may be empty.
bool IsPlainReduce(const Instruction& inst);

}  // namespace hlo

#endif  // HLO_PASSES_SIMPLIFY_RULES_H_
