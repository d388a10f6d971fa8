// Shape rules of data movement: docs/ops.md#data-movement.
#include "base/text.h"
#include "ir/shapes/shape_checks.h"

namespace hlo {
namespace {

// `code` is V055 or V059.
Status CheckResultType(const Instruction& inst, const char* code) {
  const PrimitiveType from = inst.operand(0).shape().type();
  if (inst.shape().IsArray() && SameOrBothFloat(from, inst.shape().type())) return {};
  FAIL(ErrorAtResult(inst, code,
                     Str("result of '", inst.opcode(), "' is ", inst.shape(),
                         ", expected the element type of its operand ", inst.operand(0).shape())));
}

// Expects one index for each dimension from operand `first` on, or a vector of all. Errors: V066, V067.
Status CheckIndices(const Instruction& inst, int64_t first, int64_t rank) {
  const int64_t count = inst.operand_count() - first;
  const bool vector = count == 1 && inst.operand(first).shape().IsArray() && inst.operand(first).shape().rank() == 1;
  if (!vector && count != rank) {
    FAIL(ErrorAtOperandListEnd(
        inst, "V066", Str("found ", count, count == 1 ? " index operand" : " index operands", ", expected ", rank)));
  }
  for (int64_t i = first; i < inst.operand_count(); ++i) {
    const Shape& index = inst.operand(i).shape();
    const bool fits = IsInteger(index.type()) && (vector ? index.dim(0) == rank : index.rank() == 0);
    if (!fits || index.type() != inst.operand(first).shape().type()) {
      FAIL(ErrorAtOperand(inst, i, "V067",
                          Str("index operand ", i, " is ", index, ", expected integer scalars of one type")));
    }
  }
  return {};
}

bool IsPermutation(const std::vector<int64_t>& dims, int64_t rank) {
  return static_cast<int64_t>(dims.size()) == rank && IsDimSet(dims, rank);
}

// Error: V074. An index_vector_dim equal to the rank means vectors of one element.
Status CheckIndexVector(const Instruction& inst, const Shape& indices, int64_t operand, int64_t index_vector_dim) {
  if (!indices.IsArray() || !IsInteger(indices.type())) {
    FAIL(ErrorAtOperand(inst, operand, "V074", Str("indices are ", indices, ", expected integers")));
  }
  if (index_vector_dim >= 0 && index_vector_dim <= indices.rank()) return {};
  FAIL(ErrorAtAttribute(
      inst, "index_vector_dim", "V074",
      Str("index_vector_dim is ", index_vector_dim, ", expected 0 to ", indices.rank(), " for indices ", indices)));
}

int64_t IndexVectorSize(const Shape& indices, int64_t index_vector_dim) {
  return index_vector_dim == indices.rank() ? 1 : indices.dim(index_vector_dim);
}

// `code` is V076 for gather and V083 for scatter.
Status CheckIndexMap(const Instruction& inst, const char* name, const char* code, const std::vector<int64_t>& map,
                     int64_t vector_size, int64_t rank) {
  if (static_cast<int64_t>(map.size()) != vector_size) {
    FAIL(ErrorAtAttribute(inst, name, code,
                          Str("the index vector has ", vector_size, " entries, but ", name, " has ", map.size())));
  }
  if (IsDimSet(map, rank)) return {};
  FAIL(ErrorAtAttribute(inst, name, code, Str(name, " ", Braced(map), " must be different dimensions below ", rank)));
}

Status CheckSortedDims(const Instruction& inst, const char* name, const char* code, const std::vector<int64_t>& dims,
                       int64_t rank) {
  if (IsDimSet(dims, rank, true)) return {};
  FAIL(ErrorAtAttribute(inst, name, code,
                        Str(name, " ", Braced(dims), " must be ascending, different and below ", rank)));
}

std::vector<int64_t> BatchSizes(const Shape& indices, int64_t index_vector_dim) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < indices.rank(); ++i) {
    if (i != index_vector_dim) sizes.push_back(indices.dim(i));
  }
  return sizes;
}

}  // namespace

// The strict level checks the byte size (V292).
Result<Shape> ShapeOfBitcast(const Instruction& inst) { return inst.shape(); }

