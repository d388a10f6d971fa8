#include "interp/dynamic.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "interp/strided.h"
#include "ir/dimensions.h"
#include "ir/module.h"
#include "ir/shapes/shape_rules.h"

namespace hlo {
namespace {

// Cuts dimensions, or extends them by zeros: elements beyond a dynamic size are undefined.
Literal Resized(const Literal& literal, const Dims& dims) {
  const Shape& from = literal.shape();
  if (from.dims() == dims) return literal;
  Literal result(from.WithDims(dims));
  Dims common;
  for (int64_t d = 0; d < from.rank(); ++d) common.push_back(std::min(from.dim(d), dims[d]));
  if (from.WithDims(common).NumElements() == 0) return result;
  CopyStrided(common, literal.raw(), RowMajorStrides(from.dims()), result.mutable_raw(), RowMajorStrides(dims),
              ByteWidth(from.type()));
  return result;
}

Error SizeError(const Instruction& inst, std::string message) { return ErrorAt(inst, "R006", std::move(message)); }

// Whether the ordinary handler needs only actual shapes, not those in the text.
bool FollowsItsOperands(const Instruction& inst) {
  if (inst.Is(Opcode::kCopy)) return !inst.shape().IsArray() || inst.shape().type() == inst.operand(0).shape().type();
  if (inst.Is(Opcode::kCustomCall)) {
    const std::string& target = inst.attrs<CustomCallAttrs>().target;
    return target == "PadToStatic" || target == "SliceToDynamic";
  }
  return (inst.Is(kNoKernel) && !inst.Is(kView)) || inst.Is(Opcode::kCopyStart) || inst.Is(Opcode::kOutfeed) ||
         inst.Is(Opcode::kSetDimensionSize) || inst.Is(Opcode::kDynamicReshape);
}

// Evaluates an instruction whose operands are smaller than in the text.
class ActualSizes {
 public:
  explicit ActualSizes(Evaluation& e) : e_(e), inst_(e.inst), scratch_("sizes") {
    scratch_.source = inst_.module().source;
    scratch_.header.replica_count = inst_.module().header.replica_count;
    scratch_.header.num_partitions = inst_.module().header.num_partitions;
  }

  Result<Literal> Evaluate() {
    switch (inst_.opcode()) {
      case Opcode::kBroadcast: return OfShape(BroadcastShape());
      case Opcode::kReshape: return OfShape(TRY(ReshapedShape()));
      case Opcode::kBitcast: return Bitcast();
      case Opcode::kBitcastConvert: return OfShape(BitcastConvertShape());
      case Opcode::kShuffle: return Shuffle();
      case Opcode::kSlice: return Slice();
      case Opcode::kDynamicSlice: return DynamicSlice();
      case Opcode::kGather: return Gather();
      case Opcode::kDynamicUpdateSlice:
      case Opcode::kScatter: return InPlace();
      case Opcode::kCustomCall: return CustomCall();
      case Opcode::kScan: return Scan();
      case Opcode::kConcatenate:
        TRY(Align(inst_.operand_count(), inst_.attrs<OneDimensionAttrs>().dimension.value));
        return OfInferredShape();
      case Opcode::kReduce:
      case Opcode::kReduceWindow: TRY(Align(inst_.operand_count() / 2)); return OfInferredShape();
      case Opcode::kMap:
      case Opcode::kSort: TRY(Align(inst_.operand_count())); return OfInferredShape();
      case Opcode::kDot: AlignDot(); return OfInferredShape();
      default: break;
    }
    if (inst_.Is(kElementwise)) {
      TRY(Align(inst_.operand_count()));
      return OfShape(ElementwiseShape());
    }
    if (inst_.Is(kCollective)) {
      FAIL(UnsupportedAt(inst_, "U002",
                         Str("'", inst_.opcode(), "' of ", Written(), " is not supported by the interpreter")));
    }
    return OfInferredShape();
  }

