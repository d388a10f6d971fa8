#include "base/text.h"
#include "ir/shapes/shape_checks.h"

namespace hlo {
namespace {

// Ignores layouts. A buffer differs from its array.
bool SameValue(const Shape& a, const Shape& b) {
  if (!Compatible(a, b) || a.IsBuffer() != b.IsBuffer()) return false;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!SameValue(a.element(i), b.element(i))) return false;
  }
  return true;
}

Status CheckArgument(const Instruction& inst, int64_t operand, const Computation& callee, int64_t parameter,
                     const char* code) {
  const Shape& argument = inst.operand(operand).shape();
  const Instruction& expected = callee.parameter(parameter);
  if (SameValue(argument, expected.shape())) return {};
  Error error = ErrorAtOperand(inst, operand, code,
                               Str("operand ", operand, " is ", argument, ", but parameter ", parameter, " of '",
                                   callee.name(), "' is ", expected.shape()));
  FAIL(std::move(error).AddNote(Str("parameter '", expected.name(), "' is defined here"), NameRange(expected)));
}

Status CheckOneParameter(const Instruction& inst, const Computation& callee, const char* attribute, const char* code) {
  const size_t count = callee.parameters().size();
  if (count == 1) return {};
  FAIL(ErrorAtCallee(inst, attribute, code, Str("'", callee.name(), "' takes ", count, " parameters, expected 1"),
                     callee.root()));
}

}  // namespace

Result<Shape> ShapeOfCall(const Instruction& inst) {
  const Computation& f = *inst.attrs<CallAttrs>().to_apply;
  const auto count = static_cast<int64_t>(f.parameters().size());
  if (inst.operand_count() != count) {
    FAIL(ErrorAtOperandListEnd(
        inst, "V140",
        Str("found ", inst.operand_count(), inst.operand_count() == 1 ? " operand, but '" : " operands, but '",
            f.name(), "' takes ", count)));
  }
  for (int64_t i = 0; i < count; ++i) TRY(CheckArgument(inst, i, f, i, "V141"));
  return f.root().shape();
}

Result<Shape> ShapeOfFusion(const Instruction& inst) {
  const Computation& f = *inst.attrs<FusionAttrs>().calls;
  const auto count = static_cast<int64_t>(f.parameters().size());
  if (count > inst.operand_count()) {
    FAIL(ErrorAtOperandListEnd(
        inst, "V156",
        Str("found ", inst.operand_count(), inst.operand_count() == 1 ? " operand, but '" : " operands, but '",
            f.name(), "' takes ", count)));
  }
  for (int64_t i = 0; i < count; ++i) TRY(CheckArgument(inst, i, f, i, "V156"));
  return f.root().shape();
}

Result<Shape> ShapeOfWhile(const Instruction& inst) {
  const WhileAttrs& a = inst.attrs<WhileAttrs>();
  TRY(CheckOneParameter(inst, *a.condition, "condition", "V144"));
  TRY(CheckOneParameter(inst, *a.body, "body", "V144"));
  const Instruction& condition = a.condition->root();
  if (!condition.shape().IsScalarOf(PrimitiveType::kPred)) {
    FAIL(ErrorAtCallee(inst, "condition", "V146",
                       Str("'", a.condition->name(), "' returns ", condition.shape(), ", expected pred[]"), condition));
  }
  TRY(CheckArgument(inst, 0, *a.condition, 0, "V145"));
  TRY(CheckArgument(inst, 0, *a.body, 0, "V145"));
  const Instruction& body = a.body->root();
  if (!SameValue(body.shape(), inst.operand(0).shape())) {
    FAIL(ErrorAtCallee(
        inst, "body", "V145",
        Str("'", a.body->name(), "' returns ", body.shape(), ", but the loop carries ", inst.operand(0).shape()),
        body));
  }
  return inst.operand(0).shape();
}

Result<Shape> ShapeOfConditional(const Instruction& inst) {
  const ConditionalAttrs& a = inst.attrs<ConditionalAttrs>();
  const std::vector<Computation*> branches = a.branches();
  if (inst.operand_count() == 0)
    FAIL(ErrorAtOperandListEnd(inst, "V147", "expected a selector and an operand for each branch, found none"));
  const Shape& selector = inst.operand(0).shape();
  const bool two = selector.IsScalarOf(PrimitiveType::kPred);
  if (!two && !selector.IsScalarOf(PrimitiveType::kS32)) {
    FAIL(ErrorAtOperand(inst, 0, "V147", Str("the selector is ", selector, ", expected pred[] or s32[]")));
  }
  const char* attribute = two ? "true_computation" : "branch_computations";
  if (branches.empty() || two != (a.true_computation != nullptr)) {
    FAIL(ErrorAtOpcode(inst, "V147",
                       Str("a selector ", selector, " needs ",
                           two ? "true_computation and false_computation" : "branch_computations")));
  }
  if (inst.operand_count() != static_cast<int64_t>(branches.size()) + 1) {
    FAIL(ErrorAtOperandListEnd(
        inst, "V148",
        Str("found ", inst.operand_count() - 1, inst.operand_count() == 2 ? " branch operand" : " branch operands",
            ", expected ", branches.size())));
  }
  for (size_t i = 0; i < branches.size(); ++i) {
    const char* name = two && i == 1 ? "false_computation" : attribute;
    TRY(CheckOneParameter(inst, *branches[i], name, "V149"));
    TRY(CheckArgument(inst, static_cast<int64_t>(i) + 1, *branches[i], 0, "V150"));
    const Instruction& root = branches[i]->root();
    if (!SameValue(root.shape(), branches[0]->root().shape())) {
      FAIL(ErrorAtCallee(inst, name, "V151",
                         Str("'", branches[i]->name(), "' returns ", root.shape(), ", but '", branches[0]->name(),
                             "' returns ", branches[0]->root().shape()),
                         root));
    }
  }
  return branches[0]->root().shape();
}

}  // namespace hlo
