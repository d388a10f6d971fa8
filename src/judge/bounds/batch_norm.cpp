// Bounds of batch norms by their formulas (docs/ops.md#batch-normalisation) in the operand's type. They hold whether an
// implementation rounds every step or none.
#include "judge/bounds/rules.h"

namespace hlo::shadow {
namespace {

// A batch norm as a computation. Wide values have the shape of operand 0, others one element for each feature.
class Formula {
 public:
  Formula(const Instruction& inst, Operands operands)
      : wide_(inst.operand(0).shape().WithDefaultLayout()),
        feature_index_(inst.attrs<BatchNormAttrs>().feature_index),
        features_(wide_.type(), {wide_.dim(feature_index_)}),
        args_(operands.begin(), operands.end()) {
    for (const Instruction* operand : inst.operands()) Parameter(operand->shape().WithDefaultLayout());
    epsilon_ = &Number(inst.attrs<BatchNormAttrs>().epsilon);
    const int64_t features = features_.NumElements();
    count_ = &Number(features == 0 ? 0 : static_cast<double>(wide_.NumElements() / features));
    adder_ = &module_.AddComputation("add");
    const Shape scalar = Shape::Scalar(wide_.type());
    Instruction &a = adder_->AddParameter(0, scalar), &b = adder_->AddParameter(1, scalar);
    adder_->SetRoot(adder_->Add(Opcode::kAdd, scalar, {&a, &b}));
  }

  Instruction& operand(int64_t i) { return entry_.parameter(i); }
  Instruction& count() { return *count_; }
  Instruction& Add(Instruction& a, Instruction& b) { return entry_.Add(Opcode::kAdd, a.shape(), {&a, &b}); }
  Instruction& Subtract(Instruction& a, Instruction& b) { return entry_.Add(Opcode::kSubtract, a.shape(), {&a, &b}); }
  Instruction& Multiply(Instruction& a, Instruction& b) { return entry_.Add(Opcode::kMultiply, a.shape(), {&a, &b}); }
  Instruction& Divide(Instruction& a, Instruction& b) { return entry_.Add(Opcode::kDivide, a.shape(), {&a, &b}); }
  Instruction& Rsqrt(Instruction& a) { return entry_.Add(Opcode::kRsqrt, a.shape(), {&a}); }
  Instruction& PlusEpsilon(Instruction& a) { return Add(a, *epsilon_); }
  Instruction& Widen(Instruction& feature) {
    return entry_.Add(Opcode::kBroadcast, wide_, {&feature}, DimensionsAttrs{{feature_index_}});
  }
  Instruction& Sum(Instruction& wide) {
    ReduceAttrs attrs{.to_apply = adder_};
    for (int64_t d = 0; d < wide_.rank(); ++d) {
      if (d != feature_index_) attrs.dimensions.push_back(d);
    }
    Instruction& zero = entry_.AddConstant(Literal::Scalar(wide_.type(), 0.0));
    return entry_.Add(Opcode::kReduce, features_, {&wide, &zero}, std::move(attrs));
  }

  Result<ShadowValue> Value(Context& context, Instruction& result) {
    entry_.SetRoot(result);
    module_.SetEntry(entry_);
    std::vector<const ShadowValue*> args = args_;
    for (const ShadowValue& number : numbers_) args.push_back(&number);
    // The plan is for another module.
    ShadowOptions options = context.options;
    options.plan = nullptr;
    Context alone{.options = options};
    return Run(alone, entry_, args);
  }
  Instruction& Results(const std::vector<Instruction*>& results) { return entry_.AddTuple(results); }

 private:
  Instruction& Parameter(const Shape& shape) { return entry_.AddParameter(entry_.parameters().size(), shape); }

  // A constant has a bound if the type has to round it.
  Instruction& Number(double value) {
    Literal exact = NewBuffer(features_), bound = NewBuffer(features_);
    const Rounding rounding = RoundingTo(wide_.type(), false);
    const double rounded = Literal::Scalar(wide_.type(), value).GetDouble(0);
    std::ranges::fill(exact.mutable_data<double>(), value);
    std::ranges::fill(bound.mutable_data<double>(), rounded == value ? 0 : HalfUlp(rounding, std::fabs(value)));
    ShadowValue& number = numbers_.emplace_back();
    number.shape = features_;
    number.held = wide_.type();
    number.value = std::move(exact);
    number.bound = std::move(bound);
    return Parameter(features_);
  }

