#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/elements.h"
#include "interp/evaluation.h"
#include "interp/strided.h"
#include "ir/analysis/dynamic_indices.h"
#include "ir/analysis/movement.h"
#include "ir/shapes/shape_rules.h"

namespace hlo {
namespace {

using Strides = std::vector<int64_t>;

int64_t BytesOf(const Literal& literal) { return ByteWidth(literal.shape().type()); }

// Result element i is operand element base + sum i_d * strides[d].
Literal Moved(const Literal& operand, const Shape& shape, const Strides& strides, int64_t base = 0) {
  Literal result = Literal::Uninitialized(shape);
  if (result.byte_size() == 0) return result;
  const int64_t bytes = BytesOf(operand);
  CopyStrided(shape.dims(), operand.raw() + base * bytes, strides, result.mutable_raw(), RowMajorStrides(shape.dims()),
              bytes);
  return result;
}

Literal MovedByStrides(const Evaluation& e) {
  const MovedStrides moved = *StridesOfMovement(e.inst, e.operands[0].shape());
  return Moved(e.operands[0], e.inst.shape(), moved.strides, moved.base);
}

// Starts are clamped so that the window is inside. They are scalars from operand `first` on, or one vector in old
// texts.
std::vector<int64_t> ClampedStarts(const Evaluation& e, size_t first, std::span<const int64_t> dims,
                                   std::span<const int64_t> sizes) {
  const bool vector = first < e.operands.size() && e.operands[first].shape().rank() == 1;
  std::vector<int64_t> starts(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t start = vector ? IndexAt(e.operands[first], d) : IndexAt(e.operands[first + d], 0);
    starts[d] = std::clamp<int64_t>(start, 0, dims[d] - sizes[d]);
  }
  return starts;
}

Literal ToMemoryOrder(const Literal& literal, const Shape& shape) {
  const auto& minor_to_major = shape.layout().minor_to_major;
  const Strides logical = RowMajorStrides(shape.dims());
  std::vector<int64_t> dims;
  Strides strides;
  for (size_t i = minor_to_major.size(); i-- > 0;) {
    dims.push_back(shape.dim(minor_to_major[i]));
    strides.push_back(logical[minor_to_major[i]]);
  }
  return Moved(literal, Shape(shape.type(), dims), strides);
}

Literal FromMemoryOrder(const Literal& memory, const Shape& shape) {
  return Moved(memory, shape, LayoutStrides(shape));
}

// Bits per element if elements smaller than a byte are packed. A pred has `pred_bits`.
int StoredBits(PrimitiveType type, int pred_bits = 8) {
  return type == PrimitiveType::kPred ? pred_bits : BitWidth(type);
}
int64_t PackedBits(const Shape& shape) { return shape.NumElements() * StoredBits(shape.type()); }

// Reads the first bits as `shape`, little-endian: the first element in a byte has the low bits. Literals do not pack
// elements.
Literal Repacked(const Literal& operand, const Shape& shape, int pred_bits = 8) {
  const PrimitiveType to = shape.type();
  const int from_bits = StoredBits(operand.shape().type(), pred_bits), to_bits = StoredBits(to, pred_bits);
  Literal result = Literal::Uninitialized(shape);
  if (result.byte_size() == 0) return result;
  if (operand.shape().type() == to || (from_bits >= 8 && to_bits >= 8)) {
    std::memcpy(result.mutable_raw(), operand.raw(), result.byte_size());
  } else {
    const auto* in = reinterpret_cast<const uint8_t*>(operand.raw());
    auto* out = reinterpret_cast<uint8_t*>(result.mutable_raw());
    std::memset(out, 0, result.byte_size());
    const auto place = [](int64_t bit, int bits) { return bits >= 8 ? bit : bit / bits * 8 + bit % bits; };
    for (int64_t bit = 0; bit < shape.NumElements() * to_bits; ++bit) {
      const int64_t source = place(bit, from_bits), target = place(bit, to_bits);
      out[target / 8] |= ((in[source / 8] >> (source % 8)) & 1) << (target % 8);
    }
  }
  if (to_bits < 8) {
    for (int64_t i = 0; !IsFloat(to) && i < shape.NumElements(); ++i) result.SetInt(i, result.GetInt(i));
  }
  return result;
}

}  // namespace

Result<Literal> EvalIota(Evaluation& e) {
  const Shape& shape = e.inst.shape();
  const int64_t d = e.inst.attrs<IotaAttrs>().iota_dimension;
  Literal line(Shape(shape.type(), {shape.dim(d)}));
  for (int64_t i = 0; i < shape.dim(d); ++i) line.SetInt(i, i);
  Strides strides(shape.rank(), 0);
  strides[d] = 1;
  return Moved(line, shape, strides);
}

Result<Literal> EvalBroadcast(Evaluation& e) { return MovedByStrides(e); }
Result<Literal> EvalTranspose(Evaluation& e) { return MovedByStrides(e); }
Result<Literal> EvalReverse(Evaluation& e) { return MovedByStrides(e); }
Result<Literal> EvalSlice(Evaluation& e) { return MovedByStrides(e); }

Result<Literal> EvalReshape(Evaluation& e) { return e.operands[0].WithShape(e.inst.shape()); }

// mode=rotate: result[i] = operand[(i + shift) mod size] along each dimension. Source: XLA's ShuffleExpander,
// concatenate(x[shift:], x[:shift]).
Result<Literal> EvalShuffle(Evaluation& e) {
  const Literal& operand = e.operands[0];
  const Shape& shape = operand.shape();
  Literal result = Literal::Uninitialized(shape);
  if (result.byte_size() == 0) return result;
  const std::vector<int64_t> firsts = ShuffleStarts(e.inst);
  std::vector<int64_t> rotated;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (firsts[d] != 0) rotated.push_back(d);
  }
  const Strides strides = RowMajorStrides(shape.dims());
  const int64_t bytes = BytesOf(operand);
  for (uint64_t parts = 0; parts < uint64_t{1} << rotated.size(); ++parts) {
    std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end()), from(sizes.size(), 0), to(sizes.size(), 0);
    for (size_t i = 0; i < rotated.size(); ++i) {
      const int64_t d = rotated[i], behind = shape.dim(d) - firsts[d];
      const bool wraps = (parts >> i & 1) != 0;
      sizes[d] = wraps ? firsts[d] : behind;
      (wraps ? to : from)[d] = wraps ? behind : firsts[d];
    }
    CopyStrided(sizes, operand.raw() + Dot(from, strides) * bytes, strides,
                result.mutable_raw() + Dot(to, strides) * bytes, strides, bytes);
  }
  return result;
}

