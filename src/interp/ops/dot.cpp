// dot, ragged-dot and scaled-dot: docs/ops.md#contractions, docs/ops.md#accumulation.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/contraction.h"
#include "interp/ops/elementwise.h"
#include "interp/ops/gemm.h"
#include "interp/strided.h"
#include "ir/dimensions.h"
#include "ir/module.h"
#include "ir/shapes/shape_rules.h"

namespace hlo {

Literal Converted(const Literal& literal, PrimitiveType type) {
  if (literal.shape().type() == type) return literal;
  Module scratch("convert");
  Computation& computation = scratch.AddComputation("convert");
  Instruction& from = computation.AddParameter(0, literal.shape());
  const Instruction& convert = computation.Add(Opcode::kConvert, literal.shape().WithType(type), {&from});
  const ElementwiseOp op = *ElementwiseOp::Make(convert);
  Literal result = Literal::Uninitialized(convert.shape());
  std::byte* const out = result.mutable_raw();
  const int64_t from_bytes = ByteWidth(literal.shape().type()), to_bytes = ByteWidth(type);
  ParallelFor(result.shape().NumElements(), 1 << 15, [&](int64_t begin, int64_t end) {
    const std::byte* in = literal.raw() + begin * from_bytes;
    op.Run(&in, out + begin * to_bytes, end - begin);
  });
  return result;
}

bool IsOrdered(std::span<const int64_t> permutation) { return std::ranges::is_sorted(permutation); }

Literal Transposed(const Literal& literal, std::span<const int64_t> permutation) {
  if (IsOrdered(permutation)) return literal;
  const std::vector<int64_t> from = RowMajorStrides(literal.shape().dims());
  std::vector<int64_t> dims, strides;
  for (const int64_t d : permutation) {
    dims.push_back(literal.shape().dim(d));
    strides.push_back(from[d]);
  }
  Literal result = Literal::Uninitialized(Shape(literal.shape().type(), dims));
  if (result.byte_size() == 0) return result;
  CopyStrided(dims, literal.raw(), strides, result.mutable_raw(), RowMajorStrides(dims),
              ByteWidth(literal.shape().type()));
  return result;
}

WidenedElements::WidenedElements(Literal literal, PrimitiveType type) : kept_(Converted(literal, type)) {
  literal = Literal();
  const Loader load = LoaderOf(type);
  data_ = kept_.raw();
  if (load == nullptr) return;
  const int64_t count = kept_.shape().NumElements(), bytes = ByteWidth(type), wide = ByteWidth(ComputeOf(type));
  own_ = Scratch<std::byte>(count * wide);
  ParallelFor(count, 1 << 15, [&](int64_t begin, int64_t end) {
    load(kept_.raw() + begin * bytes, own_.data() + begin * wide, end - begin);
  });
  data_ = own_.data();
  kept_ = Literal();
}

WidenedBytes::WidenedBytes(const Shape& shape, PrimitiveType type, bool given) {
  const int64_t count = shape.NumElements();
  const int64_t before = given ? shape.ByteSize() : 0;
  const bool converted = shape.type() != type;
  const int64_t kept = converted ? count * ByteWidth(type) : before;
  const int64_t wide = LoaderOf(type) == nullptr ? 0 : count * ByteWidth(ComputeOf(type));
  making = std::max(converted ? before + kept : kept, kept + wide);
  made = wide > 0 ? wide : kept;
}

void StoreElements(const void* computed, PrimitiveType type, std::byte* to, int64_t count) {
  const Storer store = StorerOf(type);
  const int64_t bytes = ByteWidth(type), wide = ByteWidth(ComputeOf(type));
  const auto* from = static_cast<const std::byte*>(computed);
  ParallelFor(count, 1 << 15, [&](int64_t begin, int64_t end) {
    if (store != nullptr) store(from + begin * wide, to + begin * bytes, end - begin);
    else std::memcpy(to + begin * bytes, from + begin * bytes, (end - begin) * bytes);
  });
}

namespace {

struct Sides {
  std::vector<int64_t> batch, contracting, free;

