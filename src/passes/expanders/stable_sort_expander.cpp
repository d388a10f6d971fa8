// Lets a stable sort's comparator order equal elements by their position, for sorting kernels that may swap them, such
// as a bitonic sort.
#include <limits>

#include "passes/match.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {
namespace m = match;

bool IsPositions(const Instruction& operand, int64_t dimension) {
  return operand.Is(Opcode::kIota) && operand.attrs<IotaAttrs>().iota_dimension == dimension &&
         IsSigned(operand.shape().type()) && BitWidth(operand.shape().type()) >= 32;
}

// Whether the comparator is select(less(a, b) == less(b, a), position of a < position of b, ...) already.
bool ComparesPositions(const Instruction& sort) {
  Instruction *choice, *tie, *before, *a, *b;
  if (!m::Select(&choice, m::Compare(&tie), m::Compare(&before, m::Parameter(&a), m::Parameter(&b)),
                 m::Any())(&sort.attrs<SortAttrs>().to_apply->root()))
    return false;
  const int64_t operand = a->parameter_number() / 2;
  return a->parameter_number() % 2 == 0 && b->parameter_number() == a->parameter_number() + 1 &&
         before->attrs<CompareAttrs>().direction == ComparisonDirection::kLt &&
         tie->attrs<CompareAttrs>().direction == ComparisonDirection::kEq &&
         IsPositions(sort.operand(operand), sort.attrs<SortAttrs>().dimension.value);
}

// Copies a comparator and returns its root. `swapped` swaps the parameters of each pair.
Instruction& Compared(const Computation& comparator, Computation& into, bool swapped) {
  std::vector<Instruction*> copies(comparator.place_limit());
  for (const Instruction* inst : comparator.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      copies[inst->place()] = &into.parameter(inst->parameter_number() ^ (swapped ? 1 : 0));
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(copies[operand->place()]);
    copies[inst->place()] = &into.AddClone(*inst, operands);
  }
  return *copies[comparator.root().place()];
}

// A comparator that orders equal elements by operand number `positions`, which may be new.
Computation& WithPositions(const Instruction& sort, int64_t positions, const Shape& position) {
  const Computation& comparator = *sort.attrs<SortAttrs>().to_apply;
  Computation& result = sort.module().AddComputation(comparator.name());
  for (const Instruction* parameter : comparator.parameters())
    result.AddParameter(parameter->parameter_number(), parameter->shape(), parameter->name());
  if (positions == sort.operand_count()) {
    result.AddParameter(2 * positions, position, "position_a");
    result.AddParameter(2 * positions + 1, position, "position_b");
  }
  Instruction &less = Compared(comparator, result, false), &greater = Compared(comparator, result, true);
  const Shape pred = Shape::Scalar(PrimitiveType::kPred);
  Instruction& tie =
      result.Add(Opcode::kCompare, pred, {&less, &greater}, CompareAttrs{ComparisonDirection::kEq, {}}, "tie");
  Instruction& before =
      result.Add(Opcode::kCompare, pred, {&result.parameter(2 * positions), &result.parameter(2 * positions + 1)},
                 CompareAttrs{ComparisonDirection::kLt, {}}, "before");
  result.SetRoot(result.Add(Opcode::kSelect, pred, {&tie, &before, &less}));
  return result;
}

Result<Instruction*> ExpandStableSort(Instruction& inst, const PassContext&) {
  auto attrs = inst.attrs<SortAttrs>();
  const Shape& keys = inst.operand(0).shape();
  if (!attrs.is_stable || keys.HasDynamicDims() || ComparesPositions(inst)) return nullptr;
  const int64_t dimension = attrs.dimension.value;
  std::vector<Instruction*> operands(inst.operands().begin(), inst.operands().end());
  int64_t positions = 0;
  while (positions < inst.operand_count() && !IsPositions(*operands[positions], dimension)) ++positions;
  const bool fits = keys.dim(dimension) <= std::numeric_limits<int32_t>::max();
  Shape shape = keys.WithType(fits ? PrimitiveType::kS32 : PrimitiveType::kS64);
  const bool added = positions == inst.operand_count();
  if (added) operands.push_back(Step(inst, Opcode::kIota, shape, {}, IotaAttrs{dimension}));
  attrs.to_apply = &WithPositions(inst, positions, Shape::Scalar(operands[positions]->shape().type()));
  if (!added) return Replace(inst, Opcode::kSort, operands, attrs);
  std::vector<Shape> shapes = inst.shape().IsTuple() ? inst.shape().elements() : std::vector<Shape>{inst.shape()};
  shapes.push_back(shape);
  Instruction* const sort = Step(inst, Opcode::kSort, Shape::Tuple(shapes), operands, attrs);
  if (!inst.shape().IsTuple()) return Replace(inst, Opcode::kGetTupleElement, {sort}, IndexAttrs{0});
  std::vector<Instruction*> results;
  for (int64_t i = 0; i < inst.operand_count(); ++i)
    results.push_back(&inst.computation().AddGetTupleElement(*sort, i));
  return Replace(inst, Opcode::kTuple, results);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"X.sort.1", Opcode::kSort, ExpandStableSort, Preserves::kExact, "sort(k), stable => sort(k, iota), whose comparator decides between equal elements by position"},
};
// clang-format on

}  // namespace

std::span<const Rule> StableSortRules() { return kRules; }

Result<bool> ExpandStableSorts(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRules);
}

}  // namespace hlo
