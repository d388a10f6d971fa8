// Complex numbers as real and imaginary parts with separate bounds. A complex operation is a computation on the parts
// and has its bounds (docs/comparison.md#sums). Where a formula overflows, divides by 0 or is on a branch cut, the
// interpreter computes the element, so that two compared modules have equal values. It also computes other functions
// and decompositions.
//
// A computed complex array has the two parts as `elements`. A complex literal has no parts and is exact.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <optional>

#include "ir/markers.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {
namespace {

bool IsComplexArray(const Shape& shape) { return shape.IsArray() && IsComplex(shape.type()); }
PrimitiveType PartOf(PrimitiveType type) {
  return type == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64;
}

bool IsStructural(const Instruction& inst) {
  if (inst.Is(Opcode::kCopy)) return inst.shape().type() == inst.operand(0).shape().type();
  if (inst.Is(Opcode::kCustomCall)) return IsIdentityMarker(inst);
  return inst.Is(kHandsOn) || inst.Is(kControl) || inst.Is(Opcode::kFusion) || inst.Is(Opcode::kMap) ||
         inst.Is(Opcode::kConstant) || inst.Is(Opcode::kParameter);
}

// A complex instruction as a module on parts. The root is the result or a tuple of its parts.
class OnParts {
 public:
  explicit OnParts(const Instruction& inst) : inst_(inst), entry_(module_.AddComputation("entry")) {
    module_.SetEntry(entry_);
    for (const Instruction* operand : inst.operands()) {
      const Shape& shape = operand->shape();
      const bool complex = IsComplexArray(shape);
      const Shape part = complex ? shape.WithType(PartOf(shape.type())) : shape;
      real_.push_back(&entry_.AddParameter(parameters_++, part));
      imaginary_.push_back(complex ? &entry_.AddParameter(parameters_++, part) : nullptr);
    }
    complex_ = IsComplexArray(inst.shape());
    part_ = complex_ ? inst.shape().WithType(PartOf(inst.shape().type())) : inst.shape();
    if (Build() && root_ != nullptr) entry_.SetRoot(*root_);
  }

  bool HasRule() const { return root_ != nullptr; }
  bool IsFunction() const { return is_function_; }

  Result<ShadowValue> operator()(Context& context, bool widened, Operands operands,
                                 const WantedResults* wanted = nullptr) const {
    std::vector<ShadowValue> split;
    for (const ShadowValue* operand : operands) split.push_back(SplitComplex(*operand));
    std::vector<const ShadowValue*> args;
    for (const ShadowValue& operand : split) {
      if (!IsComplexArray(operand.shape)) args.push_back(&operand);
      else
        for (const ShadowValue& part : operand.elements) args.push_back(&part);
    }
    PrecisionPlan plan = {.ftz = context.ftz()};
    if (context.options.plan != nullptr) plan.contract = context.options.plan->contract;
    std::unordered_map<const Instruction*, WantedResults> wanted_parts;
    for (const Instruction* product : contractions_) {
      plan.instructions[product->id()].sum = SumPlan{.accumulator = part_.type(), .longest_chain = 2 * Terms()};
      if (wanted != nullptr) wanted_parts[product] = *wanted;
    }
    const ShadowOptions options = {.plan = widened ? nullptr : &plan,
                                   .widened = widened,
                                   .max_loop_iterations = context.options.max_loop_iterations,
                                   .wanted = wanted == nullptr ? nullptr : &wanted_parts};
    // In declared types, parts are not outputs (`top`), because an overflow also affects their users.
    Context inner = {.options = options, .top = widened ? &entry_ : nullptr, .depth = context.depth};
    ShadowValue result = TRY(Run(inner, entry_, args));
    result.shape = inst_.shape();
    return result;
  }

 private:
  Instruction& Add(Opcode opcode, Instruction* a, Instruction* b) { return entry_.Add(opcode, part_, {a, b}); }

  Instruction& Same(const std::vector<Instruction*>& operands) { return entry_.AddClone(inst_, part_, operands); }

