// Shape rules of reductions, windows and sorting: docs/ops.md#reductions.
#include <algorithm>

#include "base/text.h"
#include "ir/shapes/shape_checks.h"

namespace hlo {
namespace {

// Expects k inputs of equal dimensions, then k initial values. Returns k. Errors: V100, `dims_code` (V101 or V102).
Result<int64_t> CountInputs(const Instruction& inst, const char* dims_code) {
  const int64_t count = inst.operand_count();
  if (count % 2 != 0 || count == 0) {
    FAIL(ErrorAtOperandListEnd(
        inst, "V100",
        Str("'", inst.opcode(), "' takes inputs and as many initial values, found ", count, " operands")));
  }
  TRY(CheckArrays(inst));
  for (int64_t i = 1; i < count / 2; ++i) {
    const Shape& input = inst.operand(i).shape();
    if (SameSizes(input.dims(), inst.operand(0).shape().dims())) continue;
    FAIL(ErrorAtOperand(inst, i, dims_code,
                        Str("inputs 0 and ", i, " differ in dimensions: ", inst.operand(0).shape(), " and ", input)));
  }
  return count / 2;
}

// The results are a tuple if the computation returns one.
Shape ResultsOf(const Computation& to_apply, const std::vector<PrimitiveType>& types, const Shape& like) {
  if (!to_apply.root().shape().IsTuple()) return like.WithType(types[0]);
  std::vector<Shape> results;
  for (const PrimitiveType type : types) results.push_back(like.WithType(type));
  return Shape::Tuple(std::move(results));
}

}  // namespace

Result<std::vector<int64_t>> WindowedDims(const Instruction& inst, std::span<const int64_t> dims,
                                          const Window& window) {
  if (window.dims.size() != dims.size()) {
    FAIL(ErrorAtAttribute(inst, "window", "V028",
                          Str("window has ", window.dims.size(), " dimensions, expected ", dims.size())));
  }
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < dims.size(); ++i) {
    const WindowDim& w = window.dims[i];
    if (w.size < 1 || w.stride < 1 || w.base_dilation < 1 || w.window_dilation < 1) {
      FAIL(ErrorAtAttribute(inst, "window", "V028",
                            Str("window dim ", i, " has size ", w.size, ", stride ", w.stride, ", dilations ",
                                w.base_dilation, " and ", w.window_dilation, ", expected each to be 1 or more")));
    }
    if (dims[i] == Shape::kUnbounded) {
      sizes.push_back(Shape::kUnbounded);
      continue;
    }
    // DilatedSize with overflow checks.
    int64_t padded = 0;
    int64_t reach = 0;
    const bool overflow =
        (dims[i] > 0 && (__builtin_mul_overflow(dims[i] - 1, w.base_dilation, &padded) ||
                         __builtin_add_overflow(padded, 1, &padded))) ||
        __builtin_add_overflow(padded, w.pad_low, &padded) || __builtin_add_overflow(padded, w.pad_high, &padded) ||
        __builtin_mul_overflow(w.size - 1, w.window_dilation, &reach) || __builtin_add_overflow(reach, 1, &reach);
    if (overflow)
      FAIL(ErrorAtAttribute(inst, "window", "V028",
                            Str("the padded size of window dim ", i, " does not fit in 64 bits")));
    sizes.push_back(padded < reach ? 0 : (padded - reach) / w.stride + 1);
  }
  return sizes;
}

Result<Shape> ShapeOfReduce(const Instruction& inst) {
  const int64_t inputs = TRY(CountInputs(inst, "V101"));
  const ReduceAttrs& a = inst.attrs<ReduceAttrs>();
  const Shape& input = inst.operand(0).shape();
  if (!IsDimSet(a.dimensions, input.rank())) {
    FAIL(ErrorAtAttribute(inst, "dimensions", "V101",
                          Str(Braced(a.dimensions), " must be different dimensions of ", input)));
  }
  const auto types = TRY(CheckReducer(inst, {"to_apply", *a.to_apply, inputs, inputs}));
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < input.rank(); ++i) {
    if (!Contains(a.dimensions, i)) kept.push_back(i);
  }
  Shape shape(input.type(), std::vector<int64_t>(kept.size()));
  for (size_t i = 0; i < kept.size(); ++i) {
    shape.SetDim(i, input.dim(kept[i]));
    if (input.IsDynamic(kept[i])) shape.SetDynamic(i, true);
  }
  return ResultsOf(*a.to_apply, types, shape);
}

