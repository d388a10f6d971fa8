#include "judge/bounds/complex_parts.h"

#include <algorithm>
#include <utility>

#include "ir/analysis/movement.h"
#include "judge/bounds/complex_functions.h"

namespace hlo::shadow {
namespace {

// The real part sums all ac and -bd in any order, so a product passes at most as many additions as both sums have
// terms. The imaginary part is similar.
int64_t TermsOfPart(const Instruction& inst) {
  int64_t terms = 1;
  const Shape &lhs = inst.operand(0).shape(), &rhs = inst.operand(1).shape();
  if (inst.Is(Opcode::kDot)) {
    for (const int64_t d : inst.attrs<DotAttrs>().lhs_contracting) terms *= lhs.dim(d);
    return terms;
  }
  return rhs.NumElements() /
         std::max<int64_t>(1, rhs.dim(inst.attrs<ConvolutionAttrs>().dim_labels.rhs_output_feature));
}

class PartsBuilder {
 public:
  explicit PartsBuilder(PartsOfInstruction& of) : of_(of) {
    int64_t parameters = 0;
    for (const Instruction* operand : inst_.operands()) {
      const Shape& shape = operand->shape();
      const bool complex = IsComplexArray(shape);
      const Shape part = complex ? shape.WithType(PartOf(shape.type())) : shape;
      real_.push_back(&entry_.AddParameter(parameters++, part));
      imaginary_.push_back(complex ? &entry_.AddParameter(parameters++, part) : nullptr);
    }
  }

  bool Build() {
    const auto both = [this] { return imaginary_[0] != nullptr && imaginary_[1] != nullptr; };
    switch (inst_.opcode()) {
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kNegate: EachPart(); return true;
      case Opcode::kSelect:
        if (!inst_.shape().IsArray()) return false;
        EachPart();
        return true;
      case Opcode::kMultiply: Multiplied(); return true;
      case Opcode::kDot:
      case Opcode::kConvolution:
        if (inst_.operand_count() != 2 || !complex_ || !both()) return false;
        if (inst_.Is(Opcode::kDot)) ContractDot();
        else ContractConvolution();
        return true;
      case Opcode::kReduce: return complex_ && Summed<ReduceAttrs>(2);
      case Opcode::kReduceWindow: return complex_ && Summed<ReduceWindowAttrs>(2);
      case Opcode::kScatter: return complex_ && Summed<ScatterAttrs>(3);
      case Opcode::kCompare: return both() && Compare();
      case Opcode::kMaximum:
      case Opcode::kMinimum: Extreme(); return true;
      case Opcode::kReal: of_.root = real_[0]; return true;
      case Opcode::kImag: of_.root = imaginary_[0]; return true;
      case Opcode::kComplex: SetParts(*real_[0], *real_[1]); return true;
      case Opcode::kConvert: return Convert();
      case Opcode::kAbs: of_.root = &AddModulus(entry_, part_, Operand(0)); return of_.is_function = true;
      default: break;
    }
    if (complex_ && inst_.Is(kElementwise)) {
      const auto result = AddFunction(entry_, part_, inst_.opcode(), Operand(0), Operand(real_.size() - 1));
      if (!result) return false;
      SetParts(*result->real, *result->imaginary);
      return of_.is_function = true;
    }
    if (!IsMovement(inst_) || !complex_) return false;
    EachPart();
    return true;
  }

 private:
  Instruction& Add(Opcode opcode, Instruction* a, Instruction* b) { return entry_.Add(opcode, part_, {a, b}); }

  Instruction& Same(const std::vector<Instruction*>& operands) { return entry_.AddClone(inst_, part_, operands); }

  void SetParts(Instruction& real, Instruction& imaginary) {
    of_.root = &entry_.Add(Opcode::kTuple, Shape::Tuple({real.shape(), imaginary.shape()}), {&real, &imaginary});
  }

  // Operands that are not complex, such as indices, are the same for both parts.
  std::vector<Instruction*> ImaginaryOperands() const {
    std::vector<Instruction*> operands = imaginary_;
    for (size_t i = 0; i < operands.size(); ++i) operands[i] = operands[i] == nullptr ? real_[i] : operands[i];
    return operands;
  }

  void EachPart() { SetParts(Same(real_), Same(ImaginaryOperands())); }

  void Multiplied() {
    Instruction &ac = Add(Opcode::kMultiply, real_[0], real_[1]),
                &bd = Add(Opcode::kMultiply, imaginary_[0], imaginary_[1]);
    Instruction &ad = Add(Opcode::kMultiply, real_[0], imaginary_[1]),
                &bc = Add(Opcode::kMultiply, imaginary_[0], real_[1]);
    SetParts(Add(Opcode::kSubtract, &ac, &bd), Add(Opcode::kAdd, &ad, &bc));
  }

