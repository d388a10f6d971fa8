#include "gpu/plan/scalar.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "ir/module.h"

namespace hlo::gpu {

using kernel::Type;

Type KernelTypeOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kPred: return Type::kPred;
    case PrimitiveType::kS8: return Type::kS8;
    case PrimitiveType::kS16: return Type::kS16;
    case PrimitiveType::kS32: return Type::kS32;
    case PrimitiveType::kS64: return Type::kS64;
    case PrimitiveType::kU8: return Type::kU8;
    case PrimitiveType::kU16: return Type::kU16;
    case PrimitiveType::kU32: return Type::kU32;
    case PrimitiveType::kU64: return Type::kU64;
    case PrimitiveType::kF16: return Type::kF16;
    case PrimitiveType::kBF16: return Type::kBF16;
    case PrimitiveType::kF32: return Type::kF32;
    case PrimitiveType::kF64: return Type::kF64;
    default: CHECK(false, "no kernel type for ", type);
  }
  __builtin_unreachable();
}

Result<Type> KernelType(const Instruction& inst, PrimitiveType type) {
  if (type <= PrimitiveType::kF64 && (BitWidth(type) >= 8 || type == PrimitiveType::kPred)) return KernelTypeOf(type);
  if (type == PrimitiveType::kTuple) FAIL(UnsupportedAt(inst, "U102", Str("no emitter for '", inst.opcode(), "'")));
  FAIL(UnsupportedAt(inst, "U101", Str("no kernels for element type ", type, " ('", inst.name(), "')")));
}

Status CheckOneFloatType(const Instruction& inst) {
  if (inst.Is(Opcode::kConvert) || inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kBitcastConvert)) return {};
  if (inst.Is(Opcode::kDot) || inst.Is(Opcode::kConvolution)) return {};  // They convert what they read.
  // What stands side by side in a fold or a map has a type of its own: arrays that may differ from each other.
  const bool by_array = inst.Is(Opcode::kReduce) || inst.Is(Opcode::kReduceWindow) || inst.Is(Opcode::kMap);
  const int64_t arrays = !by_array ? 1 : inst.Is(Opcode::kMap) ? inst.operand_count() : inst.operand_count() / 2;
  std::vector<std::optional<PrimitiveType>> types(arrays);
  bool one = true;
  const auto add = [&](int64_t place, const Shape& shape) {
    if (!IsFloat(shape.type())) return;
    std::optional<PrimitiveType>& type = types[place % arrays];
    one = one && type.value_or(shape.type()) == shape.type();
    type = shape.type();
  };
  for (int64_t i = 0; i < inst.operand_count(); ++i) add(i, inst.operand(i).shape());
  for (const Computation* computation : CalledComputations(inst)) {
    for (const Instruction* parameter : computation->parameters())
      add(parameter->parameter_number(), parameter->shape());
  }
  if (!by_array) add(0, inst.shape());
  if (one) return {};
  FAIL(UnsupportedAt(inst, "U101",
                     Str("no kernels for '", inst.opcode(), "' of different float types; XLA compiles none either")));
}

Status CheckScalar(const Instruction& inst) {
  TRY(CheckOneFloatType(inst));
  TRY(KernelType(inst, inst.shape().type()));
  for (const Instruction* operand : inst.operands()) TRY(KernelType(*operand, operand->shape().type()));
  if (!IsScalarOp(inst.opcode(), inst.Is(kElementwise))) {
    FAIL(UnsupportedAt(inst, "U102", Str("no emitter for '", ToString(inst.opcode()), "'")));
  }
  // XLA's verifier lets these pass with floats, which gives them no meaning (V301).
  const bool integers_only = inst.Is(Opcode::kShiftLeft) || inst.Is(Opcode::kShiftRightArithmetic) ||
                             inst.Is(Opcode::kShiftRightLogical) || inst.Is(Opcode::kMulhi);
  if (integers_only && !IsInteger(inst.shape().type())) {
    FAIL(UnsupportedAt(inst, "U102", Str("no emitter for '", ToString(inst.opcode()), "' of ", inst.shape().type())));
  }
  return {};
}

namespace {

// One instruction of a scalar computation, but for its shape.
Status CheckPart(const Instruction& inst) {
  if (inst.Is(Opcode::kTuple)) return {};
  if (inst.Is(Opcode::kCall) || inst.Is(Opcode::kFusion)) {
    for (const Computation* called : CalledComputations(inst)) TRY(CheckScalarComputation(*called));
    return {};
  }
  const bool converts = inst.Is(Opcode::kBitcastConvert);
  if (!converts && !inst.Is(Opcode::kParameter) && !inst.Is(Opcode::kConstant)) return CheckScalar(inst);
  if (converts && inst.shape().type() == PrimitiveType::kPred)
    FAIL(UnsupportedAt(inst, "U102", Str("no emitter for '", ToString(inst.opcode()), "' to pred")));
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
  return simple->opcode == Opcode::kAdd || (compares && type == Type::kF16) ? Type::kF32 : type;
}

}  // namespace hlo::gpu