Result<Shape> ShapeOfReduceWindow(const Instruction& inst) {
  const int64_t inputs = TRY(CountInputs(inst, "V102"));
  const ReduceWindowAttrs& a = inst.attrs<ReduceWindowAttrs>();
  const Shape& input = inst.operand(0).shape();
  std::vector<int64_t> dims = TRY(WindowedDims(inst, input.dims(), a.window));
  const auto types = TRY(CheckReducer(inst, {"to_apply", *a.to_apply, inputs, inputs}));
  return ResultsOf(*a.to_apply, types, input.WithDims(dims));
}

Result<Shape> ShapeOfSelectAndScatter(const Instruction& inst) {
  TRY(CheckArrays(inst));
  const SelectAndScatterAttrs& a = inst.attrs<SelectAndScatterAttrs>();
  const Shape& operand = inst.operand(0).shape();
  const Shape& source = inst.operand(1).shape();
  const Shape& init = inst.operand(2).shape();
  const auto is_element = [&](const Instruction* parameter) {
    return parameter->shape().IsScalar() && SameOrBothFloat(parameter->shape().type(), operand.type());
  };
  const auto parameters = a.select->parameters();
  if (parameters.size() != 2 || !std::all_of(parameters.begin(), parameters.end(), is_element) ||
      !a.select->root().shape().IsScalarOf(PrimitiveType::kPred)) {
    FAIL(ErrorAtCallee(inst, "select", "V103",
                       Str("'", a.select->name(), "' must take 2 ", operand.type(), "[] and return pred[]"),
                       a.select->root()));
  }
  const std::vector<int64_t> windowed = TRY(WindowedDims(inst, operand.dims(), a.window));
  if (!SameOrBothFloat(source.type(), operand.type()) || !SameSizes(source.dims(), windowed)) {
    FAIL(ErrorAtOperand(inst, 1, "V104",
                        Str("source is ", source, ", but the windows give ", operand.WithDims(windowed))));
  }
  const auto is_scalar = [&](const Shape& shape) {
    return shape.IsScalar() && SameOrBothFloat(shape.type(), operand.type());
  };
  const Computation& f = *a.scatter;
  if (f.parameters().size() != 2 || !is_scalar(f.parameter(0).shape()) || !is_scalar(f.parameter(1).shape()) ||
      !is_scalar(f.root().shape())) {
    FAIL(ErrorAtCallee(inst, "scatter", "V104",
                       Str("'", f.name(), "' must take 2 ", operand.type(), "[] and return one ", operand.type(), "[]"),
                       f.root()));
  }
  if (!is_scalar(init))
    FAIL(ErrorAtOperand(inst, 2, "V093", Str("initial value is ", init, ", expected ", operand.type(), "[]")));
  return operand;
}

