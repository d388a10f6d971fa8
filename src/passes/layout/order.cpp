#include "passes/layout/order.h"

#include <algorithm>
#include <utility>

#include "ir/analysis/dynamic_indices.h"
#include "ir/module.h"
#include "ir/opcode_set.h"

namespace hlo {
namespace {

template <class List>
List Permuted(const List& list, const Order& order) {
  List permuted = list;
  for (size_t i = 0; i < order.size(); ++i) permuted[i] = list[order[i]];
  return permuted;
}

// Whether the dimensions for which `counts` holds have ascending numbers in `space`.
template <class Counts>
bool KeepOrder(const Order& space, Counts counts) {
  int64_t last = -1;
  for (const int64_t d : space) {
    if (!counts(d)) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

const Window* WindowOf(const Instruction& inst) {
  if (inst.Is(Opcode::kReduceWindow)) return &inst.attrs<ReduceWindowAttrs>().window;
  if (inst.Is(Opcode::kSelectAndScatter)) return &inst.attrs<SelectAndScatterAttrs>().window;
  return nullptr;
}

// Whether the result is the gradient of a filter. Then the lhs's feature dimension, the batch of the forward
// convolution, precedes its batch dimension. Sizes do not decide: a window of 2x2 may leave a result of 3x3.
bool IsKernelGradient(const Instruction& convolution) {
  const auto& attrs = convolution.attrs<ConvolutionAttrs>();
  if (attrs.kind != ConvolutionKind::kUnset) return attrs.kind == ConvolutionKind::kWgrad;
  const auto is_dilated = [](const WindowDim& dim) { return dim.base_dilation != 1; };
  return attrs.dim_labels.lhs_feature < attrs.dim_labels.lhs_batch &&
         std::ranges::none_of(attrs.window.dims, is_dilated);
}

Order ImageOf(int64_t batch, const std::vector<int64_t>& spatial, int64_t feature) {
  Order image = {batch};
  image.insert(image.end(), spatial.begin(), spatial.end());
  image.push_back(feature);
  return image;
}

Order SpaceOfImage(const Order& image, const Order& order) { return Permuted(Inverse(image), order); }

bool IsMoved(const Instruction& inst) {
  constexpr OpcodeSet kMoved = {Opcode::kBroadcast, Opcode::kConcatenate, Opcode::kIota,
                                Opcode::kPad,       Opcode::kReverse,     Opcode::kSlice};
  if (inst.Is(Opcode::kDynamicSlice) || inst.Is(Opcode::kDynamicUpdateSlice)) return HasScalarIndices(inst);
  return inst.Is(kElementwise) || kMoved.Has(inst.opcode());
}

}  // namespace

bool IsIdentityPermutation(const Order& order) { return std::is_sorted(order.begin(), order.end()); }

Order Inverse(const Order& order) {
  Order inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  return inverse;
}

Order TransposeBetween(const Order& from, const Order& to) { return Permuted(Inverse(from), to); }

bool MovesElements(const Shape& shape, const Order& from, const Order& to) {
  const auto counts = [&](int64_t d) { return shape.dim(d) != 1; };
  Order a, b;
  std::ranges::copy_if(from, std::back_inserter(a), counts);
  std::ranges::copy_if(to, std::back_inserter(b), counts);
  return a != b;
}

Order BeforeView(const Order& view, const Order& order) { return Permuted(view, order); }
Order BehindView(const Order& view, const Order& order) { return Permuted(Inverse(view), order); }

Shape InOrder(const Shape& shape, const Order& order) { return shape.WithDims(Permuted(shape.dims(), order)); }

bool HasSpace(const Instruction& inst) {
  if (const Window* window = WindowOf(inst)) {
    return inst.shape().IsArray() && std::ssize(window->dims) == inst.shape().rank();
  }
  if (inst.Is(Opcode::kReduce)) return inst.operand_count() == 2;
  if (!inst.Is(Opcode::kConvolution)) return IsMoved(inst);
  const auto& attrs = inst.attrs<ConvolutionAttrs>();
  return inst.operand_count() == 2 && attrs.sparsity.empty() && attrs.block_scaling.empty();
}

bool MayWalk(const Instruction& inst, const Order& space) {
  if (const Window* window = WindowOf(inst))
    return KeepOrder(space, [&](int64_t d) { return window->dims[d].size != 1; });
  if (!inst.Is(Opcode::kReduce)) return true;
  const std::vector<int64_t>& reduced = inst.attrs<ReduceAttrs>().dimensions;
  return KeepOrder(space, [&](int64_t d) { return std::ranges::find(reduced, d) != reduced.end(); });
}

ImagesOf::ImagesOf(const Instruction& convolution) {
  const DimLabels& labels = convolution.attrs<ConvolutionAttrs>().dim_labels;
  if (IsKernelGradient(convolution)) {
    operand[0] = ImageOf(labels.lhs_feature, labels.lhs_spatial, labels.lhs_batch);
    operand[1] = ImageOf(labels.rhs_input_feature, labels.rhs_spatial, labels.rhs_output_feature);
    return;
  }
  operand[0] = ImageOf(labels.lhs_batch, labels.lhs_spatial, labels.lhs_feature);
  result = ImageOf(labels.out_batch, labels.out_spatial, labels.out_feature);
}

std::optional<Order> SpaceOfResult(const Instruction& inst, const Order& order) {
  if (inst.Is(Opcode::kReduce)) return std::nullopt;
  if (!inst.Is(Opcode::kConvolution)) return order;
  const ImagesOf images(inst);
  return images.result ? std::optional(SpaceOfImage(*images.result, order)) : std::nullopt;
}

std::optional<Order> SpaceOfOperand(const Instruction& inst, int64_t operand, const Order& order) {
  if (inst.Is(Opcode::kBroadcast) || OrderOfOperand(inst, operand, order).empty()) return std::nullopt;
  if (!inst.Is(Opcode::kConvolution)) return order;
  return SpaceOfImage(*ImagesOf(inst).operand[operand], order);
}

Order OrderOfOperand(const Instruction& inst, int64_t operand, const Order& space) {
  const Shape& shape = inst.operand(operand).shape();
  if (shape.rank() == 0) return {};
  if (inst.Is(Opcode::kConvolution)) {
    const std::optional<Order> image = ImagesOf(inst).operand[operand];
    return image ? Permuted(*image, space) : Order();
  }
  if (!inst.Is(Opcode::kBroadcast)) return space;
  Order order;
  const std::vector<int64_t>& dimensions = inst.dimensions();
  for (const int64_t d : space) {
    const auto found = std::ranges::find(dimensions, d);
    if (found != dimensions.end()) order.push_back(found - dimensions.begin());
  }
  return order;
}

Order OrderOfResult(const Instruction& inst, const Order& space) {
  if (inst.Is(Opcode::kConvolution)) {
    const ImagesOf images(inst);
    return images.result ? Permuted(*images.result, space) : Order();
  }
  if (!inst.Is(Opcode::kReduce)) return space;
  const std::vector<int64_t>& reduced = inst.attrs<ReduceAttrs>().dimensions;
  Order order;
  for (const int64_t d : space) {
    if (std::ranges::find(reduced, d) != reduced.end()) continue;
    order.push_back(d - std::ranges::count_if(reduced, [d](int64_t r) { return r < d; }));
  }
  return order;
}

namespace {

// Replaces an image's dimensions by their new positions.
void Relabel(const Order& image, const Order& space, int64_t* batch, std::vector<int64_t>* spatial, int64_t* feature) {
  const Order at = Inverse(Permuted(image, space));
  for (int64_t* d : {batch, feature}) *d = at[*d];
  for (int64_t& d : *spatial) d = at[d];
}

void RelabelConvolution(const Instruction& before, const Order& space, DimLabels& labels) {
  const ImagesOf images(before);
  Relabel(*images.operand[0], space, &labels.lhs_batch, &labels.lhs_spatial, &labels.lhs_feature);
  if (images.operand[1])
    Relabel(*images.operand[1], space, &labels.rhs_input_feature, &labels.rhs_spatial, &labels.rhs_output_feature);
  if (images.result) Relabel(*images.result, space, &labels.out_batch, &labels.out_spatial, &labels.out_feature);
}

void Renumber(std::vector<int64_t>& dimensions, const Order& at) {
  for (int64_t& d : dimensions) d = at[d];
  std::ranges::sort(dimensions);
}

}  // namespace

Instruction& InSpace(Instruction& inst, const Order& space, std::vector<Instruction*> operands) {
  const Order result = OrderOfResult(inst, space), at = Inverse(space);
  if (inst.Is(Opcode::kDynamicSlice) || inst.Is(Opcode::kDynamicUpdateSlice)) {
    const auto indices = std::span(operands).last(space.size());
    std::ranges::copy(Permuted(std::vector(indices.begin(), indices.end()), space), indices.begin());
  }
  const Shape shape = result.empty() ? inst.shape() : InOrder(inst.shape(), result);
  Instruction& made = inst.computation().AddClone(inst, shape, operands);
  made.SetOrigin(-1);  // Elements have other indices.
  switch (inst.opcode()) {
    case Opcode::kBroadcast:
    case Opcode::kReverse: Renumber(made.mutable_attrs<DimensionsAttrs>().dimensions, at); break;
    case Opcode::kReduce: Renumber(made.mutable_attrs<ReduceAttrs>().dimensions, at); break;
    case Opcode::kIota: {
      int64_t& dimension = made.mutable_attrs<IotaAttrs>().iota_dimension;
      dimension = at[dimension];
      break;
    }
    case Opcode::kConcatenate: {
      int64_t& dimension = made.mutable_attrs<OneDimensionAttrs>().dimension.value;
      dimension = at[dimension];
      break;
    }
    case Opcode::kDynamicSlice: {
      std::vector<int64_t>& sizes = made.mutable_attrs<DynamicSliceAttrs>().sizes;
      sizes = Permuted(sizes, space);
      break;
    }
    case Opcode::kSlice: {
      std::vector<SliceDim>& dims = made.mutable_attrs<SliceAttrs>().slice.dims;
      dims = Permuted(dims, space);
      break;
    }
    case Opcode::kPad: {
      std::vector<PaddingDim>& dims = made.mutable_attrs<PadAttrs>().padding.dims;
      dims = Permuted(dims, space);
      break;
    }
    case Opcode::kReduceWindow: {
      std::vector<WindowDim>& dims = made.mutable_attrs<ReduceWindowAttrs>().window.dims;
      dims = Permuted(dims, space);
      break;
    }
    case Opcode::kSelectAndScatter: {
      std::vector<WindowDim>& dims = made.mutable_attrs<SelectAndScatterAttrs>().window.dims;
      dims = Permuted(dims, space);
      break;
    }
    case Opcode::kConvolution:
      RelabelConvolution(inst, space, made.mutable_attrs<ConvolutionAttrs>().dim_labels);
      break;
    default: break;
  }
  return made;
}

}  // namespace hlo
