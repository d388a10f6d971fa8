// Computes the gradient of a depthwise convolution's window by sums, in separate fusions. A convolution kernel would
// have too few results for its threads. Instructions that compute the operands stay outside, because each element of
// the window would repeat them.
#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "ir/dimensions.h"
#include "ir/fusion.h"
#include "passes/fusion/outline.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Elements of the window. ConvNeXt's 7 x 7 is the largest in use.
constexpr int64_t kMostSums = 64;
// Accumulators of each thread in one kernel. 49 sums do not fit into a thread's 255 registers.
constexpr size_t kMostOfKernel = 25;

// The indices o in [0, size) for which o * step + offset is in [0, limit): `count` indices from `first` on.
struct Reach {
  int64_t first = 0, count = 0, start = 0;  // `start` = first * step + offset.
};
Reach ReachOf(int64_t size, int64_t step, int64_t offset, int64_t limit) {
  const int64_t first = offset >= 0 ? 0 : (-offset + step - 1) / step;
  const int64_t start = first * step + offset;
  const int64_t end = start >= limit ? first : std::min(size, first + (limit - 1 - start) / step + 1);
  return {first, std::max<int64_t>(0, end - first), start};
}

void ForEachIndex(const std::vector<int64_t>& sizes, const std::function<void(const std::vector<int64_t>&)>& at) {
  std::vector<int64_t> index(sizes.size(), 0);
  for (int64_t i = 0; i < Product(sizes); ++i) {
    at(index);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

bool IsOfFloats(const Shape& shape) {
  using enum PrimitiveType;
  const PrimitiveType type = shape.type();
  return (type == kF16 || type == kBF16 || type == kF32 || type == kF64) && !shape.HasDynamicDims() &&
         shape.HasDefaultLayout() && shape.NumElements() > 0;
}

Instruction* Transposed(Instruction& inst, Instruction* x, const std::vector<int64_t>& order) {
  if (std::ranges::is_sorted(order)) return x;
  Dims dims;
  for (const int64_t d : order) dims.push_back(x->shape().dim(d));
  return Step(inst, Opcode::kTranspose, Shape(x->shape().type(), dims), {x}, DimensionsAttrs{order});
}

// A convolution with the features as batch dimension, the batch as feature dimension, and the summed positions as
// window.
bool IsGradientOfDepthwise(const Instruction& inst) {
  if (inst.operand_count() != 2) return false;
  const auto& attrs = inst.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const Shape &x = inst.operand(0).shape(), &dy = inst.operand(1).shape();
  const int64_t features = attrs.batch_group_count;
  return IsOfFloats(x) && IsOfFloats(dy) && IsOfFloats(inst.shape()) && features > 1 &&
         attrs.feature_group_count == 1 && x.dim(labels.lhs_batch) == features &&
         dy.dim(labels.rhs_output_feature) == features && inst.shape().dim(labels.out_feature) == features &&
         std::ranges::all_of(attrs.window.dims, [](const WindowDim& w) { return w.base_dilation == 1 && !w.reversed; });
}

class Sums {
 public:
  Sums(Instruction& inst, PrimitiveType type) : inst_(inst), type_(type) {}

  Instruction* Slice(Instruction* x, const std::vector<int64_t>& starts, const std::vector<int64_t>& counts,
                     const std::vector<int64_t>& steps) {
    SliceRanges ranges;
    Shape shape = x->shape();
    for (int64_t d = 0; d < shape.rank(); ++d) {
      ranges.dims.push_back({starts[d], starts[d] + (counts[d] - 1) * steps[d] + 1, steps[d]});
      shape.SetDim(d, counts[d]);
    }
    return shape == x->shape() ? x : Make(Opcode::kSlice, shape, {x}, SliceAttrs{ranges});
  }
  Instruction* Multiply(Instruction* a, Instruction* b) {
    return Make(Opcode::kMultiply, a->shape().WithType(type_), {Widen(a), Widen(b)});
  }
  // Zeros add nothing to the sum.
  Instruction* Pad(Instruction* x, const std::vector<int64_t>& low, const Shape& shape) {
    if (x->shape() == shape) return x;
    PadAttrs attrs;
    for (int64_t d = 0; d < shape.rank(); ++d)
      attrs.padding.dims.push_back({low[d], shape.dim(d) - low[d] - x->shape().dim(d), 0});
    return Make(Opcode::kPad, shape, {x, Zero()}, attrs);
  }
  Instruction* Sum(Instruction* x, int64_t kept) {
    if (adder_ == nullptr) {
      adder_ = &inst_.module().AddComputation("add_products");
      const Shape scalar = Shape::Scalar(type_);
      Instruction& a = adder_->AddParameter(0, scalar, "a");
      Instruction& b = adder_->AddParameter(1, scalar, "b");
      adder_->SetRoot(adder_->Add(Opcode::kAdd, scalar, {&a, &b}));
    }
    ReduceAttrs attrs;
    for (int64_t d = 0; d < x->shape().rank(); ++d) {
      if (d != kept) attrs.dimensions.push_back(d);
    }
    attrs.to_apply = adder_;
    roots_.push_back(Make(Opcode::kReduce, Shape(type_, {x->shape().dim(kept)}), {x, Zero()}, attrs));
    return roots_.back();
  }
  Instruction* Zeros(int64_t size) {
    return Step(inst_, Opcode::kBroadcast, Shape(type_, {size}), {Zero()}, DimensionsAttrs{});
  }
  void FuseIfFull() {
    if (roots_.size() == kMostOfKernel) Fuse();
  }
  void Fuse() {
    if (!roots_.empty()) Outline(inst_.computation(), members_, roots_, FusionKind::kInput, "depthwise_gradient");
    members_.clear();
    roots_.clear();
  }

 private:
  Instruction* Make(Opcode opcode, Shape shape, const std::vector<Instruction*>& operands,
                    Attributes attrs = NoAttrs()) {
    members_.push_back(Step(inst_, opcode, std::move(shape), operands, std::move(attrs)));
    return members_.back();
  }
  Instruction* Widen(Instruction* x) {
    return x->shape().type() == type_ ? x : Make(Opcode::kConvert, x->shape().WithType(type_), {x});
  }
  Instruction* Zero() { return &inst_.computation().AddConstant(Literal::Scalar(type_, 0.0)); }

  Instruction& inst_;
  PrimitiveType type_;
  Computation* adder_ = nullptr;
  std::vector<Instruction*> members_, roots_;
};

Result<Instruction*> FuseGradient(Instruction& inst, const PassContext&) {
  if (!IsGradientOfDepthwise(inst)) return nullptr;
  const auto attrs = inst.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const std::vector<WindowDim>& window = attrs.window.dims;
  const int64_t rank = inst.shape().rank(), features = attrs.batch_group_count;
  std::vector<int64_t> elements, order(rank);
  for (const int64_t d : labels.out_spatial) elements.push_back(inst.shape().dim(d));
  if (Product(elements) > kMostSums) return nullptr;
  order[labels.lhs_batch] = labels.rhs_output_feature;
  order[labels.lhs_feature] = labels.rhs_input_feature;
  for (size_t i = 0; i < window.size(); ++i) order[labels.lhs_spatial[i]] = labels.rhs_spatial[i];
  Instruction* const x = &inst.operand(0);
  Instruction* const dy = Transposed(inst, &inst.operand(1), order);
  const auto is_wide = [](const Shape& shape) { return shape.type() == PrimitiveType::kF64; };
  const bool wide = is_wide(x->shape()) || is_wide(dy->shape()) || is_wide(inst.shape());
  const Shape shape = dy->shape().WithType(wide ? PrimitiveType::kF64 : PrimitiveType::kF32);
  Sums s(inst, shape.type());
  std::vector<Instruction*> sums;
  ForEachIndex(elements, [&](const std::vector<int64_t>& element) {
    std::vector<int64_t> low(rank, 0), starts = low, steps(rank, 1), ones = steps;
    std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
    for (size_t i = 0; i < window.size(); ++i) {
      const WindowDim& w = window[i];
      const int64_t d = labels.lhs_spatial[i];
      const Reach reach = ReachOf(w.size, w.window_dilation, element[i] * w.stride - w.pad_low, x->shape().dim(d));
      std::tie(low[d], starts[d], sizes[d], steps[d]) =
          std::tuple(reach.first, reach.start, reach.count, w.window_dilation);
    }
    const auto sum = [&] {
      s.FuseIfFull();
      Instruction* const product = s.Multiply(s.Slice(x, starts, sizes, steps), s.Slice(dy, low, sizes, ones));
      return s.Sum(s.Pad(product, low, shape), labels.lhs_batch);
    };
    sums.push_back(Recast(inst, Shape(shape.type(), {1, features}), Product(sizes) == 0 ? s.Zeros(features) : sum()));
  });
  // [elements of the window..., 1, features].
  Dims dims(elements.begin(), elements.end());
  dims.push_back(1);
  dims.push_back(features);
  std::vector<int64_t> back(rank);
  for (size_t i = 0; i < window.size(); ++i) back[labels.out_spatial[i]] = static_cast<int64_t>(i);
  back[labels.out_batch] = rank - 2;
  back[labels.out_feature] = rank - 1;
  Instruction* all = sums[0];
  if (sums.size() > 1) {
    const Shape joined(shape.type(), {std::ssize(sums), features});
    all = Step(inst, Opcode::kConcatenate, joined, sums, OneDimensionAttrs{{0}});
  }
  if (inst.shape().type() != shape.type())
    all = Step(inst, Opcode::kConvert, all->shape().WithType(inst.shape().type()), {all});
  s.Fuse();
  return Transposed(inst, Recast(inst, Shape(all->shape().type(), dims), all), back);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"S.dconv.1", Opcode::kConvolution, FuseGradient, Preserves::kReassociates, "convolution(x, dy) with a batch in each group => concatenate(sum(pad(slice(x) * slice(dy))), ...), a sum for each element of the window, in a fusion"},
};
// clang-format on

}  // namespace

std::span<const Rule> DepthwiseGradientRules() { return kRules; }

Result<bool> FuseDepthwiseGradients(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
