// convolution as products of matrices: docs/ops.md#windows.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "base/text.h"
#include "interp/contraction.h"
#include "interp/ops/gemm.h"
#include "interp/strided.h"

namespace hlo {
namespace {

constexpr int64_t kFewOutputs = 16;

// Sizes are in the order batch, spatial, feature (lhs, result) and spatial, input feature, output feature (rhs).
struct Geometry {
  std::vector<WindowDim> window;
  std::vector<int64_t> base, out;
  std::vector<std::vector<int64_t>> taps;  // Indices in the kernel, in row-major order.
  int64_t batch, features;                 // Batch elements of one group, and features of lhs.
  int64_t group_features, group_outputs;   // Input and output features of one group.
  int64_t outputs;                         // Output features of all groups.
  int64_t out_positions;                   // Spatial elements of the result.

  // Index of the lhs element (batch 0, feature 0) that tap `t` reads at `y`, or -1 for padding and holes.
  int64_t Element(const std::vector<int64_t>& y, size_t t) const {
    int64_t element = 0;
    for (size_t d = 0; d < window.size(); ++d) {
      int64_t at = y[d] * window[d].stride + taps[t][d] * window[d].window_dilation - window[d].pad_low;
      if (window[d].base_dilation != 1) {
        if (at < 0 || at % window[d].base_dilation != 0) return -1;
        at /= window[d].base_dilation;
      }
      if (at < 0 || at >= base[d]) return -1;
      element = element * base[d] + at;
    }
    return element * features;
  }
};

template <class T>
bool AllFinite(const T* values, int64_t count) {
  if constexpr (std::is_integral_v<T>) return true;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(values[i])) return false;
    } else if constexpr (!std::is_integral_v<T>) {
      if (!std::isfinite(values[i].real()) || !std::isfinite(values[i].imag())) return false;
    }
  }
  return true;
}

// Gathers one group's windows, with zeros for padding. A zero of either sign does not change a sum that starts at +0,
// if the kernel is finite.
template <class T>
PackRows<T> Windows(const Geometry& g, const T* lhs) {
  return [&g, lhs](int64_t m, int64_t rows, int64_t k, int64_t depth, T* to) {
    std::vector<int64_t> y(g.out.size());
    const int64_t image = Product(g.base) * g.features;
    for (int64_t r = 0; r < rows; ++r) {
      int64_t position = (m + r) % g.out_positions;
      const T* const origin = lhs + (m + r) / g.out_positions * image;
      for (size_t d = y.size(); d-- > 0;) {
        y[d] = position % g.out[d];
        position /= g.out[d];
      }
      for (int64_t p = 0; p < depth;) {
        const int64_t tap = (k + p) / g.group_features, feature = (k + p) % g.group_features;
        const int64_t count = std::min(depth - p, g.group_features - feature);
        const int64_t element = g.Element(y, tap);
        T* column = to + p * rows + r;
        if (element < 0) {
          for (int64_t i = 0; i < count; ++i) column[i * rows] = T();
        } else {
          const T* from = origin + element + feature;
          for (int64_t i = 0; i < count; ++i) column[i * rows] = from[i];
        }
        p += count;
      }
    }
  };
}

// For kernels with infinities or NaN. Omits padding, because its products with them would be NaN.
template <class T>
void ConvolveInside(const Geometry& g, int64_t m, const T* lhs, const T* rhs, int64_t rhs_stride, T* out,
                    int64_t out_stride) {
  const int64_t image = Product(g.base) * g.features;
  ParallelFor(m, 16, [&](int64_t begin, int64_t end) {
    IndexWalk y(g.out);
    for (int64_t row = begin; row < end; ++row) {
      y.Seek(row % g.out_positions);
      T* const sums = out + row * out_stride;
      std::fill_n(sums, g.group_outputs, T());
      for (size_t tap = 0; tap < g.taps.size(); ++tap) {
        const int64_t element = g.Element(y.index(), tap);
        if (element < 0) continue;
        const T* from = lhs + row / g.out_positions * image + element;
        for (int64_t i = 0; i < g.group_features; ++i) {
          const T* kernel = rhs + (static_cast<int64_t>(tap) * g.group_features + i) * rhs_stride;
          for (int64_t o = 0; o < g.group_outputs; ++o) sums[o] = MultiplyAdd(sums[o], from[i], kernel[o]);
        }
      }
    }
  });
}

