#include <algorithm>

#include "passes/match.h"
#include "passes/simplify/rules.h"
#include "passes/simplify/values.h"

namespace hlo {
namespace {
namespace m = match;

bool IsAscending(const std::vector<int64_t>& dims) { return std::is_sorted(dims.begin(), dims.end()); }

Result<Instruction*> BroadcastOfNothing(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Broadcast(m::Any(&x))(&inst) || !IsAscending(inst.dimensions())) return nullptr;
  if (x->shape().NumElements() != inst.shape().NumElements()) return nullptr;
  return x->shape() == inst.shape() ? x : Replace(inst, Opcode::kReshape, {x});
}

// Dimension i of x becomes dimension outer[inner[i]].
Result<Instruction*> BroadcastTwice(Instruction& inst, const PassContext&) {
  Instruction *inner, *x;
  if (!m::Broadcast(m::Broadcast(&inner, m::Any(&x)))(&inst)) return nullptr;
  std::vector<int64_t> composed;
  for (const int64_t d : inner->dimensions()) composed.push_back(inst.dimensions()[d]);
  return Replace(inst, Opcode::kBroadcast, {x}, DimensionsAttrs{composed});
}

Result<Instruction*> BroadcastOfIota(Instruction& inst, const PassContext&) {
  Instruction* iota;
  if (!m::Broadcast(m::Iota(&iota))(&inst)) return nullptr;
  return Replace(inst, Opcode::kIota, {}, IotaAttrs{inst.dimensions()[iota->attrs<IotaAttrs>().iota_dimension]});
}

Result<Instruction*> BroadcastOfAddedOnes(Instruction& inst, const PassContext&) {
  Instruction *reshape, *x;
  if (!m::Broadcast(m::Reshape(&reshape, m::Any(&x)))(&inst) || reshape->shape().rank() <= x->shape().rank())
    return nullptr;
  const auto paired = PairDimensions(x->shape(), reshape->shape());
  if (!paired) return nullptr;
  std::vector<int64_t> dims(x->shape().rank(), -1);
  for (int64_t j = 0; j < reshape->shape().rank(); ++j) {
    if ((*paired)[j] >= 0) dims[(*paired)[j]] = inst.dimensions()[j];
  }
  if (std::find(dims.begin(), dims.end(), -1) != dims.end()) return nullptr;  // The reshape also removes dimensions.
  return Replace(inst, Opcode::kBroadcast, {x}, DimensionsAttrs{dims});
}

// Makes equal broadcasts look equal.
Result<Instruction*> BroadcastOfOnes(Instruction& inst, const PassContext&) {
  Instruction* x;
  if (!m::Broadcast(m::Any(&x))(&inst) || x->Is(Opcode::kReshape)) return nullptr;
  std::vector<int64_t> sizes, dims;
  for (int64_t i = 0; i < x->shape().rank(); ++i) {
    if (x->shape().dim(i) == 1) continue;
    sizes.push_back(x->shape().dim(i));
    dims.push_back(inst.dimensions()[i]);
  }
  if (static_cast<int64_t>(sizes.size()) == x->shape().rank()) return nullptr;
  Instruction* smaller = Step(inst, Opcode::kReshape, x->shape().WithDims(sizes), {x});
  return Replace(inst, Opcode::kBroadcast, {smaller}, DimensionsAttrs{dims});
}

// The reshape may change repeated dimensions, and add and remove dimensions of size 1.
Result<Instruction*> ReshapeOfBroadcast(Instruction& inst, const PassContext&) {
  Instruction *broadcast, *x;
  if (!m::Reshape(m::Broadcast(&broadcast, m::Any(&x)))(&inst)) return nullptr;
  if (x->shape().IsScalar()) return Replace(inst, Opcode::kBroadcast, {x}, DimensionsAttrs{});
  const auto paired = PairDimensions(broadcast->shape(), inst.shape());
  if (!paired && (!IsStatic(inst) || inst.shape().NumElements() == 0)) return nullptr;
  const std::vector<int64_t> places = paired ? *paired : SamePlaces(inst.shape(), broadcast->shape());
  std::vector<int64_t> dims;
  for (const int64_t d : broadcast->dimensions()) {
    const auto found = std::ranges::find(places, d);
    if (found == places.end()) return nullptr;
    dims.push_back(found - places.begin());
  }
  return Replace(inst, Opcode::kBroadcast, {x}, DimensionsAttrs{dims});
}

Result<Instruction*> TransposeOfBroadcast(Instruction& inst, const PassContext&) {
  Instruction *broadcast, *x;
  if (!m::Transpose(m::Broadcast(&broadcast, m::Any(&x)))(&inst)) return nullptr;
  std::vector<int64_t> dims;
  for (const int64_t d : broadcast->dimensions()) {
    dims.push_back(std::find(inst.dimensions().begin(), inst.dimensions().end(), d) - inst.dimensions().begin());
  }
  if (!IsAscending(dims)) return nullptr;
  return Replace(inst, Opcode::kBroadcast, {x}, DimensionsAttrs{dims});
}

Result<Instruction*> PartOfBroadcast(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kSlice) && !inst.Is(Opcode::kReverse) && !inst.Is(Opcode::kDynamicSlice)) return nullptr;
  Instruction& broadcast = inst.operand(0);
  if (!broadcast.Is(Opcode::kBroadcast)) return nullptr;
  Instruction& x = broadcast.operand(0);
  for (const int64_t d : broadcast.dimensions()) {
    if (inst.Is(Opcode::kReverse)) {
      if (std::find(inst.dimensions().begin(), inst.dimensions().end(), d) != inst.dimensions().end()) return nullptr;
    } else if (inst.shape().dim(d) != broadcast.shape().dim(d)) {
      return nullptr;
    } else if (inst.Is(Opcode::kSlice) && inst.attrs<SliceAttrs>().slice.dims[d].start != 0) {
      return nullptr;
    }
  }
  return Replace(inst, Opcode::kBroadcast, {&x}, DimensionsAttrs{broadcast.dimensions()});
}

