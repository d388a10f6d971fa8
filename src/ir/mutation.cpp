#include "ir/mutation.h"

#include <algorithm>
#include <utility>

#include "ir/dimensions.h"
#include "ir/module.h"
#include "ir/side_effects.h"

namespace hlo {
namespace {

bool SwapOperands(Instruction& inst, int64_t i, int64_t j) {
  Instruction &a = inst.operand(i), &b = inst.operand(j);
  if (&a == &b || !Compatible(a.shape(), b.shape())) return false;
  inst.SetOperand(i, b);
  inst.SetOperand(j, a);
  return true;
}

bool SwapAnyTwo(Instruction& inst, int64_t first) {
  for (int64_t i = first; i < inst.operand_count(); ++i) {
    for (int64_t j = i + 1; j < inst.operand_count(); ++j) {
      if (SwapOperands(inst, i, j)) return true;
    }
  }
  return false;
}

// WrongDirection handles compare, because swapping its operands equals changing its direction.
bool SwappedOperands(Instruction& inst) {
  const bool by_place = inst.Is(kElementwise) && !inst.Is(kCommutative) && RowOf(inst.opcode()).arity == 2;
  return by_place && !inst.Is(Opcode::kCompare) && SwapOperands(inst, 0, 1);
}

bool SwappedCases(Instruction& inst) { return inst.Is(Opcode::kSelect) && SwapOperands(inst, 1, 2); }
bool SwappedBounds(Instruction& inst) { return inst.Is(Opcode::kClamp) && SwapOperands(inst, 0, 2); }
bool SwappedPieces(Instruction& inst) { return inst.Is(Opcode::kConcatenate) && SwapAnyTwo(inst, 0); }
bool SwappedArguments(Instruction& inst) { return inst.Is(Opcode::kCall) && SwapAnyTwo(inst, 0); }

bool SwappedIndices(Instruction& inst) {
  if (inst.Is(Opcode::kDynamicSlice)) return SwapAnyTwo(inst, 1);
  return inst.Is(Opcode::kDynamicUpdateSlice) && SwapAnyTwo(inst, 2);
}

// LT and LE, and GT and GE, differ only for equal operands.
bool WrongDirection(Instruction& inst) {
  if (!inst.Is(Opcode::kCompare)) return false;
  using D = ComparisonDirection;
  D& direction = inst.mutable_attrs<CompareAttrs>().direction;
  for (const auto& [a, b] : {std::pair(D::kEq, D::kNe), {D::kLt, D::kLe}, {D::kGt, D::kGe}}) {
    if (direction == a || direction == b) return direction = direction == a ? b : a, true;
  }
  return false;
}

bool ShiftedSlice(Instruction& inst) {
  if (!inst.Is(Opcode::kSlice)) return false;
  std::vector<SliceDim>& dims = inst.mutable_attrs<SliceAttrs>().slice.dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t size = inst.operand(0).shape().dim(static_cast<int64_t>(d));
    if (dims[d].start == dims[d].limit || (dims[d].start == 0 && dims[d].limit == size)) continue;
    const int64_t step = dims[d].start > 0 ? -1 : 1;
    dims[d].start += step;
    dims[d].limit += step;
    return true;
  }
  return false;
}

template <class Dim>
bool ShiftPadding(std::vector<Dim>& dims, int64_t Dim::* low, int64_t Dim::* high) {
  for (Dim& dim : dims) {
    if (dim.*low <= 0 && dim.*high <= 0) continue;
    const int64_t step = dim.*low > 0 ? -1 : 1;
    dim.*low += step;
    dim.*high -= step;
    return true;
  }
  return false;
}

bool ShiftedPadding(Instruction& inst) {
  return inst.Is(Opcode::kPad) &&
         ShiftPadding(inst.mutable_attrs<PadAttrs>().padding.dims, &PaddingDim::low, &PaddingDim::high);
}

std::vector<WindowDim>* WindowOf(Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kReduceWindow: return &inst.mutable_attrs<ReduceWindowAttrs>().window.dims;
    case Opcode::kSelectAndScatter: return &inst.mutable_attrs<SelectAndScatterAttrs>().window.dims;
    case Opcode::kConvolution: return &inst.mutable_attrs<ConvolutionAttrs>().window.dims;
    default: return nullptr;
  }
}

bool ShiftedWindow(Instruction& inst) {
  std::vector<WindowDim>* const dims = WindowOf(inst);
  return dims != nullptr && ShiftPadding(*dims, &WindowDim::pad_low, &WindowDim::pad_high);
}

bool ReversedWindow(Instruction& inst) {
  if (!inst.Is(Opcode::kConvolution)) return false;
  for (WindowDim& dim : *WindowOf(inst)) {
    if (dim.size > 1) return dim.reversed = !dim.reversed, true;
  }
  return false;
}