 private:
  Literal& operand(int64_t i) { return e_.operands[i]; }
  const Shape& actual(int64_t i) const { return e_.operands[i].shape(); }
  const Shape& written(int64_t i) const { return inst_.operand(i).shape(); }

  // Text for messages: "s32[3] for s32[<=5], s32[5]".
  std::string Written() const {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < inst_.operand_count(); ++i) {
      texts.push_back(Compatible(actual(i), written(i)) ? Str(written(i)) : Str(actual(i), " for ", written(i)));
    }
    return Join(texts, ", ");
  }

  Instruction& Clone(Shape shape) {
    Computation& computation = scratch_.AddComputation("sizes");
    Operands parameters;
    for (int64_t i = 0; i < inst_.operand_count(); ++i) parameters.push_back(&computation.AddParameter(i, actual(i)));
    return computation.AddClone(inst_, std::move(shape), parameters);
  }

  Result<Literal> Run(const Instruction& clone) {
    Evaluation evaluation = {clone, e_.operands, e_.session};
    return HandlerOf(clone.opcode())(evaluation);
  }

  Result<Literal> OfShape(Shape shape) { return Run(Clone(std::move(shape))); }

  Result<Literal> OfInferredShape() { return Infer(Clone(inst_.shape())); }

  Result<Literal> Infer(Instruction& clone) {
    auto shape = InferShape(clone);
    if (!shape) {
      FAIL(SizeError(inst_, Str("the sizes at run time do not fit '", inst_.name(), "' (", Written(),
                                "): ", shape.error().message())));
    }
    clone.SetShape(std::move(*shape));
    return Run(clone);
  }

