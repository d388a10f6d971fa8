// scan_expander, scaled-dot-rewriter, ragged-dot-rewriter: expand scan, scaled-dot and ragged-dot to simpler ops.
#include <algorithm>
#include <cmath>

#include "base/small_floats.h"
#include "ir/analysis/matrix_loops.h"
#include "ir/dimensions.h"
#include "ir/fusion.h"
#include "ir/literal.h"
#include "ir/module.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

using enum ComparisonDirection;
using Values = Writer::Values;

std::vector<Shape> ResultShapes(const Instruction& inst) {
  if (!inst.shape().IsTuple()) return {inst.shape()};
  return {inst.shape().elements().begin(), inst.shape().elements().end()};
}

Shape Without(const Shape& shape, int64_t d) {
  Dims dims = shape.dims();
  dims.erase(dims.begin() + d);
  return Shape(shape.type(), dims);
}
Dims OneOf(const Shape& shape, int64_t d) {
  Dims dims = shape.dims();
  dims[d] = 1;
  return dims;
}

bool IsPlain(const Shape& shape) {
  return shape.IsArray() && !shape.HasDynamicDims() && shape.NumElements() > 0 && shape.HasDefaultLayout();
}

Instruction* Zeros(Writer& w, Instruction& like, const Shape& shape) {
  Instruction& zero = like.computation().AddConstant(Literal(Shape(shape.type(), {})));
  return shape.IsScalar() ? &zero : w.Add(Opcode::kBroadcast, shape, {&zero}, DimensionsAttrs{});
}

Instruction* ExpandScan(Instruction& inst) {
  if (!inst.Is(Opcode::kScan)) return nullptr;
  const auto& attrs = inst.attrs<ScanAttrs>();
  const int64_t carries = attrs.num_carries, arrays = inst.operand_count() - carries, d = attrs.dimension.value;
  const std::vector<Shape> results = ResultShapes(inst);
  const int64_t stacked = std::ssize(results) - carries;
  if (arrays < 1 || !std::ranges::all_of(results, IsPlain)) return nullptr;
  for (const Instruction* operand : inst.operands()) {
    if (!IsPlain(operand->shape())) return nullptr;
  }
  const int64_t steps = inst.operand(0).shape().dim(d);
  Writer w(inst, inst.computation());
  Values init(inst.operands().begin(), inst.operands().end());
  for (int64_t i = 0; i < stacked; ++i) init.push_back(Zeros(w, inst, results[i]));
  // State: counter, arrays, carries, results so far.
  const Values end = w.For(steps, init, [&](Writer& body, const Values& state) -> Values {
    Instruction* at = state[0];
    if (attrs.is_reverse)
      at = body.Binary(Opcode::kSubtract, body.Constant(static_cast<double>(steps - 1), at->shape()), at);
    const Values given(state.begin() + 1, state.end());
    const auto starts = [&](const Shape& shape) {
      Values all(shape.rank());
      all[d] = at;
      return all;
    };
    Values arguments;
    for (int64_t i = 0; i < arrays; ++i) {
      const Shape& shape = given[i]->shape();
      arguments.push_back(body.Slice(given[i], starts(shape), OneOf(shape, d), Without(shape, d)));
    }
    arguments.insert(arguments.end(), given.begin() + arrays, given.begin() + arrays + carries);
    CallAttrs call;
    call.to_apply = attrs.to_apply;
    Instruction* const made = body.Add(Opcode::kCall, attrs.to_apply->root().shape(), arguments, call);
    const auto part = [&](int64_t i) {
      return made->shape().IsTuple() ? &made->computation().AddGetTupleElement(*made, i) : made;
    };
    Values next(given.begin(), given.begin() + arrays);
    for (int64_t i = 0; i < carries; ++i) next.push_back(part(stacked + i));
    for (int64_t i = 0; i < stacked; ++i)
      next.push_back(body.Update(given[arrays + carries + i], part(i), starts(results[i]), OneOf(results[i], d)));
    return next;
  });
  Values parts(end.begin() + arrays + carries, end.end());
  parts.insert(parts.end(), end.begin() + arrays, end.begin() + arrays + carries);
  return inst.shape().IsTuple() ? &inst.computation().AddTuple(parts) : parts[0];
}

PrimitiveType ComputedIn(PrimitiveType type) {
  return IsFloat(type) && BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
}

Instruction* As(Writer& w, Instruction* x, PrimitiveType type) {
  return x->shape().type() == type ? x : w.Add(Opcode::kConvert, x->shape().WithType(type), {x});
}

