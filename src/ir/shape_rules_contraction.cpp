// Shape rules of dot and convolution. Source: spec/ops.md 5.
#include "base/text.h"
#include "ir/shape_checks.h"

namespace hlo {
namespace {

// The written element type is the preferred one; without it, the more precise operand's.
PrimitiveType ContractionType(const Instruction& inst) {
  if (inst.shape().IsArray()) return inst.shape().type();
  return HigherPrecision(inst.operand(0).shape().type(), inst.operand(1).shape().type());
}

// V010, V011 for one side.
Status CheckDotDims(const Instruction& inst, const Shape& shape, const std::vector<int64_t>& batch,
                    const char* batch_name, const std::vector<int64_t>& contracting, const char* contracting_name) {
  for (const auto& [dims, name] : {std::pair(&contracting, contracting_name), std::pair(&batch, batch_name)}) {
    for (const int64_t dim : *dims) {
      if (dim < 0 || dim >= shape.rank())
        FAIL(ErrorAtAttribute(inst, name, "V010", Str(name, " ", Braced(*dims), " of ", shape)));
    }
  }
  std::vector<int64_t> all = batch;
  all.insert(all.end(), contracting.begin(), contracting.end());
  if (IsDimSet(all, shape.rank())) return {};
  FAIL(ErrorAtAttribute(inst, contracting_name, "V011",
                        Str("a dimension of ", shape, " stands twice in ", batch_name, " ", Braced(batch), " and ",
                            contracting_name, " ", Braced(contracting))));
}

// V012-V014: two lists pair up.
Status CheckPairs(const Instruction& inst, const std::vector<int64_t>& lhs_dims, const std::vector<int64_t>& rhs_dims,
                  const char* what, const char* attribute, const char* count_code, const char* size_code) {
  if (lhs_dims.size() != rhs_dims.size()) {
    FAIL(ErrorAtAttribute(inst, attribute, count_code,
                          Str(lhs_dims.size(), " lhs and ", rhs_dims.size(), " rhs ", what, " dims")));
  }
  const Shape& lhs = inst.operand(0).shape();
  const Shape& rhs = inst.operand(1).shape();
  for (size_t i = 0; i < lhs_dims.size(); ++i) {
    if (SameSize(lhs.dim(lhs_dims[i]), rhs.dim(rhs_dims[i]))) continue;
    FAIL(ErrorAtAttribute(inst, attribute, size_code,
                          Str("lhs dim ", lhs_dims[i], " is ", lhs.dim(lhs_dims[i]), ", rhs dim ", rhs_dims[i], " is ",
                              rhs.dim(rhs_dims[i]))));
  }
  return {};
}

}  // namespace

// Batch dimensions as lhs_batch lists them, then the free dimensions of lhs, then those of rhs, in operand order.
Result<Shape> ShapeOfDot(const Instruction& inst) {
  if (inst.operand_count() < 2)
    FAIL(ErrorAtOperandListEnd(inst, "V001", Str("expected 2 operands, found ", inst.operand_count())));
  TRY(CheckArray(inst, 0));
  TRY(CheckArray(inst, 1));
  const DotAttrs& a = inst.attrs<DotAttrs>();
  const Shape& lhs = inst.operand(0).shape();
  const Shape& rhs = inst.operand(1).shape();
  TRY(CheckDotDims(inst, lhs, a.lhs_batch, "lhs_batch_dims", a.lhs_contracting, "lhs_contracting_dims"));
  TRY(CheckDotDims(inst, rhs, a.rhs_batch, "rhs_batch_dims", a.rhs_contracting, "rhs_contracting_dims"));
  TRY(CheckPairs(inst, a.lhs_contracting, a.rhs_contracting, "contracting",
                 a.rhs_contracting.empty() ? "lhs_contracting_dims" : "rhs_contracting_dims", "V013", "V012"));
  TRY(CheckPairs(inst, a.lhs_batch, a.rhs_batch, "batch", a.rhs_batch.empty() ? "lhs_batch_dims" : "rhs_batch_dims",
                 "V014", "V014"));
  std::vector<int64_t> dims;
  std::vector<bool> dynamic;
  const auto take = [&](const Shape& shape, int64_t dim) {
    dims.push_back(shape.dim(dim));
    dynamic.push_back(shape.IsDynamic(dim));
  };
  for (const int64_t dim : a.lhs_batch) take(lhs, dim);
  for (int64_t i = 0; i < lhs.rank(); ++i) {
    if (!Contains(a.lhs_batch, i) && !Contains(a.lhs_contracting, i)) take(lhs, i);
  }
  for (int64_t i = 0; i < rhs.rank(); ++i) {
    if (!Contains(a.rhs_batch, i) && !Contains(a.rhs_contracting, i)) take(rhs, i);
  }
  Shape shape(ContractionType(inst), std::move(dims));
  for (size_t i = 0; i < dynamic.size(); ++i) {
    if (dynamic[i]) shape.SetDynamic(i, true);
  }
  return shape;
}

Result<Shape> ShapeOfConvolution(const Instruction& inst) {
  if (inst.operand_count() < 2)
    FAIL(ErrorAtOperandListEnd(inst, "V015", Str("expected 2 operands or more, found ", inst.operand_count())));
  TRY(CheckArray(inst, 0));
  TRY(CheckArray(inst, 1));
  const ConvolutionAttrs& a = inst.attrs<ConvolutionAttrs>();
  const DimLabels& d = a.dim_labels;
  const Shape& lhs = inst.operand(0).shape();
  const Shape& rhs = inst.operand(1).shape();
  const int64_t groups = a.feature_group_count;
  const int64_t batch_groups = a.batch_group_count;
  if (groups < 1 || batch_groups < 1 || (groups > 1 && batch_groups > 1)) {
    FAIL(ErrorAtAttribute(inst, groups != 1 ? "feature_group_count" : "batch_group_count", "V022",
                          Str("feature_group_count ", groups, " and batch_group_count ", batch_groups,
                              ", expected 1 or more and not both above 1")));
  }
  const auto spatial = static_cast<int64_t>(d.lhs_spatial.size());
  for (int64_t i = 0; i < 2; ++i) {
    const Shape& shape = inst.operand(i).shape();
    if (shape.rank() != spatial + 2) {
      FAIL(ErrorAtOperand(
          inst, i, "V023",
          Str("operand ", i, " is ", shape, ", dim_labels name ", spatial, " spatial dimensions and 2 more")));
    }
  }
  if (static_cast<int64_t>(a.window.dims.size()) != spatial) {
    FAIL(ErrorAtAttribute(inst, "window", "V023",
                          Str("window of ", a.window.dims.size(), " dimensions, dim_labels name ", spatial)));
  }
  std::vector<int64_t> base;
  for (int64_t i = 0; i < spatial; ++i) {
    base.push_back(lhs.dim(d.lhs_spatial[i]));
    if (!SameSize(a.window.dims[i].size, rhs.dim(d.rhs_spatial[i]))) {
      FAIL(ErrorAtAttribute(
          inst, "window", "V024",
          Str("window dim ", i, " is ", a.window.dims[i].size, ", the kernel's ", rhs.dim(d.rhs_spatial[i]))));
    }
  }
  const std::vector<int64_t> out = TRY(WindowedDims(inst, base, a.window));
  const int64_t in_features = lhs.dim(d.lhs_feature);
  const int64_t kernel_features = rhs.dim(d.rhs_input_feature);
  const int64_t out_features = rhs.dim(d.rhs_output_feature);
  const int64_t batch = lhs.dim(d.lhs_batch);
  // With sparse operands the sizes here are the compressed ones; what they stand for is the configuration's business.
  const bool dense = a.sparsity.empty();
  const auto known = [](int64_t size) { return size != Shape::kUnbounded; };
  int64_t taken = 0;
  if (dense && known(in_features) && known(kernel_features) &&
      (__builtin_mul_overflow(kernel_features, groups, &taken) || in_features != taken)) {
    FAIL(ErrorAtOperand(inst, 0, "V025",
                        Str("lhs has ", in_features, " features, the kernel takes ", kernel_features,
                            groups > 1 ? Str(" in each of ", groups, " groups") : "")));
  }
  if (known(out_features) && (out_features % groups != 0 || out_features % batch_groups != 0)) {
    FAIL(ErrorAtOperand(inst, 1, "V026",
                        Str("the kernel has ", out_features, " output features, not divisible into ",
                            std::max(groups, batch_groups), " groups")));
  }
  if (known(batch) && batch % batch_groups != 0) {
    FAIL(ErrorAtOperand(inst, 0, "V026",
                        Str("lhs has batch ", batch, ", not divisible into ", batch_groups, " groups")));
  }
  std::vector<int64_t> dims(spatial + 2);
  dims[d.out_batch] = known(batch) ? batch / batch_groups : batch;
  dims[d.out_feature] = out_features;
  for (int64_t i = 0; i < spatial; ++i) dims[d.out_spatial[i]] = out[i];
  Shape shape(ContractionType(inst), std::move(dims));
  // The kind's own shape rule is not the generic one (spec/ops.md 5): what is written counts.
  const bool generic = a.kind == ConvolutionKind::kUnset || a.kind == ConvolutionKind::kFprop;
  return generic && dense ? shape : inst.shape();
}

}  // namespace hlo