Result<Shape> ShapeOfBroadcast(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const Shape& operand = inst.operand(0).shape();
  const std::vector<int64_t>& dims = inst.dimensions();
  if (!inst.shape().IsArray()) {
    // Only a broadcast of a scalar to a scalar may omit the shape. XLA's inference reads other `dimensions` as sizes.
    if (operand.rank() == 0 && dims.empty()) return operand;
    FAIL(ErrorAtOpcode(inst, "V056", "a broadcast needs its result shape written"));
  }
  TRY(CheckResultType(inst, "V055"));
  const Shape& result = inst.shape();
  if (static_cast<int64_t>(dims.size()) != operand.rank()) {
    FAIL(ErrorAtAttribute(inst, "dimensions", "V056",
                          Str("dimensions has ", dims.size(), dims.size() == 1 ? " entry" : " entries",
                              ", but the operand ", operand, " needs ", operand.rank())));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= result.rank()) {
      FAIL(ErrorAtAttribute(inst, "dimensions", "V056",
                            Str("dimension ", dims[i], " is out of range for the result ", result)));
    }
    if (!SameSize(result.dim(dims[i]), operand.dim(i))) {
      FAIL(ErrorAtAttribute(inst, "dimensions", "V056",
                            Str("operand dim ", i, " has size ", operand.dim(i), ", but result dim ", dims[i],
                                " has size ", result.dim(dims[i]))));
    }
  }
  return result;
}

Result<Shape> ShapeOfReshape(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  TRY(CheckResultType(inst, "V059"));
  const Shape& operand = inst.operand(0).shape();
  const auto bounded = [](const Shape& shape) { return !Contains(shape.dims(), Shape::kUnbounded); };
  if (bounded(operand) && bounded(inst.shape()) && operand.NumElements() != inst.shape().NumElements()) {
    FAIL(ErrorAtResult(inst, "V058",
                       Str("reshape changes ", operand.NumElements(), " elements (", operand, ") to ",
                           inst.shape().NumElements(), " elements")));
  }
  return inst.shape();
}

Result<Shape> ShapeOfDynamicReshape(const Instruction& inst) {
  if (inst.operand_count() == 0)
    FAIL(ErrorAtOperandListEnd(inst, "V060", "expected 1 operand and a size for each dimension, found none"));
  TRY(CheckArray(inst, 0));
  const Shape& operand = inst.operand(0).shape();
  const Shape& result = inst.shape();
  if (!result.IsArray() || operand.type() != result.type()) {
    FAIL(ErrorAtResult(
        inst, "V061", Str("result is ", result, ", expected an array with the element type of its operand ", operand)));
  }
  if (operand.NumElements() != result.NumElements()) {
    FAIL(ErrorAtResult(inst, "V060",
                       Str("reshape changes ", operand.NumElements(), " elements (", operand, ") to ",
                           result.NumElements(), " elements")));
  }
  if (inst.operand_count() != result.rank() + 1) {
    FAIL(ErrorAtOperandListEnd(
        inst, "V060",
        Str("found ", inst.operand_count() - 1, inst.operand_count() == 2 ? " size operand" : " size operands", " for ",
            result, ", expected ", result.rank())));
  }
  for (int64_t i = 1; i < inst.operand_count(); ++i) {
    const Shape& size = inst.operand(i).shape();
    if (!size.IsScalarOf(PrimitiveType::kS32))
      FAIL(ErrorAtOperand(inst, i, "V061", Str("size is ", size, ", expected s32[]")));
  }
  return result;
}

Result<Shape> ShapeOfTranspose(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const Shape& operand = inst.operand(0).shape();
  const std::vector<int64_t>& permutation = inst.dimensions();
  if (!IsPermutation(permutation, operand.rank())) {
    FAIL(ErrorAtAttribute(inst, "dimensions", "V062",
                          Str(Braced(permutation), " is not a permutation of the dimensions of ", operand)));
  }
  Shape shape(operand.type(), std::vector<int64_t>(operand.rank()));
  for (int64_t i = 0; i < operand.rank(); ++i) {
    shape.SetDim(i, operand.dim(permutation[i]));
    if (operand.IsDynamic(permutation[i])) shape.SetDynamic(i, true);
  }
  return shape;
}