  void SetParts(Instruction& real, Instruction& imaginary) {
    root_ = &entry_.Add(Opcode::kTuple, Shape::Tuple({real.shape(), imaginary.shape()}), {&real, &imaginary});
  }

  // The real part sums all ac and -bd in any order, so a product passes at most as many additions as both sums have
  // terms. The imaginary part is similar.
  int64_t Terms() const {
    int64_t terms = 1;
    const Shape &lhs = inst_.operand(0).shape(), &rhs = inst_.operand(1).shape();
    if (inst_.Is(Opcode::kDot)) {
      for (const int64_t d : inst_.attrs<DotAttrs>().lhs_contracting) terms *= lhs.dim(d);
      return terms;
    }
    return rhs.NumElements() /
           std::max<int64_t>(1, rhs.dim(inst_.attrs<ConvolutionAttrs>().dim_labels.rhs_output_feature));
  }

  // Operands that are not complex, such as indices, are the same for both parts.
  void EachPart() {
    std::vector<Instruction*> imaginary = imaginary_;
    for (size_t i = 0; i < imaginary.size(); ++i) imaginary[i] = imaginary[i] == nullptr ? real_[i] : imaginary[i];
    SetParts(Same(real_), Same(imaginary));
  }

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
    contractions_ = {&real, &imaginary};
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
    Computation& combine = module_.AddComputation("combine");
    const Shape scalar(part_.type(), {});
    Instruction &a = combine.AddParameter(0, scalar), &b = combine.AddParameter(1, scalar);
    combine.SetRoot(assigns ? b : combine.Add(Opcode::kAdd, scalar, {&a, &b}));
    attrs.to_apply = &combine;
    std::vector<Instruction*> imaginary = imaginary_;
    for (size_t i = 0; i < imaginary.size(); ++i) imaginary[i] = imaginary[i] == nullptr ? real_[i] : imaginary[i];
    SetParts(entry_.Add(inst_.opcode(), part_, real_, attrs), entry_.Add(inst_.opcode(), part_, imaginary, attrs));
    return true;
  }

  // ---- Functions ----
  // Notation: z = a + bi has modulus r = |z| and angle t in (-pi, pi].

  struct Number {
    Instruction *real, *imaginary;
  };
  Number Operand(size_t i) const { return {real_[i], imaginary_[i]}; }
  Instruction* Of(Opcode opcode, Instruction* a) { return &entry_.Add(opcode, part_, {a}); }
  Instruction* Plus(Instruction* a, Instruction* b) { return &Add(Opcode::kAdd, a, b); }
  Instruction* Minus(Instruction* a, Instruction* b) { return &Add(Opcode::kSubtract, a, b); }
  Instruction* Times(Instruction* a, Instruction* b) { return &Add(Opcode::kMultiply, a, b); }
  Instruction* Over(Instruction* a, Instruction* b) { return &Add(Opcode::kDivide, a, b); }
  // The constant is not rounded, because functions are evaluated `widened`, where conversions do nothing.
  Instruction* Everywhere(double x) {
    Instruction& wide = entry_.AddConstant(Literal::Scalar(PrimitiveType::kF64, x));
    Instruction& scalar = entry_.Add(Opcode::kConvert, Shape(part_.type(), {}), {&wide});
    return &entry_.Add(Opcode::kBroadcast, part_, {&scalar}, DimensionsAttrs{});
  }
  Instruction* SquareOfSize(Number z) { return Plus(Times(z.real, z.real), Times(z.imaginary, z.imaginary)); }
  Instruction* SizeOf(Number z) { return Of(Opcode::kSqrt, SquareOfSize(z)); }
  Instruction* AngleOf(Number z) { return &Add(Opcode::kAtan2, z.imaginary, z.real); }
  Number AtAngle(Instruction* size, Instruction* angle) {
    return {Times(size, Of(Opcode::kCos, angle)), Times(size, Of(Opcode::kSin, angle))};
  }