  Sides(const Shape& shape, const std::vector<int64_t>& batch, const std::vector<int64_t>& contracting)
      : batch(batch), contracting(contracting), free(FreeDimensions(shape.rank(), batch, contracting)) {}
};

int64_t SizeOf(const Shape& shape, std::span<const int64_t> dims) {
  int64_t size = 1;
  for (const int64_t d : dims) size *= shape.dim(d);
  return size;
}

std::vector<int64_t> Joined(std::initializer_list<std::vector<int64_t>> lists) {
  std::vector<int64_t> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// Multiplies [batch][free][contracting] by [batch][contracting][free].
Literal DotOf(const Literal& lhs, const Literal& rhs, const Sides& left, const Sides& right, const Shape& shape) {
  const PrimitiveType type = shape.type();
  Literal result = Literal::Uninitialized(shape);
  const int64_t batch = SizeOf(lhs.shape(), left.batch), m = SizeOf(lhs.shape(), left.free),
                n = SizeOf(rhs.shape(), right.free), k = SizeOf(lhs.shape(), left.contracting);
  const WidenedElements a(Transposed(lhs, Joined({left.batch, left.free, left.contracting})), type);
  const WidenedElements b(Transposed(rhs, Joined({right.batch, right.contracting, right.free})), type);
  WithCompute(ComputeOf(type), [&]<class T>() {
    const bool direct = StorerOf(type) == nullptr;
    const Scratch<T> own(direct ? 0 : batch * m * n);
    T* const c = direct ? reinterpret_cast<T*>(result.mutable_raw()) : own.data();
    const auto one = [&](int64_t i) {
      Gemm<T>(m, n, k, RowsOf(a.data<T>() + i * m * k, k), b.data<T>() + i * k * n, n, c + i * m * n, n);
    };
    if (batch >= Threads()) {
      ParallelFor(batch, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) one(i);
      });
    } else {
      for (int64_t i = 0; i < batch; ++i) one(i);
    }
    if (!direct) StoreElements(c, type, result.mutable_raw(), batch * m * n);
  });
  return result;
}

int64_t ProductsBytes(PrimitiveType type, int64_t batch, int64_t m, int64_t n, int64_t k) {
  return WithCompute(ComputeOf(type), [&]<class T>() {
    const int threads = Threads();
    return batch >= threads ? threads * GemmScratchBytes<T>(m, n, k, 1) : GemmScratchBytes<T>(m, n, k, threads);
  });
}

// The most scratch bytes while operands are widened, or later, with `more` bytes beside them.
int64_t SidesBytes(const WidenedBytes& a, const WidenedBytes& b, int64_t more) {
  return std::max({a.making, a.made + b.making, a.made + b.made + more});
}

// ---- ragged-dot --------------------------------------------------------------------------------------------------

// Ends of groups, from group_sizes: one list for each index of the dimensions before the ragged one, or one list for
// all.
class GroupEnds {
 public:
  explicit GroupEnds(const Literal& sizes) : groups_(sizes.shape().dims().back()), shared_(sizes.shape().rank() == 1) {
    const int64_t count = sizes.shape().NumElements();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t before = i % groups_ == 0 ? 0 : ends_.back();
      ends_.push_back(before + sizes.GetInt(i));
    }
  }
  int64_t groups() const { return groups_; }
  // The rows [begin, end) of `group` that no earlier group has.
  std::pair<int64_t, int64_t> FirstClaim(int64_t prefix, int64_t group, int64_t rows) const {
    int64_t begin = 0;
    for (int64_t j = 0; j < group; ++j) begin = std::max(begin, End(prefix, j));
    begin = std::min(begin, rows);
    return {begin, std::clamp(End(prefix, group), begin, rows)};
  }
  std::pair<int64_t, int64_t> Range(int64_t prefix, int64_t group, int64_t rows) const {
    const auto clamped = [rows](int64_t end) { return std::clamp<int64_t>(end, 0, rows); };
    return {group == 0 ? 0 : clamped(End(prefix, group - 1)), clamped(End(prefix, group))};
  }

 private:
  int64_t End(int64_t prefix, int64_t group) const { return ends_[(shared_ ? 0 : prefix) * groups_ + group]; }

  int64_t groups_;
  bool shared_;
  std::vector<int64_t> ends_;
};

Sides RaggedRight(const Shape& rhs, const RaggedDotAttrs& attrs) {
  Sides right(rhs, attrs.rhs_batch, attrs.rhs_contracting);
  std::erase_if(right.free, [&](int64_t d) { return !attrs.rhs_group.empty() && d == attrs.rhs_group[0]; });
  return right;
}

// `rows` is the size of the ragged dimension. `before` and `after` are sizes of the dimensions around it that have the
// same kind (batch, free or contracting).
struct RaggedSizes {
  int64_t batch, m, n, k;
  int64_t before, rows, after;
};

