// Shape rules of dot, ragged-dot, scaled-dot and convolution: docs/ops.md#contractions.
#include <algorithm>

#include "base/text.h"
#include "ir/shapes/shape_checks.h"

namespace hlo {
namespace {

PrimitiveType ContractionType(const Instruction& inst) {
  if (inst.shape().IsArray()) return inst.shape().type();
  return HigherPrecision(inst.operand(0).shape().type(), inst.operand(1).shape().type());
}

Status CheckDotDims(const Instruction& inst, const Shape& shape, const std::vector<int64_t>& batch,
                    const char* batch_name, const std::vector<int64_t>& contracting, const char* contracting_name) {
  for (const auto& [dims, name] : {std::pair(&contracting, contracting_name), std::pair(&batch, batch_name)}) {
    for (const int64_t dim : *dims) {
      if (dim < 0 || dim >= shape.rank())
        FAIL(ErrorAtAttribute(inst, name, "V010", Str(name, " is ", Braced(*dims), ", but ", NoDimension(shape, dim))));
    }
  }
  std::vector<int64_t> all = batch;
  all.insert(all.end(), contracting.begin(), contracting.end());
  if (IsDimSet(all, shape.rank())) return {};
  FAIL(ErrorAtAttribute(inst, contracting_name, "V011",
                        Str("a dimension of ", shape, " occurs twice in ", batch_name, " ", Braced(batch), " and ",
                            contracting_name, " ", Braced(contracting))));
}

// The size with the elements that a sparse operand leaves out. Error: V029.
Result<int64_t> DenseSize(const Instruction& inst, const Shape& shape, int64_t dim,
                          const std::optional<OperandSparsity>& sparsity) {
  const int64_t kept = shape.dim(dim);
  if (!sparsity || sparsity->dimension != dim || kept == Shape::kUnbounded) return kept;
  const int64_t non_zeros = sparsity->pattern.non_zeros, block = sparsity->pattern.block_size;
  int64_t dense = 0;
  if (non_zeros > 0 && block > 0 && kept % non_zeros == 0 && !__builtin_mul_overflow(kept / non_zeros, block, &dense))
    return dense;
  FAIL(ErrorAtAttribute(inst, "sparsity_config", "V029",
                        Str("dim ", dim, " of ", shape, " has size ", kept, ", which sparsity=", non_zeros, "x", block,
                            " cannot expand")));
}

// Checks V012 to V014: the lists pair up dimensions of equal sizes.
Status CheckPairs(const Instruction& inst, const std::vector<int64_t>& lhs_dims, const std::vector<int64_t>& rhs_dims,
                  const char* what, const char* attribute, const char* count_code, const char* size_code,
                  const SparsityConfig& sparsity) {
  if (lhs_dims.size() != rhs_dims.size()) {
    FAIL(ErrorAtAttribute(
        inst, attribute, count_code,
        Str("lhs has ", lhs_dims.size(), " and rhs has ", rhs_dims.size(), " ", what, " dims, expected equally many")));
  }
  const Shape& lhs = inst.operand(0).shape();
  const Shape& rhs = inst.operand(1).shape();
  for (size_t i = 0; i < lhs_dims.size(); ++i) {
    const int64_t left = TRY(DenseSize(inst, lhs, lhs_dims[i], sparsity.lhs));
    const int64_t right = TRY(DenseSize(inst, rhs, rhs_dims[i], sparsity.rhs));
    if (SameSize(left, right)) continue;
    FAIL(ErrorAtAttribute(
        inst, attribute, size_code,
        Str("lhs dim ", lhs_dims[i], " has size ", left, ", but rhs dim ", rhs_dims[i], " has size ", right)));
  }
  return {};
}

// Batch dimensions in the order of lhs_batch, then free dimensions of lhs, then free dimensions of rhs except
// `rhs_dropped`.
template <class Attrs>
Result<Shape> ContractedShape(const Instruction& inst, const Attrs& a, std::span<const int64_t> rhs_dropped = {},
                              const SparsityConfig& sparsity = {}) {
  TRY(CheckArray(inst, 0));
  TRY(CheckArray(inst, 1));
  const Shape& lhs = inst.operand(0).shape();
  const Shape& rhs = inst.operand(1).shape();
  TRY(CheckDotDims(inst, lhs, a.lhs_batch, "lhs_batch_dims", a.lhs_contracting, "lhs_contracting_dims"));
  TRY(CheckDotDims(inst, rhs, a.rhs_batch, "rhs_batch_dims", a.rhs_contracting, "rhs_contracting_dims"));
  TRY(CheckPairs(inst, a.lhs_contracting, a.rhs_contracting, "contracting",
                 a.rhs_contracting.empty() ? "lhs_contracting_dims" : "rhs_contracting_dims", "V013", "V012",
                 sparsity));
  TRY(CheckPairs(inst, a.lhs_batch, a.rhs_batch, "batch", a.rhs_batch.empty() ? "lhs_batch_dims" : "rhs_batch_dims",
                 "V014", "V014", {}));
  std::vector<int64_t> dims;
  std::vector<bool> dynamic;
  const auto take = [&](const Shape& shape, int64_t dim) {
    dims.push_back(shape.dim(dim));
    dynamic.push_back(shape.IsDynamic(dim));
  };
  for (const int64_t dim : a.lhs_batch) take(lhs, dim);
  for (const int64_t dim : FreeDimensions(lhs.rank(), a.lhs_batch, a.lhs_contracting)) take(lhs, dim);
  for (const int64_t dim : FreeDimensions(rhs.rank(), a.rhs_batch, a.rhs_contracting)) {
    if (!Contains(rhs_dropped, dim)) take(rhs, dim);
  }
  Shape shape(ContractionType(inst), dims);
  for (size_t i = 0; i < dynamic.size(); ++i) {
    if (dynamic[i]) shape.SetDynamic(i, true);
  }
  return shape;
}

// Returns the number of groups. group_sizes is [groups], or has the outer lhs dimensions in front. Error: V017.
Result<int64_t> CheckGroupSizes(const Instruction& inst, int64_t ragged) {
  TRY(CheckArray(inst, 2));
  const RaggedDotAttrs& a = inst.attrs<RaggedDotAttrs>();
  const Shape& lhs = inst.operand(0).shape();
  const Shape& sizes = inst.operand(2).shape();
  std::vector<int64_t> leading;
  const bool batch = Contains(a.lhs_batch, ragged);
  const bool contracting = Contains(a.lhs_contracting, ragged);
  const auto before = [&](int64_t dim) { return dim != ragged; };
  for (const int64_t dim : a.lhs_batch) {
    if (batch && !before(dim)) break;
    leading.push_back(lhs.dim(dim));
  }
  if (contracting) {
    for (const int64_t dim : a.lhs_contracting) {
      if (!before(dim)) break;
      leading.push_back(lhs.dim(dim));
    }
  } else if (!batch) {
    for (int64_t dim = 0; dim < ragged; ++dim) {
      if (!Contains(a.lhs_batch, dim) && !Contains(a.lhs_contracting, dim)) leading.push_back(lhs.dim(dim));
    }
  }
  const bool plain = sizes.rank() == 1;
  const bool full = sizes.rank() == static_cast<int64_t>(leading.size()) + 1 &&
                    SameSizes(std::span(sizes.dims()).first(leading.size()), leading);
  if (!plain && !full) {
    FAIL(ErrorAtOperand(inst, 2, "V017",
                        Str("group_sizes are ", sizes, ", expected [groups] or [", Join(leading, ","), ",groups]")));
  }
  return sizes.dims().back();
}

// V018: rhs has a group dimension exactly if the ragged dimension is free.
Status CheckGroupDims(const Instruction& inst, int64_t groups, bool free) {
  const RaggedDotAttrs& a = inst.attrs<RaggedDotAttrs>();
  const Shape& rhs = inst.operand(1).shape();
  const auto fail = [&](std::string message) {
    return ErrorAtAttribute(inst, "rhs_group_dims", "V018", std::move(message));
  };
  if (!IsDimSet(a.rhs_group, rhs.rank()))
    FAIL(fail(Str("rhs_group_dims ", Braced(a.rhs_group), " must be different dimensions of ", rhs)));
  for (const int64_t dim : a.rhs_group) {
    if (Contains(a.rhs_batch, dim) || Contains(a.rhs_contracting, dim))
      FAIL(fail(Str("rhs group dim ", dim, " is a batch or contracting dim too")));
  }
  const auto count = static_cast<int64_t>(a.rhs_group.size());
  if (count != (free ? 1 : 0)) {
    FAIL(fail(Str("found ", count, count == 1 ? " rhs group dim" : " rhs group dims", ", expected ",
                  free ? "1" : "none", " where the ragged dim is ", free ? "free" : "not free")));
  }
  if (free && !SameSize(rhs.dim(a.rhs_group[0]), groups)) {
    FAIL(ErrorAtOperand(inst, 1, "V018",
                        Str("rhs group dim ", a.rhs_group[0], " has size ", rhs.dim(a.rhs_group[0]),
                            ", but group_sizes has ", groups, " groups")));
  }
  return {};
}

// Returns whether the operand is scaled. Errors: V019-V021.
Result<bool> CheckScale(const Instruction& inst, int64_t i) {
  const Shape& operand = inst.operand(i).shape();
  const Shape& scale = inst.operand(i + 2).shape();
  const bool none = operand.type() == PrimitiveType::kBF16 && scale.type() == PrimitiveType::kBF16 &&
                    std::all_of(scale.dims().begin(), scale.dims().end(), [](int64_t size) { return size == 1; });
  if (none && scale.rank() == 0) return false;
  if (scale.rank() != operand.rank()) {
    FAIL(ErrorAtOperand(inst, i + 2, "V019", Str("scale ", scale, " and its operand ", operand, " differ in rank")));
  }
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (operand.dim(d) == Shape::kUnbounded || scale.dim(d) == Shape::kUnbounded) continue;
    if (scale.dim(d) > 0 && operand.dim(d) % scale.dim(d) == 0) continue;
    FAIL(ErrorAtOperand(
        inst, i + 2, "V020",
        Str("dim ", d, " of the scale ", scale, " does not divide dim ", d, " of its operand ", operand)));
  }
  const DotAttrs& a = inst.attrs<DotAttrs>();
  const size_t contracting = i == 0 ? a.lhs_contracting.size() : a.rhs_contracting.size();
  if (!none && contracting != 1) {
    FAIL(ErrorAtAttribute(inst, i == 0 ? "lhs_contracting_dims" : "rhs_contracting_dims", "V021",
                          Str("the scaled operand has ", contracting, " contracting dims, expected 1")));
  }
  return true;
}

// V029: a sparse operand names an operand with the positions of the kept elements.
Status CheckSparsity(const Instruction& inst, const SparsityConfig& sparsity) {
  std::vector<int64_t> indices;
  for (const auto& side : {sparsity.lhs, sparsity.rhs}) {
    if (side) indices.push_back(side->indices);
  }
  for (const int64_t index : indices) {
    if (index >= 2 && index < inst.operand_count() && inst.operand(index).shape().IsArray()) continue;
    FAIL(ErrorAtAttribute(inst, "sparsity_config", "V029",
                          Str("idx=", index, " must be the number of an array operand after lhs and rhs, found ",
                              inst.operand_count(), " operands")));
  }
  if (indices.size() == 2 && indices[0] == indices[1])
    FAIL(ErrorAtAttribute(inst, "sparsity_config", "V029",
                          Str("lhs and rhs both have idx=", indices[0], ", expected an operand of indices for each")));
  return {};
}

}  // namespace