  Number Product(Number x, Number y) {
    return {Minus(Times(x.real, y.real), Times(x.imaginary, y.imaginary)),
            Plus(Times(x.real, y.imaginary), Times(x.imaginary, y.real))};
  }
  // x / y = x conj(y) / |y|^2. Adding 0 times the square makes the quotient NaN if the square overflows f64. The
  // interpreter then computes the element.
  Number Quotient(Number x, Number y) {
    const Number above = Product(x, {y.real, Of(Opcode::kNegate, y.imaginary)});
    Instruction* const square = SquareOfSize(y);
    Instruction* const below = Plus(square, Times(square, Everywhere(0)));
    return {Over(above.real, below), Over(above.imaginary, below)};
  }
  // z / |z|, or NaN on overflow as in Quotient.
  Number Sign(Number z) {
    Instruction* const size = SizeOf(z);
    Instruction* const below = Plus(size, Times(size, Everywhere(0)));
    return {Over(z.real, below), Over(z.imaginary, below)};
  }
  Number Exp(Number z) { return AtAngle(Of(Opcode::kExp, z.real), z.imaginary); }
  Number Log(Number z) { return {Of(Opcode::kLog, SizeOf(z)), AngleOf(z)}; }
  Number Sqrt(Number z) { return AtAngle(Of(Opcode::kSqrt, SizeOf(z)), Times(AngleOf(z), Everywhere(0.5))); }
  // Nothing cancels near 0 (interp/formulas.h).
  Number Expm1(Number z) {
    Instruction* const half = Of(Opcode::kSin, Times(z.imaginary, Everywhere(0.5)));
    return {Minus(Times(Of(Opcode::kExpm1, z.real), Of(Opcode::kCos, z.imaginary)),
                  Times(Everywhere(2), Times(half, half))),
            Times(Of(Opcode::kExp, z.real), Of(Opcode::kSin, z.imaginary))};
  }
  // log(1 + z): |1 + z|^2 = 1 + a (2 + a) + b^2.
  Number Log1p(Number z) {
    Instruction* const over_one = Plus(Times(z.real, Plus(Everywhere(2), z.real)), Times(z.imaginary, z.imaginary));
    return {Times(Everywhere(0.5), Of(Opcode::kLog1p, over_one)), AngleOf({Plus(Everywhere(1), z.real), z.imaginary})};
  }
  Number Sine(Number z) {
    return {Times(Of(Opcode::kSin, z.real), Of(Opcode::kCosh, z.imaginary)),
            Times(Of(Opcode::kCos, z.real), Of(Opcode::kSinh, z.imaginary))};
  }
  Number Cosine(Number z) {
    return {Times(Of(Opcode::kCos, z.real), Of(Opcode::kCosh, z.imaginary)),
            Of(Opcode::kNegate, Times(Of(Opcode::kSin, z.real), Of(Opcode::kSinh, z.imaginary)))};
  }
  Number HyperbolicCosine(Number z) {
    return {Times(Of(Opcode::kCosh, z.real), Of(Opcode::kCos, z.imaginary)),
            Times(Of(Opcode::kSinh, z.real), Of(Opcode::kSin, z.imaginary))};
  }
  Number HyperbolicSine(Number z) {
    return {Times(Of(Opcode::kSinh, z.real), Of(Opcode::kCos, z.imaginary)),
            Times(Of(Opcode::kCosh, z.real), Of(Opcode::kSin, z.imaginary))};
  }
  Number Tan(Number z) {
    Instruction *const a = Plus(z.real, z.real), *const b = Plus(z.imaginary, z.imaginary);
    Instruction* const below = Plus(Of(Opcode::kCos, a), Of(Opcode::kCosh, b));
    return {Over(Of(Opcode::kSin, a), below), Over(Of(Opcode::kSinh, b), below)};
  }
  Number Tanh(Number z) {
    Instruction *const a = Plus(z.real, z.real), *const b = Plus(z.imaginary, z.imaginary);
    Instruction* const below = Plus(Of(Opcode::kCosh, a), Of(Opcode::kCos, b));
    return {Over(Of(Opcode::kSinh, a), below), Over(Of(Opcode::kSin, b), below)};
  }
  Number One() { return {Everywhere(1), Everywhere(0)}; }
  Number Conjugate(Number z) { return {z.real, Of(Opcode::kNegate, z.imaginary)}; }
  Number Below(Number z) { return {Minus(Everywhere(1), z.real), Of(Opcode::kNegate, z.imaginary)}; }
  Number Above(Number z) { return {Plus(Everywhere(1), z.real), z.imaginary}; }
  Number Less(Number z) { return {Minus(z.real, Everywhere(1)), z.imaginary}; }
  // Kahan's formulas, which do not cancel (Branch cuts for complex elementary functions, 1987).
  Number Asin(Number z) {
    const Number a = Sqrt(Below(z)), b = Sqrt(Above(z));
    return {&Add(Opcode::kAtan2, z.real, Product(a, b).real), Of(Opcode::kAsinh, Product(Conjugate(a), b).imaginary)};
  }
  Number Acos(Number z) {
    const Number a = Sqrt(Below(z)), b = Sqrt(Above(z));
    Instruction* const half = &Add(Opcode::kAtan2, a.real, b.real);
    return {Plus(half, half), Of(Opcode::kAsinh, Product(Conjugate(b), a).imaginary)};
  }
  Number Acosh(Number z) {
    const Number a = Sqrt(Less(z)), b = Sqrt(Above(z));
    Instruction* const half = &Add(Opcode::kAtan2, a.imaginary, b.real);
    return {Of(Opcode::kAsinh, Product(Conjugate(a), b).real), Plus(half, half)};
  }
  // asinh z = -i asin(iz).
  Number Asinh(Number z) {
    const Number w = Asin({Of(Opcode::kNegate, z.imaginary), z.real});
    return {w.imaginary, Of(Opcode::kNegate, w.real)};
  }
  // atan2(y, x) = -i log((x + iy) / sqrt(x^2 + y^2)).
  Number Atan2(Number y, Number x) {
    const Number above = {Minus(x.real, y.imaginary), Plus(x.imaginary, y.real)};
    const Number xx = Product(x, x), yy = Product(y, y);
    const Number root = Sqrt({Plus(xx.real, yy.real), Plus(xx.imaginary, yy.imaginary)});
    const Number log = Log(Quotient(above, root));
    return {log.imaginary, Of(Opcode::kNegate, log.real)};
  }
  // atanh z = (log1p(4a / ((1 - a)^2 + b^2)) / 4, atan2(b, ((1 - a)(1 + a) - b^2) / 2) / 2). The real part uses |a|.
  // The angle's arguments are halved because 2b may overflow.
  Number Atanh(Number z) {
    Instruction* const a = Of(Opcode::kAbs, z.real);
    Instruction* const quotient = Over(Times(Everywhere(4), a), SquareOfSize(Below({a, z.imaginary})));
    Instruction* const right =
        Minus(Times(Minus(Everywhere(1), z.real), Plus(Everywhere(1), z.real)), Times(z.imaginary, z.imaginary));
    Instruction* const angle = &Add(Opcode::kAtan2, z.imaginary, Times(Everywhere(0.5), right));
    Instruction* const size = Times(Everywhere(0.25), Of(Opcode::kLog1p, quotient));
    return {Times(Of(Opcode::kSign, z.real), size), Times(Everywhere(0.5), angle)};
  }