// The ragged dimension is free: rows use the rhs slice of their group, and rows without a group give 0.
template <class T>
void RaggedRows(const RaggedSizes& s, const GroupEnds& ends, const T* a, const T* b, T* c) {
  std::fill_n(c, s.batch * s.m * s.n, T());
  for (int64_t i = 0; i < s.batch * s.before; ++i) {
    for (int64_t group = 0; group < ends.groups(); ++group) {
      const auto [begin, end] = ends.FirstClaim(i, group, s.rows);
      if (begin == end) continue;
      const int64_t row = (i * s.rows + begin) * s.after;
      Gemm<T>((end - begin) * s.after, s.n, s.k, RowsOf(a + row * s.k, s.k),
              b + (i / s.before * ends.groups() + group) * s.k * s.n, s.n, c + row * s.n, s.n);
    }
  }
}

// The ragged dimension is contracted: each group sums over its part.
template <class T>
void RaggedTerms(const RaggedSizes& s, const GroupEnds& ends, const T* a, const T* b, T* c) {
  const Scratch<T> part_a(s.m * s.k), part_b(s.k * s.n);
  for (int64_t group = 0; group < ends.groups(); ++group) {
    for (int64_t i = 0; i < s.batch; ++i) {
      std::vector<int64_t> terms;
      for (int64_t before = 0; before < s.before; ++before) {
        const auto [begin, end] = ends.Range(i * s.before + before, group, s.rows);
        for (int64_t term = begin * s.after; term < end * s.after; ++term)
          terms.push_back(before * s.rows * s.after + term);
      }
      const auto count = static_cast<int64_t>(terms.size());
      for (int64_t row = 0; row < s.m; ++row) {
        for (int64_t t = 0; t < count; ++t) part_a[row * count + t] = a[(i * s.m + row) * s.k + terms[t]];
      }
      for (int64_t t = 0; t < count; ++t) std::copy_n(b + (i * s.k + terms[t]) * s.n, s.n, part_b.data() + t * s.n);
      Gemm<T>(s.m, s.n, count, RowsOf<T>(part_a.data(), count), part_b.data(), s.n, c, s.n);
      c += s.m * s.n;
    }
  }
}

// The ragged dimension is a batch: batches without a group give 0.
template <class T>
void RaggedBatch(const RaggedSizes& s, const GroupEnds& ends, const T* a, const T* b, T* c) {
  for (int64_t i = 0; i < s.batch; ++i) {
    const int64_t row = i / s.after % s.rows, prefix = i / s.after / s.rows;
    bool claimed = false;
    for (int64_t group = 0; group < ends.groups() && !claimed; ++group) {
      const auto [begin, end] = ends.FirstClaim(prefix, group, s.rows);
      claimed = begin <= row && row < end;
    }
    if (claimed) {
      Gemm<T>(s.m, s.n, s.k, RowsOf(a + i * s.m * s.k, s.k), b + i * s.k * s.n, s.n, c + i * s.m * s.n, s.n);
    } else {
      std::fill_n(c + i * s.m * s.n, s.m * s.n, T());
    }
  }
}

// ---- scaled-dot, and sparse operands -----------------------------------------------------------------------------

// Repeats each element over its block of an array like `like`.
Literal Spread(const Literal& blocks, const Shape& like) {
  Shape shape = like.WithType(blocks.shape().type());
  std::vector<int64_t> sizes;  // [blocks][elements of a block] for each dimension.
  std::vector<int64_t> strides;
  const std::vector<int64_t> from = RowMajorStrides(blocks.shape().dims());
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const int64_t count = blocks.shape().dim(d);
    sizes.insert(sizes.end(), {count, count == 0 ? 0 : shape.dim(d) / count});
    strides.insert(strides.end(), {from[d], 0});
  }
  Literal result = Literal::Uninitialized(shape.WithDefaultLayout());
  if (result.byte_size() == 0) return result;
  CopyStrided(sizes, blocks.raw(), strides, result.mutable_raw(), RowMajorStrides(sizes), ByteWidth(shape.type()));
  return result;
}

