// Shape rules of ops that move no data.
#include "ir/shapes/shape_rules.h"

#include "base/text.h"
#include "ir/shapes/shape_checks.h"

namespace hlo {

Result<Shape> InferShape(const Instruction& inst) { return RowOf(inst.opcode()).shape_rule(inst); }

Result<Shape> ShapeAsWritten(const Instruction& inst) { return inst.shape(); }

Result<Shape> ShapeOfFirst(const Instruction& inst) { return inst.operand(0).shape(); }

Result<Shape> ShapeOfAfterAll(const Instruction&) { return Shape::Token(); }

Result<Shape> ShapeOfTuple(const Instruction& inst) {
  std::vector<Shape> elements;
  for (const Instruction* operand : inst.operands()) elements.push_back(operand->shape());
  return Shape::Tuple(std::move(elements));
}

Result<Shape> ShapeOfGetTupleElement(const Instruction& inst) {
  const Shape& tuple = inst.operand(0).shape();
  if (!tuple.IsTuple()) FAIL(ErrorAtOperand(inst, 0, "V054", Str("operand is ", tuple, ", expected a tuple")));
  const int64_t index = inst.tuple_index();
  const auto count = static_cast<int64_t>(tuple.elements().size());
  if (index < 0 || index >= count) {
    FAIL(ErrorAtAttribute(inst, "index", "V054",
                          Str("index ", index, " is out of range for a tuple of ", count, " elements")));
  }
  return tuple.element(index);
}

Result<Shape> ShapeOfConstant(const Instruction& inst) {
  Shape shape = inst.literal().shape();
  if (!Compatible(shape, inst.shape()))
    FAIL(ErrorAtResult(inst, "V052", Str("literal is ", shape, ", but the result is ", inst.shape())));
  return inst.shape();
}

Result<Shape> ShapeOfIota(const Instruction& inst) {
  const Shape& shape = inst.shape();
  if (!shape.IsArray() || shape.rank() == 0 || shape.type() == PrimitiveType::kPred) {
    FAIL(ErrorAtResult(inst, "V053", Str("result is ", shape, ", expected an array of numbers of rank 1 or more")));
  }
  const int64_t dimension = inst.attrs<IotaAttrs>().iota_dimension;
  if (dimension < 0 || dimension >= shape.rank()) {
    FAIL(ErrorAtAttribute(inst, "iota_dimension", "V053",
                          Str("iota_dimension is ", dimension, ", but ", NoDimension(shape, dimension))));
  }
  return shape;
}

static Status CheckSizeDimension(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const Shape& shape = inst.operand(0).shape();
  const int64_t dimension = inst.attrs<OneDimensionAttrs>().dimension.value;
  if (dimension < 0 || dimension >= shape.rank()) {
    FAIL(ErrorAtAttribute(inst, "dimensions", "V235", NoDimension(shape, dimension)));
  }
  if (shape.dim(dimension) > INT32_MAX) {
    FAIL(ErrorAtAttribute(
        inst, "dimensions", "V235",
        Str("dimension ", dimension, " has size ", shape.dim(dimension), ", which does not fit in s32")));
  }
  return {};
}

Result<Shape> ShapeOfGetDimensionSize(const Instruction& inst) {
  TRY(CheckSizeDimension(inst));
  return Shape::Scalar(PrimitiveType::kS32);
}

Result<Shape> ShapeOfSetDimensionSize(const Instruction& inst) {
  TRY(CheckSizeDimension(inst));
  const Shape& size = inst.operand(1).shape();
  if (!size.IsScalarOf(PrimitiveType::kS32))
    FAIL(ErrorAtOperand(inst, 1, "V236", Str("size is ", size, ", expected s32[]")));
  Shape shape = inst.operand(0).shape();
  // A constant size equal to the bound makes the dimension static again.
  const Instruction& n = inst.operand(1);
  const int64_t dimension = inst.attrs<OneDimensionAttrs>().dimension.value;
  const bool whole = n.Is(Opcode::kConstant) && n.literal().GetInt(0) == shape.dim(dimension);
  shape.SetDynamic(dimension, !whole);
  return shape;
}

}  // namespace hlo