bool WrongConstant(Instruction& inst) {
  if (!inst.Is(Opcode::kConstant) || !inst.shape().IsArray() || inst.shape().NumElements() == 0) return false;
  Literal& literal = inst.mutable_attrs<ConstantAttrs>().literal;
  const PrimitiveType type = inst.shape().type();
  const double value = literal.GetDouble(0);
  if (!IsFloat(type)) {
    if (IsComplex(type)) return false;
    literal.SetInt(0, type == PrimitiveType::kPred ? 1 - literal.GetInt(0) : literal.GetInt(0) + 1);
  } else {
    literal.SetDouble(0, value == 0 || value - value != 0 ? 1 : 2 * value);
  }
  return true;
}

bool SwappedDimensions(Instruction& inst) {
  if (!inst.Is(Opcode::kTranspose) && !inst.Is(Opcode::kBroadcast)) return false;
  std::vector<int64_t>& dims = inst.mutable_attrs<DimensionsAttrs>().dimensions;
  const Shape& sizes = inst.Is(Opcode::kTranspose) ? inst.operand(0).shape() : inst.shape();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (sizes.dim(dims[i]) == 1) continue;
    for (size_t j = i + 1; j < dims.size(); ++j) {
      if (sizes.dim(dims[i]) == sizes.dim(dims[j])) return std::swap(dims[i], dims[j]), true;
    }
    if (inst.Is(Opcode::kTranspose)) continue;
    for (int64_t d = 0; d < sizes.rank(); ++d) {
      if (!Contains(dims, d) && sizes.dim(d) == sizes.dim(dims[i])) return dims[i] = d, true;
    }
  }
  return false;
}

bool ReplaceDimension(const Shape& shape, std::vector<int64_t>& dims, bool same_size) {
  for (int64_t& dim : dims) {
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (Contains(dims, d) || shape.dim(d) == 1 || (same_size && shape.dim(d) != shape.dim(dim))) continue;
      dim = d;
      return true;
    }
  }
  return false;
}

bool WrongReducedDimension(Instruction& inst) {
  return inst.Is(Opcode::kReduce) &&
         ReplaceDimension(inst.operand(0).shape(), inst.mutable_attrs<ReduceAttrs>().dimensions, true);
}

bool WrongReversedDimension(Instruction& inst) {
  return inst.Is(Opcode::kReverse) &&
         ReplaceDimension(inst.shape(), inst.mutable_attrs<DimensionsAttrs>().dimensions, false);
}

bool WrongIotaDimension(Instruction& inst) {
  if (!inst.Is(Opcode::kIota)) return false;
  std::vector<int64_t> dims = {inst.attrs<IotaAttrs>().iota_dimension};
  if (!ReplaceDimension(inst.shape(), dims, false)) return false;
  inst.mutable_attrs<IotaAttrs>().iota_dimension = dims[0];
  return true;
}

bool WrongSortedDimension(Instruction& inst) {
  if (!inst.Is(Opcode::kSort)) return false;
  std::vector<int64_t> dims = {inst.attrs<SortAttrs>().dimension.value};
  if (!ReplaceDimension(inst.operand(0).shape(), dims, false)) return false;
  inst.mutable_attrs<SortAttrs>().dimension.value = dims[0];
  return true;
}

bool WrongContraction(Instruction& inst) {
  if (!inst.Is(Opcode::kDot)) return false;
  DotAttrs& dot = inst.mutable_attrs<DotAttrs>();
  const auto replace = [&](const Shape& shape, std::vector<int64_t>& contracting, const std::vector<int64_t>& batch) {
    for (int64_t& dim : contracting) {
      for (int64_t d = 0; d < shape.rank(); ++d) {
        if (Contains(contracting, d) || Contains(batch, d) || shape.dim(d) == 1 || shape.dim(d) != shape.dim(dim))
          continue;
        dim = d;
        return true;
      }
    }
    return false;
  };
  return replace(inst.operand(0).shape(), dot.lhs_contracting, dot.lhs_batch) ||
         replace(inst.operand(1).shape(), dot.rhs_contracting, dot.rhs_batch);
}

bool WrongElement(Instruction& inst) {
  if (!inst.Is(Opcode::kGetTupleElement)) return false;
  const std::vector<Shape>& elements = inst.operand(0).shape().elements();
  int64_t& index = inst.mutable_attrs<IndexAttrs>().index;
  for (int64_t i = 0; i < std::ssize(elements); ++i) {
    if (i != index && Compatible(elements[i], elements[index])) return index = i, true;
  }
  return false;
}

bool SwappedIndexMap(Instruction& inst) {
  std::vector<int64_t>* map = nullptr;
  if (inst.Is(Opcode::kGather)) map = &inst.mutable_attrs<GatherAttrs>().start_index_map;
  if (inst.Is(Opcode::kScatter)) map = &inst.mutable_attrs<ScatterAttrs>().scatter_dims_to_operand_dims;
  if (map == nullptr || map->size() < 2) return false;
  std::swap((*map)[0], (*map)[1]);
  return true;
}

