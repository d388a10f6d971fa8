#include "gpu/plan/scalar.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "ir/component_type.h"
#include "ir/module.h"

namespace hlo::gpu {

using kernel::Type;

Type KernelTypeOf(PrimitiveType type) {
  switch (type) {
#define HLO_KERNEL_TYPE(Name, text, bits) \
  case PrimitiveType::k##Name: return Type::k##Name;
#include "gpu/kernel/types.def"
    case PrimitiveType::kC64: return Type::kF32;
    case PrimitiveType::kC128: return Type::kF64;
    default: CHECK(false, "no kernel type for ", type);
  }
  __builtin_unreachable();
}

Result<Type> KernelType(const Instruction& inst, PrimitiveType type) {
  if (IsArrayType(type)) return KernelTypeOf(type);
  if (type == PrimitiveType::kTuple) FAIL(UnsupportedAt(inst, "U102", Str("no emitter for '", inst.opcode(), "'")));
  FAIL(UnsupportedAt(inst, "U101", Str("no kernels for element type ", type, " ('", inst.name(), "')")));
}

int ComponentCount(const Shape& shape) {
  int parts = 0;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { parts += ComponentCount(leaf.type()); });
  return parts;
}

bool IsOfComplex(const Instruction& inst) {
  return IsComplex(inst.shape().type()) || std::ranges::any_of(inst.operands(), [](const Instruction* operand) {
           return IsComplex(operand->shape().type());
         });
}

Status CheckOneFloatType(const Instruction& inst) {
  if (inst.Is(Opcode::kConvert) || inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kBitcastConvert)) return {};
  if (inst.Is(Opcode::kDot) || inst.Is(Opcode::kConvolution)) return {};  // They convert their operands.
  // Types are compared by array, because the arrays of a fold, sort or map may differ.
  const bool folds = inst.Is(Opcode::kReduce) || inst.Is(Opcode::kReduceWindow) || inst.Is(Opcode::kScan);
  const bool sorts = inst.Is(Opcode::kSort), maps = inst.Is(Opcode::kMap);
  const int64_t arrays = folds ? inst.operand_count() / 2 : sorts || maps ? inst.operand_count() : 1;
  std::vector<std::optional<PrimitiveType>> types(arrays);
  bool one = true;
  const auto add = [&](int64_t place, const Shape& shape) {
    const PrimitiveType of = ComponentType(shape.type());
    if (!IsFloat(of)) return;
    std::optional<PrimitiveType>& type = types[place % arrays];
    one = one && type.value_or(of) == of;
    type = of;
  };
  for (int64_t i = 0; i < inst.operand_count(); ++i) add(i, inst.operand(i).shape());
  for (const Computation* computation : CalledComputations(inst)) {
    for (const Instruction* parameter : computation->parameters())
      add(parameter->parameter_number() / (sorts ? 2 : 1), parameter->shape());
  }
  if (!maps)
    ForEachLeaf(inst.shape(), [&](const ShapeIndex& at, const Shape& leaf) { add(at.empty() ? 0 : at[0], leaf); });
  if (one) return {};
  FAIL(UnsupportedAt(
      inst, "U101",
      Str("no kernels for '", inst.opcode(), "' of different float types; XLA does not compile it either")));
}

namespace {

bool IsOrder(const Instruction& inst) {
  if (!inst.Is(Opcode::kCompare)) return false;
  const ComparisonDirection direction = inst.attrs<CompareAttrs>().direction;
  return direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe;
}

}  // namespace