// For groups with one input feature. Omits padding.
template <class T>
void ConvolveDepthwise(const Geometry& g, int64_t m, const T* lhs, const T* rhs, T* out) {
  const int64_t image = Product(g.base) * g.features;
  ParallelFor(m, 16, [&](int64_t begin, int64_t end) {
    IndexWalk y(g.out);
    for (int64_t row = begin; row < end; ++row) {
      y.Seek(row % g.out_positions);
      T* const sums = out + row * g.outputs;
      std::fill_n(sums, g.outputs, T());
      for (size_t tap = 0; tap < g.taps.size(); ++tap) {
        const int64_t element = g.Element(y.index(), tap);
        if (element < 0) continue;
        const T* const from = lhs + row / g.out_positions * image + element;
        const T* const kernel = rhs + static_cast<int64_t>(tap) * g.outputs;
        if (g.group_outputs == 1) {
          for (int64_t o = 0; o < g.outputs; ++o) sums[o] = MultiplyAdd(sums[o], from[o], kernel[o]);
          continue;
        }
        for (int64_t o = 0; o < g.outputs; ++o) sums[o] = MultiplyAdd(sums[o], from[o / g.group_outputs], kernel[o]);
      }
    }
  });
}

void Saturate(int64_t* values, int64_t count, PrimitiveType type) {
  const int bits = BitWidth(type);
  const int64_t top = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  for (int64_t i = 0; i < count; ++i) values[i] = std::clamp(values[i], -1 - top, top);
}
void Saturate(uint64_t* values, int64_t count, PrimitiveType type) {
  for (int64_t i = 0; i < count; ++i) values[i] = std::min(values[i], ~uint64_t{0} >> (64 - BitWidth(type)));
}

std::vector<int64_t> Order(std::initializer_list<int64_t> before, const std::vector<int64_t>& spatial,
                           std::initializer_list<int64_t> after) {
  std::vector<int64_t> order(before);
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.insert(order.end(), after);
  return order;
}

std::vector<int64_t> LhsOrder(const DimLabels& labels) {
  return Order({labels.lhs_batch}, labels.lhs_spatial, {labels.lhs_feature});
}
std::vector<int64_t> RhsOrder(const DimLabels& labels) {
  return Order({}, labels.rhs_spatial, {labels.rhs_input_feature, labels.rhs_output_feature});
}
std::vector<int64_t> OutOrder(const DimLabels& labels) {
  return Order({labels.out_batch}, labels.out_spatial, {labels.out_feature});
}

bool IsReversed(const Window& window) {
  return std::ranges::any_of(window.dims, [](const WindowDim& d) { return d.reversed; });
}

// `lhs` is in LhsOrder.
Geometry GeometryOf(const Instruction& inst, const Shape& lhs, const Shape& filter) {
  const ConvolutionAttrs& attrs = inst.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  Geometry g;
  g.window = attrs.window.dims;
  const int64_t spatial = static_cast<int64_t>(labels.lhs_spatial.size());
  g.base.assign(lhs.dims().begin() + 1, lhs.dims().end() - 1);
  std::vector<int64_t> kernel;
  for (int64_t d = 0; d < spatial; ++d) {
    g.out.push_back(inst.shape().dim(labels.out_spatial[d]));
    kernel.push_back(filter.dim(labels.rhs_spatial[d]));
  }
  for (IndexWalk walk(kernel); walk.Valid(); walk.Next()) g.taps.push_back(walk.index());
  g.out_positions = Product(g.out);
  g.features = lhs.dims().back();
  g.outputs = filter.dim(labels.rhs_output_feature);
  g.group_features = filter.dim(labels.rhs_input_feature);
  g.group_outputs = g.outputs / std::max(attrs.feature_group_count, attrs.batch_group_count);
  g.batch = lhs.dim(0) / attrs.batch_group_count;
  return g;
}

// `rhs` is in RhsOrder.
Literal Reversed(const Literal& rhs, const Window& window) {
  std::vector<int64_t> strides = RowMajorStrides(rhs.shape().dims());
  int64_t first = 0;
  for (int64_t d = 0; d < std::ssize(window.dims); ++d) {
    if (!window.dims[d].reversed) continue;
    first += (rhs.shape().dim(d) - 1) * strides[d];
    strides[d] = -strides[d];
  }
  Literal turned = Literal::Uninitialized(rhs.shape());
  const int64_t bytes = ByteWidth(rhs.shape().type());
  CopyStrided(rhs.shape().dims(), rhs.raw() + first * bytes, strides, turned.mutable_raw(),
              RowMajorStrides(rhs.shape().dims()), bytes);
  return turned;
}

}  // namespace