Result<Shape> ShapeOfDot(const Instruction& inst) {
  if (inst.operand_count() < 2)
    FAIL(ErrorAtOperandListEnd(inst, "V001", Str("expected 2 operands, found ", inst.operand_count())));
  const DotAttrs& a = inst.attrs<DotAttrs>();
  TRY(CheckSparsity(inst, a.sparsity));
  return ContractedShape(inst, a, {}, a.sparsity);
}

// The shape of a dot without the group dimension of rhs. If the ragged dimension is contracted, groups become the first
// dimension.
Result<Shape> ShapeOfRaggedDot(const Instruction& inst) {
  const RaggedDotAttrs& a = inst.attrs<RaggedDotAttrs>();
  Shape shape = TRY(ContractedShape(inst, a, a.rhs_group));
  const Shape& lhs = inst.operand(0).shape();
  if (a.lhs_ragged.size() != 1 || !IsDimSet(a.lhs_ragged, lhs.rank())) {
    FAIL(ErrorAtAttribute(inst, "lhs_ragged_dims", "V016",
                          Str("lhs_ragged_dims is ", Braced(a.lhs_ragged), ", expected one dimension of ", lhs)));
  }
  const int64_t ragged = a.lhs_ragged[0];
  const bool contracting = Contains(a.lhs_contracting, ragged);
  const int64_t groups = TRY(CheckGroupSizes(inst, ragged));
  TRY(CheckGroupDims(inst, groups, !contracting && !Contains(a.lhs_batch, ragged)));
  if (!contracting) return shape;
  std::vector<int64_t> dims = {groups};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return shape.WithDims(dims);
}

