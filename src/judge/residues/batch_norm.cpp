// Evaluates batch norms by definition: docs/ops.md#batch-normalisation.
#include "judge/residues/rules.h"

namespace hlo::residue {
namespace {

// Wide values have the shape of operand 0, others one element for each feature. All have the type f64, because numbers
// ignore types.
class Definition {
 public:
  explicit Definition(const Instruction& inst)
      : feature_(inst.attrs<BatchNormAttrs>().feature_index),
        wide_(inst.operand(0).shape().WithType(PrimitiveType::kF64).WithDefaultLayout()),
        features_(PrimitiveType::kF64, {wide_.dim(feature_)}) {
    for (int64_t i = 0; i < inst.operand_count(); ++i)
      parameters_.push_back(&entry_.AddParameter(i, inst.operand(i).shape().WithType(PrimitiveType::kF64)));
    Instruction& a = add_.AddParameter(0, Shape::Scalar(PrimitiveType::kF64));
    Instruction& b = add_.AddParameter(1, Shape::Scalar(PrimitiveType::kF64));
    add_.SetRoot(add_.Add(Opcode::kAdd, a.shape(), {&a, &b}));
    module_.SetEntry(entry_);
    const PrimitiveType type = inst.operand(0).shape().type();
    const bool widens = !inst.Is(Opcode::kBatchNormInference) && BitWidth(type) < 32;
    const double epsilon = inst.attrs<BatchNormAttrs>().epsilon;
    epsilon_ = Constant(Literal::Scalar(widens ? PrimitiveType::kF32 : type, epsilon).GetDouble(0));
    count_ = Constant(static_cast<double>(wide_.NumElements()) / static_cast<double>(wide_.dim(feature_)));
  }

  // (x, scale, offset) => (y, mean, variance)
  void Training() {
    const auto [x, scale, offset] = std::array{parameters_[0], parameters_[1], parameters_[2]};
    Instruction* const mean = Op(Opcode::kDivide, Sum(x), count_);
    Instruction* const centred = Op(Opcode::kSubtract, x, Wide(mean));
    Instruction* const variance = Op(Opcode::kDivide, Sum(Op(Opcode::kMultiply, centred, centred)), count_);
    entry_.SetRoot(entry_.AddTuple({Normalized(centred, scale, offset, variance), mean, variance}));
  }

  // (x, scale, offset, mean, variance) => y
  void Inference() {
    Instruction* const centred = Op(Opcode::kSubtract, parameters_[0], Wide(parameters_[3]));
    entry_.SetRoot(*Normalized(centred, parameters_[1], parameters_[2], parameters_[4]));
  }

  // (x, scale, mean, variance, dy) => (dx, dscale, doffset)
  void Gradient() {
    Instruction *const scale = parameters_[1], *const dy = parameters_[4];
    Instruction* const centred = Op(Opcode::kSubtract, parameters_[0], Wide(parameters_[2]));
    Instruction* const spread = Op(Opcode::kAdd, parameters_[3], epsilon_);
    Instruction* const inverse = Rsqrt(spread);
    Instruction* const sum = Sum(dy);
    Instruction* const product = Sum(Op(Opcode::kMultiply, dy, centred));
    Instruction* const mean = Op(Opcode::kDivide, sum, count_);
    Instruction* const slope = Op(Opcode::kDivide, Op(Opcode::kDivide, product, count_), spread);
    Instruction* const rest =
        Op(Opcode::kSubtract, Op(Opcode::kSubtract, dy, Wide(mean)), Op(Opcode::kMultiply, centred, Wide(slope)));
    Instruction* const dx = Op(Opcode::kMultiply, Wide(Op(Opcode::kMultiply, scale, inverse)), rest);
    entry_.SetRoot(entry_.AddTuple({dx, Op(Opcode::kMultiply, product, inverse), sum}));
  }

  const Computation& computation() const { return entry_; }

 private:
  Instruction* Op(Opcode opcode, Instruction* a, Instruction* b) { return &entry_.Add(opcode, a->shape(), {a, b}); }
  Instruction* Rsqrt(Instruction* x) { return &entry_.Add(Opcode::kRsqrt, x->shape(), {x}); }
  Instruction* Wide(Instruction* feature) {
    return &entry_.Add(Opcode::kBroadcast, wide_, {feature}, DimensionsAttrs{{feature_}});
  }
  Instruction* Constant(double value) {
    Instruction& scalar = entry_.AddConstant(Literal::Scalar(PrimitiveType::kF64, value));
    return &entry_.Add(Opcode::kBroadcast, features_, {&scalar}, DimensionsAttrs{});
  }
  Instruction* Sum(Instruction* x) {
    ReduceAttrs attrs{.dimensions = {}, .to_apply = &add_};
    for (int64_t d = 0; d < wide_.rank(); ++d) {
      if (d != feature_) attrs.dimensions.push_back(d);
    }
    Instruction& zero = entry_.AddConstant(Literal::Scalar(PrimitiveType::kF64, 0.0));
    return &entry_.Add(Opcode::kReduce, features_, {x, &zero}, attrs);
  }
  Instruction* Normalized(Instruction* centred, Instruction* scale, Instruction* offset, Instruction* variance) {
    Instruction* const factor = Op(Opcode::kMultiply, scale, Rsqrt(Op(Opcode::kAdd, variance, epsilon_)));
    return Op(Opcode::kAdd, Op(Opcode::kMultiply, centred, Wide(factor)), Wide(offset));
  }

  Module module_{"batch_norm"};
  Computation& entry_ = module_.AddComputation("entry");
  Computation& add_ = module_.AddComputation("add");
  const int64_t feature_;
  const Shape wide_, features_;
  std::vector<Instruction*> parameters_;
  Instruction *epsilon_, *count_;
};

}  // namespace

Result<Value> BatchNorm(Context& context, const Instruction& inst, Operands operands) {
  Definition definition(inst);
  if (inst.Is(Opcode::kBatchNormTraining)) definition.Training();
  else if (inst.Is(Opcode::kBatchNormInference)) definition.Inference();
  else definition.Gradient();
  Value result = TRY(RunUnseen(context, definition.computation(), operands));
  result.shape = inst.shape();
  for (size_t i = 0; i < result.parts.size(); ++i)
    result.parts[i].shape = inst.shape().element(static_cast<int64_t>(i));
  return result;
}

}  // namespace hlo::residue
