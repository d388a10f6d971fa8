// Rules against senseless code that XLA accepts. They are errors at strict, and some are warnings at default.
#include <algorithm>

#include "base/text.h"
#include "ir/opcode_set.h"
#include "ir/shapes/shape_checks.h"
#include "ir/shapes/shape_rules.h"
#include "ir/verifier/checks.h"

namespace hlo {
namespace {

Status CheckElementTypes(const Instruction& inst) {
  const auto expect = [&](bool fits, const char* expected) -> Status {
    if (fits) return {};
    FAIL(ErrorAtOperand(inst, 0, "V301",
                        Str("operand of '", inst.opcode(), "' is ", inst.operand(0).shape(), ", expected ", expected)));
  };
  if (inst.operand_count() == 0) return {};
  const PrimitiveType type = inst.operand(inst.Is(Opcode::kClamp) ? 1 : 0).shape().type();
  switch (inst.opcode()) {
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kMulhi: return expect(IsInteger(type), "integers");
    case Opcode::kRemainder:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp: return expect(!IsComplex(type), "no complex numbers");
    case Opcode::kCompare: {
      const ComparisonDirection direction = inst.attrs<CompareAttrs>().direction;
      if (!IsComplex(type) || direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe) return {};
      FAIL(ErrorAtAttribute(inst, "direction", "V301",
                            Str("direction=", direction, " does not suit ", type, ", expected EQ or NE")));
    }
    default: return {};
  }
}

Status CheckCollectiveReducer(const Instruction& inst) {
  if (!inst.Is(Opcode::kAllReduce) && !inst.Is(Opcode::kAllReduceStart) && !inst.Is(Opcode::kReduceScatter) &&
      !inst.Is(Opcode::kCollectiveReduce))
    return {};
  const Computation* f = inst.attrs<CollectiveAttrs>().to_apply;
  if (f == nullptr || inst.operand_count() == 0) return {};
  const PrimitiveType type = inst.operand(0).shape().type();
  const auto fits = [&](const Shape& shape) { return shape.IsScalar() && SameOrBothFloat(shape.type(), type); };
  const auto parameters = f->parameters();
  if (parameters.size() == 2 && fits(parameters[0]->shape()) && fits(parameters[1]->shape()) && fits(f->root().shape()))
    return {};
  FAIL(ErrorAtCallee(inst, "to_apply", "V304",
                     Str("'", f->name(), "' takes ", parameters.size(), " parameters and returns ", f->root().shape(),
                         ", expected two ", type, "[] and one ", type, "[]"),
                     f->root()));
}

Status CheckWeakTokens(const Instruction& inst) {
  const bool all = inst.Is(Opcode::kAfterAll);
  if (!all && !inst.Is(Opcode::kSend) && !inst.Is(Opcode::kRecv)) return {};
  for (int64_t i = inst.Is(Opcode::kSend) ? 1 : 0; i < inst.operand_count(); ++i) {
    if (!inst.operand(i).shape().IsToken())
      FAIL(ErrorAtOperand(inst, i, "V305", Str("operand ", i, " is ", inst.operand(i).shape(), ", expected token[]")));
  }
  return {};
}

Status CheckRandomBits(const Instruction& inst) {
  if (!inst.Is(Opcode::kRngBitGenerator)) return {};
  const Shape& state = inst.operand(0).shape();
  const RandomAlgorithm algorithm = inst.attrs<RngBitGeneratorAttrs>().algorithm;
  const bool may_have_3 = algorithm != RandomAlgorithm::kThreeFry;
  const bool fits = state.type() == PrimitiveType::kU64 && state.rank() == 1 &&
                    (state.dim(0) == 2 || (state.dim(0) == 3 && may_have_3));
  if (!fits)
    FAIL(ErrorAtOperand(
        inst, 0, "V306",
        Str("state of ", algorithm, " is ", state, ", expected u64[2]", may_have_3 ? " or u64[3]" : "")));
  const Shape& bits =
      inst.shape().IsTuple() && inst.shape().elements().size() == 2 ? inst.shape().element(1) : inst.shape();
  if (bits.IsArray() && !IsInteger(bits.type()))
    FAIL(ErrorAtResult(inst, "V306", Str("bits are ", bits, ", expected integers")));
  return {};
}

Status CheckHasOperand(const Instruction& inst) {
  constexpr OpcodeSet kAsked = {
      Opcode::kAllReduce,         Opcode::kAllReduceStart,         Opcode::kCollectiveBroadcast,
      Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart, Opcode::kCollectiveReduce};
  if (!kAsked.Has(inst.opcode()) || inst.operand_count() > 0) return {};
  FAIL(ErrorAtOpcode(inst, "V309", Str("'", inst.opcode(), "' has no operand, expected 1 or more")));
}

Status CheckFftLength(const Instruction& inst) {
  const auto* a = inst.attributes().GetIf<FftAttrs>();
  if (a == nullptr || (a->fft_type != FftType::kFft && a->fft_type != FftType::kIfft)) return {};
  const Shape& shape = inst.operand(0).shape();
  const auto lengths = static_cast<int64_t>(a->fft_length.size());
  for (int64_t i = 0; i < lengths; ++i) {
    const int64_t d = shape.rank() - lengths + i;
    if (!SameSize(shape.dim(d), a->fft_length[i]))
      FAIL(ErrorAtAttribute(
          inst, "fft_length", "V311",
          Str("fft_length is ", a->fft_length[i], ", but dim ", d, " of ", shape, " has size ", shape.dim(d))));
  }
  return {};
}

bool SameDynamic(const Shape& a, const Shape& b) {
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (a.IsDynamic(i) != b.IsDynamic(i)) return false;
  }
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!SameDynamic(a.element(i), b.element(i))) return false;
  }
  return true;
}

