#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/text.h"
#include "gpu/plan/elemental.h"
#include "gpu/plan/scalar.h"
#include "ir/analysis/dynamic_indices.h"
#include "ir/analysis/movement.h"
#include "ir/module.h"
#include "ir/shapes/shape_rules.h"

namespace hlo::gpu {
namespace {

// Most unrolled terms. Longer folds and reduce-windows are loops, a longer select-and-scatter is unsupported.
constexpr int64_t kUnrolledTerms = 16, kUnrolledWindow = 64, kUnrolledPick = 256;

bool NeverHolds(const IndexPool& pool, const IndexCondition& condition) {
  const auto& node = pool[condition.expression];
  return condition.low >= condition.high || node.high < condition.low || node.low >= condition.high;
}
bool NeverHolds(const IndexPool& pool, const std::vector<IndexCondition>& conditions) {
  return std::ranges::any_of(conditions, [&](const IndexCondition& c) { return NeverHolds(pool, c); });
}

void Require(const IndexPool& pool, IndexCondition condition, std::vector<IndexCondition>* conditions) {
  const auto& node = pool[condition.expression];
  if (node.low < condition.low || node.high >= condition.high) conditions->push_back(condition);
}

std::vector<int64_t> PhysicalDims(const Shape& shape) {
  const auto& minor_to_major = shape.layout().minor_to_major;
  std::vector<int64_t> dims;
  for (auto it = minor_to_major.rbegin(); it != minor_to_major.rend(); ++it) dims.push_back(shape.dim(*it));
  return dims;
}

// Rejects tiles and dynamic dimensions. `E(4)` (two elements in a byte) has no effect: each element has its own byte.
Status CheckLayout(const Instruction& inst, const Shape& shape) {
  if (shape.layout().tiling->tiles.empty() && !shape.HasDynamicDims()) return {};
  FAIL(UnsupportedAt(inst, "U104",
                     Str("no kernels for arrays of shape ", shape.ToStringWithLayout(), " ('", inst.name(), "')")));
}

}  // namespace

// ---- Index helpers -----------------------------------------------------------------------------------------------

IndexExpr Within(IndexPool& pool, IndexExpr e, int64_t low, int64_t high, std::vector<IndexCondition>* conditions) {
  Require(pool, {e, low, high}, conditions);
  return low < high ? pool.Clamp(e, low, high - 1) : pool.Constant(low);
}

IndexExpr WindowBase(IndexPool& pool, IndexExpr position, IndexExpr w, const WindowDim& window, int64_t size,
                     std::vector<IndexCondition>* conditions) {
  const IndexExpr dilated = pool.Add(
      pool.Add(pool.Multiply(position, window.stride), pool.Multiply(w, window.window_dilation)), -window.pad_low);
  if (window.base_dilation == 1) return Within(pool, dilated, 0, size, conditions);
  const int64_t extent = size == 0 ? 0 : (size - 1) * window.base_dilation + 1;
  const IndexExpr inside = Within(pool, dilated, 0, extent, conditions);
  // The unclamped index plus a multiple of the dilation is not negative and has a simpler form than the clamped one.
  const int64_t before = std::max<int64_t>(0, window.pad_low);
  const int64_t whole = (before + window.base_dilation - 1) / window.base_dilation * window.base_dilation;
  Require(pool, {pool.Mod(pool.Add(dilated, whole), window.base_dilation), 0, 1}, conditions);
  return pool.Div(inside, window.base_dilation);
}

std::optional<std::vector<IndexExpr>> ElementGraph::Moved(const Instruction& inst,
                                                          const std::vector<IndexExpr>& index) {
  if (inst.Is(Opcode::kOptimizationBarrier)) return index;
  if (inst.Is(Opcode::kReshape))
    return pool_.Delinearize(pool_.Linearize(index, inst.shape().dims()), inst.operand(0).shape().dims());
  const auto moved = MovedIndices(inst);
  if (!moved) return std::nullopt;
  std::vector<IndexExpr> inner;
  for (const auto& [dim, scale, offset] : *moved) inner.push_back(pool_.Add(pool_.Multiply(index[dim], scale), offset));
  return inner;
}

// ---- Builders of ops that are not scalar functions of their operands -----------------------------------------------

struct ElementGraph::Builder {
  Opcode opcode;
  Result<NodeId> (ElementGraph::*build)(const Instruction& inst, const std::vector<IndexExpr>& index);
};

constexpr ElementGraph::Builder ElementGraph::kBuilders[] = {
    {Opcode::kConstant, &ElementGraph::BuildConstant},
    {Opcode::kIota, &ElementGraph::BuildIota},
    {Opcode::kBitcast, &ElementGraph::BuildBitcast},
    {Opcode::kBitcastConvert, &ElementGraph::BuildBitcastConvert},
    {Opcode::kConcatenate, &ElementGraph::BuildConcatenate},
    {Opcode::kPad, &ElementGraph::BuildPad},
    {Opcode::kDynamicSlice, &ElementGraph::BuildDynamicSlice},
    {Opcode::kDynamicUpdateSlice, &ElementGraph::BuildDynamicUpdateSlice},
    {Opcode::kGather, &ElementGraph::BuildGather},
    {Opcode::kReduce, &ElementGraph::BuildReduce},
    {Opcode::kReduceWindow, &ElementGraph::BuildReduceWindow},
    {Opcode::kSelectAndScatter, &ElementGraph::BuildSelectAndScatter},
    {Opcode::kDot, &ElementGraph::BuildContraction},
    {Opcode::kConvolution, &ElementGraph::BuildContraction},
    {Opcode::kMap, &ElementGraph::BuildMap},
};

Result<NodeId> ElementGraph::Build(const Instruction& inst, const std::vector<IndexExpr>& index) {
  if (given_.contains(&inst)) return Add({.kind = ElementNode::Kind::kGiven, .inst = &inst, .index = index});
  if (const int leaf = body_.LeafOf(inst); leaf >= 0) {
    TRY(KernelType(inst, inst.shape().type()));
    const Shape& shape = *body_.leaves()[leaf].shape;
    TRY(CheckLayout(inst, shape));
    return Add({.kind = ElementNode::Kind::kLoad,
                .inst = &inst,
                .offset = pool_.Dot(index, LayoutStrides(shape)),
                .leaf = leaf});
  }
  TRY(CheckOneFloatType(inst));
  if (auto inner = Moved(inst, index)) return Plan(inst.operand(0), *std::move(inner));
  const auto builder = std::ranges::find(kBuilders, inst.opcode(), &Builder::opcode);
  return builder == std::end(kBuilders) ? BuildScalar(inst, index) : (this->*builder->build)(inst, index);
}

Result<NodeId> ElementGraph::BuildScalar(const Instruction& inst, const std::vector<IndexExpr>& index) {
  TRY(CheckScalar(inst));
  ElementNode node{.kind = ElementNode::Kind::kScalar, .inst = &inst};
  for (const Instruction* operand : inst.operands()) {
    // clamp and select accept scalars beside arrays.
    node.operands.push_back(TRY(Plan(*operand, operand->shape().IsScalar() ? std::vector<IndexExpr>() : index)));
  }
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildMap(const Instruction& inst, const std::vector<IndexExpr>& index) {
  TRY(CheckScalarComputation(*inst.attrs<MapAttrs>().to_apply));
  ElementNode node{.kind = ElementNode::Kind::kMap, .inst = &inst};
  for (const Instruction* operand : inst.operands())
    node.operands.push_back(TRY(Plan(*operand, operand->shape().IsScalar() ? std::vector<IndexExpr>() : index)));
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildConstant(const Instruction& inst, const std::vector<IndexExpr>& index) {
  TRY(KernelType(inst, inst.shape().type()));
  const bool splat = inst.literal().IsSplat();
  return Add({.kind = ElementNode::Kind::kLiteral,
              .inst = &inst,
              .offset = splat ? pool_.Constant(0) : pool_.Linearize(index, inst.shape().dims())});
}

Result<NodeId> ElementGraph::BuildIota(const Instruction& inst, const std::vector<IndexExpr>& index) {
  TRY(KernelType(inst, inst.shape().type()));
  return Add(
      {.kind = ElementNode::Kind::kIota, .inst = &inst, .offset = index[inst.attrs<IotaAttrs>().iota_dimension]});
}

// The side with narrower elements has an extra last dimension, low bits first.
Result<NodeId> ElementGraph::BuildBitcastConvert(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const Instruction& operand = inst.operand(0);
  const PrimitiveType from = operand.shape().type(), to = inst.shape().type();
  TRY(KernelType(inst, to));
  TRY(KernelType(inst, from));
  if (to == from) return Plan(operand, index);
  const auto bits = [](PrimitiveType type) { return type == PrimitiveType::kPred ? 8 : BitWidth(type); };
  const int64_t wide = std::max(bits(from), bits(to)), narrow = std::min(bits(from), bits(to));
  const bool whole = wide == narrow || (wide % narrow == 0 && std::has_single_bit(static_cast<uint64_t>(narrow)));
  const bool of_bits = TakesPredsForBits(operand.shape(), inst.shape());
  if (to == PrimitiveType::kPred || of_bits || IsComplex(to) || IsComplex(from) || !whole) {
    FAIL(UnsupportedAt(inst, "U105",
                       Str("no emitter for 'bitcast-convert' from ", operand.shape(), " to ", inst.shape())));
  }
  ElementNode node{.kind = ElementNode::Kind::kBits, .inst = &inst};
  std::vector<IndexExpr> inner = index;
  if (bits(to) < bits(from)) {
    node.offset = inner.back();
    inner.pop_back();
  }
  if (bits(to) > bits(from)) inner.push_back(pool_.Constant(0));
  for (int64_t part = 0; part < std::max<int64_t>(1, bits(to) / bits(from)); ++part) {
    if (bits(to) > bits(from)) inner.back() = pool_.Constant(part);
    node.operands.push_back(TRY(Plan(operand, inner)));
  }
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildBitcast(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const Instruction& operand = inst.operand(0);
  TRY(CheckLayout(inst, inst.shape()));
  TRY(CheckLayout(operand, operand.shape()));
  const bool same_type = inst.shape().type() == operand.shape().type();
  const bool complex = IsComplex(inst.shape().type()) || IsComplex(operand.shape().type());
  if ((complex && !same_type) || BitWidth(inst.shape().type()) != BitWidth(operand.shape().type()) ||
      inst.shape().NumElements() != operand.shape().NumElements()) {
    FAIL(UnsupportedAt(inst, "U105", Str("no emitter for 'bitcast' from ", operand.shape(), " to ", inst.shape())));
  }
  const IndexExpr linear = pool_.Dot(index, LayoutStrides(inst.shape()));
  const std::vector<IndexExpr> physical = pool_.Delinearize(linear, PhysicalDims(operand.shape()));
  std::vector<IndexExpr> inner(operand.shape().rank());
  const auto& minor_to_major = operand.shape().layout().minor_to_major;
  for (size_t i = 0; i < inner.size(); ++i) inner[minor_to_major[i]] = physical[inner.size() - 1 - i];
  const NodeId value = TRY(Plan(operand, std::move(inner)));
  if (same_type) return value;
  TRY(KernelType(inst, inst.shape().type()));
  return Add({.kind = ElementNode::Kind::kBits, .inst = &inst, .operands = {value}});
}

Result<NodeId> ElementGraph::BuildConcatenate(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const int64_t d = inst.attrs<OneDimensionAttrs>().dimension.value;
  NodeId rest = -1;
  IndexExpr rest_clamp;
  int64_t begin = inst.shape().dim(d);
  for (int64_t i = inst.operand_count(); i-- > 0;) {
    const Instruction& operand = inst.operand(i);
    const int64_t size = operand.shape().dim(d), end = begin;
    begin -= size;
    if (size == 0) continue;
    ElementNode node{.kind = ElementNode::Kind::kGuard, .inst = &inst};
    Require(pool_, {index[d], INT64_MIN, end}, &node.conditions);
    if (NeverHolds(pool_, node.conditions)) continue;
    std::vector<IndexExpr> inner = index;
    std::vector<IndexCondition> ignored;
    const IndexExpr inner_at = inner[d] = Within(pool_, pool_.Add(index[d], -begin), 0, size, &ignored);
    const NodeId value = TRY(Plan(operand, std::move(inner)));
    if (rest < 0 || node.conditions.empty()) {
      rest = value;
      rest_clamp = inner_at;
      continue;
    }
    node.operands = {value, rest};
    node.then_clamps = {inner_at};
    node.else_clamps = {rest_clamp};
    rest_clamp = inner_at;
    rest = Add(std::move(node));
  }
  CHECK(rest >= 0, inst.name());
  return rest;
}

Result<NodeId> ElementGraph::BuildPad(const Instruction& inst, const std::vector<IndexExpr>& index) {
  ElementNode node{.kind = ElementNode::Kind::kGuard, .inst = &inst};
  const Instruction& operand = inst.operand(0);
  const auto& dims = inst.attrs<PadAttrs>().padding.dims;
  std::vector<IndexExpr> inner;
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t size = operand.shape().dim(i), spread = dims[i].interior + 1;
    const int64_t extent = size == 0 ? 0 : (size - 1) * spread + 1;
    const IndexExpr inside = Within(pool_, pool_.Add(index[i], -dims[i].low), 0, extent, &node.conditions);
    if (spread > 1) Require(pool_, {pool_.Mod(inside, spread), 0, 1}, &node.conditions);
    inner.push_back(pool_.Div(inside, spread));
  }
  const NodeId padding = TRY(Plan(inst.operand(1), {}));
  if (NeverHolds(pool_, node.conditions)) return padding;
  const NodeId value = TRY(Plan(operand, std::move(inner)));
  if (node.conditions.empty()) return value;
  node.operands = {value, padding};
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildDynamicSlice(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const Instruction& operand = inst.operand(0);
  if (!HasScalarIndices(inst)) {
    FAIL(UnsupportedAt(inst, "U106", "no emitter for 'dynamic-slice' with its indices in one array"));
  }
  std::vector<IndexExpr> inner;
  for (size_t i = 0; i < index.size(); ++i) {
    const IndexExpr start = TRY(Loaded(inst.operand(1 + i), {}, operand.shape().dim(i) - inst.shape().dim(i)));
    inner.push_back(pool_.Add(index[i], start));
  }
  return Plan(operand, std::move(inner));
}

Result<NodeId> ElementGraph::BuildDynamicUpdateSlice(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const Shape& update = inst.operand(1).shape();
  if (!HasScalarIndices(inst)) {
    FAIL(UnsupportedAt(inst, "U106", "no emitter for 'dynamic-update-slice' with its indices in one array"));
  }
  ElementNode node{.kind = ElementNode::Kind::kGuard, .inst = &inst};
  std::vector<IndexExpr> inner;
  for (size_t i = 0; i < index.size(); ++i) {
    const IndexExpr start = TRY(Loaded(inst.operand(2 + i), {}, inst.shape().dim(i) - update.dim(i)));
    inner.push_back(Within(pool_, pool_.Add(index[i], pool_.Multiply(start, -1)), 0, update.dim(i), &node.conditions));
  }
  const NodeId old = TRY(Plan(inst.operand(0), index));
  if (NeverHolds(pool_, node.conditions)) return old;
  const NodeId updated = TRY(Plan(inst.operand(1), std::move(inner)));
  if (node.conditions.empty()) return updated;
  node.operands = {updated, old};
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildGather(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const auto& attrs = inst.attrs<GatherAttrs>();
  const Shape &operand = inst.operand(0).shape(), &indices = inst.operand(1).shape();
  const auto contains = [](const std::vector<int64_t>& list, int64_t d) {
    return std::ranges::find(list, d) != list.end();
  };
  std::vector<IndexExpr> batch;
  for (int64_t d = 0; d < inst.shape().rank(); ++d) {
    if (!contains(attrs.offset_dims, d)) batch.push_back(index[d]);
  }
  const auto position = [&](int64_t k) {
    std::vector<IndexExpr> at = batch;
    if (attrs.index_vector_dim < indices.rank()) at.insert(at.begin() + attrs.index_vector_dim, pool_.Constant(k));
    return at;
  };
  std::vector<IndexExpr> inner;
  size_t next_offset = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    IndexExpr at = pool_.Constant(0);
    const auto k = std::ranges::find(attrs.start_index_map, d) - attrs.start_index_map.begin();
    const auto b = std::ranges::find(attrs.operand_batching_dims, d) - attrs.operand_batching_dims.begin();
    if (k < static_cast<int64_t>(attrs.start_index_map.size())) {
      at = TRY(Loaded(inst.operand(1), position(k), operand.dim(d) - attrs.slice_sizes[d]));
    } else if (b < static_cast<int64_t>(attrs.operand_batching_dims.size())) {
      const int64_t indices_dim = attrs.start_indices_batching_dims[b];
      at = batch[indices_dim - (indices_dim > attrs.index_vector_dim ? 1 : 0)];
    }
    if (!contains(attrs.collapsed_slice_dims, d) && !contains(attrs.operand_batching_dims, d)) {
      at = pool_.Add(at, index[attrs.offset_dims[next_offset++]]);
    }
    inner.push_back(at);
  }
  return Plan(inst.operand(0), std::move(inner));
}

Result<NodeId> ElementGraph::BuildFold(
    ElementNode node, const std::vector<int64_t>& sizes,
    const std::function<Result<ElementNode::Step>(const std::vector<IndexExpr>&)>& step) {
  const int64_t terms = Product(sizes);
  const int64_t limit = node.inst->Is(Opcode::kReduceWindow) ? kUnrolledWindow : kUnrolledTerms;
  if (terms > limit) {
    std::vector<IndexExpr> loop;
    for (const int64_t size : sizes) loop.push_back(pool_.Variable(0, size - 1));
    ElementNode::Step one = TRY(step(loop));
    if (NeverHolds(pool_, one.conditions)) return Add(std::move(node));
    node.loop = std::move(loop);
    node.loop_sizes = sizes;
    node.steps.push_back(std::move(one));
    return Add(std::move(node));
  }
  for (int64_t i = 0; i < terms; ++i) {
    ElementNode::Step one = TRY(step(pool_.Delinearize(pool_.Constant(i), sizes)));
    if (!NeverHolds(pool_, one.conditions)) node.steps.push_back(std::move(one));
  }
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildReduce(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const auto& attrs = inst.attrs<ReduceAttrs>();
  TRY(CheckScalarComputation(*attrs.to_apply));
  const int64_t arrays = inst.operand_count() / 2;
  ElementNode node{.kind = ElementNode::Kind::kReduce, .inst = &inst};
  for (int64_t i = 0; i < arrays; ++i) node.operands.push_back(TRY(Plan(inst.operand(arrays + i), {})));
  std::vector<int64_t> dimensions = attrs.dimensions, sizes;
  std::ranges::sort(dimensions);
  for (const int64_t d : dimensions) sizes.push_back(inst.operand(0).shape().dim(d));
  return BuildFold(std::move(node), sizes, [&](const std::vector<IndexExpr>& terms) -> Result<ElementNode::Step> {
    std::vector<IndexExpr> inner = index;
    for (size_t i = 0; i < dimensions.size(); ++i) inner.insert(inner.begin() + dimensions[i], terms[i]);
    ElementNode::Step step;
    for (int64_t i = 0; i < arrays; ++i) step.operands.push_back(TRY(Plan(inst.operand(i), inner)));
    return step;
  });
}

Result<NodeId> ElementGraph::BuildReduceWindow(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const auto& attrs = inst.attrs<ReduceWindowAttrs>();
  TRY(CheckScalarComputation(*attrs.to_apply));
  const int64_t arrays = inst.operand_count() / 2;
  const Shape& operand = inst.operand(0).shape();
  ElementNode node{.kind = ElementNode::Kind::kReduce, .inst = &inst};
  for (int64_t i = 0; i < arrays; ++i) node.operands.push_back(TRY(Plan(inst.operand(arrays + i), {})));
  // If a window without dilation is longer than the array, the fold runs over the array and tests whether the window
  // covers the element.
  const auto walks_array = [&](size_t i) {
    const WindowDim& window = attrs.window.dims[i];
    return window.size > operand.dim(i) && window.window_dilation == 1;
  };
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < attrs.window.dims.size(); ++i)
    sizes.push_back(walks_array(i) ? operand.dim(i) : attrs.window.dims[i].size);
  if (Product(sizes) == 0) return Add(std::move(node));
  return BuildFold(std::move(node), sizes, [&](const std::vector<IndexExpr>& terms) -> Result<ElementNode::Step> {
    std::vector<IndexExpr> inner;
    ElementNode::Step step;
    for (size_t i = 0; i < terms.size(); ++i) {
      const WindowDim& window = attrs.window.dims[i];
      if (!walks_array(i)) {
        inner.push_back(WindowBase(pool_, index[i], terms[i], window, operand.dim(i), &step.conditions));
        continue;
      }
      const IndexExpr place =
          pool_.Add(pool_.Add(pool_.Multiply(terms[i], window.base_dilation), pool_.Multiply(index[i], -window.stride)),
                    window.pad_low);
      Require(pool_, {place, 0, window.size}, &step.conditions);
      inner.push_back(terms[i]);
    }
    if (NeverHolds(pool_, step.conditions)) return step;
    for (int64_t i = 0; i < arrays; ++i) step.operands.push_back(TRY(Plan(inst.operand(i), inner)));
    return step;
  });
}

Result<NodeId> ElementGraph::BuildSelectAndScatter(const Instruction& inst, const std::vector<IndexExpr>& index) {
  const auto& attrs = inst.attrs<SelectAndScatterAttrs>();
  if (IsComplex(inst.shape().type()))
    FAIL(UnsupportedAt(inst, "U107", "no emitter for 'select-and-scatter' of complex numbers"));
  TRY(CheckScalarComputation(*attrs.select));
  TRY(CheckScalarComputation(*attrs.scatter));
  const Shape &operand = inst.operand(0).shape(), &source = inst.operand(1).shape();
  std::vector<int64_t> sizes, covering;
  for (const WindowDim& window : attrs.window.dims) {
    if (window.base_dilation != 1 || window.window_dilation != 1) {
      FAIL(UnsupportedAt(inst, "U107", "no emitter for 'select-and-scatter' with dilation"));
    }
    sizes.push_back(window.size);
    covering.push_back((window.size + window.stride - 1) / window.stride);
  }
  if (Product(sizes) * Product(covering) > kUnrolledPick) {
    FAIL(UnsupportedAt(inst, "U107",
                       Str("no emitter for 'select-and-scatter' with a window of ", Product(sizes), " elements")));
  }
  ElementNode node{.kind = ElementNode::Kind::kPick,
                   .inst = &inst,
                   .operands = {TRY(Plan(inst.operand(2), {}))},
                   .window_size = Product(sizes)};
  // The first window that covers the element has it at the largest offset.
  for (int64_t c = 0; c < Product(covering); ++c) {
    const std::vector<IndexExpr> back = pool_.Delinearize(pool_.Constant(c), covering);
    ElementNode::Step scatter;
    std::vector<IndexExpr> at, offset;
    for (size_t i = 0; i < index.size(); ++i) {
      const WindowDim& window = attrs.window.dims[i];
      // With negative low padding, no window covers the first elements.
      const IndexExpr padded =
          Within(pool_, pool_.Add(index[i], window.pad_low), 0, INT64_MAX / 4, &scatter.conditions);
      const int64_t j = covering[i] - 1 - pool_[back[i]].constant;
      at.push_back(
          Within(pool_, pool_.Add(pool_.Div(padded, window.stride), -j), 0, source.dim(i), &scatter.conditions));
      offset.push_back(pool_.Add(pool_.Mod(padded, window.stride), j * window.stride));
      Require(pool_, {offset.back(), 0, window.size}, &scatter.conditions);
    }
    if (NeverHolds(pool_, scatter.conditions)) continue;
    scatter.operands.push_back(TRY(Plan(inst.operand(1), at)));
    node.steps.push_back(std::move(scatter));
    for (int64_t w = 0; w < node.window_size; ++w) {
      const std::vector<IndexExpr> position = pool_.Delinearize(pool_.Constant(w), sizes);
      ElementNode::Step element;
      std::vector<IndexExpr> inner;
      for (size_t i = 0; i < index.size(); ++i) {
        inner.push_back(
            WindowBase(pool_, at[i], position[i], attrs.window.dims[i], operand.dim(i), &element.conditions));
        Require(pool_, {pool_.Add(offset[i], -pool_[position[i]].constant), 0, 1}, &element.own);
      }
      element.operands.push_back(TRY(Plan(inst.operand(0), inner)));
      node.steps.push_back(std::move(element));
    }
  }
  return Add(std::move(node));
}

Result<NodeId> ElementGraph::BuildContraction(const Instruction& inst, const std::vector<IndexExpr>& index) {
  TRY(KernelType(inst, inst.shape().type()));
  ElementNode node{.kind = ElementNode::Kind::kReduce, .inst = &inst};
  const Shape &lhs = inst.operand(0).shape(), &rhs = inst.operand(1).shape();
  if (inst.operand_count() != 2)
    FAIL(UnsupportedAt(inst, "U108", Str("no emitter for sparse '", ToString(inst.opcode()), "'")));
  if (IsComplex(inst.shape().type()) != IsComplex(lhs.type()) || IsComplex(lhs.type()) != IsComplex(rhs.type()))
    FAIL(UnsupportedAt(inst, "U108", Str("no emitter for '", inst.opcode(), "' of mixed complex and real numbers")));
  if (inst.Is(Opcode::kDot)) {
    const auto& attrs = inst.attrs<DotAttrs>();
    std::vector<int64_t> sizes;
    for (const int64_t d : attrs.lhs_contracting) sizes.push_back(lhs.dim(d));
    return BuildFold(std::move(node), sizes, [&](const std::vector<IndexExpr>& terms) -> Result<ElementNode::Step> {
      std::vector<IndexExpr> a(lhs.rank()), b(rhs.rank());
      size_t next = 0;
      for (size_t i = 0; i < attrs.lhs_batch.size(); ++i) a[attrs.lhs_batch[i]] = b[attrs.rhs_batch[i]] = index[next++];
      for (size_t i = 0; i < terms.size(); ++i) a[attrs.lhs_contracting[i]] = b[attrs.rhs_contracting[i]] = terms[i];
      for (IndexExpr& e : a)
        if (e.id < 0) e = index[next++];
      for (IndexExpr& e : b)
        if (e.id < 0) e = index[next++];
      ElementNode::Step step;
      step.operands = {TRY(Plan(inst.operand(0), a)), TRY(Plan(inst.operand(1), b))};
      return step;
    });
  }
  const auto& attrs = inst.attrs<ConvolutionAttrs>();
  // Convolutions of narrower integers saturate and need sums of 64 bits, which only kernels of kind contraction have.
  if (IsInteger(inst.shape().type()) && BitWidth(inst.shape().type()) < 64) {
    FAIL(UnsupportedAt(inst, "U108", Str("no emitter for 'convolution' of ", inst.shape().type())));
  }
  const DimLabels& labels = attrs.dim_labels;
  const int64_t features = rhs.dim(labels.rhs_input_feature), out_features = rhs.dim(labels.rhs_output_feature);
  const int64_t batch = lhs.dim(labels.lhs_batch) / attrs.batch_group_count;
  std::vector<int64_t> sizes;
  for (const WindowDim& window : attrs.window.dims) sizes.push_back(window.size);
  sizes.push_back(features);
  return BuildFold(std::move(node), sizes, [&](const std::vector<IndexExpr>& terms) -> Result<ElementNode::Step> {
    std::vector<IndexExpr> a(lhs.rank()), b(rhs.rank());
    ElementNode::Step step;
    const IndexExpr feature = index[labels.out_feature];
    const IndexExpr batch_group = pool_.Div(feature, out_features / attrs.batch_group_count);
    const IndexExpr feature_group = pool_.Div(feature, out_features / attrs.feature_group_count);
    a[labels.lhs_batch] = pool_.Add(index[labels.out_batch], pool_.Multiply(batch_group, batch));
    a[labels.lhs_feature] = pool_.Add(pool_.Multiply(feature_group, features), terms.back());
    b[labels.rhs_input_feature] = terms.back();
    b[labels.rhs_output_feature] = feature;
    for (size_t i = 0; i < labels.lhs_spatial.size(); ++i) {
      const WindowDim& window = attrs.window.dims[i];
      a[labels.lhs_spatial[i]] = WindowBase(pool_, index[labels.out_spatial[i]], terms[i], window,
                                            lhs.dim(labels.lhs_spatial[i]), &step.conditions);
      b[labels.rhs_spatial[i]] = window.reversed ? pool_.Add(pool_.Multiply(terms[i], -1), window.size - 1) : terms[i];
    }
    if (NeverHolds(pool_, step.conditions)) return step;
    step.operands = {TRY(Plan(inst.operand(0), a)), TRY(Plan(inst.operand(1), b))};
    return step;
  });
}

}  // namespace hlo::gpu