Result<Shape> ShapeOfMap(const Instruction& inst) {
  const Computation& f = *inst.attrs<MapAttrs>().to_apply;
  if (inst.operand_count() == 0) FAIL(ErrorAtOperandListEnd(inst, "V105", "expected 1 operand or more, found none"));
  TRY(CheckArrays(inst));
  Shape shape = inst.operand(0).shape();
  for (const Instruction* operand : inst.operands()) {
    if (shape.rank() == 0) shape = operand->shape();
  }
  if (static_cast<int64_t>(f.parameters().size()) != inst.operand_count() || !f.root().shape().IsScalar()) {
    FAIL(ErrorAtCallee(
        inst, "to_apply", "V105",
        Str("'", f.name(), "' must take a scalar for each of ", inst.operand_count(), " operands and return a scalar"),
        f.root()));
  }
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& operand = inst.operand(i).shape();
    const Shape& parameter = f.parameter(i).shape();
    if (operand.rank() != 0 && !SameSizes(operand.dims(), shape.dims())) {
      FAIL(
          ErrorAtOperand(inst, i, "V105", Str("operand ", i, " is ", operand, ", expected the dimensions of ", shape)));
    }
    if (!parameter.IsScalar() || !SameOrBothFloat(parameter.type(), operand.type())) {
      FAIL(ErrorAtCallee(
          inst, "to_apply", "V105",
          Str("parameter ", i, " of '", f.name(), "' is ", parameter, ", but operand ", i, " is ", operand),
          f.parameter(i)));
    }
  }
  return shape.WithType(f.root().shape().type());
}

// `to_apply` takes inputs without the scanned dimension, then carries, and returns outputs likewise. Errors: V106-V108.
Result<Shape> ShapeOfScan(const Instruction& inst) {
  const ScanAttrs& a = inst.attrs<ScanAttrs>();
  const Computation& f = *a.to_apply;
  const int64_t count = inst.operand_count();
  if (static_cast<int64_t>(f.parameters().size()) != count || a.num_carries < 0 || a.num_carries > count) {
    FAIL(ErrorAtOperandListEnd(
        inst, "V106",
        Str("found ", count, count == 1 ? " operand" : " operands", " and num_carries=", a.num_carries, ", but '",
            f.name(), "' takes ", f.parameters().size(), " inputs and carries")));
  }
  TRY(CheckArrays(inst));
  const int64_t d = a.dimension.value;
  const int64_t inputs = count - a.num_carries;
  const auto fail_size = [&](std::string message) {
    return ErrorAtAttribute(inst, "dimensions", "V107", std::move(message));
  };
  int64_t steps = inputs == 0 && inst.shape().IsTuple() ? Shape::kUnbounded : 0;
  for (int64_t i = 0; i < count; ++i) {
    Shape element = inst.operand(i).shape();
    if (i < inputs) {
      if (d < 0 || d >= element.rank()) FAIL(fail_size(Str("input ", i, ": ", NoDimension(element, d))));
      if (i > 0 && !SameSize(element.dim(d), steps))
        FAIL(fail_size(Str("input ", i, " has ", element.dim(d), " steps, but input 0 has ", steps)));
      steps = element.dim(d);
      std::vector<int64_t> dims(element.dims().begin(), element.dims().end());
      dims.erase(dims.begin() + d);
      element = element.WithDims(dims);
    }
    if (ShapesMatch(element, f.parameter(i).shape(), TypeMatch::kFloatsMayDiffer)) continue;
    FAIL(ErrorAtOperand(inst, i, "V108",
                        Str("operand ", i, " is ", inst.operand(i).shape(), ", but parameter ", i, " of '", f.name(),
                            "' is ", f.parameter(i).shape()))
             .AddNote("this parameter", NameRange(f.parameter(i))));
  }
  const Shape& root = f.root().shape();
  std::vector<Shape> results = root.IsTuple() ? root.elements() : std::vector{root};
  const int64_t outputs = static_cast<int64_t>(results.size()) - a.num_carries;
  if (outputs < 0 || (outputs == 0 && inputs == 0)) {
    FAIL(ErrorAtCallee(inst, "to_apply", "V107",
                       Str("'", f.name(), "' returns ", root, ", expected outputs and ", a.num_carries,
                           a.num_carries == 1 ? " carry" : " carries"),
                       f.root()));
  }
  for (int64_t i = 0; i < a.num_carries; ++i) {
    const Shape& carry = f.parameter(inputs + i).shape();
    if (ShapesMatch(results[outputs + i], carry, TypeMatch::kFloatsMayDiffer)) continue;
    FAIL(ErrorAtCallee(
        inst, "to_apply", "V108",
        Str("carry ", i, " goes into '", f.name(), "' as ", carry, " and comes out as ", results[outputs + i]),
        f.root()));
  }
  for (int64_t i = 0; i < outputs; ++i) {
    if (d < 0 || !results[i].IsArray() || d > results[i].rank())
      FAIL(fail_size(Str("the scanned dimension is ", d, ", but output ", i, " of one step is ", results[i])));
    std::vector<int64_t> dims(results[i].dims().begin(), results[i].dims().end());
    dims.insert(dims.begin() + d, steps);
    results[i] = results[i].WithDims(dims);
  }
  // A single result may be in a tuple, whatever to_apply returns.
  const bool written = inst.shape() != Shape();
  const bool tuple = results.size() > 1 || (written ? inst.shape().IsTuple() : root.IsTuple());
  return tuple ? Shape::Tuple(std::move(results)) : results[0];
}