// Whether the float type `to`, narrower than f32, represents every value of `from`. False if `from` has several bytes.
bool HoldsEachByteOf(PrimitiveType to, PrimitiveType from) {
  if (!IsFloat(from) || ByteWidth(from) > 1) return false;
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const double x = DecodeFloat(FormatOf(from), bits);
    if (!std::isnan(x) && DecodeFloat(FormatOf(to), EncodeFloat(FormatOf(to), x)) != x) return false;
  }
  return true;
}

// An operand with values that a narrow result type lacks is first rounded to this type: docs/ops.md#accumulation.
Instruction* AsOperand(Writer& w, Instruction* x, PrimitiveType result) {
  const PrimitiveType from = x->shape().type(), computed = ComputedIn(result);
  const bool is_rounded = from != result && computed != result && !HoldsEachByteOf(result, from);
  return As(w, is_rounded ? As(w, x, result) : x, computed);
}

// Whether the scale has an effect: not if it is a scalar, or one bf16 number for bf16 elements.
bool IsScaled(const Shape& elements, const Shape& scale) {
  if (scale.rank() == 0) return false;
  return elements.type() != PrimitiveType::kBF16 || scale.type() != PrimitiveType::kBF16 || scale.NumElements() != 1;
}

// x times its scale, or null if a dimension of x is not a multiple of the scale's.
Instruction* Scaled(Writer& w, Instruction* x, Instruction* scale, PrimitiveType result) {
  Instruction* const wide = AsOperand(w, x, result);
  if (!IsScaled(x->shape(), scale->shape())) return wide;
  Dims blocks;
  DimensionsAttrs of_blocks;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    const int64_t size = x->shape().dim(d), count = scale->shape().dim(d);
    if (count == 0 || size % count != 0) return nullptr;
    of_blocks.dimensions.push_back(std::ssize(blocks));
    blocks.push_back(count);
    blocks.push_back(size / count);
  }
  Instruction* const factors = AsOperand(w, scale, result);
  Instruction* const spread = w.Add(Opcode::kBroadcast, factors->shape().WithDims(blocks), {factors}, of_blocks);
  return w.Binary(Opcode::kMultiply, wide, w.Add(Opcode::kReshape, wide->shape(), {spread}, ReshapeAttrs()));
}

// Narrow floats are computed in f32, and the result is rounded once.
Instruction* ExpandScaledDot(Instruction& inst) {
  if (!inst.Is(Opcode::kScaledDot) || !IsPlain(inst.shape())) return nullptr;
  for (const Instruction* operand : inst.operands()) {
    if (!IsPlain(operand->shape())) return nullptr;
  }
  const PrimitiveType type = inst.shape().type();
  Writer w(inst, inst.computation());
  Instruction* const lhs = Scaled(w, &inst.operand(0), &inst.operand(2), type);
  Instruction* const rhs = lhs == nullptr ? nullptr : Scaled(w, &inst.operand(1), &inst.operand(3), type);
  if (rhs == nullptr) return nullptr;
  return As(w, w.Add(Opcode::kDot, inst.shape().WithType(ComputedIn(type)), {lhs, rhs}, inst.attrs<DotAttrs>()), type);
}

// The rows of each group along the ragged dimension. `sizes` is [..., groups]. Its other dimensions correspond to the
// dimensions `before` of the array. With negative sizes, several groups can contain a row. `once` assigns the row only
// to the first of them.
class Groups {
 public:
  Groups(Writer& w, Instruction& sizes, bool once) : sizes_(As(w, &sizes, PrimitiveType::kS64)) {
    const Shape& shape = sizes_->shape();
    const int64_t last = shape.rank() - 1;
    count_ = shape.dim(last);
    for (int64_t g = 0; g < count_; ++g) {
      SliceRanges ranges;
      for (const int64_t size : shape.dims()) ranges.dims.push_back({0, size, 1});
      ranges.dims[last] = {g, g + 1, 1};
      Dims one = shape.dims();
      one[last] = 1;
      Instruction* const own = w.Add(Opcode::kSlice, shape.WithDims(one), {sizes_}, SliceAttrs{ranges});
      if (g == 0) {
        begins_.push_back(w.Constant(0, own->shape()));
        ends_.push_back(own);
      } else {
        begins_.push_back(once ? w.Binary(Opcode::kMaximum, begins_.back(), ends_.back()) : ends_.back());
        ends_.push_back(w.Binary(Opcode::kAdd, ends_.back(), own));
      }
    }
  }

  int64_t count() const { return count_; }