bool HasDynamic(const Shape& shape) {
  return shape.HasDynamicDims() || std::any_of(shape.elements().begin(), shape.elements().end(), HasDynamic);
}

// Does nothing if no dimension is dynamic, because inference takes time.
Status CheckDynamic(const Instruction& inst) {
  if (!inst.Is(kInferable)) return {};
  bool dynamic = HasDynamic(inst.shape());
  // A get-tuple-element checks only its own element.
  const bool takes = inst.Is(Opcode::kGetTupleElement);
  for (const Instruction* operand : inst.operands())
    dynamic = dynamic || HasDynamic(takes ? operand->shape().element(inst.tuple_index()) : operand->shape());
  if (!dynamic) return {};
  const Result<Shape> inferred = InferShape(inst);
  if (!inferred || SameDynamic(*inferred, inst.shape())) return {};
  FAIL(ErrorAtResult(inst, "V313", Str("result is ", inst.shape(), ", but the operands give ", *inferred)));
}

bool AlgorithmTakes(DotAlgorithm algorithm, PrimitiveType type) {
  switch (algorithm) {
    case DotAlgorithm::kUnset: return true;
    case DotAlgorithm::kAnyF8AnyF8F32:
    case DotAlgorithm::kAnyF8AnyF8F32FastAccum: return IsFloat(type) && BitWidth(type) == 8;
    case DotAlgorithm::kF16F16F16:
    case DotAlgorithm::kF16F16F32: return type == PrimitiveType::kF16;
    case DotAlgorithm::kBF16BF16BF16:
    case DotAlgorithm::kBF16BF16F32: return type == PrimitiveType::kBF16;
    case DotAlgorithm::kF64F64F64: return type == PrimitiveType::kF64;
    default: return type == PrimitiveType::kF32;
  }
}

Status CheckDotPrecision(const Instruction& inst) {
  if (!inst.Is(Opcode::kDot)) return {};
  const DotAttrs& a = inst.attrs<DotAttrs>();
  if (a.precision.size() > 2)
    FAIL(ErrorAtAttribute(inst, "operand_precision", "V314",
                          Str("operand_precision has ", a.precision.size(), " entries, expected at most 2")));
  for (int64_t i = 0; i < 2; ++i) {
    const PrimitiveType type = inst.operand(i).shape().type();
    // dot_bf16_bf16_f32 rounds f32 operands to bf16.
    const bool rounds = type == PrimitiveType::kF32 && (a.algorithm == DotAlgorithm::kBF16BF16F32);
    if (!AlgorithmTakes(a.algorithm, type) && !rounds)
      FAIL(ErrorAtAttribute(inst, "algorithm", "V314",
                            Str("algorithm=", a.algorithm, " does not take operand ", i, " of type ", type)));
  }
  return {};
}