Result<Shape> ShapeOfReverse(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const Shape& operand = inst.operand(0).shape();
  if (!IsDimSet(inst.dimensions(), operand.rank())) {
    FAIL(ErrorAtAttribute(inst, "dimensions", "V063",
                          Str(Braced(inst.dimensions()), " must be different dimensions of ", operand)));
  }
  return operand;
}

Result<Shape> ShapeOfShuffle(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const Shape& operand = inst.operand(0).shape();
  const auto& [dimensions, mode, shifts] = inst.attrs<ShuffleAttrs>();
  if (!IsDimSet(dimensions, operand.rank())) {
    FAIL(ErrorAtAttribute(inst, "dimensions", "V086",
                          Str(Braced(dimensions), " must be different dimensions of ", operand)));
  }
  if (shifts.size() != dimensions.size()) {
    FAIL(ErrorAtAttribute(
        inst, "shifts", "V086",
        Str("found ", shifts.size(), shifts.size() == 1 ? " shift for " : " shifts for ", dimensions.size(),
            dimensions.size() == 1 ? " dimension" : " dimensions", ", expected one for each")));
  }
  return operand;
}

std::vector<int64_t> ShuffleStarts(const Instruction& shuffle) {
  const Shape& operand = shuffle.operand(0).shape();
  const ShuffleAttrs& a = shuffle.attrs<ShuffleAttrs>();
  std::vector<int64_t> starts(operand.rank(), 0);
  for (size_t i = 0; i < a.dimensions.size(); ++i) {
    const int64_t d = a.dimensions[i], size = operand.dim(d);
    if (size > 0) starts[d] = (a.shifts[i] % size + size) % size;
  }
  return starts;
}

Result<Shape> ShapeOfSlice(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const Shape& operand = inst.operand(0).shape();
  const std::vector<SliceDim>& slice = inst.attrs<SliceAttrs>().slice.dims;
  if (static_cast<int64_t>(slice.size()) != operand.rank()) {
    FAIL(ErrorAtAttribute(inst, "slice", "V064",
                          Str("found ", slice.size(), slice.size() == 1 ? " range for " : " ranges for ", operand,
                              ", expected ", operand.rank())));
  }
  Shape shape = operand;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const auto [start, limit, stride] = slice[i];
    const int64_t size = operand.dim(i) == Shape::kUnbounded ? INT64_MAX : operand.dim(i);
    if (start < 0 || start > limit || limit > size || stride < 1) {
      FAIL(ErrorAtAttribute(inst, "slice", "V065",
                            Str("range ", i, " is [", start, ":", limit, stride == 1 ? "" : Str(":", stride),
                                "], expected 0 <= start <= limit <= ", operand.dim(i), " and a stride of 1 or more")));
    }
    shape.SetDim(i, limit == start ? 0 : (limit - start - 1) / stride + 1);
    if (shape.dim(i) != operand.dim(i)) shape.SetDynamic(i, false);
  }
  return shape;
}

Result<Shape> ShapeOfDynamicSlice(const Instruction& inst) {
  if (inst.operand_count() == 0)
    FAIL(ErrorAtOperandListEnd(inst, "V066", "expected an operand and its indices, found none"));
  TRY(CheckArray(inst, 0));
  const Shape& operand = inst.operand(0).shape();
  const std::vector<int64_t>& sizes = inst.attrs<DynamicSliceAttrs>().sizes;
  TRY(CheckIndices(inst, 1, operand.rank()));
  if (static_cast<int64_t>(sizes.size()) != operand.rank()) {
    FAIL(ErrorAtAttribute(inst, "dynamic_slice_sizes", "V068",
                          Str("found ", sizes.size(), sizes.size() == 1 ? " size for " : " sizes for ", operand,
                              ", expected ", operand.rank())));
  }
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const bool fits = sizes[i] >= 0 && (sizes[i] <= operand.dim(i) || operand.dim(i) == Shape::kUnbounded);
    if (!fits)
      FAIL(ErrorAtAttribute(
          inst, "dynamic_slice_sizes", "V068",
          Str("slice size of dim ", i, " of ", operand, " is ", sizes[i], ", expected 0 to ", operand.dim(i))));
  }
  Shape shape = operand.WithDims(sizes);
  shape.SetLayout(operand.layout());
  return shape;
}

