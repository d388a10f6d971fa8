// Removes steps of shape arithmetic that cancel, such as reshapes of scalars to vectors and back.
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {
namespace m = match;

Result<Instruction*> SizeOfStatic(Instruction& inst, const PassContext&) {
  const Shape& shape = inst.operand(0).shape();
  const int64_t d = inst.attrs<OneDimensionAttrs>().dimension.value;
  if (!shape.IsArray() || shape.IsDynamic(d)) return nullptr;
  return &inst.computation().AddConstant(Literal::Scalar(inst.shape().type(), shape.dim(d)));
}

// Both ops must name the same dimension.
Result<Instruction*> SizeThatWasSet(Instruction& inst, const PassContext&) {
  Instruction *set, *size;
  if (!m::GetDimensionSize(m::SetDimensionSize(&set, m::Any(), m::Constant(&size)))(&inst)) return nullptr;
  const int64_t d = inst.attrs<OneDimensionAttrs>().dimension.value;
  if (set->attrs<OneDimensionAttrs>().dimension.value != d || size->shape() != inst.shape()) return nullptr;
  const int64_t value = size->literal().GetInt(0);
  return value >= 0 && value <= set->shape().dim(d) ? size : nullptr;
}

Result<Instruction*> JoinOfJoined(Instruction& inst, const PassContext&) {
  std::vector<Instruction*> parts;
  for (Instruction* operand : inst.operands()) {
    if (operand->Is(Opcode::kConcatenate) &&
        operand->attrs<OneDimensionAttrs>().dimension == inst.attrs<OneDimensionAttrs>().dimension) {
      parts.insert(parts.end(), operand->operands().begin(), operand->operands().end());
    } else {
      parts.push_back(operand);
    }
  }
  if (std::ssize(parts) == inst.operand_count()) return nullptr;
  return Replace(inst, Opcode::kConcatenate, parts, inst.attributes());
}

Result<Instruction*> PartOfJoined(Instruction& inst, const PassContext&) {
  Instruction* joined;
  if (inst.shape().rank() != 1 || inst.shape().dim(0) != 1 || !m::Slice(m::Concatenate(&joined))(&inst)) return nullptr;
  int64_t at = inst.attrs<SliceAttrs>().slice.dims[0].start;
  for (Instruction* part : joined->operands()) {
    if (at == 0) return part->shape() == inst.shape() ? part : nullptr;
    at -= part->shape().dim(0);
    if (at < 0) return nullptr;
  }
  return nullptr;
}

Result<Instruction*> ScalarAgain(Instruction& inst, const PassContext&) {
  Instruction* a;
  if (!m::Reshape(m::Broadcast(m::Any(&a)))(&inst) && !m::Reshape(m::Reshape(m::Any(&a)))(&inst)) return nullptr;
  return a->shape().IsScalar() && a->shape() == inst.shape() ? a : nullptr;
}

Result<Instruction*> SameAgain(Instruction& inst, const PassContext&) {
  return inst.operand(0).shape() == inst.shape() ? &inst.operand(0) : nullptr;
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"D.size.1", Opcode::kGetDimensionSize,                SizeOfStatic,   Preserves::kExact, "get-dimension-size(x) => its size, where that is not dynamic"},
    {"D.size.2", Opcode::kGetDimensionSize,                SizeThatWasSet, Preserves::kExact, "get-dimension-size(set-dimension-size(x, n)) => n, a constant within the bound"},
    {"D.cat.1",  Opcode::kConcatenate,                     JoinOfJoined,   Preserves::kExact, "concatenate(concatenate(a, b), c) => concatenate(a, b, c)"},
    {"D.slice.1", Opcode::kSlice,                          PartOfJoined,   Preserves::kExact, "slice(concatenate(a, b, c), [n:n+1]) => the operand at position n"},
    {"D.resh.1", Opcode::kReshape,                         ScalarAgain,    Preserves::kExact, "reshape(broadcast(a)), reshape(reshape(a)) => a, a scalar"},
    {"D.same.1", {Opcode::kReshape, Opcode::kConvert},     SameAgain,      Preserves::kExact, "reshape(a), convert(a) => a, when nothing changes"},
};
// clang-format on

}  // namespace

std::span<const Rule> DynamicDimensionRules() { return kRules; }

Result<bool> SimplifyDynamicDimensions(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRules);
}

}  // namespace hlo
