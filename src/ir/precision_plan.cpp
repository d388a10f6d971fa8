#include "ir/precision_plan.h"

#include "base/text.h"
#include "ir/module.h"

namespace hlo {
namespace {

PrimitiveType ComputeType(PrimitiveType type) {
  return IsFloat(type) && BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
}

// In f32. What our kernels do is held to it (tests/kernel_math_test.cpp); of tanh, erf and logistic it is their worst,
// over all f32 (1.42, 1.03 and 2.41), and half an ulp on top, rounded up to halves: only kernels are judged by it,
// never what XLA made.
double UlpsOfF32(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kDivide:
    case Opcode::kSqrt:
    case Opcode::kConvert: return 0.5;
    case Opcode::kRemainder: return 0;  // Exact by nature.
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kCbrt: return 1.5;
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kExp2:
    case Opcode::kLog2:
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kAsin:
    case Opcode::kAcos:
    case Opcode::kTanh:
    case Opcode::kErf: return 2;
    case Opcode::kAsinh: return 2.5;
    case Opcode::kLogistic:
    case Opcode::kAtan2:
    case Opcode::kSinh:
    case Opcode::kCosh:
    case Opcode::kAcosh: return 3;
    case Opcode::kTan:
    case Opcode::kAtanh:
    case Opcode::kPower: return 4;
    default: return 0;
  }
}

std::string ToString(const SumPlan& sum) {
  std::string text = Str("acc ", sum.accumulator, sum.rounding == SumRounding::kNearest ? " nearest" : " truncate");
  text += sum.longest_chain == 0 ? ", any order" : Str(", chain ", sum.longest_chain);
  if (sum.promote_every != 0) text += Str(", into ", sum.promoted, " every ", sum.promote_every);
  if (sum.operand_bits != 0) text += Str(", operands of ", sum.operand_bits, " bits");
  return text;
}

}  // namespace

SumPlan DefaultSum(Opcode opcode, PrimitiveType type) {
  const bool contraction = opcode == Opcode::kDot || opcode == Opcode::kConvolution;
  return {.accumulator = contraction ? ComputeType(type) : type};
}

double DefaultUlps(Opcode opcode, PrimitiveType type) {
  const double ulps = UlpsOfF32(opcode);
  return type == PrimitiveType::kF64 && ulps > 0.5 ? ulps + 1 : ulps;
}

std::string ToString(const PrecisionPlan& plan, const Computation& computation) {
  std::string text =
      Str("  fma ", plan.contract ? "allowed" : "not allowed", ", subnormals ", plan.ftz ? "flushed" : "kept", "\n");
  for (const Instruction* inst : computation.instructions()) {
    const InstructionPlan* promise = plan.Find(inst->id());
    if (promise == nullptr) continue;
    std::vector<std::string> parts;
    if (promise->hold) parts.push_back(Str("hold ", *promise->hold));
    if (promise->sum) parts.push_back(ToString(*promise->sum));
    if (promise->ulps) parts.push_back(Str(*promise->ulps, " ulp"));
    if (!promise->variant.empty()) parts.push_back(Str("(", promise->variant, ")"));
    text += Str("  ", inst->name(), "  ", inst->opcode(), "  ", Join(parts, ", "), "\n");
  }
  return text;
}

}  // namespace hlo