bool Overlap(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](int64_t value) { return Contains(b, value); });
}

Status CheckBatchingDims(const Instruction& inst) {
  const auto check = [&](const char* name, const std::vector<int64_t>& batching, const char* dropped_name,
                         const std::vector<int64_t>& dropped, const char* map_name, const std::vector<int64_t>& map,
                         const char* indices_name, const std::vector<int64_t>& indices, int64_t vector_dim) -> Status {
    const auto fail = [&](std::string_view other, const std::vector<int64_t>& list) {
      return ErrorAtAttribute(inst, name, "V307",
                              Str(name, " ", Braced(batching), " and ", other, " ", Braced(list), " overlap"));
    };
    if (Overlap(batching, dropped)) FAIL(fail(dropped_name, dropped));
    if (Overlap(batching, map)) FAIL(fail(map_name, map));
    if (Contains(indices, vector_dim))
      FAIL(
          ErrorAtAttribute(inst, indices_name, "V307",
                           Str(indices_name, " ", Braced(indices), " must not contain index_vector_dim ", vector_dim)));
    return {};
  };
  if (const auto* g = inst.attributes().GetIf<GatherAttrs>()) {
    return check("operand_batching_dims", g->operand_batching_dims, "collapsed_slice_dims", g->collapsed_slice_dims,
                 "start_index_map", g->start_index_map, "start_indices_batching_dims", g->start_indices_batching_dims,
                 g->index_vector_dim);
  }
  if (const auto* s = inst.attributes().GetIf<ScatterAttrs>()) {
    return check("input_batching_dims", s->input_batching_dims, "inserted_window_dims", s->inserted_window_dims,
                 "scatter_dims_to_operand_dims", s->scatter_dims_to_operand_dims, "scatter_indices_batching_dims",
                 s->scatter_indices_batching_dims, s->index_vector_dim);
  }
  return {};
}

Status CheckIntegerOperands(const Instruction& inst) {
  const auto expect = [&](int64_t i) -> Status {
    Status status;
    ForEachLeaf(inst.operand(i).shape(), [&](const ShapeIndex&, const Shape& leaf) {
      if (!IsInteger(leaf.type()) && status)
        status = std::unexpected(ErrorAtOperand(
            inst, i, "V310", Str("operand ", i, " is ", inst.operand(i).shape(), ", expected integers")));
    });
    return status;
  };
  if (inst.Is(Opcode::kRaggedDot)) return expect(2);
  const auto* permute = inst.attributes().GetIf<PermuteAttrs>();
  const bool in_place = permute != nullptr && permute->slice_sizes && inst.operand_count() == 4;
  if (!in_place && !inst.Is(Opcode::kRaggedAllToAll)) return {};
  for (int64_t i = 2; i < inst.operand_count(); ++i) TRY(expect(i));
  return {};
}

Status CheckReducerTypes(const Instruction& inst) {
  if (!inst.Is(Opcode::kReduce) && !inst.Is(Opcode::kReduceWindow) && !inst.Is(Opcode::kMap)) return {};
  const Computation& f = *CalledComputations(inst)[0];
  const bool map = inst.Is(Opcode::kMap);
  const int64_t inputs = map ? inst.operand_count() : inst.operand_count() / 2;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    // Accumulators come first and have the types of the initial values.
    const int64_t p = map ? i : i < inputs ? inputs + i : i - inputs;
    const PrimitiveType type = inst.operand(i).shape().type();
    if (f.parameter(p).shape().type() == type) continue;
    FAIL(ErrorAtCallee(
        inst, "to_apply", "V095",
        Str("parameter ", p, " of '", f.name(), "' is ", f.parameter(p).shape(), ", but operand ", i, " is of ", type),
        f.parameter(p)));
  }
  return {};
}