  std::optional<Number> Function() {
    const Number z = Operand(0);
    switch (inst_.opcode()) {
      case Opcode::kDivide: return Quotient(z, Operand(1));
      case Opcode::kPower: return Exp(Product(Operand(1), Log(z)));
      case Opcode::kExp: return Exp(z);
      case Opcode::kExpm1: return Expm1(z);
      case Opcode::kLog: return Log(z);
      case Opcode::kLog1p: return Log1p(z);
      case Opcode::kSqrt: return Sqrt(z);
      case Opcode::kRsqrt: return Quotient(One(), Sqrt(z));
      case Opcode::kSin: return Sine(z);
      case Opcode::kCos: return Cosine(z);
      case Opcode::kTan: return Tan(z);
      case Opcode::kCosh: return HyperbolicCosine(z);
      case Opcode::kSinh: return HyperbolicSine(z);
      case Opcode::kTanh: return Tanh(z);
      case Opcode::kAsin: return Asin(z);
      case Opcode::kAcos: return Acos(z);
      case Opcode::kAsinh: return Asinh(z);
      case Opcode::kAcosh: return Acosh(z);
      case Opcode::kAtanh: return Atanh(z);
      case Opcode::kAtan2: return Atan2(z, Operand(1));
      case Opcode::kLog2: {
        const Number log = Log(z);
        return Number{Times(log.real, Everywhere(1 / std::numbers::ln2)),
                      Times(log.imaginary, Everywhere(1 / std::numbers::ln2))};
      }
      case Opcode::kExp2:
        return Exp({Times(z.real, Everywhere(std::numbers::ln2)), Times(z.imaginary, Everywhere(std::numbers::ln2))});
      case Opcode::kSign: return Sign(z);
      case Opcode::kLogistic: {
        const Number e = Exp({Of(Opcode::kNegate, z.real), Of(Opcode::kNegate, z.imaginary)});
        return Quotient(One(), {Plus(Everywhere(1), e.real), e.imaginary});
      }
      default: return std::nullopt;
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
      case Opcode::kReal: root_ = real_[0]; return true;
      case Opcode::kImag: root_ = imaginary_[0]; return true;
      case Opcode::kComplex: SetParts(*real_[0], *real_[1]); return true;
      case Opcode::kConvert: return Convert();
      case Opcode::kAbs: root_ = SizeOf(Operand(0)); return is_function_ = true;
      default: break;
    }
    if (complex_ && inst_.Is(kElementwise)) {
      const std::optional<Number> result = Function();
      if (!result) return false;
      SetParts(*result->real, *result->imaginary);
      return is_function_ = true;
    }
    if (!IsMovement(inst_) || !complex_) return false;
    EachPart();
    return true;
  }

