#include "gpu/plan/fill.h"

#include "ir/module.h"

namespace hlo::gpu {

const Instruction* FilledWith(const Instruction& inst) {
  const Instruction* root = &inst;
  if (inst.Is(Opcode::kFusion)) {
    if (inst.operand_count() != 0) return nullptr;
    root = &inst.attrs<FusionAttrs>().calls->root();
  }
  if (!root->Is(Opcode::kBroadcast) || !root->operand(0).Is(Opcode::kConstant)) return nullptr;
  const Instruction& constant = root->operand(0);
  if (!constant.shape().IsScalar() || ByteWidth(constant.shape().type()) > 8) return nullptr;
  return &constant;
}

}  // namespace hlo::gpu