  Instruction& Reshaped(Instruction& x, Dims dims) {
    return entry_.Add(Opcode::kReshape, Shape(x.shape().type(), dims), {&x});
  }

  // Along dimension `d`, blocks of `a` and `b` alternate, `groups` of each.
  Instruction& Joined(Instruction& a, Instruction& b, int64_t d, int64_t groups) {
    Dims joined = a.shape().dims(), blocks = joined;
    joined[d] *= 2;
    blocks[d] /= groups;
    blocks.insert(blocks.begin() + d, groups);
    Dims joined_blocks = blocks;
    joined_blocks[d + 1] *= 2;
    return Reshaped(entry_.Add(Opcode::kConcatenate, Shape(a.shape().type(), joined_blocks),
                               {&Reshaped(a, blocks), &Reshaped(b, blocks)}, OneDimensionAttrs{d + 1}),
                    joined);
  }

  // Contracts dimension `left` with `right`. Each part is a sum or difference of two dots, computed as one dot with
  // twice the terms, because kernels add the terms of both in any order. It may round although both dots are exact.
  void Contracted(int64_t left, int64_t right, int64_t groups, const Attributes& attributes) {
    Instruction& lhs = Joined(*real_[0], *imaginary_[0], left, groups);
    Instruction& minus = entry_.Add(Opcode::kNegate, imaginary_[1]->shape(), {imaginary_[1]});
    const auto contracted = [&](Instruction& rhs) -> Instruction& {
      return entry_.Add(inst_.opcode(), part_, {&lhs, &rhs}, attributes);
    };
    Instruction &real = contracted(Joined(*real_[1], minus, right, 1)),
                &imaginary = contracted(Joined(*imaginary_[1], *real_[1], right, 1));
    of_.contractions = {&real, &imaginary};
    SetParts(real, imaginary);
  }

  void ContractDot() {
    DotAttrs attrs = inst_.attrs<DotAttrs>();
    if (attrs.lhs_contracting.empty()) {
      for (const size_t operand : {0, 1}) {
        const Shape& shape = inst_.operand(operand).shape();
        Dims dims = shape.dims();
        (operand == 0 ? attrs.lhs_contracting : attrs.rhs_contracting).push_back(shape.rank());
        dims.push_back(1);
        real_[operand] = &Reshaped(*real_[operand], dims);
        imaginary_[operand] = &Reshaped(*imaginary_[operand], dims);
      }
    }
    Contracted(attrs.lhs_contracting[0], attrs.rhs_contracting[0], 1, attrs);
  }

  void ContractConvolution() {
    const auto& attrs = inst_.attrs<ConvolutionAttrs>();
    Contracted(attrs.dim_labels.lhs_feature, attrs.dim_labels.rhs_input_feature, attrs.feature_group_count, attrs);
  }

  // Parts of a sum are sums of the parts. This also holds for a scatter that adds or assigns.
  template <class Attrs>
  bool Summed(int64_t operands) {
    Attrs attrs = inst_.attrs<Attrs>();
    if (inst_.operand_count() != operands) return false;
    const Combiner combiner = CombinerOf(*attrs.to_apply);
    const bool assigns = combiner == Combiner::kAssign && inst_.Is(Opcode::kScatter);
    if (combiner != Combiner::kAdd && !assigns) return false;
    Computation& combine = of_.module.AddComputation("combine");
    const Shape scalar(part_.type(), {});
    Instruction &a = combine.AddParameter(0, scalar), &b = combine.AddParameter(1, scalar);
    combine.SetRoot(assigns ? b : combine.Add(Opcode::kAdd, scalar, {&a, &b}));
    attrs.to_apply = &combine;
    SetParts(entry_.Add(inst_.opcode(), part_, real_, attrs),
             entry_.Add(inst_.opcode(), part_, ImaginaryOperands(), attrs));
    return true;
  }

  ComplexParts Operand(size_t i) const { return {real_[i], imaginary_[i]}; }

  bool Compare() {
    const bool equal = inst_.attrs<CompareAttrs>().direction == ComparisonDirection::kEq;
    Instruction &real = Same({real_[0], real_[1]}), &imaginary = Same({imaginary_[0], imaginary_[1]});
    of_.root = &Add(equal ? Opcode::kAnd : Opcode::kOr, &real, &imaginary);
    return true;
  }

