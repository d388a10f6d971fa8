#include "ir/verifier/module_layouts.h"

#include <algorithm>

#include "base/text.h"
#include "ir/module.h"
#include "ir/opcode_set.h"
#include "ir/verifier/verifier.h"

namespace hlo {
namespace {

bool IsRowMajor(const Shape& shape) {
  if (shape.IsTuple()) return std::ranges::all_of(shape.elements(), IsRowMajor);
  return !shape.IsArray() || shape.HasDefaultLayout();
}

bool MayHaveAnyLayout(const Instruction& inst) {
  constexpr OpcodeSet kAnyLayout = {
      Opcode::kParameter,       Opcode::kCopy,    Opcode::kFusion,   Opcode::kTuple,
      Opcode::kGetTupleElement, Opcode::kBitcast, Opcode::kConstant, Opcode::kElidedConstant};
  return kAnyLayout.Has(inst.opcode());
}

}  // namespace

Status CheckNormalLayouts(const Module& module, Verified* verified) {
  for (const Computation* computation : module.PostOrder()) {
    Verified::Known& known = verified->computations[computation->id()];
    if (known.is_normal) continue;
    for (const Instruction* inst : computation->instructions()) {
      if (IsRowMajor(inst->shape()) || MayHaveAnyLayout(*inst)) continue;
      FAIL(ErrorAt(*inst, "I012",
                   Str("'", inst->name(), "' computes ", inst->shape().ToStringWithLayout(),
                       " after layout assignment, expected ", inst->shape().WithDefaultLayout().ToStringWithLayout()),
                   ExitCode::kInternal));
    }
    known.is_normal = true;
  }
  return {};
}

}  // namespace hlo
