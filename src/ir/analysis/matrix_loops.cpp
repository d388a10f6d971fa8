#include "ir/analysis/matrix_loops.h"

namespace hlo {

MatrixShapes::MatrixShapes(const Shape& matrices)
    : matrix(matrices),
      batch(matrices.dims().begin(), matrices.dims().end() - 2),
      rows(matrices.dim(matrices.rank() - 2)),
      columns(matrices.dim(matrices.rank() - 1)) {}

Shape MatrixShapes::With(std::initializer_list<int64_t> last) const {
  Dims dims = batch;
  for (const int64_t size : last) dims.push_back(size);
  return Shape(matrix.type(), dims);
}

bool IsRealMatrices(const Shape& shape) {
  return shape.IsArray() && (shape.type() == PrimitiveType::kF32 || shape.type() == PrimitiveType::kF64) &&
         !shape.HasDynamicDims() && shape.HasDefaultLayout() && shape.rank() >= 2 && shape.NumElements() > 0;
}

Instruction* Writer::Add(Opcode opcode, const Shape& shape, const Values& operands, Attributes attrs) {
  return &computation_.AddLike(like_, opcode, shape, operands, std::move(attrs));
}

Instruction* Writer::Constant(double value, const Shape& shape) {
  Instruction& scalar = computation_.AddConstant(Literal::Scalar(shape.type(), value));
  return shape.IsScalar() ? &scalar : Add(Opcode::kBroadcast, shape, {&scalar}, DimensionsAttrs{});
}

Instruction* Writer::Compare(Instruction* a, ComparisonDirection direction, Instruction* b) {
  return Add(Opcode::kCompare, a->shape().WithType(PrimitiveType::kPred), {a, b}, CompareAttrs{direction});
}

Instruction* Writer::Widen(Instruction* x, const Shape& shape, std::initializer_list<int64_t> last) {
  DimensionsAttrs attrs;
  const int64_t leading = x->shape().rank() - static_cast<int64_t>(last.size());
  for (int64_t d = 0; d < leading; ++d) attrs.dimensions.push_back(d);
  attrs.dimensions.insert(attrs.dimensions.end(), last);
  return Add(Opcode::kBroadcast, shape.WithType(x->shape().type()), {x}, attrs);
}

Instruction* Writer::CompareIndex(const Shape& shape, int64_t dim, ComparisonDirection direction, Instruction* number) {
  const Shape indices = shape.WithType(PrimitiveType::kS32);
  Instruction* const index = Add(Opcode::kIota, indices, {}, IotaAttrs{dim});
  return Compare(index, direction, Add(Opcode::kBroadcast, indices, {number}, DimensionsAttrs{}));
}

Instruction* Writer::Reduce(Instruction* x, Opcode op) {
  const Shape scalar = Shape::Scalar(x->shape().type());
  Computation& reducer = like_.module().AddComputation(RowOf(op).text);
  Instruction& a = reducer.AddParameter(0, scalar);
  Instruction& b = reducer.AddParameter(1, scalar);
  reducer.SetRoot(reducer.Add(op, scalar, {&a, &b}));
  const Dims dims(x->shape().dims().begin(), x->shape().dims().end() - 1);
  return Add(Opcode::kReduce, x->shape().WithDims(dims), {x, Constant(0, scalar)},
             ReduceAttrs{{x->shape().rank() - 1}, &reducer});
}

Writer::Values Writer::Starts(const Instruction& x, const Values& starts) {
  Values all;
  for (size_t d = 0; d < x.shape().dims().size(); ++d) {
    Instruction* const start = d < starts.size() ? starts[d] : nullptr;
    all.push_back(start != nullptr ? start : Constant(0, Shape::Scalar(PrimitiveType::kS32)));
  }
  return all;
}

Instruction* Writer::Slice(Instruction* x, const Values& starts, const Dims& sizes, const Shape& result) {
  Values operands = Starts(*x, starts);
  operands.insert(operands.begin(), x);
  Instruction* const slice =
      Add(Opcode::kDynamicSlice, x->shape().WithDims(sizes), operands, DynamicSliceAttrs{std::vector<int64_t>(sizes)});
  return SameDims(slice->shape(), result) ? slice : Add(Opcode::kReshape, result, {slice}, ReshapeAttrs());
}

Instruction* Writer::Update(Instruction* x, Instruction* part, const Values& starts, const Dims& sizes) {
  const Shape shape = x->shape().WithDims(sizes);
  Instruction* const shaped =
      SameDims(part->shape(), shape) ? part : Add(Opcode::kReshape, shape, {part}, ReshapeAttrs());
  Values operands = Starts(*x, starts);
  operands.insert(operands.begin(), {x, shaped});
  return Add(Opcode::kDynamicUpdateSlice, x->shape(), operands);
}

Writer::Values Writer::Parts(Instruction& tuple) {
  Values parts;
  for (size_t i = 0; i < tuple.shape().elements().size(); ++i)
    parts.push_back(&tuple.computation().AddGetTupleElement(tuple, static_cast<int64_t>(i)));
  return parts;
}

Writer::Values Writer::While(const Values& init, const std::function<Instruction*(Writer&, const Values&)>& condition,
                             const std::function<Values(Writer&, const Values&)>& body) {
  Instruction& start = computation_.AddTuple(init);
  Computation& asks = like_.module().AddComputation("condition");
  Writer question(like_, asks);
  asks.SetRoot(*condition(question, Parts(asks.AddParameter(0, start.shape()))));
  Computation& steps = like_.module().AddComputation("body");
  Writer step(like_, steps);
  steps.SetRoot(steps.AddTuple(body(step, Parts(steps.AddParameter(0, start.shape())))));
  WhileAttrs attrs;
  attrs.condition = &asks;
  attrs.body = &steps;
  return Parts(*Add(Opcode::kWhile, start.shape(), {&start}, attrs));
}

Writer::Values Writer::For(int64_t count, const Values& init,
                           const std::function<Values(Writer&, const Values&)>& body) {
  const Shape index = Shape::Scalar(PrimitiveType::kS32);
  Values state = init;
  state.insert(state.begin(), Constant(0, index));
  const auto is_left = [&](Writer& w, const Values& parts) {
    return w.Compare(parts[0], ComparisonDirection::kLt, w.Constant(static_cast<double>(count), index));
  };
  Values end = While(state, is_left, [&](Writer& w, const Values& parts) {
    Values next = body(w, parts);
    next.insert(next.begin(), w.Binary(Opcode::kAdd, parts[0], w.Constant(1, index)));
    return next;
  });
  end.erase(end.begin());
  return end;
}

}  // namespace hlo
