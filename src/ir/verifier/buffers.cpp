// Rules of custom calls, and of buffers, which may be written in place (V240-V249).
#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "ir/frontend_attributes.h"
#include "ir/shapes/shape_checks.h"
#include "ir/verifier/checks.h"

namespace hlo {

bool HasBuffer(const Shape& shape) {
  return shape.IsTuple() ? std::any_of(shape.elements().begin(), shape.elements().end(), HasBuffer) : shape.IsBuffer();
}

namespace {

std::vector<ShapeIndex> BuffersIn(const Shape& shape) {
  std::vector<ShapeIndex> places;
  ForEachLeaf(shape, [&](const ShapeIndex& index, const Shape& leaf) {
    if (leaf.IsBuffer()) places.push_back(index);
  });
  return places;
}

Status CheckOperandLayouts(const Instruction& inst, const CustomCallAttrs& a) {
  if (!a.operand_layouts || a.target == "LayoutConstraint" || a.target == "control_dep") return {};
  const std::vector<Shape>& shapes = a.operand_layouts->shapes;
  const auto fail = [&](std::string message) {
    return ErrorAtAttribute(inst, "operand_layout_constraints", "V240", std::move(message));
  };
  if (static_cast<int64_t>(shapes.size()) != inst.operand_count())
    FAIL(fail(Str("found ", shapes.size(), shapes.size() == 1 ? " layout for " : " layouts for ", inst.operand_count(),
                  inst.operand_count() == 1 ? " operand" : " operands", ", expected one for each")));
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& operand = inst.operand(static_cast<int64_t>(i)).shape();
    if (!Compatible(shapes[i], operand))
      FAIL(fail(Str("layout ", i, " is for ", shapes[i], ", but operand ", i, " is ", operand)));
  }
  return {};
}

Status CheckPinned(const Instruction& inst, const CustomCallAttrs& a) {
  const bool pin = a.target == "Pin";
  const char* code = pin ? "V245" : "V246";
  if (a.target == "CreateBuffer") {
    if (inst.operand_count() > 0)
      FAIL(ErrorAtOperand(inst, 0, code, Str("CreateBuffer takes no operand, found ", inst.operand_count())));
    if (!inst.shape().IsBuffer())
      FAIL(ErrorAtResult(inst, code, Str("result is ", inst.shape(), ", expected a buffer")));
    return {};
  }
  if (inst.operand_count() != 1)
    FAIL(ErrorAtOperandListEnd(inst, code, Str(a.target, " takes 1 operand, found ", inst.operand_count())));
  const Shape& operand = inst.operand(0).shape();
  if (!operand.IsArray() || operand.IsBuffer() == pin)
    FAIL(ErrorAtOperand(inst, 0, code, Str("operand is ", operand, ", expected ", pin ? "an array" : "a buffer")));
  if (inst.shape().IsBuffer() != pin || !Compatible(inst.shape(), operand)) {
    FAIL(ErrorAtResult(inst, code,
                       Str("result is ", inst.shape(), ", expected the ", pin ? "buffer" : "array", " of ", operand)));
  }
  if (a.aliases.size() != 1) {
    FAIL(ErrorAtOpcode(inst, code,
                       Str(a.target, " needs one pair in output_to_operand_aliasing, found ", a.aliases.size())));
  }
  return {};
}

Status CheckBuffersAliased(const Instruction& inst, const CustomCallAttrs& a) {
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    for (const ShapeIndex& index : BuffersIn(inst.operand(i).shape())) {
      const auto pairs = std::count_if(a.aliases.begin(), a.aliases.end(), [&](const OperandAlias& alias) {
        return alias.operand == i && alias.operand_index == index;
      });
      if (pairs == 1) continue;
      FAIL(ErrorAtOperand(inst, i, "V247",
                          Str("buffer operand ", i, index.empty() ? "" : Str(" at ", Braced(index)), " is in ", pairs,
                              " aliasing pairs, expected 1")));
    }
  }
  for (const ShapeIndex& index : BuffersIn(inst.shape())) {
    const auto pairs = std::count_if(a.aliases.begin(), a.aliases.end(),
                                     [&](const OperandAlias& alias) { return alias.output == index; });
    if (pairs == 1) continue;
    FAIL(ErrorAtResult(inst, "V247",
                       Str("the result's buffer", index.empty() ? "" : Str(" at ", Braced(index)), " is in ", pairs,
                           " aliasing pairs, expected 1")));
  }
  return {};
}

}  // namespace

