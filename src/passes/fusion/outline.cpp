#include "passes/fusion/outline.h"

#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "ir/module.h"

namespace hlo {

Instruction& Outline(Computation& computation, std::span<Instruction* const> members,
                     std::span<Instruction* const> roots, FusionKind kind, std::string_view name) {
  Module& module = computation.module();
  Computation& fused = module.AddComputation(Str("fused_", name));
  std::unordered_map<const Instruction*, Instruction*> copies;
  std::vector<Instruction*> operands;
  const auto value_of = [&](Instruction& outside) -> Instruction* {
    if (const auto found = copies.find(&outside); found != copies.end()) return found->second;
    Instruction* copy;
    if (outside.Is(Opcode::kConstant) && outside.shape().IsScalar()) {
      copy = &fused.AddClone(outside, {});
    } else {
      copy =
          &fused.AddParameter(static_cast<int64_t>(operands.size()), outside.shape(), Str("param_", operands.size()));
      operands.push_back(&outside);
    }
    copies[&outside] = copy;
    return copy;
  };
  for (Instruction* member : members) {
    CHECK(&member->computation() == &computation, member->name());
    std::vector<Instruction*> inner;
    for (Instruction* operand : member->operands()) inner.push_back(value_of(*operand));
    copies[member] = &fused.AddClone(*member, inner);
  }
  std::vector<Instruction*> values;
  for (Instruction* root : roots) values.push_back(copies.at(root));
  fused.SetRoot(values.size() == 1 ? *values.front() : fused.AddTuple(values));

  Instruction& fusion = computation.Add(Opcode::kFusion, fused.root().shape(), operands,
                                        FusionAttrs{.kind = kind, .calls = &fused}, Str(name, "_fusion"));
  fusion.SetRange(roots.front()->range());
  if (roots.front()->metadata() != Metadata()) fusion.mutable_common().metadata = roots.front()->metadata();
  if (roots.size() == 1) {
    fusion.SetOrigin(roots.front()->origin());
    roots.front()->ReplaceAllUses(fusion);
    return fusion;
  }
  for (size_t i = 0; i < roots.size(); ++i) {
    Instruction& element = computation.AddGetTupleElement(fusion, static_cast<int64_t>(i));
    element.SetOrigin(roots[i]->origin());
    roots[i]->ReplaceAllUses(element);
  }
  return fusion;
}

}  // namespace hlo