  // Gives the first `count` operands, except scalars, equal sizes except in dimension `except`, by cutting static
  // dimensions to the dynamic sizes.
  Status Align(int64_t count, int64_t except = -1) {
    int64_t rank = 0;
    for (int64_t i = 0; i < count; ++i) rank = std::max(rank, actual(i).rank());
    std::vector<std::optional<int64_t>> sizes(rank);
    for (int64_t i = 0; i < count; ++i) {
      if (actual(i).rank() != rank) continue;
      for (int64_t d = 0; d < rank; ++d) {
        if (d == except || !written(i).IsDynamic(d)) continue;
        if (sizes[d] && *sizes[d] != actual(i).dim(d)) {
          FAIL(SizeError(inst_, Str("operands of '", inst_.name(), "' differ in size along dim ", d,
                                    " at run time: ", *sizes[d], " and ", actual(i).dim(d), " (", Written(), ")")));
        }
        sizes[d] = actual(i).dim(d);
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      if (actual(i).rank() != rank) continue;
      Dims dims = actual(i).dims();
      for (int64_t d = 0; d < rank; ++d) dims[d] = sizes[d].value_or(dims[d]);
      operand(i) = Resized(operand(i), dims);
    }
    return {};
  }

  // Cuts static dimensions to the sizes of the dynamic ones that they are paired with.
  void AlignDot() {
    const DotAttrs& attrs = inst_.attrs<DotAttrs>();
    const auto align = [&](const std::vector<int64_t>& lhs, const std::vector<int64_t>& rhs) {
      for (size_t i = 0; i < lhs.size(); ++i) {
        const bool dynamic[] = {written(0).IsDynamic(lhs[i]), written(1).IsDynamic(rhs[i])};
        if (dynamic[0] == dynamic[1]) continue;
        const int64_t cut = dynamic[0] ? 1 : 0;
        Dims dims = actual(cut).dims();
        dims[cut == 0 ? lhs[i] : rhs[i]] = cut == 0 ? actual(1).dim(rhs[i]) : actual(0).dim(lhs[i]);
        operand(cut) = Resized(operand(cut), dims);
      }
    };
    align(attrs.lhs_batch, attrs.rhs_batch);
    align(attrs.lhs_contracting, attrs.rhs_contracting);
  }

  Shape ElementwiseShape() const {
    for (int64_t i = 0; i < inst_.operand_count(); ++i) {
      if (actual(i).rank() == inst_.shape().rank()) return inst_.shape().WithDims(actual(i).dims());
    }
    return inst_.shape();
  }

  Shape BroadcastShape() const {
    Dims dims = inst_.shape().dims();
    for (int64_t i = 0; i < actual(0).rank(); ++i) dims[inst_.dimensions()[i]] = actual(0).dim(i);
    return inst_.shape().WithDims(dims);
  }

  // Row-major order pairs runs of dimensions with equal products: for [2,<=3,4] and [<=6,4] these are {2,3}={6} and
  // {4}={4}. If a run of the operand is smaller, the dynamic dimension in the paired run shrinks.
  Result<Shape> ReshapedShape() const {
    const Shape &from = written(0), &to = inst_.shape();
    Dims dims = to.dims();
    const auto wrong = [&](std::string_view why) {
      return SizeError(inst_, Str("'", inst_.name(), "' cannot make ", to, " from ", Written(), ": ", why));
    };
    int64_t i = 0, j = 0;
    while (i < from.rank() || j < to.rank()) {
      const int64_t first_from = i, first_to = j;
      int64_t before = 1, after = 1;
      if (i < from.rank()) before *= from.dim(i++);
      if (j < to.rank()) after *= to.dim(j++);
      while (before != after && (i < from.rank() || j < to.rank())) {
        if ((before < after || j == to.rank()) && i < from.rank()) before *= from.dim(i++);
        else after *= to.dim(j++);
      }
      // Dimensions of size 1, and all dimensions after one of size 0, join the preceding dimensions.
      while (i < from.rank() && (from.dim(i) == 1 || before == 0)) before *= from.dim(i++);
      while (j < to.rank() && (to.dim(j) == 1 || after == 0)) after *= to.dim(j++);
      int64_t count = 1, others = 1, dynamic = -1, dynamics = 0;
      for (int64_t d = first_from; d < i; ++d) count *= actual(0).dim(d);
      if (count == before) continue;
      const int64_t told = inst_.attrs<ReshapeAttrs>().inferred_dimension;
      for (int64_t d = first_to; d < j; ++d) {
        if (!to.IsDynamic(d)) continue;
        ++dynamics;
        if (dynamic != told || dynamic < 0) dynamic = d;
      }
      if (dynamics == 0) FAIL(wrong("the result has no dynamic dimension that could become smaller"));
      if (dynamics > 1 && dynamic != told)
        FAIL(wrong("the result has several dynamic dimensions, and it is unknown which one is smaller"));
      for (int64_t d = first_to; d < j; ++d) others *= d == dynamic ? 1 : to.dim(d);
      if (others == 0 || count % others != 0) FAIL(wrong(Str(count, " is not a multiple of ", others)));
      dims[dynamic] = count / others;
    }
    return to.WithDims(dims);
  }

  Result<Literal> Bitcast() {
    if (written(0).type() != inst_.shape().type() || !written(0).HasDefaultLayout() ||
        !inst_.shape().HasDefaultLayout()) {
      FAIL(
          UnsupportedAt(inst_, "U002",
                        Str("'bitcast' of ", Written(), " that is not a reshape is not supported by the interpreter")));
    }
    const auto shape = [&]() -> Result<Shape> {
      Computation& computation = scratch_.AddComputation("reshape");
      Instruction& from = computation.AddParameter(0, written(0));
      Instruction& reshape = computation.Add(Opcode::kReshape, inst_.shape(), {&from}, ReshapeAttrs(), inst_.name());
      reshape.SetRange(inst_.range());
      Evaluation evaluation = {reshape, e_.operands, e_.session};
      return ActualSizes(evaluation).ReshapedShape();
    };
    return operand(0).WithShape(TRY(shape()));
  }

  Shape BitcastConvertShape() const {
    const Shape& shape = inst_.shape();
    Dims dims;
    for (int64_t d = 0; d < shape.rank(); ++d) dims.push_back(d < actual(0).rank() ? actual(0).dim(d) : shape.dim(d));
    return shape.WithDims(dims);
  }

  // XLA does not define whether elements rotate within the bound of a dynamic dimension or within the actual size.
  Result<Literal> Shuffle() {
    for (const int64_t d : inst_.attrs<ShuffleAttrs>().dimensions) {
      if (!written(0).IsDynamic(d)) continue;
      FAIL(UnsupportedAt(inst_, "U002",
                         Str("'shuffle' along the dynamic dimension ", d, " of ", written(0),
                             " is not supported by the interpreter")));
    }
    return OfShape(actual(0));
  }

  // A slice of a whole dimension has the actual size. Other limits refer to the bound.
  Result<Literal> Slice() {
    std::vector<SliceDim> slice = inst_.attrs<SliceAttrs>().slice.dims;
    Dims dims = actual(0).dims();
    for (int64_t d = 0; d < actual(0).rank(); ++d) {
      const bool whole = slice[d].start == 0 && slice[d].stride == 1 && slice[d].limit == written(0).dim(d);
      if (whole) slice[d].limit = dims[d];
      else dims[d] = written(0).dim(d);
    }
    operand(0) = Resized(operand(0), dims);
    Instruction& clone = Clone(inst_.shape());
    clone.mutable_attrs<SliceAttrs>().slice.dims = slice;
    return Infer(clone);
  }

  Result<Literal> DynamicSlice() {
    std::vector<int64_t> sizes = inst_.attrs<DynamicSliceAttrs>().sizes;
    Dims dims = written(0).dims();
    for (int64_t d = 0; d < actual(0).rank(); ++d) {
      if (sizes[d] == dims[d] && inst_.shape().IsDynamic(d)) sizes[d] = dims[d] = actual(0).dim(d);
    }
    operand(0) = Resized(operand(0), dims);
    Instruction& clone = Clone(inst_.shape());
    clone.mutable_attrs<DynamicSliceAttrs>().sizes = sizes;
    return Infer(clone);
  }

  Result<Literal> Gather() {
    GatherAttrs attrs = inst_.attrs<GatherAttrs>();
    Dims dims = written(0).dims();
    size_t offset = 0;
    for (int64_t d = 0; d < actual(0).rank(); ++d) {
      if (Contains(attrs.collapsed_slice_dims, d) || Contains(attrs.operand_batching_dims, d)) continue;
      const int64_t to = attrs.offset_dims[offset++];
      if (attrs.slice_sizes[d] == dims[d] && inst_.shape().IsDynamic(to))
        attrs.slice_sizes[d] = dims[d] = actual(0).dim(d);
    }
    for (const int64_t d : attrs.operand_batching_dims) dims[d] = actual(0).dim(d);
    operand(0) = Resized(operand(0), dims);
    Instruction& clone = Clone(inst_.shape());
    clone.mutable_attrs<GatherAttrs>() = attrs;
    return Infer(clone);
  }

  // For dynamic-update-slice and scatter. Elements that they write beyond the actual size are lost.
  Result<Literal> InPlace() {
    const int64_t changed = inst_.Is(Opcode::kScatter) ? inst_.operand_count() / 2 : 1;
    std::vector<Dims> sizes;
    for (int64_t i = 0; i < changed; ++i) {
      sizes.push_back(actual(i).dims());
      operand(i) = Resized(operand(i), written(i).dims());
    }
    Literal result = TRY(OfInferredShape());
    if (!result.shape().IsTuple()) return Resized(result, sizes[0]);
    std::vector<Literal> elements;
    for (int64_t i = 0; i < changed; ++i) elements.push_back(Resized(result.elements()[i], sizes[i]));
    return Literal::Tuple(std::move(elements));
  }

  Result<Literal> CustomCall() {
    if (inst_.operand_count() == 1 && Compatible(written(0), inst_.shape())) return OfShape(actual(0));
    FAIL(UnsupportedAt(inst_, "U002",
                       Str("custom-call target \"", Escaped(inst_.attrs<CustomCallAttrs>().target), "\" of ", Written(),
                           " is not supported by the interpreter")));
  }

  // Only the number of steps may differ, because parameters determine the size of a step.
  Result<Literal> Scan() {
    const ScanAttrs& attrs = inst_.attrs<ScanAttrs>();
    for (int64_t i = 0; i < inst_.operand_count(); ++i) {
      const bool carry = i >= inst_.operand_count() - attrs.num_carries;
      for (int64_t d = 0; d < actual(i).rank(); ++d) {
        if ((!carry && d == attrs.dimension.value) || actual(i).dim(d) == written(i).dim(d)) continue;
        FAIL(UnsupportedAt(inst_, "U002",
                           Str("'scan' with steps of ", Written(), " is not supported by the interpreter")));
      }
    }
    return OfInferredShape();
  }

  Evaluation& e_;
  const Instruction& inst_;
  Module scratch_;
};

}  // namespace

bool HasDynamicDims(const Shape& shape) {
  return shape.HasDynamicDims() || std::any_of(shape.elements().begin(), shape.elements().end(), HasDynamicDims);
}

bool MayBeDynamic(const Instruction& inst) {
  // Checking a large tuple for each of its elements would take quadratic time.
  if (inst.Is(Opcode::kGetTupleElement)) return HasDynamicDims(inst.shape());
  const auto dynamic = [](const Instruction* operand) { return HasDynamicDims(operand->shape()); };
  return HasDynamicDims(inst.shape()) || std::any_of(inst.operands().begin(), inst.operands().end(), dynamic);
}

bool Fits(const Shape& actual, const Shape& declared) {
  if (actual.type() != declared.type() || actual.rank() != declared.rank() ||
      actual.elements().size() != declared.elements().size())
    return false;
  for (size_t i = 0; i < actual.elements().size(); ++i) {
    if (!Fits(actual.element(i), declared.element(i))) return false;
  }
  for (int64_t d = 0; d < actual.rank(); ++d) {
    const bool fits = declared.IsDynamic(d) ? actual.dim(d) <= declared.dim(d) : actual.dim(d) == declared.dim(d);
    if (!fits) return false;
  }
  return true;
}

Literal Compact(Literal literal) {
  if (!HasDynamicDims(literal.shape())) return literal;
  if (!literal.shape().IsTuple()) return literal.WithShape(literal.shape().WithDims(literal.shape().dims()));
  std::vector<Literal> elements;
  for (Literal& element : literal.mutable_elements()) elements.push_back(Compact(std::move(element)));
  return Literal::Tuple(std::move(elements));
}

Result<Literal> EvalDynamic(Evaluation& e) {
  bool whole = true;
  for (int64_t i = 0; i < e.inst.operand_count(); ++i)
    whole = whole && Compatible(e.operands[i].shape(), e.inst.operand(i).shape());
  Literal result = TRY(whole || FollowsItsOperands(e.inst) ? HandlerOf(e.inst.opcode())(e) : ActualSizes(e).Evaluate());
  result = Compact(std::move(result));
  if (Fits(result.shape(), e.inst.shape())) return result;
  FAIL(SizeError(e.inst, Str("'", e.inst.name(), "' is written ", e.inst.shape(), ", but at run time it is ",
                             result.shape(), ", which is smaller in a dimension without <=")));
}

// ---- Sources of sizes --------------------------------------------------------------------------------------------

Result<Literal> EvalGetDimensionSize(Evaluation& e) {
  return Literal::Scalar(PrimitiveType::kS32,
                         e.operands[0].shape().dim(e.inst.attrs<OneDimensionAttrs>().dimension.value));
}

Result<Literal> EvalSetDimensionSize(Evaluation& e) {
  const int64_t d = e.inst.attrs<OneDimensionAttrs>().dimension.value;
  const int64_t size = e.operands[1].GetInt(0), bound = e.inst.shape().dim(d);
  if (size < 0 || size > bound) {
    FAIL(SizeError(e.inst, Str("'", e.inst.name(), "' sets dim ", d, " of ", e.inst.shape(), " to ", size,
                               ", expected 0 to ", bound)));
  }
  Dims dims = e.operands[0].shape().dims();
  dims[d] = size;
  return Resized(e.operands[0], dims);
}

Result<Literal> EvalDynamicReshape(Evaluation& e) {
  const Shape& shape = e.inst.shape();
  Dims dims;
  for (int64_t d = 0; d < shape.rank(); ++d) dims.push_back(e.operands[d + 1].GetInt(0));
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (dims[d] < 0 || dims[d] > shape.dim(d)) {
      FAIL(SizeError(e.inst, Str("'", e.inst.name(), "' sets dim ", d, " of ", shape, " to size ", dims[d],
                                 ", expected 0 to ", shape.dim(d))));
    }
  }
  const Shape actual = shape.WithDims(dims);
  if (actual.NumElements() != e.operands[0].shape().NumElements()) {
    FAIL(SizeError(e.inst, Str("'", e.inst.name(), "' reshapes ", e.operands[0].shape(), " of ",
                               e.operands[0].shape().NumElements(), " elements to ", actual, " of ",
                               actual.NumElements(), " elements")));
  }
  return e.operands[0].WithShape(actual);
}

