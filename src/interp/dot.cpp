// dot, ragged-dot and scaled-dot. Source: spec/ops.md 0.3, 5.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/contraction.h"
#include "interp/elementwise.h"
#include "interp/gemm.h"
#include "interp/strided.h"
#include "ir/module.h"

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

Literal Transposed(const Literal& literal, std::span<const int64_t> permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return literal;
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

WidenedElements::WidenedElements(const Literal& literal, PrimitiveType type) : kept_(Converted(literal, type)) {
  const Loader load = LoaderOf(type);
  data_ = kept_.raw();
  if (load == nullptr) return;
  const int64_t count = kept_.shape().NumElements(), bytes = ByteWidth(type), wide = ByteWidth(ComputeOf(type));
  own_.reset(new std::byte[std::max<int64_t>(1, count * wide)]);
  ParallelFor(count, 1 << 15, [&](int64_t begin, int64_t end) {
    load(kept_.raw() + begin * bytes, own_.get() + begin * wide, end - begin);
  });
  data_ = own_.get();
  kept_ = Literal();
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
  std::vector<int64_t> batch, contracting, free;  // Dimensions of one operand.

  Sides(const Shape& shape, const std::vector<int64_t>& batch, const std::vector<int64_t>& contracting)
      : batch(batch), contracting(contracting) {
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const auto has = [d](const std::vector<int64_t>& dims) {
        return std::find(dims.begin(), dims.end(), d) != dims.end();
      };
      if (!has(batch) && !has(contracting)) free.push_back(d);
    }
  }
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

// lhs as [batch][free][contracting], rhs as [batch][contracting][free]: contracting dimensions in the order of the
// lists.
Literal DotOf(const Literal& lhs, const Literal& rhs, const Sides& left, const Sides& right, const Shape& shape) {
  const PrimitiveType type = shape.type();
  Literal result = Literal::Uninitialized(shape);
  const int64_t batch = SizeOf(lhs.shape(), left.batch), m = SizeOf(lhs.shape(), left.free),
                n = SizeOf(rhs.shape(), right.free), k = SizeOf(lhs.shape(), left.contracting);
  const WidenedElements a(Transposed(lhs, Joined({left.batch, left.free, left.contracting})), type);
  const WidenedElements b(Transposed(rhs, Joined({right.batch, right.contracting, right.free})), type);
  WithCompute(ComputeOf(type), [&]<class T>() {
    const bool direct = StorerOf(type) == nullptr;
    std::unique_ptr<T[]> own;
    if (!direct) own.reset(new T[std::max<int64_t>(1, batch * m * n)]);
    T* const c = direct ? reinterpret_cast<T*>(result.mutable_raw()) : own.get();
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

}  // namespace

Result<Literal> EvalDot(Evaluation& e) {
  const DotAttrs& attrs = e.inst.attrs<DotAttrs>();
  if (e.operands.size() != 2)
    FAIL(UnsupportedAt(e.inst, "U002", "'dot' of sparse operands is not supported by the interpreter"));
  const Literal &lhs = e.operands[0], &rhs = e.operands[1];
  return DotOf(lhs, rhs, Sides(lhs.shape(), attrs.lhs_batch, attrs.lhs_contracting),
               Sides(rhs.shape(), attrs.rhs_batch, attrs.rhs_contracting), e.inst.shape());
}

}  // namespace hlo