Result<Shape> ShapeOfDynamicUpdateSlice(const Instruction& inst) {
  if (inst.operand_count() < 2) {
    FAIL(ErrorAtOperandListEnd(inst, "V066",
                               Str("expected an operand, an update and indices, found ", inst.operand_count())));
  }
  const Shape& operand = inst.operand(0).shape();
  if (!operand.IsArray()) TRY(CheckArray(inst, 0));
  TRY(CheckArray(inst, 1));
  const Shape& update = inst.operand(1).shape();
  TRY(CheckIndices(inst, 2, operand.rank()));
  bool fits = update.rank() == operand.rank() && SameOrBothFloat(update.type(), operand.type());
  for (int64_t i = 0; fits && i < operand.rank(); ++i) {
    fits = update.dim(i) <= operand.dim(i) || operand.dim(i) == Shape::kUnbounded;
  }
  if (!fits) FAIL(ErrorAtOperand(inst, 1, "V069", Str("update ", update, " does not fit into ", operand)));
  return operand;
}

Result<Shape> ShapeOfConcatenate(const Instruction& inst) {
  if (inst.operand_count() == 0) FAIL(ErrorAtOperandListEnd(inst, "V070", "expected 1 operand or more, found none"));
  TRY(CheckArrays(inst));
  Shape shape = inst.operand(0).shape();
  const int64_t dimension = inst.attrs<OneDimensionAttrs>().dimension.value;
  if (dimension < 0 || dimension >= shape.rank()) {
    FAIL(ErrorAtAttribute(inst, "dimensions", "V070", NoDimension(shape, dimension)));
  }
  PrimitiveType type = shape.type();
  for (int64_t i = 1; i < inst.operand_count(); ++i) {
    const Shape& operand = inst.operand(i).shape();
    bool fits = operand.rank() == shape.rank() && SameOrBothFloat(operand.type(), type);
    for (int64_t d = 0; fits && d < shape.rank(); ++d) fits = d == dimension || SameSize(operand.dim(d), shape.dim(d));
    if (!fits)
      FAIL(ErrorAtOperand(inst, i, "V071",
                          Str("operands 0 and ", i, " may differ in dim ", dimension, " only: they are ",
                              inst.operand(0).shape(), " and ", operand)));
    type = HigherPrecision(type, operand.type());
    if (operand.IsDynamic(dimension)) shape.SetDynamic(dimension, true);
    const bool unbounded = shape.dim(dimension) == Shape::kUnbounded || operand.dim(dimension) == Shape::kUnbounded;
    int64_t sum = 0;
    if (!unbounded && __builtin_add_overflow(shape.dim(dimension), operand.dim(dimension), &sum)) {
      FAIL(ErrorAtOperand(inst, i, "V071", "the size of the joined dimension does not fit in 64 bits"));
    }
    shape.SetDim(dimension, unbounded ? Shape::kUnbounded : sum);
  }
  return shape.WithType(type);
}

Result<Shape> ShapeOfPad(const Instruction& inst) {
  TRY(CheckArrays(inst));
  Shape shape = inst.operand(0).shape();
  const Shape& value = inst.operand(1).shape();
  const std::vector<PaddingDim>& padding = inst.attrs<PadAttrs>().padding.dims;
  if (static_cast<int64_t>(padding.size()) != shape.rank()) {
    FAIL(ErrorAtAttribute(inst, "padding", "V072",
                          Str("padding has ", padding.size(), padding.size() == 1 ? " entry for " : " entries for ",
                              shape, ", expected ", shape.rank())));
  }
  if (value.rank() != 0 || !SameOrBothFloat(value.type(), shape.type())) {
    FAIL(ErrorAtOperand(inst, 1, "V072", Str("padding value is ", value, ", expected ", shape.type(), "[]")));
  }
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == Shape::kUnbounded) continue;
    const auto [low, high, interior] = padding[i];
    int64_t size = 0;
    const bool overflow = interior < 0 ||
                          __builtin_mul_overflow(std::max<int64_t>(shape.dim(i) - 1, 0), interior, &size) ||
                          __builtin_add_overflow(size, shape.dim(i), &size) ||
                          __builtin_add_overflow(size, low, &size) || __builtin_add_overflow(size, high, &size);
    if (overflow || size < 0) {
      FAIL(ErrorAtAttribute(
          inst, "padding", "V073",
          Str("dim ", i, " of size ", shape.dim(i), " cannot be padded by ", low, "_", high, "_", interior)));
    }
    shape.SetDim(i, size);
  }
  return shape.WithType(HigherPrecision(shape.type(), value.type()));
}

