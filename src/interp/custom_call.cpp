// Custom calls whose meaning is known without a library: markers, and helpers of XLA itself. Source: spec/ops.md 12.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "interp/evaluation.h"
#include "interp/program.h"
#include "ir/module.h"

namespace hlo {

Literal TopKOf(const Literal& operand, int64_t k, bool largest, const Shape& values_shape, const Shape& indices_shape);

namespace {

using CustomHandler = Result<Literal> (*)(Evaluation& e);

// Annotations of where a value lives: with one partition the value itself.
Result<Literal> Marker(Evaluation& e) {
  if (e.operands.size() == 1 && Compatible(e.operands[0].shape(), e.inst.shape())) return std::move(e.operands[0]);
  FAIL(UnsupportedAt(e.inst, "U007",
                     Str("custom-call target \"", Escaped(e.inst.attrs<CustomCallAttrs>().target),
                         "\" that changes the shape needs several partitions")));
}

// Largest first unless a comparator says LT.
Result<Literal> TopK(Evaluation& e) {
  const CustomCallAttrs& attrs = e.inst.attrs<CustomCallAttrs>();
  bool largest = true;
  for (const Computation* computation : attrs.called_computations) {
    const Instruction& root = computation->root();
    largest = !root.Is(Opcode::kCompare) || root.attrs<CompareAttrs>().direction == ComparisonDirection::kGt;
  }
  const Shape& shape = e.inst.shape();
  if (!shape.IsTuple() || shape.elements().size() != 2 || shape.element(1).type() != PrimitiveType::kS32 ||
      e.operands.size() != 1) {
    FAIL(UnsupportedAt(e.inst, "U007", Str("custom-call target \"TopK\" with result ", shape)));
  }
  return TopKOf(e.operands[0], shape.element(0).dims().back(), largest, shape.element(0), shape.element(1));
}

Result<Literal> GetRngSeed(Evaluation& e) {
  Literal seed(e.inst.shape());
  seed.SetInt(0, static_cast<int64_t>(e.session.options().seed));
  return seed;
}

struct Row {
  std::string_view target;
  CustomHandler handler;
};
constexpr Row kRows[] = {
    {"Sharding", Marker},
    {"xla.sdy.FuncResultSharding", Marker},
    {"SPMDFullToShardShape", Marker},
    {"SPMDShardToFullShape", Marker},
    {"xla.sdy.GlobalToLocalShape", Marker},
    {"xla.sdy.LocalToGlobalShape", Marker},
    {"ShardBarrierFrom", Marker},
    {"ShardBarrierTo", Marker},
    {"annotate_device_placement", Marker},
    {"MoveToHost", Marker},
    {"MoveToDevice", Marker},
    {"PinToDevice", Marker},
    {"LayoutConstraint", Marker},
    {"TopK", TopK},
    {"__gpu$TopK", TopK},
    {"GetRngSeed", GetRngSeed},
};

const Row* Find(const Instruction& inst) {
  const std::string& target = inst.attrs<CustomCallAttrs>().target;
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.target == target; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

bool IsKnownCustomCall(const Instruction& inst) { return Find(inst) != nullptr; }

Result<Literal> EvalCustomCall(Evaluation& e) {
  const Row* row = Find(e.inst);
  if (row == nullptr) {
    FAIL(UnsupportedAt(e.inst, "U007",
                       Str("custom-call target \"", Escaped(e.inst.attrs<CustomCallAttrs>().target),
                           "\" has no implementation in the interpreter")));
  }
  return row->handler(e);
}

}  // namespace hlo
