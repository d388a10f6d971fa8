#include "passes/fusion/outline.h"

#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {

namespace {

// `value_of` maps an operand of the fusion to its value in `fused`.
template <class ValueOf>
void CopyBody(Instruction& fusion, Computation& fused, ValueOf value_of,
              std::unordered_map<const Instruction*, Instruction*>& outer) {
  const Computation& body = FusedComputation(fusion);
  const bool is_tuple = body.root().Is(Opcode::kTuple);
  std::unordered_map<const Instruction*, Instruction*> copies;
  for (const Instruction* inst : body.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      copies[inst] = value_of(fusion.operand(inst->parameter_number()));
      continue;
    }
    if (is_tuple && inst == &body.root()) continue;
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(copies.at(operand));
    copies[inst] = &fused.AddClone(*inst, operands);
  }
  if (!is_tuple) {
    outer[&fusion] = copies.at(&body.root());
    return;
  }
  for (const Instruction* element : fusion.users())
    outer[element] = copies.at(&body.root().operand(element->tuple_index()));
}

// Removes instructions and operands that only unused results need.
void RemoveUnused(Computation& fused, std::vector<Instruction*>* operands) {
  const std::vector<Instruction*> order = fused.PostOrder();
  for (size_t i = order.size(); i-- > 0;) {
    Instruction& inst = *order[i];
    if (!inst.IsRoot() && inst.users().empty() && !inst.Is(Opcode::kParameter)) fused.Remove(inst);
  }
  std::vector<bool> goes;
  std::vector<Instruction*> read;
  for (int64_t i = 0; i < std::ssize(*operands); ++i) {
    goes.push_back(fused.parameter(i).IsDead());
    if (!goes.back()) read.push_back((*operands)[i]);
  }
  fused.RemoveParameters(goes);
  *operands = std::move(read);
}

}  // namespace

Instruction& Outline(Computation& computation, std::span<Instruction* const> members,
                     std::span<Instruction* const> roots, FusionKind kind, std::string_view name) {
  Module& module = computation.module();
  Computation& fused = module.AddComputation(Str("fused_", name));
  std::unordered_map<const Instruction*, Instruction*> copies;
  std::vector<Instruction*> operands;
  const auto operand_of = [&](Instruction& outside) -> Instruction* {
    Instruction*& copy = copies[&outside];
    if (copy != nullptr) return copy;
    copy = &fused.AddParameter(static_cast<int64_t>(operands.size()), outside.shape());
    operands.push_back(&outside);
    return copy;
  };
  const auto value_of = [&](Instruction& outside) -> Instruction* {
    if (!outside.Is(Opcode::kConstant) || !outside.shape().IsScalar()) return operand_of(outside);
    Instruction*& copy = copies[&outside];
    return copy != nullptr ? copy : copy = &fused.AddClone(outside, {});
  };
  for (Instruction* member : members) {
    CHECK(&member->computation() == &computation, member->name());
    if (IsFusion(*member)) {
      CopyBody(*member, fused, operand_of, copies);
      continue;
    }
    std::vector<Instruction*> inner;
    for (Instruction* operand : member->operands()) inner.push_back(value_of(*operand));
    copies[member] = &fused.AddClone(*member, inner);
  }
  std::vector<Instruction*> values;
  for (Instruction* root : roots) values.push_back(copies.at(root));
  fused.SetRoot(values.size() == 1 ? *values.front() : fused.AddTuple(values));
  RemoveUnused(fused, &operands);

  Instruction& fusion = computation.Add(Opcode::kFusion, fused.root().shape(), operands,
                                        FusionAttrs{.kind = kind, .calls = &fused}, Str(name, "_fusion"));
  fusion.SetRange(roots.front()->range());
  // Joined kernels have different metadata.
  if (!IsFusion(*members.front()) && roots.front()->metadata() != Metadata())
    fusion.mutable_common().metadata = roots.front()->metadata();
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