// elements * scale[block] in the compute type, not rounded to `type`.
template <class T>
Scratch<T> Scaled(const Literal& elements, const Literal& scale, std::span<const int64_t> order, PrimitiveType type) {
  const int64_t count = elements.shape().NumElements();
  const WidenedElements wide(Transposed(elements, order), type);
  Scratch<T> result(count);
  std::copy_n(wide.data<T>(), count, result.data());
  if (!IsScaled(elements.shape(), scale.shape())) return result;
  const WidenedElements scales(Transposed(Spread(scale, elements.shape()), order), type);
  for (int64_t i = 0; i < count; ++i) {
    const T scale_i = scales.data<T>()[i];
    if constexpr (std::is_same_v<T, bool>) result[i] = result[i] && scale_i;
    else if constexpr (std::is_integral_v<T>)  // Signed products would overflow.
      result[i] = static_cast<T>(static_cast<uint64_t>(result[i]) * static_cast<uint64_t>(scale_i));
    else result[i] = result[i] * scale_i;
  }
  return result;
}

// `places` are positions of `kept` in their blocks. Other elements are 0.
Result<Literal> Decompressed(const Instruction& inst, const Literal& kept, const Literal& places,
                             const OperandSparsity& sparsity) {
  const int64_t block = sparsity.pattern.block_size, d = sparsity.dimension;
  int64_t dense = 0;
  if (sparsity.pattern.non_zeros != 1 || __builtin_mul_overflow(kept.byte_size(), block, &dense) || dense < 0 ||
      sparsity.stride != 1 || d < 0 || d >= kept.shape().rank() || places.shape().dims() != kept.shape().dims()) {
    FAIL(UnsupportedAt(
        inst, "U002",
        Str("'", inst.opcode(), "' of a sparse ", kept.shape(), " with ", sparsity.pattern.non_zeros, " of ", block,
            " kept along dim ", d, ", stride ", sparsity.stride, ", is not supported by the interpreter")));
  }
  Dims dims = kept.shape().dims();
  dims[d] *= block;
  Literal result(kept.shape().WithDims(dims));
  const std::vector<int64_t> to = RowMajorStrides(dims);
  const int64_t bytes = ByteWidth(kept.shape().type());
  std::byte* const out = result.mutable_raw();
  int64_t i = 0;
  for (IndexWalk walk(kept.shape().dims()); walk.Valid(); walk.Next(), ++i) {
    const int64_t place = places.GetInt(i);
    if (place < 0 || place >= block) continue;
    int64_t at = place * to[d];
    for (int64_t e = 0; e < kept.shape().rank(); ++e) at += walk.index()[e] * (e == d ? block : 1) * to[e];
    std::memcpy(out + at * bytes, kept.raw() + i * bytes, bytes);
  }
  return result;
}

int64_t ScaledBytes(const Shape& elements, const Shape& scale, std::span<const int64_t> order, PrimitiveType type) {
  const WidenedBytes wide(elements, type, !IsOrdered(order));
  const int64_t result = elements.NumElements() * ByteWidth(ComputeOf(type));
  const Shape spread = elements.WithType(scale.type());
  return std::max(wide.making, wide.made + result + (IsOrdered(order) ? 0 : spread.ByteSize()) +
                                   WidenedBytes(spread, type, true).making);
}

}  // namespace

int64_t DotScratchBytes(const Instruction& inst) {
  const DotAttrs& attrs = inst.attrs<DotAttrs>();
  const PrimitiveType type = inst.shape().type();
  const Shape lhs = DenseShape(inst, 0, attrs.sparsity.lhs), rhs = DenseShape(inst, 1, attrs.sparsity.rhs);
  const Sides left(lhs, attrs.lhs_batch, attrs.lhs_contracting), right(rhs, attrs.rhs_batch, attrs.rhs_contracting);
  const WidenedBytes a(lhs, type, !IsOrdered(Joined({left.batch, left.free, left.contracting})));
  const WidenedBytes b(rhs, type, !IsOrdered(Joined({right.batch, right.contracting, right.free})));
  const int64_t batch = SizeOf(lhs, left.batch), m = SizeOf(lhs, left.free), n = SizeOf(rhs, right.free);
  const int64_t wide = StorerOf(type) == nullptr ? 0 : batch * m * n * ByteWidth(ComputeOf(type));
  const int64_t dense = (attrs.sparsity.lhs ? lhs.ByteSize() : 0) + (attrs.sparsity.rhs ? rhs.ByteSize() : 0);
  return dense + SidesBytes(a, b, wide + ProductsBytes(type, batch, m, n, SizeOf(lhs, left.contracting)));
}

