#include "base/text.h"
#include "interp/calls/meaning.h"

namespace hlo {

// Sorts keys[, values] along the last dimension, stably, by bits: -0 precedes 0, and NaNs are at the ends.
Result<CallResults> MeaningOfRadixSort(Meaning& m) {
  if (m.operand_count() == 0 || m.operand_count() > 2 || m.operand(0)->shape().rank() == 0)
    FAIL(WrongOperands(m.call()));
  const JsonValue json = TRY(ConfigOf(m.call(), "sort_backend_config"));
  Computation& body = m.AddComputation("comparator");
  std::vector<Shape> shapes;
  Operands operands;
  for (int64_t i = 0; i < m.operand_count(); ++i) {
    const Shape& shape = m.operand(i)->shape();
    shapes.push_back(shape);
    operands.push_back(m.operand(i));
    body.AddParameter(2 * i, Shape::Scalar(shape.type()));
    body.AddParameter(2 * i + 1, Shape::Scalar(shape.type()));
  }
  CompareAttrs compare;
  compare.direction = json["descending"].IsTrue() ? ComparisonDirection::kGt : ComparisonDirection::kLt;
  if (IsFloat(shapes[0].type())) compare.type = ComparisonType::kTotalOrder;
  body.SetRoot(body.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&body.parameter(0), &body.parameter(1)},
                        compare));
  SortAttrs attrs;
  attrs.dimension.value = shapes[0].rank() - 1;
  attrs.is_stable = true;
  attrs.to_apply = &body;
  if (shapes.size() == 1) return CallResults{m.Add(Opcode::kSort, shapes[0], operands, attrs)};
  Instruction* const sorted = m.Add(Opcode::kSort, Shape::Tuple(shapes), operands, attrs);
  CallResults results;
  for (size_t i = 0; i < shapes.size(); ++i)
    results.push_back(m.Add(Opcode::kGetTupleElement, shapes[i], {sorted}, IndexAttrs{static_cast<int64_t>(i)}));
  return results;
}

}  // namespace hlo