Result<Shape> ShapeOfScaledDot(const Instruction& inst) {
  Shape shape = TRY(ContractedShape(inst, inst.attrs<DotAttrs>()));
  TRY(CheckArray(inst, 2));
  TRY(CheckArray(inst, 3));
  const bool lhs = TRY(CheckScale(inst, 0));
  const bool rhs = TRY(CheckScale(inst, 1));
  if (!lhs && !rhs)
    FAIL(ErrorAtOperand(inst, 3, "V021", "both scales are scalars, which means no scale; expected at least one array"));
  return shape;
}

// XLA's verifier has a rule only for forward convolutions. Gradients (V315) and sparse convolutions keep the written
// shape.
Result<Shape> ShapeOfConvolution(const Instruction& inst) {
  Shape shape = TRY(ShapeOfConvolutionKind(inst));
  const ConvolutionAttrs& a = inst.attrs<ConvolutionAttrs>();
  const bool generic = a.kind == ConvolutionKind::kUnset || a.kind == ConvolutionKind::kFprop;
  return generic && a.sparsity.empty() ? shape : inst.shape();
}

Result<Shape> ShapeOfConvolutionKind(const Instruction& inst) {
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
                          Str("feature_group_count is ", groups, " and batch_group_count is ", batch_groups,
                              ", expected both to be 1 or more, and one of them to be 1")));
  }
  TRY(CheckSparsity(inst, a.sparsity));
  const auto spatial = static_cast<int64_t>(d.lhs_spatial.size());
  for (int64_t i = 0; i < 2; ++i) {
    const Shape& shape = inst.operand(i).shape();
    if (shape.rank() != spatial + 2) {
      FAIL(ErrorAtOperand(
          inst, i, "V023",
          Str("operand ", i, " is ", shape, ", but dim_labels has ", spatial, " spatial dimensions and 2 others")));
    }
  }
  if (static_cast<int64_t>(a.window.dims.size()) != spatial) {
    FAIL(ErrorAtAttribute(
        inst, "window", "V023",
        Str("window has ", a.window.dims.size(), " dimensions, but dim_labels has ", spatial, " spatial dimensions")));
  }
  std::vector<int64_t> base;
  for (int64_t i = 0; i < spatial; ++i) {
    base.push_back(lhs.dim(d.lhs_spatial[i]));
    if (!SameSize(a.window.dims[i].size, rhs.dim(d.rhs_spatial[i]))) {
      FAIL(ErrorAtAttribute(inst, "window", "V024",
                            Str("window dim ", i, " has size ", a.window.dims[i].size, ", but kernel dim ",
                                d.rhs_spatial[i], " has size ", rhs.dim(d.rhs_spatial[i]))));
    }
  }
  const std::vector<int64_t> out = TRY(WindowedDims(inst, base, a.window));
  const int64_t in_features = lhs.dim(d.lhs_feature);
  const int64_t kernel_features = rhs.dim(d.rhs_input_feature);
  const int64_t out_features = rhs.dim(d.rhs_output_feature);
  const int64_t batch = lhs.dim(d.lhs_batch);
  // Sizes of sparse operands count only kept elements.
  const bool dense = a.sparsity.empty();
  const auto known = [](int64_t size) { return size != Shape::kUnbounded; };
  int64_t taken = 0;
  if (dense && known(in_features) && known(kernel_features) &&
      (__builtin_mul_overflow(kernel_features, groups, &taken) || in_features != taken)) {
    FAIL(ErrorAtOperand(inst, 0, "V025",
                        Str("lhs has ", in_features, " features, but the kernel takes ", kernel_features,
                            groups > 1 ? Str(" in each of ", groups, " groups") : "")));
  }
  if (known(out_features) && (out_features % groups != 0 || out_features % batch_groups != 0)) {
    FAIL(ErrorAtOperand(inst, 1, "V026",
                        Str("the kernel has ", out_features, " output features, which cannot be divided into ",
                            std::max(groups, batch_groups), " groups")));
  }
  if (known(batch) && batch % batch_groups != 0) {
    FAIL(ErrorAtOperand(inst, 0, "V026",
                        Str("lhs has batch ", batch, ", which cannot be divided into ", batch_groups, " groups")));
  }
  std::vector<int64_t> dims(spatial + 2);
  dims[d.out_batch] = known(batch) ? batch / batch_groups : batch;
  dims[d.out_feature] = out_features;
  for (int64_t i = 0; i < spatial; ++i) {
    const WindowDim& w = a.window.dims[i];
    const bool backwards = a.kind == ConvolutionKind::kDgrad && known(base[i]);
    const int64_t positions = base[i] == 0 ? 0 : (base[i] - 1) * w.base_dilation + 1;
    dims[d.out_spatial[i]] = backwards
                                 ? std::max<int64_t>(0, (positions - 1) * w.stride + (w.size - 1) * w.window_dilation +
                                                            1 - w.pad_low - w.pad_high)
                                 : out[i];
  }
  return Shape(ContractionType(inst), dims);
}

}  // namespace hlo