int64_t RaggedDotScratchBytes(const Instruction& inst) {
  const RaggedDotAttrs& attrs = inst.attrs<RaggedDotAttrs>();
  const PrimitiveType type = inst.shape().type();
  const Shape &lhs = inst.operand(0).shape(), &rhs = inst.operand(1).shape();
  const Sides left(lhs, attrs.lhs_batch, attrs.lhs_contracting);
  const Sides right = RaggedRight(rhs, attrs);
  const WidenedBytes a(lhs, type, !IsOrdered(Joined({left.batch, left.free, left.contracting})));
  const WidenedBytes b(rhs, type, !IsOrdered(Joined({right.batch, attrs.rhs_group, right.contracting, right.free})));
  const int64_t m = SizeOf(lhs, left.free), n = SizeOf(rhs, right.free), k = SizeOf(lhs, left.contracting);
  const int64_t wide = ByteWidth(ComputeOf(type));
  const bool parts = std::ranges::find(left.contracting, attrs.lhs_ragged[0]) != left.contracting.end();
  return SidesBytes(
      a, b, inst.shape().NumElements() * wide + (parts ? (m + n) * k * wide : 0) + ProductsBytes(type, 1, m, n, k));
}

int64_t ScaledDotScratchBytes(const Instruction& inst) {
  const DotAttrs& attrs = inst.attrs<DotAttrs>();
  const PrimitiveType type = inst.shape().type();
  const Shape &lhs = inst.operand(0).shape(), &rhs = inst.operand(1).shape();
  const Sides left(lhs, attrs.lhs_batch, attrs.lhs_contracting), right(rhs, attrs.rhs_batch, attrs.rhs_contracting);
  const int64_t wide = ByteWidth(ComputeOf(type));
  const int64_t a = lhs.NumElements() * wide, b = rhs.NumElements() * wide;
  const int64_t making_a =
      ScaledBytes(lhs, inst.operand(2).shape(), Joined({left.batch, left.free, left.contracting}), type);
  const int64_t making_b =
      ScaledBytes(rhs, inst.operand(3).shape(), Joined({right.batch, right.contracting, right.free}), type);
  return std::max(
      {making_a, a + making_b,
       a + b + inst.shape().NumElements() * wide +
           ProductsBytes(type, 1, SizeOf(lhs, left.free), SizeOf(rhs, right.free), SizeOf(lhs, left.contracting))});
}

Shape DenseShape(const Instruction& inst, int64_t side, const std::optional<OperandSparsity>& sparsity) {
  const Shape& shape = inst.operand(side).shape();
  if (!sparsity || sparsity->dimension < 0 || sparsity->dimension >= shape.rank()) return shape;
  Dims dims = shape.dims();
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.ByteSize(), sparsity->pattern.block_size, &bytes)) return shape;
  dims[sparsity->dimension] *= sparsity->pattern.block_size;
  return shape.WithDims(dims);
}

template <class Attrs>
Status CheckDense(const Instruction& inst) {
  Attrs attrs = inst.attrs<Attrs>();
  if (attrs.sparsity.empty()) return {};
  Module scratch("dense");
  Computation& computation = scratch.AddComputation("dense");
  Instruction& lhs = computation.AddParameter(0, DenseShape(inst, 0, attrs.sparsity.lhs));
  Instruction& rhs = computation.AddParameter(1, DenseShape(inst, 1, attrs.sparsity.rhs));
  attrs.sparsity = {};
  const Instruction& dense = computation.Add(inst.opcode(), inst.shape(), {&lhs, &rhs}, std::move(attrs));
  const Result<Shape> shape = inst.Is(Opcode::kDot) ? ShapeOfDot(dense) : ShapeOfConvolution(dense);
  if (shape && shape->dims() == inst.shape().dims()) return {};
  FAIL(UnsupportedAt(
      inst, "U002",
      Str("'", inst.opcode(), "' is written ", inst.shape(),
          ", which its sparse operands do not give: with zeros they are ", lhs.shape(), " and ", rhs.shape())));
}
template Status CheckDense<DotAttrs>(const Instruction& inst);
template Status CheckDense<ConvolutionAttrs>(const Instruction& inst);

Result<Literal> Dense(Evaluation& e, int64_t side, const std::optional<OperandSparsity>& sparsity) {
  if (!sparsity) return e.operands[side];
  return Decompressed(e.inst, e.operands[side], e.operands[sparsity->indices], *sparsity);
}

// Scalar scales have no effect. Nor has a bf16 scale of one element for bf16 elements.
bool IsScaled(const Shape& elements, const Shape& scale) {
  if (scale.rank() == 0) return false;
  return elements.type() != PrimitiveType::kBF16 || scale.type() != PrimitiveType::kBF16 || scale.NumElements() != 1;
}

