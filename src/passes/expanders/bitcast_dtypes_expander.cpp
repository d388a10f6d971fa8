// bitcast_dtypes_expander: a bitcast-convert between widths becomes shifts of unsigned integers. The last dimension of
// the narrow side has the parts of a wide element, least significant first.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/shapes/shape_rules.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

std::optional<PrimitiveType> UnsignedOfWidth(int bits) {
  switch (bits) {
    case 1: return PrimitiveType::kPred;
    case 2: return PrimitiveType::kU2;
    case 4: return PrimitiveType::kU4;
    case 8: return PrimitiveType::kU8;
    case 16: return PrimitiveType::kU16;
    case 32: return PrimitiveType::kU32;
    case 64: return PrimitiveType::kU64;
    default: return std::nullopt;
  }
}

Instruction* AsType(Instruction& inst, Instruction* x, PrimitiveType type, Opcode opcode) {
  if (x->shape().type() == type) return x;
  return Step(inst, opcode, x->shape().WithType(type).WithDefaultLayout(), {x});
}

Instruction* Shifts(Instruction& inst, const Shape& shape, int bits) {
  Instruction* const number = Step(inst, Opcode::kIota, shape, {}, IotaAttrs{shape.rank() - 1});
  Instruction& scalar = inst.computation().AddConstant(Literal::Scalar(shape.type(), static_cast<double>(bits)));
  Instruction* const width = Step(inst, Opcode::kBroadcast, shape, {&scalar}, DimensionsAttrs{});
  return Step(inst, Opcode::kMultiply, shape, {number, width});
}

// x[..., n] => the bitwise or, over the last dimension, of x << (iota * width).
Instruction* Join(Instruction& inst, PrimitiveType narrow, PrimitiveType wide) {
  Instruction* const bits = AsType(inst, &inst.operand(0), narrow, Opcode::kBitcastConvert);
  Instruction* const parts = AsType(inst, bits, wide, Opcode::kConvert);
  const Shape& shape = parts->shape();
  Instruction* const shifted = Step(inst, Opcode::kShiftLeft, shape, {parts, Shifts(inst, shape, BitWidth(narrow))});
  Computation& both = inst.module().AddComputation("or");
  const Shape scalar = Shape::Scalar(wide);
  Instruction& a = both.AddParameter(0, scalar);
  Instruction& b = both.AddParameter(1, scalar);
  both.SetRoot(both.Add(Opcode::kOr, scalar, {&a, &b}));
  Instruction& zero = inst.computation().AddConstant(Literal::Scalar(wide, 0.0));
  Instruction* const joined = Step(inst, Opcode::kReduce, inst.shape().WithType(wide), {shifted, &zero},
                                   ReduceAttrs{{shape.rank() - 1}, &both});
  return AsType(inst, joined, inst.shape().type(), Opcode::kBitcastConvert);
}

// x => the lowest bits of x >> (iota * width), with a new last dimension.
Instruction* Split(Instruction& inst, PrimitiveType narrow, PrimitiveType wide) {
  Instruction* const bits = AsType(inst, &inst.operand(0), wide, Opcode::kBitcastConvert);
  const Shape shape = inst.shape().WithType(wide);
  DimensionsAttrs all;
  for (int64_t d = 0; d + 1 < shape.rank(); ++d) all.dimensions.push_back(d);
  Instruction* const repeated = Step(inst, Opcode::kBroadcast, shape, {bits}, all);
  Instruction* const shifted =
      Step(inst, Opcode::kShiftRightLogical, shape, {repeated, Shifts(inst, shape, BitWidth(narrow))});
  if (narrow == PrimitiveType::kPred) {  // A convert to pred would test all bits.
    Instruction& one = inst.computation().AddConstant(Literal::Scalar(wide, 1.0));
    Instruction* const ones = Step(inst, Opcode::kBroadcast, shape, {&one}, DimensionsAttrs{});
    return AsType(inst, Step(inst, Opcode::kAnd, shape, {shifted, ones}), narrow, Opcode::kConvert);
  }
  return AsType(inst, AsType(inst, shifted, narrow, Opcode::kConvert), inst.shape().type(), Opcode::kBitcastConvert);
}

// Complex numbers, and preds that are read as bytes, stay.
Result<Instruction*> ExpandBitcast(Instruction& inst, const PassContext&) {
  const Shape &from = inst.operand(0).shape(), &to = inst.shape();
  const int bits_from = BitWidth(from.type()), bits_to = BitWidth(to.type());
  const auto narrow = UnsignedOfWidth(std::min(bits_from, bits_to)),
             wide = UnsignedOfWidth(std::max(bits_from, bits_to));
  if (bits_from == bits_to || !narrow || !wide) return nullptr;
  if (narrow == PrimitiveType::kPred && !TakesPredsForBits(from, to)) return nullptr;
  for (const Shape* shape : {&from, &to}) {
    const bool has_bits = IsInteger(shape->type()) || IsFloat(shape->type()) || TakesPredsForBits(from, to);
    if (!has_bits || shape->HasDynamicDims() || !shape->HasDefaultLayout()) return nullptr;
  }
  return bits_from < bits_to ? Join(inst, *narrow, *wide) : Split(inst, *narrow, *wide);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"S.bits.1", Opcode::kBitcastConvert, ExpandBitcast, Preserves::kExact, "bitcast-convert(x) => or of shifted parts, or shifted parts of x, between types of different widths"},
};
// clang-format on

}  // namespace

std::span<const Rule> BitcastDtypesRules() { return kRules; }

Result<bool> ExpandBitcastDtypes(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