  bool Compare() {
    const bool equal = inst_.attrs<CompareAttrs>().direction == ComparisonDirection::kEq;
    Instruction &real = Same({real_[0], real_[1]}), &imaginary = Same({imaginary_[0], imaginary_[1]});
    root_ = &Add(equal ? Opcode::kAnd : Opcode::kOr, &real, &imaginary);
    return true;
  }

  // Compares real parts, then imaginary parts. A number with a NaN is returned, the left one first.
  void Extreme() {
    const Number x = Operand(0), y = Operand(1);
    const Shape pred = part_.WithType(PrimitiveType::kPred);
    const auto compare = [&](Instruction* a, Instruction* b, ComparisonDirection direction) {
      return &entry_.Add(Opcode::kCompare, pred, {a, b}, CompareAttrs{.direction = direction});
    };
    const auto both = [&](Opcode opcode, Instruction* a, Instruction* b) { return &entry_.Add(opcode, pred, {a, b}); };
    const auto is_nan = [&](Number z) {
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
      root_ = &Same(real_);
    }
    return root_ != nullptr;
  }

  const Instruction& inst_;
  Module module_{"parts"};
  Computation& entry_;
  int64_t parameters_ = 0;
  // `imaginary_` is null for operands that are not complex.
  std::vector<Instruction*> real_, imaginary_;
  bool complex_;
  Shape part_;
  std::vector<const Instruction*> contractions_;
  Instruction* root_ = nullptr;
  bool is_function_ = false;
};

bool IsOfTuples(const Instruction& inst) {
  return !inst.shape().IsArray() ||
         std::ranges::any_of(inst.operands(), [](const Instruction* operand) { return !operand->shape().IsArray(); });
}

// A branch cut, where the sign of a zero decides: the points of an axis up to `below` or from `above`.
struct Cut {
  Opcode opcode;
  double below, above;
  bool is_imaginary = false;
};
constexpr Cut kCuts[] = {
    {Opcode::kLog, 0, kInfinity},   {Opcode::kLog2, 0, kInfinity},  {Opcode::kLog1p, -1, kInfinity},
    {Opcode::kSqrt, 0, kInfinity},  {Opcode::kRsqrt, 0, kInfinity}, {Opcode::kPower, 0, kInfinity},
    {Opcode::kAsin, -1, 1},         {Opcode::kAcos, -1, 1},         {Opcode::kAsinh, -1, 1, true},
    {Opcode::kAcosh, 1, kInfinity}, {Opcode::kAtanh, -1, 1},
};