Result<Shape> ShapeOfGather(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  const Shape& operand = inst.operand(0).shape();
  const Shape& indices = inst.operand(1).shape();
  const GatherAttrs& a = inst.attrs<GatherAttrs>();
  TRY(CheckIndexVector(inst, indices, 1, a.index_vector_dim));
  const std::vector<int64_t> batch = BatchSizes(indices, a.index_vector_dim);
  const auto result_rank = static_cast<int64_t>(a.offset_dims.size() + batch.size());
  TRY(CheckSortedDims(inst, "offset_dims", "V075", a.offset_dims, result_rank));
  TRY(CheckIndexMap(inst, "start_index_map", "V076", a.start_index_map, IndexVectorSize(indices, a.index_vector_dim),
                    operand.rank()));
  TRY(CheckSortedDims(inst, "collapsed_slice_dims", "V077", a.collapsed_slice_dims, operand.rank()));
  TRY(CheckSortedDims(inst, "operand_batching_dims", "V078", a.operand_batching_dims, operand.rank()));
  if (a.operand_batching_dims.size() != a.start_indices_batching_dims.size() ||
      !IsDimSet(a.start_indices_batching_dims, indices.rank())) {
    FAIL(ErrorAtAttribute(
        inst, "operand_batching_dims", "V078",
        Str("operand_batching_dims ", Braced(a.operand_batching_dims), " and start_indices_batching_dims ",
            Braced(a.start_indices_batching_dims), " do not pair up")));
  }
  const auto rank = static_cast<size_t>(operand.rank());
  if (a.slice_sizes.size() != rank ||
      a.offset_dims.size() + a.collapsed_slice_dims.size() + a.operand_batching_dims.size() != rank) {
    FAIL(ErrorAtAttribute(inst, "slice_sizes", "V079",
                          Str("operand ", operand, " needs ", rank, " slice sizes (found ", a.slice_sizes.size(),
                              ") and as many offset, collapsed and batching dims (found ", a.offset_dims.size(), " + ",
                              a.collapsed_slice_dims.size(), " + ", a.operand_batching_dims.size(), ")")));
  }
  std::vector<int64_t> offset_sizes;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const int64_t size = a.slice_sizes[i];
    if (size < 0 || (size > operand.dim(i) && operand.dim(i) != Shape::kUnbounded)) {
      FAIL(ErrorAtAttribute(
          inst, "slice_sizes", "V079",
          Str("slice size of dim ", i, " of ", operand, " is ", size, ", expected 0 to ", operand.dim(i))));
    }
    const bool collapsed = Contains(a.collapsed_slice_dims, i);
    if ((collapsed || Contains(a.operand_batching_dims, i)) && size > 1) {
      FAIL(ErrorAtAttribute(inst, "slice_sizes", collapsed ? "V077" : "V078",
                            Str("slice size of collapsed or batching dim ", i, " is ", size, ", expected 0 or 1")));
    }
    if (!collapsed && !Contains(a.operand_batching_dims, i)) offset_sizes.push_back(size);
  }
  std::vector<int64_t> dims;
  size_t next_offset = 0;
  size_t next_batch = 0;
  for (int64_t i = 0; i < result_rank; ++i) {
    dims.push_back(Contains(a.offset_dims, i) ? offset_sizes[next_offset++] : batch[next_batch++]);
  }
  return Shape(operand.type(), dims);
}