Result<Shape> ShapeOfSort(const Instruction& inst) {
  const int64_t count = inst.operand_count();
  if (count == 0) FAIL(ErrorAtOperandListEnd(inst, "V109", "expected 1 operand or more, found none"));
  TRY(CheckArrays(inst));
  const SortAttrs& a = inst.attrs<SortAttrs>();
  const Shape& keys = inst.operand(0).shape();
  std::vector<Shape> results;
  for (int64_t i = 0; i < count; ++i) {
    const Shape& operand = inst.operand(i).shape();
    if (!SameSizes(operand.dims(), keys.dims()))
      FAIL(ErrorAtOperand(inst, i, "V109",
                          Str("operand ", i, " is ", operand, ", expected the dimensions of the keys ", keys)));
    results.push_back(operand);
  }
  if (a.dimension.value >= keys.rank()) {
    FAIL(ErrorAtAttribute(inst, "dimensions", "V109", NoDimension(keys, a.dimension.value)));
  }
  // XLA's verifier accepts negative dimensions, but its evaluator then reads out of bounds.
  if (a.dimension.value < 0) {
    FAIL(ErrorAtAttribute(inst, "dimensions", "V303",
                          Str("dimension ", a.dimension.value, " is negative, expected 0 or above")));
  }
  const Computation& f = *a.to_apply;
  const auto parameters = static_cast<int64_t>(f.parameters().size());
  if (parameters != 2 * count) {
    FAIL(ErrorAtCallee(inst, "to_apply", "V110",
                       Str(count, count == 1 ? " operand needs " : " operands need ", 2 * count, " parameters, but '",
                           f.name(), "' has ", parameters),
                       f.root()));
  }
  for (int64_t i = 0; i < 2 * count; ++i) {
    const Shape& parameter = f.parameter(i).shape();
    if (parameter.IsScalar() && SameOrBothFloat(parameter.type(), results[i / 2].type())) continue;
    FAIL(ErrorAtCallee(
        inst, "to_apply", "V110",
        Str("parameter ", i, " of '", f.name(), "' is ", parameter, ", but operand ", i / 2, " is ", results[i / 2]),
        f.parameter(i)));
  }
  if (!f.root().shape().IsScalarOf(PrimitiveType::kPred)) {
    FAIL(ErrorAtCallee(inst, "to_apply", "V110",
                       Str("'", f.name(), "' returns ", f.root().shape(), ", expected pred[]"), f.root()));
  }
  return count == 1 ? results[0] : Shape::Tuple(std::move(results));
}

Result<Shape> ShapeOfTopK(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  Shape values = inst.operand(0).shape();
  const int64_t k = inst.attrs<TopKAttrs>().k;
  const bool fits =
      values.rank() > 0 && k >= 0 && (k <= values.dims().back() || values.dims().back() == Shape::kUnbounded);
  if (!fits)
    FAIL(ErrorAtAttribute(inst, "k", "V111",
                          Str("k is ", k, ", expected 0 to the size of the last dimension of ", values)));
  values.SetDim(values.rank() - 1, k);
  return Shape::Tuple({values, values.WithType(PrimitiveType::kS32)});
}

}  // namespace hlo
