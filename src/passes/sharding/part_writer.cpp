#include "passes/sharding/part_writer.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "ir/reducer.h"

namespace hlo {

PrimitiveType IndexType(int64_t most) {
  return most <= std::numeric_limits<int32_t>::max() ? PrimitiveType::kS32 : PrimitiveType::kS64;
}

// ---- Instructions ---------------------------------------------------------------------------------------------------

Instruction& PartWriter::Add(Opcode opcode, Shape shape, Operands operands, Attributes attributes) {
  return to_.AddLike(op_, opcode, std::move(shape), std::move(operands), std::move(attributes));
}

Instruction& PartWriter::Scalar(PrimitiveType type, int64_t value) {
  return to_.AddConstant(Literal::Scalar(type, value));
}

// Zero bits are not the number 0 in f8e8m0fnu.
Instruction& PartWriter::ZeroBits(PrimitiveType type) { return to_.AddConstant(Literal(Shape(type, {}))); }

Instruction& PartWriter::Everywhere(Instruction& scalar, const Shape& shape) {
  if (shape.rank() == 0) return scalar;
  return Add(Opcode::kBroadcast, shape.WithType(scalar.shape().type()), {&scalar}, DimensionsAttrs());
}

Instruction& PartWriter::Along(Instruction& vector, int64_t dim, const Shape& shape) {
  return Add(Opcode::kBroadcast, shape.WithType(vector.shape().type()), {&vector}, DimensionsAttrs{{dim}});
}

Instruction& PartWriter::Compare(Instruction& a, ComparisonDirection direction, Instruction& b) {
  return Add(Opcode::kCompare, a.shape().WithType(PrimitiveType::kPred), {&a, &b}, CompareAttrs{direction});
}

Instruction& PartWriter::Select(Instruction& which, Instruction& a, Instruction& b) {
  return Add(Opcode::kSelect, a.shape(), {&which, &a, &b});
}

Instruction& PartWriter::InType(Instruction& value, PrimitiveType type) {
  if (value.shape().type() == type) return value;
  return Add(Opcode::kConvert, value.shape().WithType(type), {&value});
}

// A narrow type may be unable to represent `most`.
Instruction& PartWriter::Clamped(Instruction& narrow, int64_t most) {
  Instruction& index = ByteWidth(narrow.shape().type()) < 4 ? InType(narrow, PrimitiveType::kS32) : narrow;
  const PrimitiveType type = index.shape().type();
  return Add(Opcode::kClamp, index.shape(), {&Scalar(type, 0), &index, &Scalar(type, most)});
}

Instruction& PartWriter::Rows(Instruction& value, int64_t dim, int64_t first, int64_t count) {
  if (first == 0 && count == value.shape().dim(dim)) return value;
  SliceRanges ranges;
  for (const int64_t size : value.shape().dims()) ranges.dims.push_back({0, size, 1});
  ranges.dims[dim] = {first, first + count, 1};
  Shape shape = value.shape();
  shape.SetDim(dim, count);
  return Add(Opcode::kSlice, shape, {&value}, SliceAttrs{.slice = std::move(ranges)});
}

Instruction& PartWriter::RowsAt(Instruction& value, int64_t dim, Instruction& start, int64_t count) {
  Shape shape = value.shape();
  shape.SetDim(dim, count);
  Operands operands = {&value};
  Instruction& zero = Scalar(start.shape().type(), 0);
  for (int64_t d = 0; d < shape.rank(); ++d) operands.push_back(d == dim ? &start : &zero);
  std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
  return Add(Opcode::kDynamicSlice, shape, std::move(operands), DynamicSliceAttrs{std::move(sizes)});
}

Instruction& PartWriter::Joined(std::vector<Instruction*> values, int64_t dim) {
  if (values.size() == 1) return *values[0];
  Shape shape = values[0]->shape();
  int64_t size = 0;
  for (const Instruction* value : values) size += value->shape().dim(dim);
  shape.SetDim(dim, size);
  return Add(Opcode::kConcatenate, shape, Operands(values.begin(), values.end()), OneDimensionAttrs{{dim}});
}

Instruction& PartWriter::Padded(Instruction& value, int64_t dim, int64_t low, int64_t high) {
  if (low == 0 && high == 0) return value;
  Shape shape = value.shape();
  PadAttrs attrs;
  attrs.padding.dims.resize(shape.rank());
  attrs.padding.dims[dim] = {low, high, 0};
  shape.SetDim(dim, shape.dim(dim) + low + high);
  return Add(Opcode::kPad, shape, {&value, &ZeroBits(shape.type())}, std::move(attrs));
}

Instruction& PartWriter::Linear(PrimitiveType type, int64_t first, int64_t step, const Atoms& atoms) {
  if (step == 0) return Scalar(type, first);
  Instruction* value = &InType(digits_.PartNumber(axes_, atoms), type);
  if (step != 1) value = &Add(Opcode::kMultiply, value->shape(), {value, &Scalar(type, step)});
  if (first != 0) value = &Add(Opcode::kAdd, value->shape(), {value, &Scalar(type, first)});
  return *value;
}

// first, first + 1, ...
Instruction& PartWriter::Numbered(PrimitiveType type, int64_t count, Instruction& first) {
  const Shape shape(type, {count});
  Instruction& numbers = Add(Opcode::kIota, shape, {}, IotaAttrs{0});
  return Add(Opcode::kAdd, shape, {&numbers, &Everywhere(first, shape)});
}

// Counts in a type that represents all numbers, so that each is rounded once.
Instruction& PartWriter::IotaInPart(int64_t dim, const Shape& part, const Atoms& atoms) {
  const int64_t size = part.dim(dim);
  const PrimitiveType type = IndexType(size * axes_.SizeOf(atoms));
  Instruction& numbers = Numbered(type, size, Linear(type, 0, size, atoms));
  return Along(InType(numbers, part.type()), dim, part);
}

Result<Instruction*> PartWriter::WithIdentity(Instruction& value, Opcode reducer, const Atoms& atoms) {
  const auto identity = IdentityOf(reducer, value.shape().type());
  if (!identity)
    FAIL(UnsupportedAt(op_, "U044",
                       Str("the reducer of '", op_.name(), "' (", op_.opcode(), ") has no known identity")));
  if (value.Is(Opcode::kConstant) && value.shape().rank() == 0 && value.literal().BitEquals(*identity)) return &value;
  Instruction& neutral = Everywhere(to_.AddConstant(*identity), value.shape());
  Instruction& is_first =
      Compare(digits_.PartNumber(axes_, atoms), ComparisonDirection::kEq, Scalar(PrimitiveType::kS32, 0));
  return &Select(Everywhere(is_first, value.shape()), value, neutral);
}

Instruction& PartWriter::WithoutPadding(Instruction& part, int64_t dim, int64_t size, Instruction& padding,
                                        const Atoms& atoms) {
  const int64_t own = part.shape().dim(dim);
  const PrimitiveType type = IndexType(own * axes_.SizeOf(atoms));
  Instruction& numbers = Numbered(type, own, Linear(type, 0, own, atoms));
  Instruction& is_row = Compare(numbers, ComparisonDirection::kLt, Everywhere(Scalar(type, size), numbers.shape()));
  return Select(Along(is_row, dim, part.shape()), part, Everywhere(padding, part.shape()));
}

// ---- Windows --------------------------------------------------------------------------------------------------------

// Part p is sent to part target(p), or not at all if that is out of range.
Instruction& PartWriter::Permuted(Instruction& value, const Atoms& atoms,
                                  const std::function<int64_t(int64_t)>& target) {
  const int64_t parts = axes_.SizeOf(atoms);
  PermuteAttrs attrs;
  attrs.channel_id = supply_.NextChannel();
  for (int64_t position = 0; position < axes_.devices(); ++position) {
    int64_t part = 0, other = position;
    for (const uint8_t atom : atoms) {
      const auto& [size, stride, name] = axes_.atoms()[atom];
      part = part * size + position / stride % size;
      other -= position / stride % size * stride;
    }
    int64_t number = target(part);
    if (number < 0 || number >= parts) continue;
    for (size_t i = atoms.size(); i-- > 0;) {
      const auto& [size, stride, name] = axes_.atoms()[atoms[i]];
      other += number % size * stride;
      number /= size;
    }
    attrs.source_target_pairs.push_back({axes_.DeviceAt(position), axes_.DeviceAt(other)});
  }
  std::ranges::sort(attrs.source_target_pairs);
  return Add(Opcode::kCollectivePermute, value.shape(), {&value}, std::move(attrs));
}

Instruction& PartWriter::FromPart(Instruction& value, const Atoms& atoms, int64_t distance) {
  return Permuted(value, atoms, [&](int64_t part) { return part + distance; });
}

Instruction& PartWriter::FromMirroredPart(Instruction& value, const Atoms& atoms) {
  return Permuted(value, atoms, [&](int64_t part) { return axes_.SizeOf(atoms) - 1 - part; });
}

Instruction& PartWriter::WindowRows(Instruction& part, int64_t dim, int64_t size, const Halo& halo, const Atoms& atoms,
                                    Instruction* padding) {
  Instruction& middle = halo.is_mirrored ? FromMirroredPart(part, atoms) : part;
  const int64_t own = halo.own, direction = halo.is_mirrored ? -1 : 1;
  std::vector<Instruction*> pieces;
  for (int64_t hop = (halo.before + own - 1) / own; hop > 0; --hop) {
    const int64_t rows = std::min(own, halo.before - (hop - 1) * own);
    pieces.push_back(&FromPart(Rows(middle, dim, own - rows, rows), atoms, direction * hop));
  }
  pieces.push_back(&middle);
  for (int64_t hop = 1; hop <= (halo.after + own - 1) / own; ++hop) {
    const int64_t rows = std::min(own, halo.after - (hop - 1) * own);
    pieces.push_back(&FromPart(Rows(middle, dim, 0, rows), atoms, -direction * hop));
  }
  Instruction& all = Padded(Joined(std::move(pieces), dim), dim, halo.low, halo.high);
  const PrimitiveType type = IndexType(2 * (all.shape().dim(dim) + size) * halo.parts);
  Instruction& read = halo.shift == 0 ? Rows(all, dim, halo.start, halo.rows)
                                      : RowsAt(all, dim, Linear(type, halo.start, halo.shift, atoms), halo.rows);
  if (!halo.IsMasked() || padding == nullptr) return read;
  Instruction& numbers = Numbered(type, halo.rows, Linear(type, halo.first, halo.step, atoms));
  const auto is = [&](ComparisonDirection direction, int64_t row) -> Instruction& {
    return Compare(numbers, direction, Everywhere(Scalar(type, row), numbers.shape()));
  };
  Instruction* is_row = halo.reads_below ? &is(ComparisonDirection::kGe, 0) : nullptr;
  if (halo.reads_above) {
    Instruction& is_before_end = is(ComparisonDirection::kLt, size);
    is_row = is_row == nullptr ? &is_before_end : &Add(Opcode::kAnd, is_row->shape(), {is_row, &is_before_end});
  }
  return Select(Along(*is_row, dim, read.shape()), read, Everywhere(*padding, read.shape()));
}

// From its row 0 on, operand k follows the operands before it.
Instruction& PartWriter::PartOfConcatenation(std::span<Instruction* const> rows, std::span<const Halo> halos,
                                             int64_t dim, const Atoms& atoms) {
  Instruction* value = rows[0];
  const Shape& shape = value->shape();
  for (size_t k = 1; k < rows.size(); ++k) {
    const Halo& halo = halos[k];
    const PrimitiveType type = IndexType(2 * halo.rows * halo.parts);
    Instruction& numbers = Numbered(type, halo.rows, Linear(type, halo.first, halo.step, atoms));
    Instruction& is_behind = Compare(numbers, ComparisonDirection::kGe, Everywhere(Scalar(type, 0), numbers.shape()));
    value = &Select(Along(is_behind, dim, shape), *rows[k], *value);
  }
  return *value;
}

Instruction& PartWriter::Rotated(Instruction& part, int64_t dim, int64_t start, const Atoms& atoms) {
  const int64_t own = part.shape().dim(dim), parts = axes_.SizeOf(atoms);
  const int64_t distance = start / own, offset = start % own;
  const auto from = [&](int64_t parts_later, Instruction& value) -> Instruction* {
    if (parts_later % parts == 0) return &value;
    return &Permuted(value, atoms, [&](int64_t number) { return (number + parts - parts_later % parts) % parts; });
  };
  std::vector<Instruction*> pieces = {from(distance, Rows(part, dim, offset, own - offset))};
  if (offset > 0) pieces.push_back(from(distance + 1, Rows(part, dim, 0, offset)));
  return Joined(std::move(pieces), dim);
}

// ---- Indices --------------------------------------------------------------------------------------------------------

// Differences of narrow types would wrap.
Instruction& PartWriter::IndicesInPart(Instruction& narrow, const FactorIndex& index, int64_t size,
                                       const Atoms& atoms) {
  Instruction& indices = ByteWidth(narrow.shape().type()) < 4 ? InType(narrow, PrimitiveType::kS32) : narrow;
  const Shape& shape = indices.shape();
  const PrimitiveType type = shape.type();
  const int64_t parts = axes_.SizeOf(atoms), own = (size + parts - 1) / parts;
  Instruction* const in_whole = index.clamped ? &Clamped(indices, size - index.width) : &indices;
  Instruction& first = Everywhere(Linear(type, 0, own, atoms), shape);
  Instruction& in_part = Add(Opcode::kSubtract, shape, {in_whole, &first});
  if (index.vector_dim >= shape.rank() || shape.dim(index.vector_dim) == 1) return in_part;
  const Shape vector = Shape(type, {shape.dim(index.vector_dim)});
  Instruction& components = Add(Opcode::kIota, vector, {}, IotaAttrs{0});
  Instruction& is_component =
      Compare(components, ComparisonDirection::kEq, Everywhere(Scalar(type, index.component), vector));
  return Select(Along(is_component, index.vector_dim, shape), in_part, indices);
}

// One component of all index vectors, as an array without the dimension of the vectors.
Instruction& PartWriter::Component(Instruction& indices, const FactorIndex& index) {
  if (index.vector_dim >= indices.shape().rank()) return indices;
  Instruction& component = Rows(indices, index.vector_dim, index.component, 1);
  Dims dims = component.shape().dims();
  dims.erase(dims.begin() + index.vector_dim);
  return Add(Opcode::kReshape, component.shape().WithDims(dims), {&component}, ReshapeAttrs());
}

Instruction& PartWriter::GatheredInPart(Instruction& result, Instruction& indices, const FactorIndex& index,
                                        int64_t size, const Atoms& atoms) {
  Instruction& component = Component(indices, index);
  const Shape& batch = component.shape();
  const int64_t parts = axes_.SizeOf(atoms), own = (size + parts - 1) / parts;
  // A negative difference of unsigned numbers wraps to a large number.
  Instruction* in_part = &Compare(component, ComparisonDirection::kLt, Everywhere(Scalar(batch.type(), own), batch));
  if (IsSigned(batch.type())) {
    Instruction& is_behind = Compare(component, ComparisonDirection::kGe, Everywhere(Scalar(batch.type(), 0), batch));
    in_part = &Add(Opcode::kAnd, in_part->shape(), {in_part, &is_behind});
  }
  DimensionsAttrs batch_dims;
  const std::vector<int64_t>& offset_dims = op_.attrs<GatherAttrs>().offset_dims;
  for (int64_t dim = 0; dim < result.shape().rank(); ++dim) {
    if (std::ranges::find(offset_dims, dim) == offset_dims.end()) batch_dims.dimensions.push_back(dim);
  }
  Instruction& is_found =
      Add(Opcode::kBroadcast, result.shape().WithType(PrimitiveType::kPred), {in_part}, std::move(batch_dims));
  return Select(is_found, result, Everywhere(ZeroBits(result.shape().type()), result.shape()));
}

// The start, clamped in the whole array, then counted from the part's first row.
Instruction& PartWriter::StartInPart(Instruction& start, int64_t size, int64_t width, int64_t own, const Atoms& atoms) {
  Instruction& in_whole = Clamped(start, size - width);
  const PrimitiveType counted = IndexType(2 * size);
  Instruction& first = Linear(counted, 0, own, atoms);
  return Add(Opcode::kSubtract, first.shape(), {&InType(in_whole, counted), &first});
}

// Reads min(width, own) rows of the part, as near to the start as possible, and moves them to their places among zeros.
Instruction& PartWriter::SlicedInPart(Instruction& part, int64_t dim, int64_t size, Instruction& start, int64_t width,
                                      const Atoms& atoms) {
  const int64_t own = part.shape().dim(dim), count = std::min(width, own);
  Instruction& in_part = StartInPart(start, size, width, own, atoms);
  const PrimitiveType type = in_part.shape().type();
  Instruction& near = Add(Opcode::kClamp, in_part.shape(), {&Scalar(type, 0), &in_part, &Scalar(type, own - count)});
  Instruction& rows = Padded(RowsAt(part, dim, near, count), dim, width, width);
  Instruction& distance = Add(Opcode::kSubtract, in_part.shape(), {&in_part, &near});
  Instruction& place = Add(Opcode::kAdd, in_part.shape(), {&distance, &Scalar(type, width)});
  return RowsAt(rows, dim, place, width);
}

PartWriter::PartUpdate PartWriter::UpdateInPart(Instruction& update, int64_t dim, int64_t size, Instruction& start,
                                                const Atoms& atoms) {
  const int64_t parts = axes_.SizeOf(atoms), own = (size + parts - 1) / parts;
  const int64_t width = update.shape().dim(dim), count = std::min(width, own);
  Instruction& in_part = StartInPart(start, size, width, own, atoms);
  const PrimitiveType type = in_part.shape().type();
  Instruction& near = Add(Opcode::kClamp, in_part.shape(), {&Scalar(type, 0), &in_part, &Scalar(type, own - count)});
  Instruction& distance = Add(Opcode::kSubtract, in_part.shape(), {&near, &in_part});
  Instruction& place = Add(Opcode::kAdd, in_part.shape(), {&distance, &Scalar(type, count)});
  Instruction& rows = RowsAt(Padded(update, dim, count, count), dim, place, count);
  Instruction& numbers = Numbered(type, count, distance);
  Instruction& is_behind = Compare(numbers, ComparisonDirection::kGe, Everywhere(Scalar(type, 0), numbers.shape()));
  Instruction& is_before_end =
      Compare(numbers, ComparisonDirection::kLt, Everywhere(Scalar(type, width), numbers.shape()));
  Instruction& is_valid = Add(Opcode::kAnd, is_behind.shape(), {&is_behind, &is_before_end});
  return {&rows, &near, &is_valid};
}

}  // namespace hlo