Status CheckAttributes(const Instruction& inst) {
  if (inst.Is(Opcode::kBroadcast)) {
    const std::vector<int64_t>& dims = inst.dimensions();
    if (!IsDimSet(dims, inst.shape().rank()))
      FAIL(ErrorAtAttribute(inst, "dimensions", "V302",
                            Str("dimensions ", Braced(dims), " must be different dimensions of the result")));
    if (!std::is_sorted(dims.begin(), dims.end()))
      FAIL(ErrorAtAttribute(inst, "dimensions", "V057", Str("dimensions ", Braced(dims), " are not ascending")));
  }
  if (const auto* call = inst.attributes().GetIf<CustomCallAttrs>();
      call != nullptr && call->to_apply != nullptr && !call->called_computations.empty()) {
    FAIL(ErrorAtAttribute(inst, "called_computations", "V312",
                          "to_apply and called_computations are both given, expected one of them"));
  }
  return {};
}

Status CheckNamesAndWidths(const Instruction& inst) {
  const std::string_view scheduled = inst.metadata().scheduling_name.NameFor(inst.name());
  if (!scheduled.empty() && scheduled != inst.name() && inst.name().find(".remat") == std::string::npos &&
      inst.name().find(".clone") == std::string::npos) {
    FAIL(ErrorAtAttribute(inst, "metadata", "V269",
                          Str("scheduling_name is '", Escaped(std::string(scheduled)),
                              "', but the instruction's name is '", inst.name(), "'")));
  }
  Status status;
  ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& leaf) {
    const bool may = leaf.IsArray() && BitWidth(leaf.type()) < 8 && leaf.type() != PrimitiveType::kPred;
    if (leaf.layout().tiling->element_size_in_bits == 0 || may || !status) return;
    status = std::unexpected(ErrorAtResult(inst, "V271",
                                           Str("E(", leaf.layout().tiling->element_size_in_bits, ") does not suit ",
                                               leaf.type(), ", whose elements have a byte or more")));
  });
  return status;
}

}  // namespace

// The size of a forward result is rounded down. So the result of dgrad may be up to stride - 1 larger than the smallest
// possible input.
static Status CheckConvolutionKind(const Instruction& inst) {
  if (!inst.Is(Opcode::kConvolution)) return {};
  const ConvolutionAttrs& a = inst.attrs<ConvolutionAttrs>();
  const bool dgrad = a.kind == ConvolutionKind::kDgrad;
  if ((!dgrad && a.kind != ConvolutionKind::kWgrad) || !a.sparsity.empty()) return {};
  const Shape expected = TRY(ShapeOfConvolutionKind(inst));
  std::vector<int64_t> dims(inst.shape().dims().begin(), inst.shape().dims().end());
  for (size_t i = 0; dgrad && i < a.window.dims.size() && dims.size() == expected.dims().size(); ++i) {
    int64_t& size = dims[a.dim_labels.out_spatial[i]];
    const int64_t smallest = expected.dim(a.dim_labels.out_spatial[i]);
    if (size > smallest && size - smallest < a.window.dims[i].stride) size = smallest;
  }
  if (SameSizes(expected.dims(), dims)) return {};
  FAIL(ErrorAtResult(inst, "V315",
                     Str("result is ", inst.shape(), ", but a convolution of kind ", a.kind, " gives ", expected)));
}

Status CheckExtras(const Instruction& inst, bool strict) {
  TRY(CheckElementTypes(inst));
  TRY(CheckCollectiveReducer(inst));
  TRY(CheckWeakTokens(inst));
  TRY(CheckRandomBits(inst));
  TRY(CheckHasOperand(inst));
  TRY(CheckFftLength(inst));
  TRY(CheckDynamic(inst));
  TRY(CheckDotPrecision(inst));
  if (!strict) return {};
  TRY(CheckBatchingDims(inst));
  TRY(CheckIntegerOperands(inst));
  TRY(CheckReducerTypes(inst));
  TRY(CheckAttributes(inst));
  TRY(CheckConvolutionKind(inst));
  return CheckNamesAndWidths(inst);
}

}  // namespace hlo
