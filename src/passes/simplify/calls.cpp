// Rules of algsimp for conditionals, barriers, custom calls that mark sizes and layouts, and collectives of constants.
#include <algorithm>
#include <cmath>

#include "ir/device_groups.h"
#include "ir/module.h"
#include "ir/reducer.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

// Branch 0 is for false.
Result<Instruction*> ConditionalOfPredicate(Instruction& inst, const PassContext&) {
  const auto& attrs = inst.attrs<ConditionalAttrs>();
  Instruction* p;
  if (attrs.branch_computations.size() != 2 || inst.operand_count() != 3 || !m::Convert(m::Any(&p))(&inst.operand(0)) ||
      !p->shape().IsScalarOf(PrimitiveType::kPred))
    return nullptr;
  ConditionalAttrs chosen;
  chosen.true_computation = attrs.branch_computations[1];
  chosen.false_computation = attrs.branch_computations[0];
  return Replace(inst, Opcode::kConditional, {p, &inst.operand(2), &inst.operand(1)}, chosen);
}

// In the resulting tuple, elements without users come from the barrier's operand.
Result<Instruction*> BarrierOfUnread(Instruction& inst, const PassContext&) {
  Instruction& tuple = inst.operand(0);
  if (!tuple.Is(Opcode::kTuple) || inst.IsRoot()) return nullptr;
  std::vector<bool> read(tuple.operand_count());
  for (const Instruction* user : inst.users()) {
    if (!user->Is(Opcode::kGetTupleElement)) return nullptr;
    read[user->tuple_index()] = true;
  }
  if (std::ranges::find(read, false) == read.end() || std::ranges::find(read, true) == read.end()) return nullptr;
  std::vector<Instruction*> elements(tuple.operands().begin(), tuple.operands().end()), kept;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) continue;
    kept.push_back(elements[i]);
    shapes.push_back(elements[i]->shape());
  }
  const Shape shape = Shape::Tuple(shapes);
  Instruction* smaller = Step(inst, Opcode::kTuple, shape, kept);
  Instruction* barrier = Step(inst, Opcode::kOptimizationBarrier, shape, {smaller}, inst.attributes());
  int64_t next = 0;
  for (size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) continue;
    elements[i] = Step(inst, Opcode::kGetTupleElement, elements[i]->shape(), {barrier}, IndexAttrs{next++});
  }
  return Replace(inst, Opcode::kTuple, elements);
}

bool Calls(const Instruction& inst, std::string_view target) {
  return inst.Is(Opcode::kCustomCall) && inst.attrs<CustomCallAttrs>().target == target;
}

// Becomes its operand, or a copy if the layouts differ.
Result<Instruction*> ConstrainedLayout(Instruction& inst, const PassContext&) {
  if (!Calls(inst, "LayoutConstraint") || inst.operand_count() != 1) return nullptr;
  Instruction& x = inst.operand(0);
  if (!inst.shape().IsArray() || !Compatible(x.shape(), inst.shape())) return nullptr;
  return x.shape() == inst.shape() ? &x : Replace(inst, Opcode::kCopy, {&x});
}

// The array and the sizes must come from one PadToStatic.
Result<Instruction*> DynamicAgain(Instruction& inst, const PassContext&) {
  if (!Calls(inst, "SliceToDynamic") || inst.operand_count() == 0) return nullptr;
  Instruction* padded = nullptr;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    Instruction& part = inst.operand(i);
    if (!part.Is(Opcode::kGetTupleElement) || part.tuple_index() != i) return nullptr;
    if (padded != nullptr && padded != &part.operand(0)) return nullptr;
    padded = &part.operand(0);
  }
  if (!Calls(*padded, "PadToStatic") || padded->operand_count() != 1) return nullptr;
  return padded->operand(0).shape() == inst.shape() ? &padded->operand(0) : nullptr;
}

// Whether x, 2 * x, ..., count * x are numbers of the type.
bool SumsAreExact(const Literal& x, int64_t count) {
  constexpr int64_t kMostDevices = 4096;
  for (int64_t n = 1; n <= std::min(count, kMostDevices); ++n) {
    const double number = x.GetDouble(0), sum = number * static_cast<double>(n);
    const bool is_held = Literal::Scalar(x.shape().type(), sum).GetDouble(0) == sum;
    // NaN and infinity fail the second condition.
    if (!is_held || std::fma(number, static_cast<double>(n), -sum) != 0) return false;
  }
  return count <= kMostDevices;
}

// All devices send the same constant. A sum becomes n * c, if exact.
Result<Instruction*> CollectiveOfConstant(Instruction& inst, const PassContext&) {
  if (inst.operand_count() != 1 || !inst.shape().IsArray() || !IsStaticOfOneType(inst)) return nullptr;
  const Literal* value = ScalarOf(inst.operand(0));
  if (value == nullptr) return nullptr;
  Literal result = *value;
  const Computation* reducer = inst.attrs<CollectiveAttrs>().to_apply;
  if (reducer != nullptr) {
    const auto op = ReducerOp(*reducer);
    const auto count = GroupSizeOf(inst);
    const PrimitiveType type = inst.shape().type();
    if (op == Opcode::kAdd && IsFloat(type) && NumberOf(inst.operand(0)) == 0.0) {
      if (!NeverNegativeZero(inst.operand(0))) return nullptr;
    } else if (op == Opcode::kAdd && !count) {
      return nullptr;
    } else if (op == Opcode::kAdd && IsInteger(type)) {
      result = Literal::Scalar(
          type, static_cast<int64_t>(static_cast<uint64_t>(value->GetInt(0)) * static_cast<uint64_t>(*count)));
    } else if (op == Opcode::kAdd && IsFloat(type) && SumsAreExact(*value, *count)) {
      result = Literal::Scalar(type, value->GetDouble(0) * static_cast<double>(*count));
    } else if (!op || !IsIdempotent(*op)) {
      return nullptr;
    }
  }
  Instruction& scalar = inst.computation().AddConstant(std::move(result));
  return inst.shape().IsScalar() ? &scalar : Replace(inst, Opcode::kBroadcast, {&scalar}, DimensionsAttrs{});
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.cond.1",  Opcode::kConditional,                                         ConditionalOfPredicate, Preserves::kExact, "conditional(convert(p), a, b) => conditional(p, b, a)"},
    {"A.ob.1",    Opcode::kOptimizationBarrier,                                 BarrierOfUnread,        Preserves::kExact, "opt-barrier((a, b)) => opt-barrier((a)), when nothing reads b from it"},
    {"A.cc.1a",   Opcode::kCustomCall,                                          DynamicAgain,           Preserves::kExact, "SliceToDynamic(PadToStatic(x)) => x"},
    {"A.cc.1b",   Opcode::kCustomCall,                                          ConstrainedLayout,      Preserves::kExact, "LayoutConstraint(x) => x or copy(x)"},
    {"A.coll.1a", {Opcode::kAllGather, Opcode::kAllToAll},                      CollectiveOfConstant,   Preserves::kExact, "all-gather(broadcast(c)) => broadcast(c); all-to-all too"},
    {"A.coll.1b", {Opcode::kAllReduce, Opcode::kReduceScatter},                 CollectiveOfConstant,   Preserves::kExact, "all-reduce(broadcast(c)) => broadcast(c), for max, min, and, or; broadcast(n * c), for a sum over n devices that does not round"},
};
// clang-format on

}  // namespace

std::span<const Rule> CallRules() { return kRules; }

}  // namespace hlo
