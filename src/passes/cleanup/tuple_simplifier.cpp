// tuple-simplifier: removes tuples whose elements are extracted again, and tuples of all elements of another tuple.
#include "ir/module.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace hlo {
namespace {
namespace m = match;

Result<Instruction*> ElementOfTuple(Instruction& inst, const PassContext&) {
  Instruction* tuple;
  if (!m::GetTupleElement(m::Tuple(&tuple))(&inst)) return nullptr;
  return &tuple->operand(inst.tuple_index());
}

Result<Instruction*> TupleOfElements(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kTuple) || inst.operand_count() == 0) return nullptr;
  Instruction* whole = nullptr;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Instruction& element = inst.operand(i);
    if (!element.Is(Opcode::kGetTupleElement) || element.tuple_index() != i) return nullptr;
    if (whole != nullptr && whole != &element.operand(0)) return nullptr;
    whole = &element.operand(0);
  }
  return whole->shape() == inst.shape() ? whole : nullptr;
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"T.gte.1", Opcode::kGetTupleElement, ElementOfTuple,  Preserves::kExact, "get-tuple-element(tuple(a, b), index=0) => a"},
    {"T.tup.1", Opcode::kTuple,           TupleOfElements, Preserves::kExact, "tuple(get-tuple-element(t, 0), ..., get-tuple-element(t, n-1)) => t"},
};
// clang-format on

}  // namespace

std::span<const Rule> TupleRules() { return kRules; }

Result<bool> SimplifyTuples(Module& module, const PassContext& context) { return RewriteEach(module, context, kRules); }

}  // namespace hlo