// (x) -> (x extended to its bounds, a size for each dimension).
Result<Literal> PadToStatic(Evaluation& e) {
  const Shape& shape = e.inst.shape();
  const auto unsupported = [&] {
    return UnsupportedAt(
        e.inst, "U007",
        Str("custom-call target \"PadToStatic\" with result ", shape, " is not supported by the interpreter"));
  };
  if (e.operands.size() != 1 || !shape.IsTuple() || !e.operands[0].shape().IsArray()) FAIL(unsupported());
  const Shape& from = e.operands[0].shape();
  if (static_cast<int64_t>(shape.elements().size()) != from.rank() + 1 || shape.element(0).rank() != from.rank() ||
      shape.element(0).type() != from.type())
    FAIL(unsupported());
  std::vector<Literal> elements = {Resized(e.operands[0], shape.element(0).dims())};
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (!shape.element(d + 1).IsScalarOf(PrimitiveType::kS32)) FAIL(unsupported());
    elements.push_back(Literal::Scalar(PrimitiveType::kS32, from.dim(d)));
  }
  return Literal::Tuple(std::move(elements));
}

// (x, a size for each dimension) -> x cut to these sizes.
Result<Literal> SliceToDynamic(Evaluation& e) {
  const Shape& shape = e.inst.shape();
  const auto rank = static_cast<size_t>(shape.rank());
  if (!shape.IsArray() || e.operands.size() != rank + 1 || e.operands[0].shape().rank() != shape.rank() ||
      e.operands[0].shape().type() != shape.type()) {
    FAIL(UnsupportedAt(e.inst, "U007",
                       Str("custom-call target \"SliceToDynamic\" with result ", shape, " and ", e.operands.size(),
                           " operands is not supported by the interpreter")));
  }
  Dims dims;
  for (size_t d = 0; d < rank; ++d) {
    dims.push_back(e.operands[d + 1].GetInt(0));
    if (dims.back() >= 0 && dims.back() <= shape.dim(static_cast<int64_t>(d))) continue;
    FAIL(SizeError(e.inst, Str("'", e.inst.name(), "' sets dim ", d, " of ", shape, " to size ", dims.back(),
                               ", expected 0 to ", shape.dim(static_cast<int64_t>(d)))));
  }
  return Resized(e.operands[0], dims);
}

}  // namespace hlo