// f(broadcast(x)) => broadcast(f(x)) computes f once for all repetitions.
Result<Instruction*> SinkBroadcast(Instruction& inst, const PassContext&) {
  if (!inst.Is(kElementwise) || inst.operand_count() == 0 || inst.Is(Opcode::kCopy) || !inst.shape().IsArray())
    return nullptr;
  const Instruction* first = nullptr;  // The broadcast whose operand has the highest rank.
  for (const Instruction* operand : inst.operands()) {
    if (operand->shape().IsScalar() && !inst.shape().IsScalar()) continue;
    if (!operand->Is(Opcode::kBroadcast)) return nullptr;
    if (first == nullptr || operand->operand(0).shape().rank() > first->operand(0).shape().rank()) first = operand;
  }
  if (first == nullptr) return nullptr;
  const Shape& small = first->operand(0).shape();
  if (small.NumElements() >= inst.shape().NumElements()) return nullptr;
  for (const Instruction* operand : inst.operands()) {
    if (!operand->Is(Opcode::kBroadcast) || operand->operand(0).shape().IsScalar()) continue;
    if (operand->dimensions() != first->dimensions()) return nullptr;
  }
  std::vector<Instruction*> operands;
  for (Instruction* operand : inst.operands()) {
    if (!operand->Is(Opcode::kBroadcast)) {
      operands.push_back(operand);  // A scalar operand of a clamp or select.
      continue;
    }
    Instruction& x = operand->operand(0);
    if (SameDims(x.shape(), small)) {
      operands.push_back(&x);
    } else {
      operands.push_back(Step(inst, Opcode::kBroadcast, small.WithType(x.shape().type()), {&x}, DimensionsAttrs{}));
    }
  }
  Instruction* result = Step(inst, inst.opcode(), small.WithType(inst.shape().type()), operands, inst.attributes());
  return Replace(inst, Opcode::kBroadcast, {result}, DimensionsAttrs{first->dimensions()});
}

Result<Instruction*> SplatConstant(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kConstant) || !inst.shape().IsArray() || inst.shape().IsScalar() ||
      inst.shape().NumElements() < 2)
    return nullptr;
  const Literal& literal = inst.literal();
  if (!literal.IsSplat()) return nullptr;
  Literal scalar = Literal::Uninitialized(Shape::Scalar(inst.shape().type()));
  std::copy_n(literal.raw(), scalar.byte_size(), scalar.mutable_raw());
  Instruction& constant = inst.computation().AddConstant(std::move(scalar));
  return Replace(inst, Opcode::kBroadcast, {&constant}, DimensionsAttrs{});
}

// Constants up to this length are as cheap as an iota, and rules can read them.
constexpr int64_t kShort = 4;