Result<Literal> EvalDynamicSlice(Evaluation& e) {
  const Shape& from = e.operands[0].shape();
  const Strides strides = RowMajorStrides(from.dims());
  return Moved(e.operands[0], e.inst.shape(), strides,
               Dot(ClampedStarts(e, 1, from.dims(), e.inst.shape().dims()), strides));
}

Result<Literal> EvalDynamicUpdateSlice(Evaluation& e) {
  const Literal update = std::move(e.operands[1]);
  Literal result = std::move(e.operands[0]);  // In place if the operand has no other users.
  const Shape& shape = result.shape();
  const Strides strides = RowMajorStrides(shape.dims());
  const int64_t bytes = BytesOf(result);
  const int64_t base = Dot(ClampedStarts(e, 2, shape.dims(), update.shape().dims()), strides);
  if (update.byte_size() == 0) return result;
  CopyStrided(update.shape().dims(), update.raw(), RowMajorStrides(update.shape().dims()),
              result.mutable_raw() + base * bytes, strides, bytes);
  return result;
}

Result<Literal> EvalConcatenate(Evaluation& e) {
  const int64_t d = e.inst.attrs<OneDimensionAttrs>().dimension.value;
  Literal result = Literal::Uninitialized(e.inst.shape());
  const int64_t bytes = BytesOf(result);
  const Strides strides = RowMajorStrides(e.inst.shape().dims());
  int64_t start = 0;
  for (const Literal& operand : e.operands) {
    const auto& dims = operand.shape().dims();
    if (operand.byte_size() != 0) {
      CopyStrided(dims, operand.raw(), RowMajorStrides(dims), result.mutable_raw() + start * strides[d] * bytes,
                  strides, bytes);
    }
    start += dims[d];
  }
  return result;
}