std::span<ShadowValue> PartsOf(ShadowValue& value) {
  return value.elements.empty() ? std::span(&value, 1) : std::span(value.elements);
}
std::span<const ShadowValue> PartsOf(const ShadowValue& value) {
  return value.elements.empty() ? std::span(&value, 1) : std::span(value.elements);
}

Mask OfInfinite(const Instruction& inst, Operands operands) {
  Mask infinite(inst.shape().NumElements());
  for (const ShadowValue* operand : operands) {
    const ShadowValue split = SplitComplex(*operand);
    const bool is_scalar = split.shape.NumElements() == 1;
    for (const ShadowValue& part : PartsOf(split)) {
      for (size_t i = 0; i < infinite.size(); ++i) infinite[i] |= !std::isfinite(Values(part.value)[is_scalar ? 0 : i]);
    }
  }
  return infinite;
}

// Elements for which the formula does not hold: an operand or the result has an infinite or NaN part, a bound is
// infinite, or the operand is on a branch cut.
Mask OffFormula(const Instruction& inst, Operands operands, const ShadowValue& value) {
  Mask off = OfInfinite(inst, operands);
  for (const ShadowValue& part : PartsOf(value)) {
    const double* bound = BoundsOrNull(part.bound);
    for (size_t i = 0; i < off.size(); ++i)
      off[i] |= !std::isfinite(Values(part.value)[i]) || (bound != nullptr && !std::isfinite(bound[i]));
  }
  const auto cut = std::ranges::find(kCuts, inst.opcode(), &Cut::opcode);
  if (cut == std::end(kCuts)) return off;
  const ShadowValue base = SplitComplex(*operands[0]);
  const ShadowValue &along = base.elements[cut->is_imaginary], &across = base.elements[!cut->is_imaginary];
  const double* across_bound = BoundsOrNull(across.bound);
  const bool is_scalar = base.shape.NumElements() == 1;
  for (size_t i = 0; i < off.size(); ++i) {
    const size_t at = is_scalar ? 0 : i;
    const double x = Values(along.value)[at], most = across_bound == nullptr ? 0 : across_bound[at];
    off[i] |= std::fabs(Values(across.value)[at]) <= most && (x <= cut->below || x >= cut->above);
  }
  return off;
}

void Take(const Mask& which, const ShadowValue& from, ShadowValue& value) {
  for (size_t i = 0; i < value.elements.size(); ++i) Take(which, from.elements[i], value.elements[i]);
  if (!value.elements.empty()) return;
  if (!value.HasBound()) value.bound = Zeros(value.shape);
  value.likely = Literal();
  auto values = value.value.mutable_data<double>(), bounds = value.bound.mutable_data<double>();
  const double* bound = BoundsOrNull(from.bound);
  for (size_t i = 0; i < which.size(); ++i) {
    if (!which[i]) continue;
    values[i] = Values(from.value)[i];
    bounds[i] = bound == nullptr ? 0 : bound[i];
  }
}

// Error of a kernel's formula in f64: some tens of roundings of the result, and a multiple of the interval's error,
// which grows with the amplification of the function.
constexpr double kOwnFormula = 0x1p-46, kOfEnclosure = 8;

// Eight roundings of an exponent: of a logarithm, an angle, two products and their sum, with a function off by an ulp.
// The absolute error of the exponent is a relative error of the power.
constexpr double kOfExponent = 0x1p-50;