Status CheckCustomCall(const Instruction& inst) {
  const auto* a = inst.attributes().GetIf<CustomCallAttrs>();
  if (a == nullptr) return {};
  TRY(CheckOperandLayouts(inst, *a));
  if (a->target == "GetRngSeed") {
    if (inst.operand_count() > 0)
      FAIL(ErrorAtOperand(inst, 0, "V243", Str("GetRngSeed takes no operand, found ", inst.operand_count())));
    if (!inst.shape().IsScalarOf(PrimitiveType::kU64))
      FAIL(ErrorAtResult(inst, "V243", Str("result is ", inst.shape(), ", expected u64[]")));
  }
  const bool any_shape = FrontendAttribute(inst, "xla_skip_custom_call_alias_shape_check").has_value();
  TRY(CheckOperandAliases(inst, a->aliases, {"V242", any_shape}));
  if (a->target == "Pin" || a->target == "Unpin" || a->target == "CreateBuffer") return CheckPinned(inst, *a);
  return CheckBuffersAliased(inst, *a);
}

Status CheckBufferUse(const Instruction& inst) {
  if (inst.Is(Opcode::kDynamicUpdateSlice) && inst.operand_count() > 0 && inst.operand(0).shape().IsBuffer()) {
    if (!inst.shape().IsBuffer()) {
      FAIL(ErrorAtResult(inst, "V249",
                         Str("result is ", inst.shape(), ", but the updated operand is ", inst.operand(0).shape())));
    }
    for (int64_t i = 1; i < inst.operand_count(); ++i) {
      if (HasBuffer(inst.operand(i).shape()))
        FAIL(ErrorAtOperand(inst, i, "V249",
                            Str("operand ", i, " is ", inst.operand(i).shape(), ", expected no buffer")));
    }
    return {};
  }
  if (!HasBuffer(inst.shape())) return {};
  bool fine = inst.attributes().GetIf<AsyncAttrs>() != nullptr;
  switch (inst.opcode()) {
    case Opcode::kCustomCall:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kWhile: fine = true; break;
    case Opcode::kParameter: fine = !inst.computation().IsEntry(); break;
    case Opcode::kCall: fine = FrontendAttribute(inst, "_xla_stream_annotation").has_value(); break;
    default: break;
  }
  if (fine) return {};
  FAIL(ErrorAtResult(
      inst, "V244",
      Str("result is ", inst.shape(), ", but ",
          inst.Is(Opcode::kParameter) ? "an entry parameter" : Str("'", inst.opcode(), "'"), " cannot be a buffer")));
}

void CheckBufferWriters(Findings& findings) {
  std::unordered_map<const Computation*, const Instruction*> loops;
  std::vector<std::pair<const Instruction*, ShapeIndex>> made;
  for (const Instruction* inst : findings.notable()) {
    if (inst->Is(Opcode::kWhile)) loops.emplace(inst->attrs<WhileAttrs>().body, inst);
    if (inst->Is(Opcode::kTuple) || inst->Is(Opcode::kGetTupleElement) || !HasBuffer(inst->shape())) continue;
    for (ShapeIndex& index : BuffersIn(inst->shape())) made.emplace_back(inst, std::move(index));
  }
  for (const auto& [maker, index] : made) {
    std::vector<const Instruction*> writers;
    std::vector<std::pair<const Instruction*, ShapeIndex>> ready = {{maker, index}};
    while (!ready.empty() && writers.size() < 2) {
      const auto [at, part] = std::move(ready.back());
      ready.pop_back();
      if (at->IsRoot() && loops.contains(&at->computation())) writers.push_back(at);
      for (const Instruction* user : at->users()) {
        switch (user->opcode()) {
          case Opcode::kTuple:
            for (int64_t i = 0; i < user->operand_count(); ++i) {
              if (&user->operand(i) != at) continue;
              ShapeIndex inside = part;
              inside.insert(inside.begin(), i);
              ready.emplace_back(user, std::move(inside));
            }
            break;
          case Opcode::kGetTupleElement:
            if (!part.empty() && part[0] == user->tuple_index())
              ready.emplace_back(user, ShapeIndex(part.begin() + 1, part.end()));
            break;
          case Opcode::kCustomCall:
          case Opcode::kCall:
          case Opcode::kFusion:
          case Opcode::kAsyncStart:
          case Opcode::kAsyncUpdate:
          case Opcode::kAsyncDone:
          case Opcode::kWhile:
          case Opcode::kConditional:
          case Opcode::kDynamicUpdateSlice: writers.push_back(user); break;
          default: break;
        }
      }
    }
    if (writers.size() < 2 || findings.IsWrong(*writers[0]) || findings.IsWrong(*writers[1])) continue;
    findings.Add(*writers[1],
                 ErrorAt(*writers[1], "V248",
                         Str("'", writers[1]->name(), "' is a second writer of the buffer '", maker->name(), "'"))
                     .AddNote(Str("'", writers[0]->name(), "' is the first"), writers[0]->range()));
  }
}

}  // namespace hlo