  Instruction* Mask(Writer& w, const Shape& shape, int64_t d, std::span<const int64_t> before, int64_t g) const {
    const Shape rows = shape.WithType(PrimitiveType::kS64);
    Instruction* const row = w.Add(Opcode::kIota, rows, {}, IotaAttrs{d});
    const auto all = [&](Instruction* x) { return Everywhere(w, x, rows, before); };
    return w.Binary(Opcode::kAnd, w.Compare(row, kGe, all(begins_[g])), w.Compare(row, kLt, all(ends_[g])));
  }
  Instruction* AnyMask(Writer& w, const Shape& shape, int64_t d, std::span<const int64_t> before) const {
    Instruction* any = Mask(w, shape, d, before, 0);
    for (int64_t g = 1; g < count_; ++g) any = w.Binary(Opcode::kOr, any, Mask(w, shape, d, before, g));
    return any;
  }

 private:
  // Broadcasts x to `shape`. The last dimension of x, of size 1, is removed. The others become dimensions `before`.
  static Instruction* Everywhere(Writer& w, Instruction* x, const Shape& shape, std::span<const int64_t> before) {
    Dims dims = x->shape().dims();
    dims.pop_back();
    DimensionsAttrs attrs;
    if (!dims.empty()) attrs.dimensions.assign(before.begin(), before.end());
    Instruction* const flat = w.Add(Opcode::kReshape, x->shape().WithDims(dims), {x}, ReshapeAttrs());
    return w.Add(Opcode::kBroadcast, shape, {flat}, attrs);
  }

  Instruction* sizes_;
  int64_t count_ = 0;
  Values begins_, ends_;  // The first row of each group, and the row after its last.
};

// `group` is the dimension of rhs that counts groups and is removed, or -1.
DotAttrs DotOf(const RaggedDotAttrs& ragged, int64_t group) {
  DotAttrs attrs;
  attrs.lhs_batch = ragged.lhs_batch;
  attrs.lhs_contracting = ragged.lhs_contracting;
  attrs.precision = ragged.precision;
  const auto moved = [&](std::vector<int64_t> dims) {
    for (int64_t& d : dims) d -= group >= 0 && d > group ? 1 : 0;
    return dims;
  };
  attrs.rhs_batch = moved(ragged.rhs_batch);
  attrs.rhs_contracting = moved(ragged.rhs_contracting);
  return attrs;
}

// The dimensions of lhs that correspond to the leading dimensions of the group sizes: `batch`, unless `kind` is the
// batch, and the dimensions before the ragged one in `kind`, which lists the dimensions of its kind.
std::vector<int64_t> InFront(const std::vector<int64_t>& batch, const std::vector<int64_t>& kind, int64_t ragged,
                             bool is_batch) {
  std::vector<int64_t> dims = is_batch ? std::vector<int64_t>() : batch;
  dims.insert(dims.end(), kind.begin(), std::ranges::find(kind, ragged));
  return dims;
}