Result<Literal> EvalRaggedDot(Evaluation& e) {
  const RaggedDotAttrs& attrs = e.inst.attrs<RaggedDotAttrs>();
  const Shape &lhs = e.operands[0].shape(), &rhs = e.operands[1].shape(), &shape = e.inst.shape();
  const PrimitiveType type = shape.type();
  const int64_t ragged = attrs.lhs_ragged[0];
  const Sides left(lhs, attrs.lhs_batch, attrs.lhs_contracting);
  const Sides right = RaggedRight(rhs, attrs);
  RaggedSizes s = {SizeOf(lhs, left.batch),
                   SizeOf(lhs, left.free),
                   SizeOf(rhs, right.free),
                   SizeOf(lhs, left.contracting),
                   1,
                   lhs.dim(ragged),
                   1};
  const auto among = [ragged](const std::vector<int64_t>& dims) { return std::find(dims.begin(), dims.end(), ragged); };
  const auto* kind = &left.free;
  if (among(left.contracting) != left.contracting.end()) kind = &left.contracting;
  if (among(left.batch) != left.batch.end()) kind = &left.batch;
  s.before = SizeOf(lhs, std::span(kind->begin(), among(*kind)));
  s.after = SizeOf(lhs, std::span(among(*kind) + 1, kind->end()));

  const GroupEnds ends(e.operands[2]);
  const WidenedElements a(Transposed(e.operands[0], Joined({left.batch, left.free, left.contracting})), type);
  const WidenedElements b(
      Transposed(e.operands[1], Joined({right.batch, attrs.rhs_group, right.contracting, right.free})), type);
  Literal result = Literal::Uninitialized(shape);
  const int64_t count = shape.NumElements();
  WithCompute(ComputeOf(type), [&]<class T>() {
    const Scratch<T> c(count);
    if (kind == &left.free) RaggedRows(s, ends, a.data<T>(), b.data<T>(), c.data());
    else if (kind == &left.contracting) RaggedTerms(s, ends, a.data<T>(), b.data<T>(), c.data());
    else RaggedBatch(s, ends, a.data<T>(), b.data<T>(), c.data());
    StoreElements(c.data(), type, result.mutable_raw(), count);
  });
  return result;
}

Result<Literal> EvalScaledDot(Evaluation& e) {
  const DotAttrs& attrs = e.inst.attrs<DotAttrs>();
  const Literal &lhs = e.operands[0], &rhs = e.operands[1];
  const Sides left(lhs.shape(), attrs.lhs_batch, attrs.lhs_contracting);
  const Sides right(rhs.shape(), attrs.rhs_batch, attrs.rhs_contracting);
  const PrimitiveType type = e.inst.shape().type();
  const int64_t batch = SizeOf(lhs.shape(), left.batch), m = SizeOf(lhs.shape(), left.free),
                n = SizeOf(rhs.shape(), right.free), k = SizeOf(lhs.shape(), left.contracting);
  Literal result = Literal::Uninitialized(e.inst.shape());
  WithCompute(ComputeOf(type), [&]<class T>() {
    const auto a = Scaled<T>(lhs, e.operands[2], Joined({left.batch, left.free, left.contracting}), type);
    const auto b = Scaled<T>(rhs, e.operands[3], Joined({right.batch, right.contracting, right.free}), type);
    const Scratch<T> c(batch * m * n);
    for (int64_t i = 0; i < batch; ++i)
      Gemm<T>(m, n, k, RowsOf<T>(a.data() + i * m * k, k), b.data() + i * k * n, n, c.data() + i * m * n, n);
    StoreElements(c.data(), type, result.mutable_raw(), batch * m * n);
  });
  return result;
}

Result<Literal> EvalDot(Evaluation& e) {
  const DotAttrs& attrs = e.inst.attrs<DotAttrs>();
  if (!attrs.block_scaling.empty()) {
    FAIL(UnsupportedAt(e.inst, "U002", "'dot' with a block_scaling_config is not supported by the interpreter"));
  }
  TRY(CheckDense<DotAttrs>(e.inst));
  const Literal lhs = TRY(Dense(e, 0, attrs.sparsity.lhs)), rhs = TRY(Dense(e, 1, attrs.sparsity.rhs));
  return DotOf(lhs, rhs, Sides(lhs.shape(), attrs.lhs_batch, attrs.lhs_contracting),
               Sides(rhs.shape(), attrs.rhs_batch, attrs.rhs_contracting), e.inst.shape());
}

}  // namespace hlo