// `exact` is the interval for operands without bounds.
void RoundFunction(const ShadowValue& exact, bool ftz, ShadowValue& value) {
  std::vector<double> formula(value.shape.NumElements());
  for (const ShadowValue& part : PartsOf(exact)) {
    const double* bound = BoundsOrNull(part.bound);
    for (size_t i = 0; i < formula.size(); ++i)
      formula[i] += kOwnFormula * std::fabs(Values(part.value)[i]) + (bound == nullptr ? 0 : kOfEnclosure * bound[i]);
  }
  for (ShadowValue& part : PartsOf(value)) {
    const Rounding rounding = RoundingTo(part.shape.type(), ftz);
    if (!part.HasBound()) part.bound = Zeros(part.shape);
    part.likely = Literal();
    part.held = part.shape.type();
    auto bound = part.bound.mutable_data<double>();
    for (size_t i = 0; i < formula.size(); ++i) {
      const double before = bound[i] + formula[i], size = (std::fabs(Values(part.value)[i]) + before) * kUp;
      bound[i] = size >= rounding.overflow ? kUndetermined : (before + HalfUlp(rounding, size)) * kUp;
    }
  }
}

// For a power, at least |y log x|, the size of the exponent if the power is computed as exp(y log x). 0 for other
// functions.
std::vector<double> SizesOfExponents(const Instruction& inst, Operands operands) {
  std::vector<double> sizes(inst.shape().NumElements(), 0);
  if (!inst.Is(Opcode::kPower)) return sizes;
  const ShadowValue base = SplitComplex(*operands[0]), exponent = SplitComplex(*operands[1]);
  const auto number = [](const ShadowValue& z, size_t i) {
    const size_t at = z.shape.NumElements() == 1 ? 0 : i;
    return std::complex(Values(z.elements[0].value)[at], Values(z.elements[1].value)[at]);
  };
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double log = std::fabs(std::log(std::abs(number(base, i)))) + std::numbers::pi;
    if (std::isfinite(log)) sizes[i] = std::abs(number(exponent, i)) * log;
  }
  return sizes;
}

// The interpreter's value for exact operands whose formula gives no interval, rounded once from f64 like a kernel's.
// Infinite and NaN results are undetermined. So are powers and angles of such operands, except for powers that are 0: of
// these, only the signs of the zeros are.
Result<ShadowValue> Judged(Context& context, const Instruction& inst, Operands operands) {
  ShadowValue value = SplitComplex(TRY(ThroughInterpreter(context, inst, operands)));
  const bool is_free = inst.Is(Opcode::kPower) || inst.Is(Opcode::kAtan2);
  const Mask open = is_free ? OfInfinite(inst, operands) : Mask(inst.shape().NumElements());
  const std::vector<double> exponent = SizesOfExponents(inst, operands);
  std::vector<double> size(value.shape.NumElements());
  for (const ShadowValue& part : PartsOf(value)) {
    for (size_t i = 0; i < size.size(); ++i) size[i] += std::fabs(Values(part.value)[i]);
  }
  for (ShadowValue& part : PartsOf(value)) {
    const Rounding rounding = RoundingTo(part.shape.type(), context.ftz());
    part.bound = Zeros(part.shape);
    auto bound = part.bound.mutable_data<double>();
    for (size_t i = 0; i < size.size(); ++i) {
      bound[i] = (2 * HalfUlp(rounding, std::fabs(Values(part.value)[i])) +
                  (kOwnFormula + kOfExponent * exponent[i]) * size[i]) *
                 kUp;
      const bool vanishes = inst.Is(Opcode::kPower) && size[i] == 0;
      if ((open[i] && !vanishes) || !std::isfinite(size[i])) bound[i] = kUndetermined;
    }
  }
  return value;
}

}  // namespace

ShadowValue SplitComplex(const ShadowValue& x) {
  if (!IsComplexArray(x.shape) || !x.elements.empty()) return x;
  ShadowValue split;
  split.shape = x.shape;
  const int64_t count = x.shape.NumElements();
  const int64_t width = ByteWidth(x.shape.type()) / 2;
  for (const int64_t part : {0, 1}) {
    Literal literal(x.shape.WithType(PartOf(x.shape.type())));
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(literal.mutable_raw() + i * width, x.exact.raw() + (2 * i + part) * width, width);
    ShadowValue& value = split.elements.emplace_back(ToShadow(literal));
    if (!AnyOpen(x)) continue;
    value.bound = Zeros(value.shape);
    auto bound = value.bound.mutable_data<double>();
    const auto open = x.open.data<uint8_t>();
    for (size_t i = 0; i < bound.size(); ++i) {
      if (open[i] != 0) bound[i] = (open[i] & kLost) != 0 ? kUndetermined : kUndeterminedButComputed;
    }
  }
  return split;
}

