// Batch norms as sums, broadcasts and elementwise ops, in the type of the operand. Formulas:
// docs/ops.md#batch-normalisation.
#include <algorithm>
#include <utility>
#include <vector>

#include "ir/expansions.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Builds in the place of one batch norm. `Wide` values have the shape of the operand, the others one element a feature.
class Expansion {
 public:
  explicit Expansion(Instruction& inst)
      : inst_(inst), wide_(inst.operand(0).shape()), feature_index_(inst.attrs<BatchNormAttrs>().feature_index) {}

  Instruction* operand(int64_t i) { return &inst_.operand(i); }
  // The elements that one feature sums over.
  double Count() const {
    const int64_t features = wide_.dim(feature_index_);
    return features == 0 ? 0 : static_cast<double>(wide_.NumElements() / features);
  }
  double epsilon() const { return inst_.attrs<BatchNormAttrs>().epsilon; }

  Instruction* Add(Instruction* a, Instruction* b) { return Binary(Opcode::kAdd, a, b); }
  Instruction* Subtract(Instruction* a, Instruction* b) { return Binary(Opcode::kSubtract, a, b); }
  Instruction* Multiply(Instruction* a, Instruction* b) { return Binary(Opcode::kMultiply, a, b); }
  Instruction* Divide(Instruction* a, Instruction* b) { return Binary(Opcode::kDivide, a, b); }
  Instruction* Rsqrt(Instruction* a) { return Step(Opcode::kRsqrt, a->shape(), {a}); }
  Instruction* Plus(Instruction* a, double value) { return Add(a, Constant(value, a->shape())); }

  Instruction* Widen(Instruction* feature) {
    return Step(Opcode::kBroadcast, wide_, {feature}, DimensionsAttrs{{feature_index_}});
  }
  Instruction* Constant(double value, const Shape& shape) {
    Instruction& scalar = inst_.computation().AddConstant(Literal::Scalar(wide_.type(), value));
    return Step(Opcode::kBroadcast, shape, {&scalar}, DimensionsAttrs{});
  }
  Instruction* Sum(Instruction* wide) {
    if (adder_ == nullptr) {
      adder_ = &inst_.module().AddComputation("add_batch_norm");
      const Shape scalar = Shape::Scalar(wide_.type());
      Instruction& a = adder_->AddParameter(0, scalar, "a");
      Instruction& b = adder_->AddParameter(1, scalar, "b");
      adder_->SetRoot(adder_->Add(Opcode::kAdd, scalar, {&a, &b}));
    }
    ReduceAttrs attrs;
    for (int64_t i = 0; i < wide_.rank(); ++i) {
      if (i != feature_index_) attrs.dimensions.push_back(i);
    }
    attrs.to_apply = adder_;
    Instruction& zero = inst_.computation().AddConstant(Literal::Scalar(wide_.type(), 0.0));
    return Step(Opcode::kReduce, Shape(wide_.type(), {wide_.dim(feature_index_)}), {wide, &zero}, attrs);
  }
  Instruction* Results(const std::vector<Instruction*>& values) { return Step(Opcode::kTuple, inst_.shape(), values); }

 private:
  Instruction* Step(Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                    Attributes attrs = NoAttrs()) {
    return &inst_.computation().AddLike(inst_, opcode, std::move(shape), operands, std::move(attrs));
  }
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b) { return Step(opcode, a->shape(), {a, b}); }

  Instruction& inst_;
  Shape wide_;
  int64_t feature_index_;
  Computation* adder_ = nullptr;
};

// (x, scale, offset) => (y, mean, variance), the variance as the mean of squares less the square of the mean.
Instruction* ExpandTraining(Instruction& inst) {
  Expansion e(inst);
  Instruction *const x = e.operand(0), *const scale = e.operand(1), *const offset = e.operand(2);
  Instruction* const count = e.Constant(e.Count(), scale->shape());
  Instruction* const mean = e.Divide(e.Sum(x), count);
  Instruction* const variance = e.Subtract(e.Divide(e.Sum(e.Multiply(x, x)), count), e.Multiply(mean, mean));
  Instruction* const normal = e.Multiply(e.Subtract(x, e.Widen(mean)), e.Widen(e.Rsqrt(e.Plus(variance, e.epsilon()))));
  return e.Results({e.Add(e.Multiply(normal, e.Widen(scale)), e.Widen(offset)), mean, variance});
}

// (x, scale, offset, mean, variance) => x * k + (offset - mean * k), k = scale * rsqrt(variance + epsilon).
Instruction* ExpandInference(Instruction& inst) {
  Expansion e(inst);
  Instruction* const factor = e.Multiply(e.operand(1), e.Rsqrt(e.Plus(e.operand(4), e.epsilon())));
  Instruction* const shift = e.Subtract(e.operand(2), e.Multiply(e.operand(3), factor));
  return e.Add(e.Multiply(e.operand(0), e.Widen(factor)), e.Widen(shift));
}

// (x, scale, mean, variance, dy) => (dx, dscale, doffset).
Instruction* ExpandGrad(Instruction& inst) {
  Expansion e(inst);
  Instruction *const scale = e.operand(1), *const dy = e.operand(4);
  Instruction* const spread = e.Plus(e.operand(3), e.epsilon());
  Instruction* const inverse = e.Rsqrt(spread);
  Instruction* const centred = e.Subtract(e.operand(0), e.Widen(e.operand(2)));
  Instruction* const doffset = e.Sum(dy);
  Instruction* const product = e.Sum(e.Multiply(dy, centred));
  Instruction* const factor = e.Divide(e.Multiply(scale, inverse), e.Constant(e.Count(), scale->shape()));
  Instruction* const rest = e.Subtract(e.Subtract(e.Multiply(e.Constant(e.Count(), dy->shape()), dy), e.Widen(doffset)),
                                       e.Multiply(centred, e.Widen(e.Divide(product, spread))));
  return e.Results({e.Multiply(e.Widen(factor), rest), e.Multiply(product, inverse), doffset});
}

}  // namespace

Instruction* ExpandBatchNorm(Instruction& inst) {
  if (inst.operand(0).shape().HasDynamicDims()) return nullptr;
  const PrimitiveType type = inst.operand(0).shape().type();
  const auto is_another = [&](const Instruction* operand) { return operand->shape().type() != type; };
  bool mixes = std::ranges::any_of(inst.operands(), is_another);
  ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& leaf) { mixes = mixes || leaf.type() != type; });
  if (mixes) return nullptr;
  switch (inst.opcode()) {
    case Opcode::kBatchNormTraining: return ExpandTraining(inst);
    case Opcode::kBatchNormInference: return ExpandInference(inst);
    case Opcode::kBatchNormGrad: return ExpandGrad(inst);
    default: return nullptr;
  }
}

}  // namespace hlo
