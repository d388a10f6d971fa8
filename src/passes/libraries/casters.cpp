// operand_upcaster and result_caster: convert operands or results of dots and convolutions of mixed types.
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/libraries/dot_dimensions.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

bool Holds(PrimitiveType wide, PrimitiveType narrow) {
  return wide == narrow || (ClassOf(wide) == ClassOf(narrow) && BitWidth(wide) > BitWidth(narrow));
}

// The wider operand type, or nullopt if neither represents all values of the other.
std::optional<PrimitiveType> TypeOfOperands(const Instruction& inst) {
  if (inst.operand_count() != 2) return std::nullopt;
  const PrimitiveType lhs = inst.operand(0).shape().type(), rhs = inst.operand(1).shape().type();
  if (Holds(lhs, rhs)) return lhs;
  return Holds(rhs, lhs) ? std::optional(rhs) : std::nullopt;
}

bool HasOwnAlgorithm(const Instruction& inst) {
  const DotAlgorithm algorithm =
      inst.Is(Opcode::kDot) ? inst.attrs<DotAttrs>().algorithm : inst.attrs<ConvolutionAttrs>().algorithm;
  return algorithm != DotAlgorithm::kUnset;
}

// Matrix products stay, except on GPUs before Volta, because libraries sum in the wider type.
Result<Instruction*> UpcastOperands(Instruction& inst, const PassContext& context) {
  const DeviceDescription& device = *context.device;
  if (IsMatrixProduct(inst) && !(device.is_gpu && device.compute_capability < 70)) return nullptr;
  const auto given = TypeOfOperands(inst);
  const PrimitiveType type = inst.shape().type();
  if (!given || !Holds(type, *given) || HasOwnAlgorithm(inst)) return nullptr;
  std::vector<Instruction*> operands;
  for (Instruction* operand : inst.operands()) {
    const Shape& shape = operand->shape();
    operands.push_back(shape.type() == type ? operand : Step(inst, Opcode::kConvert, shape.WithType(type), {operand}));
  }
  if (operands[0] == &inst.operand(0) && operands[1] == &inst.operand(1)) return nullptr;
  return Replace(inst, inst.opcode(), operands, inst.attributes());
}

// XLA leaves matrix products to the library, but no library writes a narrower type than it reads. The rewrite rounds
// less, because a narrow product rounds its operands first (docs/ops.md). Convolutions of integers saturate, whereas a
// convert wraps.
Result<Instruction*> CastResult(Instruction& inst, const PassContext&) {
  const auto given = TypeOfOperands(inst);
  if (inst.Is(Opcode::kConvolution) && IsInteger(inst.shape().type())) return nullptr;
  if (!given || *given == inst.shape().type() || !Holds(*given, inst.shape().type()) || HasOwnAlgorithm(inst))
    return nullptr;
  Instruction* const product =
      Step(inst, inst.opcode(), inst.shape().WithType(*given), {&inst.operand(0), &inst.operand(1)}, inst.attributes());
  return Replace(inst, Opcode::kConvert, {product});
}

// clang-format off: tables.
constexpr Rule kOperands[] = {
    {"C.dot.1", {Opcode::kDot, Opcode::kConvolution}, UpcastOperands, Preserves::kExact, "dot(x, y) => dot(convert(x), convert(y)), where the result is wider"},
};
constexpr Rule kResults[] = {
    {"C.dot.2", {Opcode::kDot, Opcode::kConvolution}, CastResult, Preserves::kChangesPrecision, "dot(x, y) => convert(dot(x, y)), where the result is narrower"},
};
// clang-format on

}  // namespace

std::span<const Rule> OperandUpcasterRules() { return kOperands; }
std::span<const Rule> ResultCasterRules() { return kResults; }

Result<bool> UpcastProductOperands(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kOperands);
}
Result<bool> CastProductResults(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kResults);
}

}  // namespace hlo
