#include "judge/compare/widened_module.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "interp/contraction.h"
#include "ir/module.h"

namespace hlo {
namespace {

void KeepTypes(Instruction& inst, const Shape& declared, std::span<const Shape> operand_shapes) {
  Computation& computation = inst.computation();
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (operand_shapes[i] == inst.operand(i).shape()) continue;
    inst.SetOperand(i, computation.Add(Opcode::kConvert, operand_shapes[i], {&inst.operand(i)}));
  }
  if (Widened(declared) == declared) return;
  Instruction& stand_in = computation.AddClone(inst, declared, {inst.operands().begin(), inst.operands().end()});
  Instruction& wide = computation.Add(Opcode::kConvert, Widened(declared), {&stand_in});
  inst.ReplaceAllUses(wide);
  if (&computation.root() == &inst) computation.SetRoot(wide);
  computation.Remove(inst);
}

}  // namespace

Shape Widened(const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Widened(element));
    return Shape::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return shape;
  if (IsComplex(shape.type())) return shape.WithType(PrimitiveType::kC128);
  return IsFloat(shape.type()) ? shape.WithType(PrimitiveType::kF64) : shape;
}

bool DependsOnType(const Instruction& inst) {
  return inst.Is(Opcode::kBitcastConvert) || inst.Is(Opcode::kBitcast) || inst.Is(Opcode::kRng) ||
         inst.Is(Opcode::kCustomCall) || inst.Is(Opcode::kInfeed) || inst.Is(Opcode::kOutfeed) ||
         inst.Is(Opcode::kStochasticConvert);
}

Literal WidenedLiteral(const Literal& literal) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements()) elements.push_back(WidenedLiteral(element));
    return Literal::Tuple(std::move(elements));
  }
  if (!literal.shape().IsArray()) return literal;
  return Converted(literal, Widened(literal.shape()).type());
}

Result<std::unique_ptr<Module>> WidenedModule(const Module& module) {
  std::unique_ptr<Module> wide = module.Clone();
  std::unordered_map<int, Shape> declared;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      declared.emplace(inst->id(), inst->shape());
      const bool tuple = DependsOnType(*inst) && inst->shape().IsTuple();
      const bool tuples = DependsOnType(*inst) && std::ranges::any_of(inst->operands(), [](const Instruction* operand) {
                            return operand->shape().IsTuple();
                          });
      if (tuple || tuples)
        FAIL(UnsupportedAt(*inst, "U002",
                           Str("'", inst->name(), "' (", inst->opcode(), ") on ", inst->shape(),
                               " depends on its element types, so it cannot be evaluated without roundings")));
    }
  }
  for (Computation* computation : wide->Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kConstant)) inst->mutable_attrs<ConstantAttrs>().literal = WidenedLiteral(inst->literal());
      inst->SetShape(Widened(inst->shape()));
    }
  }
  for (Computation* computation : wide->Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      const auto own = declared.find(inst->id());
      if (own == declared.end() || !DependsOnType(*inst)) continue;
      std::vector<Shape> operands;
      for (const Instruction* operand : inst->operands()) {
        const auto known = declared.find(operand->id());
        operands.push_back(known == declared.end() ? operand->shape() : known->second);
      }
      KeepTypes(*inst, own->second, operands);
    }
  }
  return wide;
}

}  // namespace hlo