Status CheckScalar(const Instruction& inst) {
  TRY(CheckOneFloatType(inst));
  TRY(KernelType(inst, inst.shape().type()));
  for (const Instruction* operand : inst.operands()) TRY(KernelType(*operand, operand->shape().type()));
  const bool complex = IsOfComplex(inst) || inst.Is(Opcode::kComplex);
  if (complex && inst.Is(kElementwise) && std::ranges::find(kComplexOps, inst.opcode()) == std::end(kComplexOps))
    FAIL(UnsupportedAt(inst, "U102", Str("no emitter for '", ToString(inst.opcode()), "' of complex numbers")));
  if (complex && IsOrder(inst)) FAIL(UnsupportedAt(inst, "U102", "no emitter for comparing complex numbers by size"));
  if (!IsScalarOp(inst.opcode(), inst.Is(kElementwise)) && !inst.Is(Opcode::kComplex)) {
    FAIL(UnsupportedAt(inst, "U102", Str("no emitter for '", ToString(inst.opcode()), "'")));
  }
  if (inst.Is(Opcode::kStochasticConvert) && !IsSigned(inst.shape().type()))
    FAIL(UnsupportedAt(inst, "U102", Str("no emitter for 'stochastic-convert' to ", inst.shape().type())));
  // XLA's verifier accepts floats in ops without a meaning for them (V301).
  const bool integers_only = inst.Is(Opcode::kShiftLeft) || inst.Is(Opcode::kShiftRightArithmetic) ||
                             inst.Is(Opcode::kShiftRightLogical) || inst.Is(Opcode::kMulhi);
  if (integers_only && !IsInteger(inst.shape().type())) {
    FAIL(UnsupportedAt(inst, "U102", Str("no emitter for '", ToString(inst.opcode()), "' of ", inst.shape().type())));
  }
  return {};
}

namespace {

Status CheckPart(const Instruction& inst) {
  if (inst.Is(Opcode::kTuple)) return {};
  if (inst.Is(Opcode::kCall) || inst.Is(Opcode::kFusion)) {
    for (const Computation* called : CalledComputations(inst)) TRY(CheckScalarComputation(*called));
    return {};
  }
  const bool converts = inst.Is(Opcode::kBitcastConvert) || inst.Is(Opcode::kBitcast);
  if (!converts && !inst.Is(Opcode::kParameter) && !inst.Is(Opcode::kConstant)) return CheckScalar(inst);
  const bool same = converts && inst.shape().type() == inst.operand(0).shape().type();
  if (converts && !same && (inst.shape().type() == PrimitiveType::kPred || IsOfComplex(inst)))
    FAIL(UnsupportedAt(inst, "U102", Str("no emitter for '", inst.opcode(), "' to ", inst.shape().type())));
  TRY(KernelType(inst, inst.shape().type()));
  return {};
}

}  // namespace

Status CheckScalarComputation(const Computation& computation) {
  for (const Instruction* inst : computation.PostOrder()) {
    TRY(CheckPart(*inst));
    if (!inst->Is(Opcode::kTuple) && !inst->shape().IsScalar()) {
      FAIL(UnsupportedAt(*inst, "U103",
                         Str("no emitter for '", inst->name(), "' of shape ", inst->shape(),
                             " inside the scalar computation '", computation.name(), "'")));
    }
  }
  return {};
}

std::optional<SimpleReducer> AsSimpleReducer(const Computation& computation) {
  const Instruction& root = computation.root();
  if (root.operand_count() != 2 || computation.parameters().size() != 2) return std::nullopt;
  const Instruction *a = &root.operand(0), *b = &root.operand(1);
  if (!a->Is(Opcode::kParameter) || !b->Is(Opcode::kParameter) || a == b) return std::nullopt;
  if (a->parameter_number() == 1 && !root.Is(kCommutative)) return std::nullopt;
  return SimpleReducer{root.opcode(), &root};
}

Type AccumulatorType(const Instruction& fold, kernel::Type type) {
  if (!kernel::IsSmallFloat(type)) return type;
  if (fold.Is(Opcode::kDot) || fold.Is(Opcode::kConvolution)) return kernel::Type::kF32;
  const Computation& reducer =
      fold.Is(Opcode::kReduce) ? *fold.attrs<ReduceAttrs>().to_apply : *fold.attrs<ReduceWindowAttrs>().to_apply;
  const auto simple = AsSimpleReducer(reducer);
  if (!simple) return type;
  const bool compares = simple->opcode == Opcode::kMaximum || simple->opcode == Opcode::kMinimum;
  return simple->opcode == Opcode::kAdd || compares ? Type::kF32 : type;
}

}  // namespace hlo::gpu
