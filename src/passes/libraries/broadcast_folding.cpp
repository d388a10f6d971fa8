// cublas-gemm-broadcast-folding-rewriter: moves a broadcast over the whole batch into a library call, as a stride of 0.
#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "ir/module.h"
#include "passes/libraries/dot_dimensions.h"
#include "passes/libraries/library_call.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Whether `inst` repeats its operand along exactly the first `batch` dimensions.
bool RepeatsBatch(const Instruction& inst, int64_t batch) {
  if (!inst.Is(Opcode::kBroadcast) || batch == 0 || inst.operand(0).shape().rank() + batch != inst.shape().rank())
    return false;
  for (size_t i = 0; i < inst.dimensions().size(); ++i) {
    if (inst.dimensions()[i] != batch + static_cast<int64_t>(i)) return false;
  }
  return true;
}

Result<Instruction*> FoldBroadcast(Instruction& inst, const PassContext&) {
  if (LibraryOf(inst) != "gemm" || HasPlan(inst)) return nullptr;
  const Instruction* const product = ProductOf(inst);
  if (product == nullptr || product->operand_count() != 2 || !HasLeadingBatch(*product)) return nullptr;
  const auto batch = static_cast<int64_t>(product->attrs<DotAttrs>().lhs_batch.size());
  for (int64_t side = 0; side < 2; ++side) {
    const Instruction& parameter = product->operand(side);
    if (!parameter.Is(Opcode::kParameter) || parameter.UseCount() != 1) continue;
    const int64_t number = parameter.parameter_number();
    const Instruction& broadcast = inst.operand(number);
    if (!RepeatsBatch(broadcast, batch)) continue;
    const FusionAttrs& attrs = inst.attrs<FusionAttrs>();
    Computation& body = inst.module().CloneComputation(*attrs.calls, attrs.calls->name());
    Instruction& inner = body.parameter(number);
    Instruction& user = *inner.users().front();
    inner.SetShape(broadcast.operand(0).shape());
    Instruction& repeated = body.AddClone(broadcast, {&inner});
    for (int64_t i = 0; i < user.operand_count(); ++i) {
      if (&user.operand(i) == &inner) user.SetOperand(i, repeated);
    }
    std::vector<Instruction*> operands(inst.operands().begin(), inst.operands().end());
    operands[number] = &broadcast.operand(0);
    Instruction& folded = inst.computation().AddClone(inst, operands);
    folded.mutable_attrs<FusionAttrs>().calls = &body;
    return &folded;
  }
  return nullptr;
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"G.fusion.1", Opcode::kFusion, FoldBroadcast, Preserves::kExact, "gemm(x, broadcast(y)) => gemm(x, y), with the same y for the whole batch"},
};
// clang-format on

}  // namespace

std::span<const Rule> GemmBroadcastRules() { return kRules; }

Result<bool> FoldGemmBroadcasts(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
