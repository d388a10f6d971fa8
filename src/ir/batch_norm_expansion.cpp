// Formulas: docs/ops.md#batch-normalisation. Training and gradient are computed at least in f32 and rounded once:
// narrower types cannot represent most element counts.
#include "ir/batch_norm_expansion.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace hlo {
namespace {

PrimitiveType AtLeastF32(PrimitiveType type) {
  return IsFloat(type) && BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
}

bool IsShortChain(const Instruction& inst, size_t most) {
  std::vector<const Instruction*> chain = {&inst};
  for (size_t i = 0; i < chain.size() && chain.size() <= most; ++i) {
    if (!chain[i]->Is(kElementwise)) continue;
    for (const Instruction* operand : chain[i]->operands()) {
      if (operand->Is(kElementwise) && std::ranges::find(chain, operand) == chain.end()) chain.push_back(operand);
    }
  }
  return chain.size() <= most;
}

// Wide values have the shape of operand 0, all others one element for each feature.
class Expansion {
 public:
  Expansion(Instruction& inst, PrimitiveType type)
      : inst_(inst),
        wide_(inst.operand(0).shape().WithType(type)),
        feature_index_(inst.attrs<BatchNormAttrs>().feature_index) {}

  Instruction* operand(int64_t i) { return As(wide_.type(), &inst_.operand(i)); }
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
  Instruction* Maximum(Instruction* a, Instruction* b) { return Binary(Opcode::kMaximum, a, b); }
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
  // One element of each feature, or 0 if it is not finite, or if squared differences from it might overflow.
  Instruction* ElementOr0(Instruction* wide) {
    const Shape features(wide_.type(), {wide_.dim(feature_index_)});
    Instruction* const zero = Constant(0, features);
    if (wide_.NumElements() == 0) return zero;
    copies_elementwise_ = IsShortChain(*wide, kMostCopied);
    Instruction* const element = Step(Opcode::kReshape, features, {Middle(wide)});
    Instruction* const limit = Constant(wide_.type() == PrimitiveType::kF64 ? 0x1p510 : 0x1p62, features);
    Instruction* const is_small =
        Step(Opcode::kCompare, features.WithType(PrimitiveType::kPred),
             {Step(Opcode::kAbs, features, {element}), limit}, CompareAttrs{.direction = ComparisonDirection::kLt});
    return Step(Opcode::kSelect, features, {is_small, element, zero});
  }
  Instruction* Results(std::vector<Instruction*> values) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = As(inst_.shape().element(static_cast<int64_t>(i)).type(), values[i]);
    return Step(Opcode::kTuple, inst_.shape(), values);
  }

 private:
  static constexpr size_t kMostCopied = 16;

  Instruction* As(PrimitiveType type, Instruction* value) {
    return value->shape().type() == type ? value : Step(Opcode::kConvert, value->shape().WithType(type), {value});
  }
  // One element of each feature, from the middle of the other dimensions. A slice of `value` would have to wait until a
  // kernel has stored it. Short elementwise chains are instead computed again from slices of their operands, so that
  // `value` can share a kernel with its sums.
  Instruction* Middle(Instruction* value) {
    if (value->shape().IsScalar()) return value;  // A bound of clamp may be a scalar.
    Instruction*& middle = middles_[value];
    if (middle != nullptr) return middle;
    SliceAttrs attrs;
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < wide_.rank(); ++d) {
      const int64_t size = d == feature_index_ ? wide_.dim(d) : 1, start = d == feature_index_ ? 0 : wide_.dim(d) / 2;
      dims.push_back(size);
      attrs.slice.dims.push_back({.start = start, .limit = start + size, .stride = 1});
    }
    const Shape shape(value->shape().type(), dims);
    if (!copies_elementwise_ || !value->Is(kElementwise)) return middle = Step(Opcode::kSlice, shape, {value}, attrs);
    std::vector<Instruction*> operands;
    for (Instruction* operand : value->operands()) operands.push_back(Middle(operand));
    return middle = Step(value->opcode(), shape, operands, value->attributes());
  }
  Instruction* Step(Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                    Attributes attrs = NoAttrs()) {
    return &inst_.computation().AddLike(inst_, opcode, std::move(shape), operands, std::move(attrs));
  }
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b) { return Step(opcode, a->shape(), {a, b}); }

  Instruction& inst_;
  Shape wide_;
  int64_t feature_index_;
  Computation* adder_ = nullptr;
  bool copies_elementwise_ = false;
  std::map<Instruction*, Instruction*> middles_;
};

// (x, scale, offset) => (y, mean, variance). With d = x - shift, the variance is the mean of d^2 minus the squared mean
// of d, so one pass over x computes both sums. The subtraction cancels only if the shift is many standard deviations
// away from the mean. This is rare, because the shift is an element of the feature, and not from the border of an
// image, where padding changes values. The maximum with 0 undoes a rounding below 0.
Instruction* ExpandTraining(Instruction& inst) {
  Expansion e(inst, AtLeastF32(inst.operand(0).shape().type()));
  Instruction *const x = e.operand(0), *const scale = e.operand(1), *const offset = e.operand(2);
  Instruction* const count = e.Constant(e.Count(), scale->shape());
  Instruction* const shift = e.ElementOr0(x);
  Instruction* const shifted = e.Subtract(x, e.Widen(shift));
  Instruction* const shifted_mean = e.Divide(e.Sum(shifted), count);
  Instruction* const squares = e.Divide(e.Sum(e.Multiply(shifted, shifted)), count);
  Instruction* const difference = e.Subtract(squares, e.Multiply(shifted_mean, shifted_mean));
  Instruction* const variance = e.Maximum(difference, e.Constant(0, difference->shape()));
  Instruction* const centred = e.Subtract(shifted, e.Widen(shifted_mean));
  // Equals variance + epsilon, but reads the difference, so that the two sums can share a kernel.
  Instruction* const spread = e.Maximum(e.Plus(difference, e.epsilon()), e.Constant(e.epsilon(), scale->shape()));
  Instruction* const factor = e.Multiply(scale, e.Rsqrt(spread));
  Instruction* const y = e.Add(e.Multiply(centred, e.Widen(factor)), e.Widen(offset));
  return e.Results({y, e.Add(shift, shifted_mean), variance});
}

// (x, scale, offset, mean, variance) => x * k + (offset - mean * k), k = scale * rsqrt(variance + epsilon).
Instruction* ExpandInference(Instruction& inst) {
  Expansion e(inst, inst.operand(0).shape().type());
  Instruction* const factor = e.Multiply(e.operand(1), e.Rsqrt(e.Plus(e.operand(4), e.epsilon())));
  Instruction* const shift = e.Subtract(e.operand(2), e.Multiply(e.operand(3), factor));
  return e.Add(e.Multiply(e.operand(0), e.Widen(factor)), e.Widen(shift));
}

// (x, scale, mean, variance, dy) => (dx, dscale, doffset).
Instruction* ExpandGrad(Instruction& inst) {
  Expansion e(inst, AtLeastF32(inst.operand(0).shape().type()));
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