Result<Instruction*> CountingConstant(Instruction& inst, const PassContext&) {
  const Shape& shape = inst.shape();
  if (!shape.IsArray() || shape.rank() != 1 || shape.dim(0) <= kShort || !IsInteger(shape.type())) return nullptr;
  const Literal& literal = inst.literal();
  const int64_t step = literal.GetInt(1);
  if (step == 0) return nullptr;
  Literal expected = Literal::Scalar(shape.type(), int64_t{0});
  for (int64_t i = 0; i < shape.dim(0); ++i) {
    expected.SetInt(0, static_cast<int64_t>(static_cast<uint64_t>(i) * static_cast<uint64_t>(step)));
    if (literal.GetInt(i) != expected.GetInt(0)) return nullptr;
  }
  Instruction* iota = Replace(inst, Opcode::kIota, {}, IotaAttrs{0});
  if (step == 1) return iota;
  Instruction& scalar = inst.computation().AddConstant(Literal::Scalar(shape.type(), step));
  return Replace(inst, Opcode::kMultiply, {iota, Replace(inst, Opcode::kBroadcast, {&scalar}, DimensionsAttrs{})});
}

Result<Instruction*> TupleConstant(Instruction& inst, const PassContext&) {
  if (!inst.shape().IsTuple() || !inst.literal().IsKnown()) return nullptr;
  std::vector<Instruction*> elements;
  for (const Literal& element : inst.literal().elements()) elements.push_back(&inst.computation().AddConstant(element));
  return Replace(inst, Opcode::kTuple, elements);
}

Result<Instruction*> IotaOfOne(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kIota) || inst.shape().dim(inst.attrs<IotaAttrs>().iota_dimension) > 1) return nullptr;
  return ConstantLike(inst, 0);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"A.bcast.1",  Opcode::kBroadcast,                                        BroadcastOfNothing,   Preserves::kExact, "broadcast(x) => reshape(x), when nothing is repeated"},
    {"A.bcast.6a", Opcode::kBroadcast,                                        BroadcastTwice,       Preserves::kExact, "broadcast(broadcast(x)) => broadcast(x)"},
    {"A.bcast.6b", Opcode::kBroadcast,                                        BroadcastOfIota,      Preserves::kExact, "broadcast(iota) => iota"},
    {"A.bcast.3",  Opcode::kBroadcast,                                        BroadcastOfAddedOnes, Preserves::kExact, "broadcast(reshape(x)) => broadcast(x), when the reshape only adds dimensions of size 1"},
    {"A.bcast.7",  Opcode::kBroadcast,                                        BroadcastOfOnes,      Preserves::kExact, "broadcast(x) => broadcast(reshape(x)), without x's dimensions of size 1"},
    {"A.resh.2",   Opcode::kReshape,                                          ReshapeOfBroadcast,   Preserves::kExact, "reshape(broadcast(x)) => broadcast(x), when x's dimensions stay"},
    {"A.trans.6",  Opcode::kTranspose,                                        TransposeOfBroadcast, Preserves::kExact, "transpose(broadcast(x)) => broadcast(x), when x's dimensions keep their order"},
    {"A.bcast.5",  {Opcode::kSlice, Opcode::kReverse, Opcode::kDynamicSlice}, PartOfBroadcast,      Preserves::kExact, "slice(broadcast(x)) => broadcast(x), of dimensions that only repeat; reverse and dynamic-slice too"},
    {"A.bcast.4",  kElementwise,                                              SinkBroadcast,        Preserves::kExact, "f(broadcast(x), broadcast(y)) => broadcast(f(x, y)), for elementwise f"},
    {"A.const.1a", Opcode::kConstant,                                         SplatConstant,        Preserves::kExact, "constant({c, c, ...}) => broadcast(c)"},
    {"A.const.1b", Opcode::kConstant,                                         CountingConstant,     Preserves::kExact, "constant({0, s, 2s, ...}) => iota * s, for integers, of more than four elements"},
    {"A.const.1c", Opcode::kConstant,                                         TupleConstant,        Preserves::kExact, "constant((a, b)) => tuple(constant(a), constant(b))"},
    {"A.iota.1",   Opcode::kIota,                                             IotaOfOne,            Preserves::kExact, "iota => 0, along a dimension of size 1"},
};
// clang-format on

}  // namespace

std::span<const Rule> BroadcastRules() { return kRules; }

}  // namespace hlo