  Shape wide_;
  int64_t feature_index_;
  Shape features_;
  std::vector<const ShadowValue*> args_;
  std::vector<ShadowValue> numbers_;
  Module module_{"batch_norm"};
  Computation& entry_ = module_.AddComputation("entry");
  Computation* adder_ = nullptr;
  Instruction* epsilon_ = nullptr;
  Instruction* count_ = nullptr;
};

Instruction& Training(Formula& f) {
  Instruction &x = f.operand(0), &scale = f.operand(1), &offset = f.operand(2);
  Instruction& mean = f.Divide(f.Sum(x), f.count());
  Instruction& variance = f.Subtract(f.Divide(f.Sum(f.Multiply(x, x)), f.count()), f.Multiply(mean, mean));
  Instruction& normal = f.Multiply(f.Subtract(x, f.Widen(mean)), f.Widen(f.Rsqrt(f.PlusEpsilon(variance))));
  return f.Results({&f.Add(f.Multiply(normal, f.Widen(scale)), f.Widen(offset)), &mean, &variance});
}

Instruction& Inference(Formula& f) {
  Instruction &x = f.operand(0), &scale = f.operand(1), &offset = f.operand(2), &mean = f.operand(3);
  Instruction& factor = f.Multiply(scale, f.Rsqrt(f.PlusEpsilon(f.operand(4))));
  return f.Add(f.Multiply(x, f.Widen(factor)), f.Widen(f.Subtract(offset, f.Multiply(mean, factor))));
}

Instruction& Gradient(Formula& f) {
  Instruction &x = f.operand(0), &scale = f.operand(1), &mean = f.operand(2), &dy = f.operand(4);
  Instruction& spread = f.PlusEpsilon(f.operand(3));
  Instruction& inverse = f.Rsqrt(spread);
  Instruction& centred = f.Subtract(x, f.Widen(mean));
  Instruction& doffset = f.Sum(dy);
  Instruction& product = f.Sum(f.Multiply(dy, centred));
  Instruction& factor = f.Divide(f.Multiply(scale, inverse), f.count());
  Instruction& rest = f.Subtract(f.Subtract(f.Multiply(f.Widen(f.count()), dy), f.Widen(doffset)),
                                 f.Multiply(centred, f.Widen(f.Divide(product, spread))));
  return f.Results({&f.Multiply(f.Widen(factor), rest), &f.Multiply(product, inverse), &doffset});
}

// Infinities are undetermined, because steps in a wider type might not overflow.
void OpenInfinities(ShadowValue& x) {
  for (ShadowValue& element : x.elements) OpenInfinities(element);
  if (!x.elements.empty()) return;
  if (!x.HasBound()) x.bound = Zeros(x.shape);
  auto bound = x.bound.mutable_data<double>();
  for (size_t i = 0; i < bound.size(); ++i) {
    if (!std::isfinite(Values(x.value)[i])) bound[i] = kUndetermined;
  }
}

}  // namespace

Result<ShadowValue> BatchNorm(Context& context, const Instruction& inst, Operands operands) {
  if (inst.operand(0).shape().HasDynamicDims())
    FAIL(UnsupportedAt(inst, "U041", Str("no error bounds for '", inst.opcode(), "' of dynamic dimensions")));
  Formula f(inst, operands);
  Instruction& result = inst.Is(Opcode::kBatchNormTraining)    ? Training(f)
                        : inst.Is(Opcode::kBatchNormInference) ? Inference(f)
                                                               : Gradient(f);
  ShadowValue value = TRY(f.Value(context, result));
  if (!context.options.widened) OpenInfinities(value);
  value.shape = inst.shape();
  for (size_t i = 0; i < value.elements.size(); ++i)
    value.elements[i].shape = inst.shape().element(static_cast<int64_t>(i));
  return value;
}

}  // namespace hlo::shadow