// A dot for each group keeps the group's rows or terms. One dot is enough for ragged batches.
Instruction* ExpandRaggedDot(Instruction& inst) {
  if (!inst.Is(Opcode::kRaggedDot) || !IsPlain(inst.shape())) return nullptr;
  for (const Instruction* operand : inst.operands()) {
    if (!IsPlain(operand->shape())) return nullptr;
  }
  constexpr int64_t kMostGroups = 64;
  const auto& attrs = inst.attrs<RaggedDotAttrs>();
  const int64_t ragged = attrs.lhs_ragged[0];
  Instruction &lhs = inst.operand(0), &rhs = inst.operand(1);
  Writer w(inst, inst.computation());
  const int64_t count = inst.operand(2).shape().dims().back();
  if (count < 1 || count > kMostGroups) return nullptr;
  const bool is_sum = Contains(attrs.lhs_contracting, ragged);
  const Groups groups(w, inst.operand(2), !is_sum);
  const PrimitiveType type = ComputedIn(inst.shape().type());
  const auto dot = [&](Instruction* a, Instruction* b, const Shape& shape, int64_t group) {
    return w.Add(Opcode::kDot, shape.WithType(type),
                 {AsOperand(w, a, inst.shape().type()), AsOperand(w, b, inst.shape().type())}, DotOf(attrs, group));
  };
  const std::vector<int64_t> free = FreeDimensions(lhs.shape().rank(), attrs.lhs_batch, attrs.lhs_contracting);
  const Shape& shape = inst.shape();
  if (is_sum) {
    const std::vector<int64_t> before = InFront(attrs.lhs_batch, attrs.lhs_contracting, ragged, false);
    std::vector<int64_t> right_before;
    for (const int64_t d : before) {
      const auto of_batch = std::ranges::find(attrs.lhs_batch, d);
      right_before.push_back(
          of_batch != attrs.lhs_batch.end()
              ? attrs.rhs_batch[of_batch - attrs.lhs_batch.begin()]
              : attrs.rhs_contracting[std::ranges::find(attrs.lhs_contracting, d) - attrs.lhs_contracting.begin()]);
    }
    const int64_t right =
        attrs.rhs_contracting[std::ranges::find(attrs.lhs_contracting, ragged) - attrs.lhs_contracting.begin()];
    Dims dims(shape.dims().begin() + 1, shape.dims().end());
    const Shape of_group = shape.WithDims(dims);
    dims.insert(dims.begin(), 1);
    Values parts;
    for (int64_t g = 0; g < count; ++g) {
      const auto kept = [&](Instruction& x, int64_t d, std::span<const int64_t> in_front) {
        return w.Select(groups.Mask(w, x.shape(), d, in_front, g), &x, Zeros(w, inst, x.shape()));
      };
      Instruction* const product = dot(kept(lhs, ragged, before), kept(rhs, right, right_before), of_group, -1);
      parts.push_back(w.Add(Opcode::kReshape, Shape(type, dims), {product}, ReshapeAttrs()));
    }
    return As(w, w.Add(Opcode::kConcatenate, shape.WithType(type), parts, OneDimensionAttrs{{0}}), shape.type());
  }
  const bool is_batch = Contains(attrs.lhs_batch, ragged);
  const std::vector<int64_t>& kind = is_batch ? attrs.lhs_batch : free;
  const std::vector<int64_t> before = InFront(attrs.lhs_batch, kind, ragged, is_batch);
  std::vector<int64_t> order = attrs.lhs_batch;
  order.insert(order.end(), free.begin(), free.end());
  const auto in_result = [&](int64_t d) { return std::ranges::find(order, d) - order.begin(); };
  std::vector<int64_t> result_before;
  for (const int64_t d : before) result_before.push_back(in_result(d));
  const Shape wide = shape.WithType(type);
  Instruction* result = Zeros(w, inst, wide);
  if (is_batch) {
    Instruction* const any = groups.AnyMask(w, wide, in_result(ragged), result_before);
    return As(w, w.Select(any, dot(&lhs, &rhs, shape, -1), result), shape.type());
  }
  const int64_t group = attrs.rhs_group[0];
  for (int64_t g = 0; g < count; ++g) {
    SliceRanges ranges;
    for (const int64_t size : rhs.shape().dims()) ranges.dims.push_back({0, size, 1});
    ranges.dims[group] = {g, g + 1, 1};
    Instruction* const one =
        w.Add(Opcode::kSlice, rhs.shape().WithDims(OneOf(rhs.shape(), group)), {&rhs}, SliceAttrs{ranges});
    Instruction* const of_group = w.Add(Opcode::kReshape, Without(rhs.shape(), group), {one}, ReshapeAttrs());
    Instruction* const mask = groups.Mask(w, wide, in_result(ragged), result_before, g);
    result = w.Select(mask, dot(&lhs, of_group, shape, group), result);
  }
  return As(w, result, shape.type());
}

template <Instruction* (*expand)(Instruction&)>
Result<Instruction*> Expand(Instruction& inst, const PassContext&) {
  if (!inst.control_predecessors().empty()) return nullptr;
  return expand(inst);
}

// clang-format off: tables.
constexpr Rule kScan[] = {
    {"X.scan.1", Opcode::kScan, Expand<ExpandScan>, Preserves::kExact, "scan(f, x, c) => a loop that calls f on a slice of x and c"},
};
constexpr Rule kScaledDot[] = {
    {"X.sdot.1", Opcode::kScaledDot, Expand<ExpandScaledDot>, Preserves::kExact, "scaled-dot(a, b, s, t) => dot(a * s, b * t), each scale for its block"},
};
constexpr Rule kRaggedDot[] = {
    {"X.rdot.1", Opcode::kRaggedDot, Expand<ExpandRaggedDot>, Preserves::kReassociates, "ragged-dot(a, b, sizes) => dots of all groups, of which each keeps its rows or terms"},
};
// clang-format on

}  // namespace

std::span<const Rule> ScanRules() { return kScan; }
std::span<const Rule> ScaledDotRules() { return kScaledDot; }
std::span<const Rule> RaggedDotRules() { return kRaggedDot; }

Result<bool> ExpandScans(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kScan);
}
Result<bool> RewriteScaledDots(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kScaledDot);
}
Result<bool> RewriteRaggedDots(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRaggedDot);
}

}  // namespace hlo