// Element i goes to low + i * (interior + 1) if that is inside.
Result<Literal> EvalPad(Evaluation& e) {
  const Literal& operand = e.operands[0];
  const auto& padding = e.inst.attrs<PadAttrs>().padding.dims;
  Literal result = Literal::Uninitialized(e.inst.shape());
  if (result.byte_size() == 0) return result;
  const int64_t bytes = BytesOf(result);
  const Strides from = RowMajorStrides(operand.shape().dims()), to = RowMajorStrides(e.inst.shape().dims());
  std::vector<int64_t> dims;
  Strides to_strides;
  int64_t from_base = 0, to_base = 0;
  bool fills = false;
  for (size_t d = 0; d < padding.size(); ++d) {
    const int64_t step = padding[d].interior + 1, low = padding[d].low, size = e.inst.shape().dim(d);
    const int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    const int64_t end = size - 1 - low < 0 ? 0 : std::min(operand.shape().dim(d), (size - 1 - low) / step + 1);
    dims.push_back(std::max<int64_t>(0, end - first));
    to_strides.push_back(to[d] * step);
    from_base += first * from[d];
    to_base += (low + first * step) * to[d];
    fills |= dims.back() != size;
  }
  if (fills) {
    const int64_t count = e.inst.shape().NumElements();
    ParallelFor(count, 1 << 16, [&, out = result.mutable_raw()](int64_t begin, int64_t end) {
      Fill(e.operands[1].raw(), bytes, out + begin * bytes, end - begin);
    });
  }
  if (Product(dims) == 0) return result;
  CopyStrided(dims, operand.raw() + from_base * bytes, from, result.mutable_raw() + to_base * bytes, to_strides, bytes);
  return result;
}

// Little-endian: index 0 has the least significant part.
Result<Literal> EvalBitcastConvert(Evaluation& e) {
  const Literal& operand = e.operands[0];
  const Shape& shape = e.inst.shape();
  const PrimitiveType from = operand.shape().type(), to = shape.type();
  if (TakesPredsForBits(operand.shape(), shape)) return Repacked(operand, shape, /*pred_bits=*/1);
  if (to == PrimitiveType::kPred && from != PrimitiveType::kPred) {
    FAIL(UnsupportedAt(e.inst, "U002",
                       Str("'bitcast-convert' from ", from, " to pred is not supported by the interpreter")));
  }
  if (PackedBits(operand.shape()) != PackedBits(shape))
    FAIL(UnsupportedAt(e.inst, "U002",
                       Str("'bitcast-convert' from ", operand.shape(), " to ", shape,
                           ", which has another number of bits, is not supported by the interpreter")));
  return Repacked(operand, shape);
}

Result<Literal> EvalBitcast(Evaluation& e) {
  const Literal& operand = e.operands[0];
  const Shape &from = e.inst.operand(0).shape(), &to = e.inst.shape();
  if (!from.IsArray() || !to.IsArray()) return operand;
  if (!from.layout().tiling->tiles.empty() || !to.layout().tiling->tiles.empty()) {
    FAIL(UnsupportedAt(e.inst, "U002", "'bitcast' of tiled layouts is not supported by the interpreter"));
  }
  if (PackedBits(from) < PackedBits(to))
    FAIL(ErrorAt(e.inst, "V292", Str("'bitcast' from ", from, " to ", to, ", which has more bytes than the operand")));
  const Literal memory = from.HasDefaultLayout() ? operand : ToMemoryOrder(operand, from);
  const Literal typed = Repacked(memory, Shape(to.type(), {to.NumElements()}));
  return to.HasDefaultLayout() ? typed.WithShape(to) : FromMemoryOrder(typed, to);
}

}  // namespace hlo