int64_t ConvolutionScratchBytes(const Instruction& inst) {
  const ConvolutionAttrs& attrs = inst.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const Shape& shape = inst.shape();
  const PrimitiveType type = shape.type();
  const Shape lhs = DenseShape(inst, 0, attrs.sparsity.lhs), rhs = DenseShape(inst, 1, attrs.sparsity.rhs);
  const bool turned = IsReversed(attrs.window);

  // Scratch has the reordered operands, and the dense filter beside its copy.
  const bool rhs_moved = !IsOrdered(RhsOrder(labels));
  const int64_t moved = (attrs.sparsity.lhs ? lhs.ByteSize() : 0) + (IsOrdered(LhsOrder(labels)) ? 0 : lhs.ByteSize()) +
                        (attrs.sparsity.rhs ? rhs.ByteSize() : 0);
  const int64_t before = moved + (rhs_moved || turned ? rhs.ByteSize() : 0);
  const WidenedBytes left(lhs, type, false), right(rhs, type, false);

  const int64_t outputs = rhs.dim(labels.rhs_output_feature), m = shape.NumElements() / std::max<int64_t>(1, outputs);
  const int64_t groups = std::max(attrs.feature_group_count, attrs.batch_group_count);
  int64_t k = rhs.dim(labels.rhs_input_feature);
  for (const int64_t d : labels.rhs_spatial) k *= rhs.dim(d);
  const int64_t wide = StorerOf(type) == nullptr ? 0 : shape.NumElements() * ByteWidth(ComputeOf(type));
  const int64_t products = WithCompute(ComputeOf(type), [&]<class T>() {
    const int threads = Threads();
    return groups >= threads && groups > 1 ? threads * GemmScratchBytes<T>(m, outputs / groups, k, 1)
                                           : GemmScratchBytes<T>(m, outputs / groups, k, threads);
  });
  const int64_t last = std::max(wide + products, IsOrdered(OutOrder(labels)) ? 0 : shape.ByteSize());
  return std::max({moved + (rhs_moved && turned ? 2 : 1) * (rhs_moved || turned ? rhs.ByteSize() : 0),
                   before + left.making, before + left.made + right.making, before + left.made + right.made + last});
}

Result<Literal> EvalConvolution(Evaluation& e) {
  const ConvolutionAttrs& attrs = e.inst.attrs<ConvolutionAttrs>();
  if ((attrs.kind != ConvolutionKind::kUnset && attrs.kind != ConvolutionKind::kFprop) ||
      !attrs.block_scaling.empty()) {
    FAIL(UnsupportedAt(e.inst, "U002",
                       "'convolution' of kind wgrad or dgrad, or with a block_scaling_config, is not supported by the "
                       "interpreter"));
  }
  TRY(CheckDense<ConvolutionAttrs>(e.inst));
  const Literal filter = TRY(Dense(e, 1, attrs.sparsity.rhs));
  const DimLabels& labels = attrs.dim_labels;
  const Shape& shape = e.inst.shape();
  const PrimitiveType type = shape.type();
  const Literal lhs = Transposed(TRY(Dense(e, 0, attrs.sparsity.lhs)), LhsOrder(labels));
  const std::vector<int64_t> out_order = OutOrder(labels);

  const Geometry g = GeometryOf(e.inst, lhs.shape(), filter.shape());
  const int64_t groups = std::max(attrs.feature_group_count, attrs.batch_group_count);

  Literal rhs = Transposed(filter, RhsOrder(labels));
  if (IsReversed(attrs.window) && rhs.byte_size() > 0) rhs = Reversed(rhs, attrs.window);

  const WidenedElements left(lhs, type), right(rhs, type);
  std::vector<int64_t> canonical;
  for (const int64_t d : out_order) canonical.push_back(shape.dim(d));
  Literal result = Literal::Uninitialized(Shape(type, canonical));
  const int64_t m = g.batch * g.out_positions, k = static_cast<int64_t>(g.taps.size()) * g.group_features;
  WithCompute(ComputeOf(type), [&]<class T>() {
    const bool direct = StorerOf(type) == nullptr;
    const Scratch<T> own(direct ? 0 : m * g.outputs);
    T* const out = direct ? reinterpret_cast<T*>(result.mutable_raw()) : own.data();
    const T *x = left.data<T>(), *w = right.data<T>();
    const bool finite = AllFinite(w, rhs.shape().NumElements());
    const auto group = [&](int64_t j) {
      const T* from =
          x + (attrs.feature_group_count > 1 ? j * g.group_features : j * g.batch * Product(g.base) * g.features);
      if (groups == 1) from = x;
      const T* by = w + j * g.group_outputs;
      if (finite) Gemm<T>(m, g.group_outputs, k, Windows(g, from), by, g.outputs, out + j * g.group_outputs, g.outputs);
      else ConvolveInside(g, m, from, by, g.outputs, out + j * g.group_outputs, g.outputs);
    };
    if (attrs.feature_group_count > 1 && g.group_features == 1 && g.group_outputs < kFewOutputs) {
      ConvolveDepthwise(g, m, x, w, out);
    } else if (groups >= Threads() && groups > 1) {
      ParallelFor(groups, 1, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) group(j);
      });
    } else {
      for (int64_t j = 0; j < groups; ++j) group(j);
    }
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) Saturate(out, m * g.outputs, type);
    if (!direct) StoreElements(out, type, result.mutable_raw(), m * g.outputs);
  });

  std::vector<int64_t> back(out_order.size());
  for (size_t i = 0; i < out_order.size(); ++i) back[out_order[i]] = static_cast<int64_t>(i);
  return Transposed(result, back);
}

}  // namespace hlo