Literal Interleaved(const Literal& real, const Literal& imaginary, const Shape& shape) {
  Literal whole = Literal::Uninitialized(shape);
  const int64_t width = ByteWidth(real.shape().type());
  std::byte* to = whole.mutable_raw();
  for (int64_t i = 0; i < real.shape().NumElements(); ++i) {
    std::memcpy(to + 2 * i * width, real.raw() + i * width, width);
    std::memcpy(to + (2 * i + 1) * width, imaginary.raw() + i * width, width);
  }
  return whole;
}

bool IsOfComplex(const Instruction& inst) {
  if (IsStructural(inst)) return false;
  bool complex = false;
  const auto look = [&](const ShapeIndex&, const Shape& leaf) { complex = complex || IsComplex(leaf.type()); };
  ForEachLeaf(inst.shape(), look);
  for (const Instruction* operand : inst.operands()) ForEachLeaf(operand->shape(), look);
  return complex;
}

bool HasComplexRule(const Instruction& inst) {
  if (inst.Is(kMoves) || inst.Is(kNoKernel) || inst.Is(Opcode::kIota) || IsMovement(inst)) return true;
  if (HasMatrixRule(inst)) return true;
  return !IsOfTuples(inst) && OnParts(inst).HasRule();
}

Result<ShadowValue> OfComplex(Context& context, const Instruction& inst, Operands operands) {
  if (IsOfTuples(inst)) return Interpreted(context, inst, operands);
  const OnParts on_parts(inst);
  if (on_parts.HasRule() && !on_parts.IsFunction()) return on_parts(context, true, operands);
  if (!on_parts.HasRule()) return Interpreted(context, inst, operands);
  ShadowValue value = TRY(on_parts(context, true, operands));
  const Mask off = OffFormula(inst, operands, value);
  if (std::ranges::find(off, 1) != off.end()) Take(off, SplitComplex(TRY(Interpreted(context, inst, operands))), value);
  return value;
}

Result<std::optional<ShadowValue>> OfComplexAsDeclared(Context& context, const Instruction& inst, Operands operands,
                                                       const WantedResults* wanted) {
  const bool computed =
      std::ranges::any_of(operands, [](const ShadowValue* operand) { return !operand->elements.empty(); });
  if (HasMatrixRule(inst)) return TRY(OfMatrices(context, inst, operands));
  // Nullopt: the interpreter moves exact values.
  if (!computed && (IsMovement(inst) || inst.Is(Opcode::kIota))) return std::optional<ShadowValue>();
  const auto unsupported = [&] {
    return UnsupportedAt(inst, "U041", Str("no error bounds for complex '", inst.opcode(), "'"));
  };
  if (IsOfTuples(inst)) {
    if (computed) FAIL(unsupported());
    return std::optional<ShadowValue>();
  }
  const OnParts on_parts(inst);
  if (!on_parts.HasRule()) FAIL(unsupported());
  if (!on_parts.IsFunction()) return TRY(on_parts(context, false, operands, wanted));
  ShadowValue value = TRY(on_parts(context, true, operands));
  std::vector<ShadowValue> exact;
  std::vector<const ShadowValue*> pointers;
  for (const ShadowValue* operand : operands) exact.push_back(DropBounds(*operand));
  for (const ShadowValue& operand : exact) pointers.push_back(&operand);
  const Mask off = OffFormula(inst, operands, value);
  RoundFunction(TRY(on_parts(context, true, pointers)), context.ftz(), value);
  if (std::ranges::find(off, 1) == off.end()) return value;
  Take(off, AllExact(operands) ? TRY(Judged(context, inst, operands)) : SplitComplex(Undetermined(value.shape)), value);
  return value;
}

}  // namespace hlo::shadow