Result<Shape> ShapeOfScatter(const Instruction& inst) {
  const int64_t count = inst.operand_count();
  if (count % 2 == 0 || count < 3)
    FAIL(ErrorAtOperandListEnd(
        inst, "V080",
        Str("found ", count, count == 1 ? " operand" : " operands", ", expected k inputs, the indices and k updates")));
  TRY(CheckArrays(inst));
  const int64_t k = count / 2;
  const Shape& operand = inst.operand(0).shape();
  const Shape& indices = inst.operand(k).shape();
  const ScatterAttrs& a = inst.attrs<ScatterAttrs>();
  TRY(CheckIndexVector(inst, indices, k, a.index_vector_dim));
  const std::vector<int64_t> batch = BatchSizes(indices, a.index_vector_dim);
  const auto updates_rank = static_cast<int64_t>(batch.size() + a.update_window_dims.size());
  TRY(CheckSortedDims(inst, "update_window_dims", "V082", a.update_window_dims, updates_rank));
  TRY(CheckSortedDims(inst, "inserted_window_dims", "V082", a.inserted_window_dims, operand.rank()));
  TRY(CheckSortedDims(inst, "input_batching_dims", "V082", a.input_batching_dims, operand.rank()));
  if (static_cast<int64_t>(a.update_window_dims.size() + a.inserted_window_dims.size() +
                           a.input_batching_dims.size()) != operand.rank()) {
    FAIL(ErrorAtAttribute(
        inst, "update_window_dims", "V082",
        Str("operand ", operand, " needs ", operand.rank(), " window, inserted and batching dims, found ",
            a.update_window_dims.size(), " + ", a.inserted_window_dims.size(), " + ", a.input_batching_dims.size())));
  }
  TRY(CheckIndexMap(inst, "scatter_dims_to_operand_dims", "V083", a.scatter_dims_to_operand_dims,
                    IndexVectorSize(indices, a.index_vector_dim), operand.rank()));
  if (a.input_batching_dims.size() != a.scatter_indices_batching_dims.size() ||
      !IsDimSet(a.scatter_indices_batching_dims, indices.rank())) {
    FAIL(ErrorAtAttribute(
        inst, "input_batching_dims", "V084",
        Str("input_batching_dims ", Braced(a.input_batching_dims), " and scatter_indices_batching_dims ",
            Braced(a.scatter_indices_batching_dims), " do not pair up")));
  }
  std::vector<int64_t> window_limits;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    if (!Contains(a.inserted_window_dims, i) && !Contains(a.input_batching_dims, i))
      window_limits.push_back(operand.dim(i));
  }
  std::vector<Shape> results;
  for (int64_t i = 0; i < k; ++i) {
    const Shape& updates = inst.operand(k + 1 + i).shape();
    if (!SameSizes(inst.operand(i).shape().dims(), operand.dims())) {
      FAIL(ErrorAtOperand(
          inst, i, "V082",
          Str("operands 0 and ", i, " differ in dimensions: ", operand, " and ", inst.operand(i).shape())));
    }
    if (updates.rank() != updates_rank) {
      FAIL(ErrorAtOperand(inst, k + 1 + i, "V081",
                          Str("updates are ", updates, ", expected rank ", updates_rank, ": ", batch.size(),
                              " of the indices and ", a.update_window_dims.size(), " of the window")));
    }
    size_t next_window = 0;
    size_t next_batch = 0;
    for (int64_t d = 0; d < updates.rank(); ++d) {
      const bool window = Contains(a.update_window_dims, d);
      const int64_t limit = window ? window_limits[next_window++] : batch[next_batch++];
      const bool fits =
          window ? limit == Shape::kUnbounded || updates.dim(d) <= limit : SameSize(updates.dim(d), limit);
      if (!fits) {
        FAIL(ErrorAtOperand(
            inst, k + 1 + i, "V085",
            Str("dim ", d, " of updates ", updates, " has size ", updates.dim(d),
                window ? ", expected at most the window's " : ", expected the size in the indices, ", limit)));
      }
    }
    results.push_back(inst.operand(i).shape());
  }
  TRY(CheckReducer(inst, {"to_apply", *a.to_apply, k, -1}));
  return k == 1 ? results[0] : Shape::Tuple(std::move(results));
}

}  // namespace hlo