  // Compares real parts, then imaginary parts. A number with a NaN is returned, the left one first.
  void Extreme() {
    const ComplexParts x = Operand(0), y = Operand(1);
    const Shape pred = part_.WithType(PrimitiveType::kPred);
    const auto compare = [&](Instruction* a, Instruction* b, ComparisonDirection direction) {
      return &entry_.Add(Opcode::kCompare, pred, {a, b}, CompareAttrs{.direction = direction});
    };
    const auto both = [&](Opcode opcode, Instruction* a, Instruction* b) { return &entry_.Add(opcode, pred, {a, b}); };
    const auto is_nan = [&](ComplexParts z) {
      return both(Opcode::kOr, compare(z.real, z.real, ComparisonDirection::kNe),
                  compare(z.imaginary, z.imaginary, ComparisonDirection::kNe));
    };
    const auto beats = inst_.Is(Opcode::kMaximum) ? ComparisonDirection::kGt : ComparisonDirection::kLt;
    Instruction* const same_real = compare(x.real, y.real, ComparisonDirection::kEq);
    Instruction* const same =
        both(Opcode::kAnd, same_real, compare(x.imaginary, y.imaginary, ComparisonDirection::kEq));
    Instruction* const x_beats = both(Opcode::kOr, compare(x.real, y.real, beats),
                                      both(Opcode::kAnd, same_real, compare(x.imaginary, y.imaginary, beats)));
    Instruction* const y_is_number = &entry_.Add(Opcode::kNot, pred, {is_nan(y)});
    Instruction* const takes_x = both(Opcode::kOr, is_nan(x), both(Opcode::kAnd, x_beats, y_is_number));
    const auto part = [&](Instruction* a, Instruction* b) -> Instruction& {
      Instruction& other = entry_.Add(Opcode::kSelect, part_, {same, &Same({a, b}), b});
      return entry_.Add(Opcode::kSelect, part_, {takes_x, a, &other});
    };
    SetParts(part(x.real, y.real), part(x.imaginary, y.imaginary));
  }

  bool Convert() {
    if (complex_ && imaginary_[0] != nullptr) {
      EachPart();
    } else if (complex_) {
      Instruction& zero = entry_.AddConstant(Literal(Shape(part_.type(), {})));
      SetParts(Same(real_), entry_.Add(Opcode::kBroadcast, part_, {&zero}, DimensionsAttrs{}));
    } else if (hlo::IsFloat(part_.type())) {
      of_.root = &Same(real_);
    }
    return of_.root != nullptr;
  }

  PartsOfInstruction& of_;
  const Instruction& inst_ = of_.inst;
  Computation& entry_ = of_.entry;
  const Shape& part_ = of_.part;
  const bool complex_ = IsComplexArray(inst_.shape());
  // `imaginary_` is null for operands that are not complex.
  std::vector<Instruction*> real_, imaginary_;
};

}  // namespace

PartsOfInstruction::PartsOfInstruction(const Instruction& of)
    : inst(of),
      entry(module.AddComputation("entry")),
      part(IsComplexArray(of.shape()) ? of.shape().WithType(PartOf(of.shape().type())) : of.shape()) {
  module.SetEntry(entry);
  if (PartsBuilder(*this).Build() && root != nullptr) entry.SetRoot(*root);
}

Result<ShadowValue> PartsOfInstruction::Evaluate(Context& context, bool widened, Operands operands,
                                                 const WantedResults* wanted) const {
  std::vector<ShadowValue> split;
  for (const ShadowValue* operand : operands) split.push_back(SplitComplex(*operand));
  std::vector<const ShadowValue*> args;
  for (const ShadowValue& operand : split) {
    if (!IsComplexArray(operand.shape)) args.push_back(&operand);
    else
      for (const ShadowValue& each : operand.elements) args.push_back(&each);
  }
  PrecisionPlan plan = {.ftz = context.ftz()};
  if (context.options.plan != nullptr) plan.contract = context.options.plan->contract;
  std::unordered_map<const Instruction*, WantedResults> wanted_parts;
  for (const Instruction* product : contractions) {
    plan.instructions[product->id()].sum = SumPlan{.accumulator = part.type(), .longest_chain = 2 * TermsOfPart(inst)};
    if (wanted != nullptr) wanted_parts[product] = *wanted;
  }
  const ShadowOptions options = {.plan = widened ? nullptr : &plan,
                                 .widened = widened,
                                 .max_loop_iterations = context.options.max_loop_iterations,
                                 .wanted = wanted == nullptr ? nullptr : &wanted_parts};
  // In declared types, parts are not outputs (`top`), because an overflow also affects their users.
  Context inner = {.options = options, .top = widened ? &entry : nullptr, .depth = context.depth};
  ShadowValue result = TRY(Run(inner, entry, args));
  result.shape = inst.shape();
  return result;
}

}  // namespace hlo::shadow
