// Computes arithmetic, sums and products of bf16 in f32 and rounds each result once. Convolutions stay, because
// libraries support bf16 from Ampere on.
//
// A reduce rounds only its result, as our kernels and interpreter do. XLA's reducers round at each step.
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/opcode_set.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

constexpr PrimitiveType kNarrow = PrimitiveType::kBF16, kWide = PrimitiveType::kF32;

Instruction* Widened(Instruction& inst, Instruction& operand) {
  if (operand.shape().type() != kNarrow) return &operand;
  return Step(inst, Opcode::kConvert, operand.shape().WithType(kWide), {&operand});
}

Instruction* InWideType(Instruction& inst, Attributes attrs) {
  std::vector<Instruction*> operands;
  for (Instruction* operand : inst.operands()) operands.push_back(Widened(inst, *operand));
  if (inst.shape().type() != kNarrow) return Replace(inst, inst.opcode(), operands, std::move(attrs));
  Instruction* const wide = Step(inst, inst.opcode(), inst.shape().WithType(kWide), operands, std::move(attrs));
  return Replace(inst, Opcode::kConvert, {wide});
}

bool HasNarrow(const Instruction& inst) {
  if (inst.shape().type() == kNarrow) return true;
  for (const Instruction* operand : inst.operands()) {
    if (operand->shape().type() == kNarrow) return true;
  }
  return false;
}

Result<Instruction*> WidenElementwise(Instruction& inst, const PassContext&) {
  if (!HasNarrow(inst) || inst.Is(kChooses) || inst.Is(kMoves) || inst.Is(kHandsOn)) return nullptr;
  constexpr OpcodeSet kRoundAsTheySay = {Opcode::kConvert, Opcode::kBitcastConvert, Opcode::kCopy, Opcode::kCompare,
                                         Opcode::kReducePrecision};
  if (kRoundAsTheySay.Has(inst.opcode())) return nullptr;
  if (!CalledComputations(inst).empty()) return nullptr;
  return InWideType(inst, inst.attributes());
}

Result<Instruction*> WidenDot(Instruction& inst, const PassContext& context) {
  if (!context.Get<NormalizationOptions>().dots || !HasNarrow(inst) || inst.operand_count() != 2) return nullptr;
  if (inst.attrs<DotAttrs>().algorithm != DotAlgorithm::kUnset) return nullptr;
  return InWideType(inst, inst.attrs<DotAttrs>());
}

Result<Instruction*> WidenReduce(Instruction& inst, const PassContext&) {
  if (!IsPlainReduce(inst) || inst.shape().type() != kNarrow) return nullptr;
  ReduceAttrs attrs = inst.attrs<ReduceAttrs>();
  const auto op = ReducerOp(*attrs.to_apply);
  if (!op || (RowOf(*op).traits & kChooses) != 0) return nullptr;
  Computation& reducer = inst.module().AddComputation(attrs.to_apply->name());
  const Shape scalar = Shape::Scalar(kWide);
  Instruction& a = reducer.AddParameter(0, scalar);
  Instruction& b = reducer.AddParameter(1, scalar);
  reducer.SetRoot(reducer.Add(*op, scalar, {&a, &b}));
  attrs.to_apply = &reducer;
  return InWideType(inst, attrs);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"H.dot.1",    Opcode::kDot,    WidenDot,         Preserves::kChangesPrecision, "dot(x, y) => convert(dot(convert(x), convert(y)))"},
    {"H.reduce.1", Opcode::kReduce, WidenReduce,      Preserves::kChangesPrecision, "reduce(x) => convert(reduce(convert(x))), of bf16 in f32"},
    {"H.each.1",   kElementwise,    WidenElementwise, Preserves::kChangesPrecision, "f(x) => convert(f(convert(x))), elementwise f"},
};
// clang-format on

}  // namespace

std::span<const Rule> BFloat16Rules() { return kRules; }

Result<bool> NormalizeBFloat16(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
