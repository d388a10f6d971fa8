// Bounds of convolution, a contraction over window positions and features. The rule: docs/comparison.md#sums.
#include "judge/bounds/contract.h"

namespace hlo::shadow {
namespace {

// Base offset or -1, for each spatial dimension, result position and window position.
std::vector<std::vector<int64_t>> BaseOffsets(const ConvolutionAttrs& attrs, const Shape& in, const Shape& out) {
  const DimLabels& labels = attrs.dim_labels;
  const std::vector<int64_t> strides = RowMajorStrides(in.dims());
  std::vector<std::vector<int64_t>> tables(labels.lhs_spatial.size());
  for (size_t s = 0; s < tables.size(); ++s) {
    const WindowDim& w = attrs.window.dims[s];
    const int64_t size = in.dim(labels.lhs_spatial[s]);
    for (int64_t o = 0; o < out.dim(labels.out_spatial[s]); ++o) {
      for (int64_t k = 0; k < w.size; ++k) {
        const int64_t dilated = o * w.stride + k * w.window_dilation - w.pad_low;
        const bool inside = dilated >= 0 && dilated % w.base_dilation == 0 && dilated / w.base_dilation < size;
        tables[s].push_back(inside ? dilated / w.base_dilation * strides[labels.lhs_spatial[s]] : -1);
      }
    }
  }
  return tables;
}

}  // namespace

Contraction ContractionOfConvolution(const Instruction& convolution, const Shape& in, const Shape& rhs,
                                     const Shape& out) {
  const ConvolutionAttrs& attrs = convolution.attrs<ConvolutionAttrs>();
  const DimLabels& labels = attrs.dim_labels;
  const auto in_strides = RowMajorStrides(in.dims()), rhs_strides = RowMajorStrides(rhs.dims()),
             out_strides = RowMajorStrides(out.dims());
  const size_t spatial = labels.lhs_spatial.size();
  const int64_t feature_groups = attrs.feature_group_count, batch_groups = attrs.batch_group_count;
  const int64_t groups = feature_groups * batch_groups;  // At least one count is 1.
  const int64_t features = rhs.dim(labels.rhs_input_feature);
  const int64_t outputs = rhs.dim(labels.rhs_output_feature) / groups;
  const int64_t batch = out.dim(labels.out_batch);

  std::vector<std::vector<int64_t>> tables = BaseOffsets(attrs, in, out);
  int64_t positions = 1, places = 1;
  for (size_t s = 0; s < spatial; ++s) {
    positions *= attrs.window.dims[s].size;
    places *= out.dim(labels.out_spatial[s]);
  }

  Contraction c;
  c.groups = groups;
  c.rows = batch * places;
  c.columns = outputs;
  c.positions = positions;
  c.terms = positions * features;
  for (int64_t i = 0; i < features; ++i) c.left_offset.push_back(i * in_strides[labels.lhs_feature]);
  c.left_bases = [=, &attrs, &labels, tables = std::move(tables)](int64_t group, int64_t row, int64_t* bases) {
    int64_t place = row % places;
    int64_t base = (row / places + (batch_groups > 1 ? group * batch : 0)) * in_strides[labels.lhs_batch];
    if (feature_groups > 1) base += group * features * in_strides[labels.lhs_feature];
    std::vector<const int64_t*> at(spatial);
    for (size_t s = spatial; s-- > 0;) {
      const int64_t size = out.dim(labels.out_spatial[s]);
      at[s] = &tables[s][place % size * attrs.window.dims[s].size];
      place /= size;
    }
    for (int64_t p = 0; p < positions; ++p) {
      int64_t rest = p, offset = base;
      bool inside = true;
      for (size_t s = spatial; s-- > 0;) {
        const int64_t step = at[s][rest % attrs.window.dims[s].size];
        rest /= attrs.window.dims[s].size;
        inside = inside && step >= 0;
        offset += step;
      }
      bases[p] = inside ? offset : -1;
    }
  };
  for (int64_t p = 0; p < positions; ++p) {
    int64_t rest = p, offset = 0;
    for (size_t s = spatial; s-- > 0;) {
      const WindowDim& w = attrs.window.dims[s];
      const int64_t k = rest % w.size;
      rest /= w.size;
      offset += (w.reversed ? w.size - 1 - k : k) * rhs_strides[labels.rhs_spatial[s]];
    }
    for (int64_t i = 0; i < features; ++i) c.right_term.push_back(offset + i * rhs_strides[labels.rhs_input_feature]);
  }
  for (int64_t g = 0; g < groups; ++g) {
    c.right_group.push_back(g * outputs * rhs_strides[labels.rhs_output_feature]);
    for (int64_t o = 0; o < outputs; ++o)
      c.result_column.push_back((g * outputs + o) * out_strides[labels.out_feature]);
  }
  for (int64_t o = 0; o < outputs; ++o) c.right_column.push_back(o * rhs_strides[labels.rhs_output_feature]);
  c.result_row = [=, &labels](int64_t, int64_t row) {
    int64_t place = row % places, offset = row / places * out_strides[labels.out_batch];
    for (size_t s = spatial; s-- > 0;) {
      const int64_t size = out.dim(labels.out_spatial[s]);
      offset += place % size * out_strides[labels.out_spatial[s]];
      place /= size;
    }
    return offset;
  };
  return c;
}

Result<ShadowValue> Convolution(Context& context, const Instruction& inst, Operands operands,
                                const WantedResults* wanted) {
  const ConvolutionAttrs& attrs = inst.attrs<ConvolutionAttrs>();
  if (!SumsAsFloats(inst)) {
    if (IsComplex(inst.shape().type())) FAIL(UnsupportedAt(inst, "U041", "no error bounds for complex 'convolution'"));
    return ThroughInterpreter(context, inst, operands);
  }
  const bool plain = attrs.kind == ConvolutionKind::kUnset || attrs.kind == ConvolutionKind::kFprop;
  if (!plain || !attrs.sparsity.empty() || operands.size() != 2) {
    FAIL(UnsupportedAt(inst, "U041", "no error bounds for this kind of 'convolution'"));
  }
  const Shape& out = wanted != nullptr ? wanted->whole : inst.shape();
  return Contract(context, inst, operands, wanted,
                  ContractionOfConvolution(inst, operands[0]->shape, operands[1]->shape, out));
}

}  // namespace hlo::shadow
