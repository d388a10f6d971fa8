// Rules of ops that call computations. Shapes of arguments and results are checked in shapes/control.cpp.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ir/callees.h"
#include "ir/frontend_attributes.h"
#include "ir/shapes/shape_checks.h"
#include "ir/verifier/checks.h"

namespace hlo {

Status CheckThreads(const Instruction& inst) {
  if (!MayCall(inst) || inst.attributes().GetIf<AsyncAttrs>() != nullptr) return {};
  const bool always = inst.Is(Opcode::kFusion) || inst.Is(Opcode::kWhile) || inst.Is(Opcode::kConditional);
  const std::string& thread = inst.computation().execution_thread;
  for (const Computation* callee : CalledComputations(inst)) {
    if (callee->execution_thread == thread) continue;
    FAIL(ErrorAtOpcode(inst, always ? "V152" : "V153",
                       Str("'", callee->name(), "' runs on thread \"", callee->execution_thread,
                           "\", but its caller runs on thread \"", thread, "\"")));
  }
  return {};
}

Status CheckComposite(const Instruction& inst) {
  const auto* call = inst.attributes().GetIf<CallAttrs>();
  if (call == nullptr || !call->is_composite) return {};
  const auto fail = [&](const std::string& message) {
    return ErrorAtAttribute(inst, inst.common().frontend_attributes.empty() ? "is_composite" : "frontend_attributes",
                            "V143", message);
  };
  const auto name = FrontendAttribute(inst, "composite.name");
  if (!name || name->empty()) FAIL(fail("is_composite=true needs the frontend attribute composite.name"));
  const auto attributes = FrontendAttribute(inst, "composite.attributes");
  if (attributes && attributes->empty()) FAIL(fail("composite.attributes is empty"));
  const auto version = FrontendAttribute(inst, "composite.version");
  int64_t number = 0;
  if (version && (!ParseInt(*version, &number) || number < 0))
    FAIL(fail(Str("composite.version is \"", Escaped(*version), "\", expected an integer of 0 or more")));
  return {};
}

// V154: a loop or conditional, its roots and its parameters have equal shardings.
Status CheckBranchShardings(const Instruction& inst) {
  const auto* loop = inst.attributes().GetIf<WhileAttrs>();
  const auto* conditional = inst.attributes().GetIf<ConditionalAttrs>();
  if (loop == nullptr && conditional == nullptr) return {};
  // Messages use these roles, because computations may have other names than in the text.
  std::vector<std::pair<std::string_view, const Instruction*>> related = {{"the result", &inst}};
  if (loop != nullptr) {
    related.emplace_back("the result of the body", &loop->body->root());
    if (!loop->body->parameters().empty()) related.emplace_back("the body's parameter", &loop->body->parameter(0));
    if (!loop->condition->parameters().empty())
      related.emplace_back("the condition's parameter", &loop->condition->parameter(0));
  } else {
    for (const Computation* branch : conditional->branches())
      related.emplace_back("the result of a branch", &branch->root());
  }
  std::erase_if(related, [](const auto& one) { return one.second->common().sharding.empty(); });
  for (const auto& [role, other] : related) {
    const auto& [first_role, first] = related[0];
    if (other->common().sharding == first->common().sharding) continue;
    FAIL(ErrorAtOpcode(inst, "V154",
                       Str(first_role, " has sharding ", *first->common().sharding, ", but ", role, " has ",
                           *other->common().sharding, ", expected one sharding"))
             .AddNote(Str(first_role, " is defined here"), NameRange(*first))
             .AddNote(Str(role, " is defined here"), NameRange(*other)));
  }
  return {};
}

const Shape* FindSubShape(const Shape& shape, const ShapeIndex& index) {
  const Shape* at = &shape;
  for (const int64_t i : index) {
    if (i < 0 || i >= static_cast<int64_t>(at->elements().size())) return nullptr;
    at = &at->element(i);
  }
  return at;
}

Status CheckOperandAliases(const Instruction& inst, const OperandAliases& aliases, const AliasRule& rule) {
  for (const OperandAlias& alias : aliases) {
    const auto fail = [&](const std::string& message) {
      return ErrorAtAttribute(
          inst, "output_to_operand_aliasing", rule.code,
          Str("alias ", Braced(alias.output), ": (", alias.operand, ", ", Braced(alias.operand_index), "): ", message));
    };
    if (alias.operand < 0 || alias.operand >= inst.operand_count()) {
      FAIL(fail(
          Str("there ", inst.operand_count() == 1 ? "is 1 operand" : Str("are ", inst.operand_count(), " operands"))));
    }
    const Shape* to = FindSubShape(inst.shape(), alias.output);
    const Shape* from = FindSubShape(inst.operand(alias.operand).shape(), alias.operand_index);
    if (to == nullptr) FAIL(fail(Str("the result ", inst.shape(), " has no such part")));
    if (from == nullptr) FAIL(fail(Str("the operand ", inst.operand(alias.operand).shape(), " has no such part")));
    if (!rule.any_shape && !Compatible(*from, *to))
      FAIL(fail(Str("the operand's part is ", *from, ", but the result's part is ", *to)));
  }
  return {};
}

void CheckFusions(Findings& findings) {
  std::vector<const Instruction*> owners(findings.module().computation_id_limit());
  const auto check = [&](const Instruction& inst) -> Status {
    const FusionAttrs& a = inst.attrs<FusionAttrs>();
    const Computation& fused = *a.calls;
    if (fused.IsEntry()) FAIL(ErrorAtAttribute(inst, "calls", "V161", "a fusion cannot call the entry computation"));
    if (const Instruction* owner = std::exchange(owners[fused.id()], &inst)) {
      owners[fused.id()] = owner;
      FAIL(ErrorAtAttribute(inst, "calls", "V159", Str("'", fused.name(), "' belongs to another fusion"))
               .AddNote(Str("'", owner->name(), "' is that fusion"), NameRange(*owner)));
    }
    if (!findings.IsSuspect(fused)) return CheckOperandAliases(inst, a.aliases, {"V160"});
    if (!fused.root().users().empty())
      FAIL(ErrorAtCallee(inst, "calls", "V157", Str("the root of '", fused.name(), "' has users"), fused.root()));
    for (const Instruction* inner : fused.instructions()) {
      if (!inner->IsDead() || inner->Is(kSideEffect)) continue;
      FAIL(ErrorAt(*inner, "V158",
                   Str("'", inner->name(), "' in the fused computation '", fused.name(), "' is unused")));
    }
    return CheckOperandAliases(inst, a.aliases, {"V160"});
  };
  for (const Instruction* inst : findings.notable()) {
    if (inst->Is(Opcode::kFusion) && !findings.Full()) findings.Add(*inst, check(*inst));
  }
}

}  // namespace hlo
