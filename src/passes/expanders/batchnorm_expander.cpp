// batchnorm_expander: expands batch norms to their formulas (ir/batch_norm_expansion.h).
#include "ir/batch_norm_expansion.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {

Result<Instruction*> Expand(Instruction& inst, const PassContext&) { return ExpandBatchNorm(inst); }

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"B.bnt.1", Opcode::kBatchNormTraining,  Expand, Preserves::kReassociates, "batch-norm-training => mean, variance, (x - mean) * rsqrt(variance + epsilon) * scale + offset"},
    {"B.bni.1", Opcode::kBatchNormInference, Expand, Preserves::kReassociates, "batch-norm-inference => x * k + (offset - mean * k), k = scale * rsqrt(variance + epsilon)"},
    {"B.bng.1", Opcode::kBatchNormGrad,      Expand, Preserves::kReassociates, "batch-norm-grad => sums of dy and of dy * (x - mean)"},
};
// clang-format on

}  // namespace

std::span<const Rule> BatchNormRules() { return kRules; }

Result<bool> ExpandBatchNorms(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRules);
}

}  // namespace hlo
