// zero_sized_hlo_elimination: values without elements become constants. Runs before library calls are made, because
// libraries reject empty operands.
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/side_effects.h"
#include "passes/pass.h"

namespace hlo {

Result<bool> RemoveZeroSized(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    for (Instruction* inst : computation->PostOrder()) {
      if (!inst->shape().IsArray() || inst->shape().HasDynamicDims() || inst->shape().NumElements() != 0) continue;
      if (inst->Is(Opcode::kConstant) || inst->Is(Opcode::kParameter) || HasSideEffect(*inst) || inst->Is(kCollective))
        continue;
      if (inst->IsDead() || !context.ConsumeFuel()) continue;
      inst->ReplaceAllUses(computation->AddConstant(Literal(inst->shape())));
      changed = true;
    }
  }
  return changed;
}

}  // namespace hlo