bool FewerMantissaBits(Instruction& inst) {
  return inst.Is(Opcode::kReducePrecision) && inst.attrs<ReducePrecisionAttrs>().mantissa_bits > 1 &&
         inst.mutable_attrs<ReducePrecisionAttrs>().mantissa_bits-- > 0;
}

bool InverseFft(Instruction& inst) {
  if (!inst.Is(Opcode::kFft)) return false;
  FftType& type = inst.mutable_attrs<FftAttrs>().fft_type;
  if (type != FftType::kFft && type != FftType::kIfft) return false;
  type = type == FftType::kFft ? FftType::kIfft : FftType::kFft;
  return true;
}

bool OtherTriangle(Instruction& inst) {
  if (inst.Is(Opcode::kCholesky)) return inst.mutable_attrs<CholeskyAttrs>().lower ^= true, true;
  if (inst.Is(Opcode::kTriangularSolve)) return inst.mutable_attrs<TriangularSolveAttrs>().lower ^= true, true;
  return false;
}

bool OtherBranch(Instruction& inst) {
  if (!inst.Is(Opcode::kConditional)) return false;
  ConditionalAttrs& attrs = inst.mutable_attrs<ConditionalAttrs>();
  Computation** a = &attrs.true_computation;
  Computation** b = &attrs.false_computation;
  if (*a == nullptr) {
    if (attrs.branch_computations.size() < 2) return false;
    a = &attrs.branch_computations[0];
    b = &attrs.branch_computations[1];
  }
  if (*a == *b || !Compatible((*a)->parameter(0).shape(), (*b)->parameter(0).shape())) return false;
  std::swap(*a, *b);
  return true;
}

bool SmallestForLargest(Instruction& inst) {
  return inst.Is(Opcode::kTopK) && (inst.mutable_attrs<TopKAttrs>().largest ^= true, true);
}

bool ReversedScan(Instruction& inst) {
  return inst.Is(Opcode::kScan) && (inst.mutable_attrs<ScanAttrs>().is_reverse ^= true, true);
}

constexpr Mutation kMutations[] = {
    {"fewer_mantissa_bits", FewerMantissaBits},
    {"inverse_fft", InverseFft},
    {"other_branch", OtherBranch},
    {"other_triangle", OtherTriangle},
    {"reversed_scan", ReversedScan},
    {"reversed_window", ReversedWindow},
    {"shifted_padding", ShiftedPadding},
    {"shifted_slice", ShiftedSlice},
    {"shifted_window", ShiftedWindow},
    {"smallest_for_largest", SmallestForLargest},
    {"swapped_arguments", SwappedArguments},
    {"swapped_bounds", SwappedBounds},
    {"swapped_cases", SwappedCases},
    {"swapped_dimensions", SwappedDimensions},
    {"swapped_index_map", SwappedIndexMap},
    {"swapped_indices", SwappedIndices},
    {"swapped_operands", SwappedOperands},
    {"swapped_pieces", SwappedPieces},
    {"wrong_constant", WrongConstant},
    {"wrong_contraction", WrongContraction},
    {"wrong_direction", WrongDirection},
    {"wrong_element", WrongElement},
    {"wrong_iota_dimension", WrongIotaDimension},
    {"wrong_reduced_dimension", WrongReducedDimension},
    {"wrong_reversed_dimension", WrongReversedDimension},
    {"wrong_sorted_dimension", WrongSortedDimension},
};

}  // namespace

std::span<const Mutation> Mutations() { return kMutations; }

const Mutation* FindMutation(std::string_view name) {
  const auto* const found = std::ranges::find(kMutations, name, &Mutation::name);
  return found == std::end(kMutations) ? nullptr : found;
}

Instruction* Plant(const Mutation& mutation, Computation& computation) {
  const std::vector<bool> live = LiveIn(computation);
  for (Instruction* inst : computation.Instructions()) {
    if (live[inst->place()] && mutation.apply(*inst)) return inst;
  }
  return nullptr;
}

Instruction* Plant(const Mutation& mutation, Module& module) {
  const std::vector<Computation*> reached = module.PostOrder();
  for (Computation* computation : module.Computations()) {
    if (std::ranges::find(reached, computation) == reached.end()) continue;
    if (Instruction* inst = Plant(mutation, *computation)) return inst;
  }
  return nullptr;
}

Restored::Restored(Instruction& inst)
    : inst_(inst), operands_(inst.operands().begin(), inst.operands().end()), attributes_(inst.attributes()) {}

Restored::~Restored() {
  for (size_t i = 0; i < operands_.size(); ++i) inst_.SetOperand(static_cast<int64_t>(i), *operands_[i]);
  inst_.attributes() = attributes_;
}

}  // namespace hlo
