// Complex numbers in one of two modules that are compared (`widened`): two floats each, its parts, with bounds of their
// own. What an operation does with complex numbers is a computation on their parts, and has the bounds of that; so a
// product's are those of two products and a sum. Division, functions and decompositions have no rule: the interpreter
// computes them, and what both modules make of the same is equal.
//
// Such a value has the two parts as `elements`, though its shape is an array's. A literal of complex numbers has none,
// and is exact; Parted makes one of the other.
#include <cstring>

#include "interp/shadow/rules.h"
#include "ir/markers.h"

namespace hlo::shadow {
namespace {

bool IsComplexArray(const Shape& shape) { return shape.IsArray() && IsComplex(shape.type()); }
PrimitiveType PartOf(PrimitiveType type) {
  return type == PrimitiveType::kC64 ? PrimitiveType::kF32 : PrimitiveType::kF64;
}

// Hands values on as they are, or to computations that compute.
bool IsStructural(const Instruction& inst) {
  if (inst.Is(Opcode::kCopy)) return inst.shape().type() == inst.operand(0).shape().type();
  if (inst.Is(Opcode::kCustomCall)) return IsIdentityMarker(inst);
  return inst.Is(kHandsOn) || inst.Is(kControl) || inst.Is(Opcode::kFusion) || inst.Is(Opcode::kMap) ||
         inst.Is(Opcode::kConstant) || inst.Is(Opcode::kParameter);
}

// An instruction on the parts of its operands: a module whose parameters are these, and whose root is the result or the
// tuple of its parts.
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

  Result<ShadowValue> operator()(Context& context, Operands operands) const {
    std::vector<ShadowValue> parted;
    for (const ShadowValue* operand : operands) parted.push_back(Parted(*operand));
    std::vector<const ShadowValue*> args;
    for (const ShadowValue& operand : parted) {
      if (!IsComplexArray(operand.shape)) args.push_back(&operand);
      else
        for (const ShadowValue& part : operand.elements) args.push_back(&part);
    }
    const ShadowOptions options = {.widened = true, .max_loop_iterations = context.options.max_loop_iterations};
    Context inner = {.options = options, .top = &entry_, .depth = context.depth};
    ShadowValue result = TRY(Run(inner, entry_, args));
    result.shape = inst_.shape();
    return result;
  }

 private:
  Instruction& Add(Opcode opcode, Instruction* a, Instruction* b) { return entry_.Add(opcode, part_, {a, b}); }

  // The same operation on parts.
  Instruction& Same(const std::vector<Instruction*>& operands) { return entry_.AddClone(inst_, part_, operands); }

  void SetParts(Instruction& real, Instruction& imaginary) {
    root_ = &entry_.Add(Opcode::kTuple, Shape::Tuple({real.shape(), imaginary.shape()}), {&real, &imaginary});
  }

  // Of operations that do to each part what they do to a float. Operands that are not complex are indices and
  // predicates.
  void EachPart() {
    std::vector<Instruction*> imaginary = imaginary_;
    for (size_t i = 0; i < imaginary.size(); ++i) imaginary[i] = imaginary[i] == nullptr ? real_[i] : imaginary[i];
    SetParts(Same(real_), Same(imaginary));
  }

  // (a + bi)(c + di) = (ac - bd) + (ad + bc)i, where a product may be a contraction.
  template <class Product>
  void Multiplied(const Product& product) {
    Instruction &ac = product(real_[0], real_[1]), &bd = product(imaginary_[0], imaginary_[1]);
    Instruction &ad = product(real_[0], imaginary_[1]), &bc = product(imaginary_[0], real_[1]);
    SetParts(Add(Opcode::kSubtract, &ac, &bd), Add(Opcode::kAdd, &ad, &bc));
  }

  // A sum's parts are the sums of the parts.
  template <class Attrs>
  bool Summed() {
    Attrs attrs = inst_.attrs<Attrs>();
    if (inst_.operand_count() != 2 || CombinerOf(*attrs.to_apply) != Combiner::kAdd) return false;
    Computation& sum = module_.AddComputation("sum");
    const Shape scalar(part_.type(), {});
    Instruction &a = sum.AddParameter(0, scalar), &b = sum.AddParameter(1, scalar);
    sum.SetRoot(sum.Add(Opcode::kAdd, scalar, {&a, &b}));
    attrs.to_apply = &sum;
    SetParts(entry_.Add(inst_.opcode(), part_, {real_[0], real_[1]}, attrs),
             entry_.Add(inst_.opcode(), part_, {imaginary_[0], imaginary_[1]}, attrs));
    return true;
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
      case Opcode::kMultiply:
        Multiplied([this](Instruction* a, Instruction* b) -> Instruction& { return Add(Opcode::kMultiply, a, b); });
        return true;
      case Opcode::kDot:
      case Opcode::kConvolution:
        if (inst_.operand_count() != 2 || !complex_ || !both()) return false;
        Multiplied([this](Instruction* a, Instruction* b) -> Instruction& { return Same({a, b}); });
        return true;
      case Opcode::kReduce: return complex_ && Summed<ReduceAttrs>();
      case Opcode::kReduceWindow: return complex_ && Summed<ReduceWindowAttrs>();
      case Opcode::kReal: root_ = real_[0]; return true;
      case Opcode::kImag: root_ = imaginary_[0]; return true;
      case Opcode::kComplex: SetParts(*real_[0], *real_[1]); return true;
      case Opcode::kConvert: return Convert();
      default: break;
    }
    if (!IsMovement(inst_) || !complex_) return false;
    EachPart();
    return true;
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
  std::vector<Instruction*> real_, imaginary_;  // By operand; of one that is not complex it is `real`, and null.
  bool complex_;
  Shape part_;  // Of a part of the result.
  Instruction* root_ = nullptr;
};

}  // namespace

ShadowValue Parted(const ShadowValue& x) {
  if (!IsComplexArray(x.shape) || !x.elements.empty()) return x;
  ShadowValue parted;
  parted.shape = x.shape;
  const int64_t count = x.shape.NumElements();
  const int64_t width = ByteWidth(x.shape.type()) / 2;
  for (const int64_t part : {0, 1}) {
    Literal literal(x.shape.WithType(PartOf(x.shape.type())));
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(literal.mutable_raw() + i * width, x.exact.raw() + (2 * i + part) * width, width);
    ShadowValue& value = parted.elements.emplace_back(ToShadow(literal));
    if (!AnyOpen(x)) continue;
    value.bound = Zeros(value.shape);
    auto bound = value.bound.mutable_data<double>();
    const auto open = x.open.data<uint8_t>();
    for (size_t i = 0; i < bound.size(); ++i) {
      if (open[i] != 0) bound[i] = (open[i] & kLost) != 0 ? kUndetermined : kUndeterminedButComputed;
    }
  }
  return parted;
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

Result<ShadowValue> OfComplex(Context& context, const Instruction& inst, Operands operands) {
  const bool tuples = !inst.shape().IsArray() || std::ranges::any_of(inst.operands(), [](const Instruction* operand) {
    return !operand->shape().IsArray();
  });
  if (!tuples) {
    const OnParts on_parts(inst);
    if (on_parts.HasRule()) return on_parts(context, operands);
  }
  return Interpreted(context, inst, operands);
}

}  // namespace hlo::shadow
