// Removes sorts along a dimension of at most one element, and unused operands of sorts.
#include <algorithm>

#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

Result<Instruction*> SortOfOne(Instruction& inst, const PassContext&) {
  const Shape& shape = inst.operand(0).shape();
  if (shape.HasDynamicDims() || shape.dim(inst.attrs<SortAttrs>().dimension.value) > 1) return nullptr;
  if (!inst.shape().IsTuple()) return &inst.operand(0);
  return Replace(inst, Opcode::kTuple, {inst.operands().begin(), inst.operands().end()});
}

std::vector<bool> ReadOperands(const Instruction& sort) {
  const Computation& comparator = *sort.attrs<SortAttrs>().to_apply;
  std::vector<bool> read(sort.operand_count());
  for (int64_t i = 0; i < sort.operand_count(); ++i)
    read[i] = !comparator.parameter(2 * i).IsDead() || !comparator.parameter(2 * i + 1).IsDead();
  for (const Instruction* user : sort.users()) {
    if (!user->Is(Opcode::kGetTupleElement)) return std::vector<bool>(sort.operand_count(), true);
    // Dead get-tuple-elements also refer to their element until they are removed.
    read[user->tuple_index()] = true;
  }
  return read;
}

Computation& WithoutUnread(const Computation& comparator, const std::vector<bool>& read) {
  Computation& result = comparator.module().AddComputation(comparator.name());
  std::vector<Instruction*> copies(comparator.place_limit());
  int64_t next = 0;
  for (const Instruction* parameter : comparator.parameters()) {
    if (!read[parameter->parameter_number() / 2]) continue;
    copies[parameter->place()] = &result.AddParameter(next++, parameter->shape(), parameter->name());
  }
  for (const Instruction* inst : comparator.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) continue;
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(copies[operand->place()]);
    copies[inst->place()] = &result.AddClone(*inst, operands);
  }
  result.SetRoot(*copies[comparator.root().place()]);
  return result;
}

// An unused result becomes the unsorted operand.
Result<Instruction*> SortOfUnread(Instruction& inst, const PassContext&) {
  if (!inst.shape().IsTuple() || inst.IsRoot()) return nullptr;
  const std::vector<bool> read = ReadOperands(inst);
  const auto count = std::ranges::count(read, true);
  if (count == inst.operand_count() || count == 0) return nullptr;
  auto attrs = inst.attrs<SortAttrs>();
  attrs.to_apply = &WithoutUnread(*attrs.to_apply, read);
  std::vector<Instruction*> kept;
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (!read[i]) continue;
    kept.push_back(&inst.operand(i));
    shapes.push_back(inst.shape().element(i));
  }
  Instruction* const sort = Step(inst, Opcode::kSort, count == 1 ? shapes[0] : Shape::Tuple(shapes), kept, attrs);
  std::vector<Instruction*> results;
  int64_t next = 0;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (!read[i]) {
      results.push_back(&inst.operand(i));
    } else if (count == 1) {
      results.push_back(sort);
    } else {
      results.push_back(&inst.computation().AddGetTupleElement(*sort, next++));
    }
  }
  return Replace(inst, Opcode::kTuple, results);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"O.sort.1", Opcode::kSort, SortOfOne,    Preserves::kExact, "sort(x) => x, along a dimension of at most one element"},
    {"O.sort.2", Opcode::kSort, SortOfUnread, Preserves::kExact, "sort(k, v) => sort(k), where v is neither compared nor used"},
};
// clang-format on

}  // namespace

std::span<const Rule> SortRules() { return kRules; }

Result<bool> SimplifySorts(Module& module, const PassContext& context) { return RewriteEach(module, context, kRules); }

}  // namespace hlo
