#include "ir/precision_plan.h"

#include "base/text.h"
#include "ir/module.h"

namespace hlo {
namespace {

PrimitiveType ComputeType(PrimitiveType type) {
  return IsFloat(type) && BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
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
  const double ulps = RowOf(opcode).ulps;
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
