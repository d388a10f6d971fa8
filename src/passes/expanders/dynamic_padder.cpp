// Represents a value of dynamic size by the whole array and its sizes. The reducer's identity replaces elements beyond
// the size:
//
//   reduce(set-dimension-size(x, n), zero)  =>  reduce(select(iota < n, x, identity), zero)
//
// Results of dynamic size stay.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/reducer.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// The reducer's identity, if known.
std::optional<Literal> IdentityOf(const Computation& reducer, PrimitiveType type) {
  const auto op = ReducerOp(reducer);
  if (!op || reducer.parameter(0).shape().type() != type || IsComplex(type)) return std::nullopt;
  return IdentityOf(*op, type);
}

Shape Static(const Shape& shape) {
  Shape whole = shape;
  for (int64_t d = 0; d < shape.rank(); ++d) whole.SetDynamic(d, false);
  return whole;
}

class Padder {
 public:
  explicit Padder(Computation& computation) : values_(computation.place_limit()) {}

  bool Run(std::span<Instruction* const> order, const PassContext& context) {
    bool changed = false;
    for (Instruction* inst : order) {
      if (!inst->shape().IsArray() || inst->IsDead()) continue;
      Value value = Look(*inst);
      if (value.whole == nullptr) continue;
      if (inst->shape().HasDynamicDims()) {
        values_[inst->place()] = std::move(value);
      } else if (value.whole != inst && context.ConsumeFuel()) {
        inst->ReplaceAllUses(*value.whole);
        changed = true;
      }
    }
    return changed;
  }

 private:
  // The whole array of a dynamic value, or null if unknown, and its sizes.
  struct Value {
    Instruction* whole = nullptr;
    std::vector<Instruction*> sizes;  // By dimension: its size as s32, null if static.
    bool operator==(const Value&) const = default;
  };

  // Static arrays are their own whole arrays.
  Value ValueOf(Instruction& inst) const {
    if (inst.shape().HasDynamicDims()) return values_[inst.place()];
    return {&inst, std::vector<Instruction*>(inst.shape().rank())};
  }

  Value Look(Instruction& inst) {
    switch (inst.opcode()) {
      case Opcode::kSetDimensionSize: return Set(inst);
      case Opcode::kGetDimensionSize: return Get(inst);
      case Opcode::kReduce: return Reduce(inst);
      case Opcode::kTranspose: return Transpose(inst);
      default: return inst.Is(kElementwise) && inst.operand_count() > 0 ? Elementwise(inst) : Value();
    }
  }

  Value Set(Instruction& inst) {
    Value value = ValueOf(inst.operand(0));
    if (value.whole != nullptr) value.sizes[inst.attrs<OneDimensionAttrs>().dimension.value] = &inst.operand(1);
    return value;
  }

  Value Get(Instruction& inst) {
    const int64_t d = inst.attrs<OneDimensionAttrs>().dimension.value;
    const Value value = ValueOf(inst.operand(0));
    if (value.whole == nullptr || value.sizes[d] == nullptr || value.sizes[d]->shape() != inst.shape()) return {};
    Instruction& zero = inst.computation().AddConstant(Literal::Scalar(inst.shape().type(), int64_t{0}));
    Instruction& bound =
        inst.computation().AddConstant(Literal::Scalar(inst.shape().type(), value.whole->shape().dim(d)));
    return {Replace(inst, Opcode::kClamp, {&zero, value.sizes[d], &bound}), {}};
  }

  Value Elementwise(Instruction& inst) {
    std::vector<Instruction*> wholes;
    const Value first = ValueOf(inst.operand(0));
    for (Instruction* operand : inst.operands()) {
      const Value value = ValueOf(*operand);
      if (value.whole == nullptr || value.sizes != first.sizes) return {};
      wholes.push_back(value.whole);
    }
    if (std::ranges::equal(wholes, inst.operands())) return {};
    return {&inst.computation().AddClone(inst, Static(inst.shape()), wholes), first.sizes};
  }

  Value Transpose(Instruction& inst) {
    const Value value = ValueOf(inst.operand(0));
    if (value.whole == nullptr || value.whole == &inst.operand(0)) return {};
    Value result;
    for (const int64_t d : inst.dimensions()) result.sizes.push_back(value.sizes[d]);
    result.whole = &inst.computation().AddClone(inst, Static(inst.shape()), {value.whole});
    return result;
  }

  Value Reduce(Instruction& inst) {
    if (inst.operand_count() != 2) return {};
    const Value value = ValueOf(inst.operand(0));
    if (value.whole == nullptr || value.whole == &inst.operand(0)) return {};
    const auto& attrs = inst.attrs<ReduceAttrs>();
    Value result;
    Instruction* masked = value.whole;
    for (int64_t d = 0; d < value.whole->shape().rank(); ++d) {
      if (std::ranges::find(attrs.dimensions, d) == attrs.dimensions.end()) {
        result.sizes.push_back(value.sizes[d]);
      } else if (value.sizes[d] != nullptr) {
        const auto identity = IdentityOf(*attrs.to_apply, masked->shape().type());
        if (!identity) return {};
        masked = Masked(inst, masked, d, *value.sizes[d], *identity);
      }
    }
    result.whole = &inst.computation().AddClone(inst, Static(inst.shape()), {masked, &inst.operand(1)});
    return result;
  }

  static Instruction* Masked(Instruction& inst, Instruction* x, int64_t d, Instruction& size, const Literal& identity) {
    const Shape& shape = x->shape();
    const Shape positions = shape.WithType(size.shape().type());
    Instruction* const at = Step(inst, Opcode::kIota, positions, {}, IotaAttrs{d});
    Instruction* const limit = Step(inst, Opcode::kBroadcast, positions, {&size}, DimensionsAttrs{});
    Instruction* const counts = Step(inst, Opcode::kCompare, shape.WithType(PrimitiveType::kPred), {at, limit},
                                     CompareAttrs{ComparisonDirection::kLt, ComparisonType::kDefault});
    Instruction& scalar = inst.computation().AddConstant(identity);
    Instruction* const rest = Step(inst, Opcode::kBroadcast, shape, {&scalar}, DimensionsAttrs{});
    return Step(inst, Opcode::kSelect, shape, {counts, x, rest});
  }

  std::vector<Value> values_;
};

}  // namespace

Result<bool> PadDynamicSizes(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    const std::vector<Instruction*> order = computation->PostOrder();
    if (std::ranges::none_of(order, [](const Instruction* inst) { return inst->Is(Opcode::kSetDimensionSize); }))
      continue;
    const int first_new = module.id_limit();
    changed |= Padder(*computation).Run(order, context);
    // Remove new whole arrays that are unused, because only the dynamic value is needed.
    for (Instruction* inst : computation->Instructions()) {
      if (!inst->removed() && inst->IsDead() && inst->id() >= first_new) computation->RemoveDeadTree(*inst);
    }
  }
  return changed;
}

}  // namespace hlo
