#include "passes/sharding/partitioner.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "ir/factors/local_op.h"
#include "ir/factors/rule_builder.h"
#include "ir/frontend_attributes.h"
#include "ir/markers.h"
#include "ir/mesh/parts.h"
#include "ir/mesh/reshard.h"
#include "ir/mesh/shardy_text.h"
#include "ir/reducer.h"
#include "ir/side_effects.h"
#include "passes/sharding/propagation.h"
#include "passes/sharding/value_classes.h"

namespace hlo {
namespace {

Error Refused(const Instruction& inst, std::string_view why) {
  return UnsupportedAt(inst, "U044", Str("'", inst.name(), "' (", inst.opcode(), ") ", why));
}

// Ops whose leaves have the splits of their operands' leaves.
bool IsControlFlow(const Instruction& inst) {
  switch (inst.opcode()) {
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kOptimizationBarrier:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kCall: return true;
    default: return false;
  }
}

Literal FirstNumber(const Literal& array) {
  Literal element(Shape(array.shape().type(), {}));
  std::copy_n(array.raw(), element.byte_size(), element.mutable_raw());
  return element;
}

Instruction& InType(Instruction& value, PrimitiveType type) {
  if (value.shape().type() == type) return value;
  return value.computation().AddLike(value, Opcode::kConvert, value.shape().WithType(type), {&value});
}

// A type for the indices of a dimension.
PrimitiveType IndexType(int64_t size) {
  return size <= std::numeric_limits<int32_t>::max() ? PrimitiveType::kS32 : PrimitiveType::kS64;
}

bool IsRegionBorder(const Instruction& inst) {
  const Marker marker = MarkerOf(inst);
  return marker == Marker::kShard || marker == Marker::kWhole;
}

// The devices would all give the whole value as their term of the sum.
Status CheckWholeTerm(const Instruction& inst, const ArraySplit& split) {
  if (split.pending.empty()) return {};
  FAIL(Refused(inst, "is stated as unreduced, but has no terms that the devices could add"));
}

bool SharesShape(const InputOutputAlias& alias, const Computation& entry) {
  const Shape& parameter = entry.parameter(alias.parameter).shape();
  return Compatible(SubShape(parameter, alias.parameter_index), SubShape(entry.root().shape(), alias.output));
}

// An axis of a manual region splits no dimension of the values there.
Status CheckManual(const Instruction& inst, std::span<const ArraySplit> operands, std::span<const ArraySplit> results) {
  AxisSet manual, used;
  for (const std::span<const ArraySplit> splits : {operands, results}) {
    for (const ArraySplit& split : splits) {
      manual = manual | split.manual;
      used = used | split.InDims() | split.pending;
    }
  }
  if ((manual & used).empty()) return {};
  FAIL(Refused(inst, "has a manual value and one that is split along the same axes"));
}

// A parameter and a result whose parts have other shapes cannot share their buffer.
Status DropAliases(Module& module, const Computation& made) {
  std::vector<InputOutputAlias>& aliases = module.header.aliases;
  for (const InputOutputAlias& alias : aliases) {
    if (alias.must && !SharesShape(alias, made))
      FAIL(Refused(module.entry().parameter(alias.parameter),
                   "must be the buffer of a result whose parts have another shape"));
  }
  std::erase_if(aliases, [&](const InputOutputAlias& alias) { return !SharesShape(alias, made); });
  return {};
}

}  // namespace

Status Partitioner::Run() {
  Computation& entry = module_.entry();
  for (const Computation* computation : ComputationsOnArrays(module_))
    partitioned_[computation] = TRY(Partitioned(*computation));
  Computation& made = *partitioned_.at(&entry);
  for (size_t i = 0; i < made.parameters().size(); ++i) {
    const Instruction& parameter = entry.parameter(static_cast<int64_t>(i));
    if (parameter.HasCommon())
      made.parameter(static_cast<int64_t>(i)).mutable_common().sharding = parameter.common().sharding;
  }
  TRY(DropAliases(module_, made));
  if (entry.root().HasCommon()) made.root().mutable_common().sharding = entry.root().common().sharding;
  module_.SetEntry(made);
  module_.RemoveUnreachable();
  std::vector<Shape> shapes;
  for (const Instruction* parameter : made.parameters()) shapes.push_back(parameter->shape());
  module_.header.entry_parameters = Shape::Tuple(std::move(shapes));
  module_.header.entry_result = made.root().shape();
  module_.header.frontend_attributes.text = Str("{", kPartitionedAttribute, "=\"true\"}");
  return {};
}

Result<Computation*> Partitioner::Partitioned(const Computation& computation) {
  Computation& to = module_.AddComputation(Str(computation.name(), "_spmd"));
  Local local = {.to = to, .digits = DeviceDigits(to, axes_), .values = {}, .resharded = {}};
  for (const Instruction* parameter : computation.parameters()) TRY(AddInstruction(local, *parameter));
  for (const Instruction* inst : computation.PostOrder()) {
    if (!inst->Is(Opcode::kParameter)) TRY(AddInstruction(local, *inst));
  }
  for (const Instruction* inst : computation.instructions()) {
    const auto value = local.values.find(inst);
    if (value == local.values.end()) continue;
    for (const Instruction* before : inst->control_predecessors()) {
      Instruction& earlier = *local.values.at(before);
      if (&earlier != value->second) value->second->AddControlPredecessor(earlier);
    }
  }
  to.SetRoot(*local.values.at(&computation.root()));
  return &to;
}

Status Partitioner::AddInstruction(Local& local, const Instruction& inst) {
  Instruction*& value = local.values[&inst];
  if (inst.Is(Opcode::kParameter)) value = TRY(Parameter(local, inst));
  else if (inst.Is(Opcode::kConstant)) value = TRY(Constant(local, inst));
  else if (IsControlFlow(inst)) value = TRY(ControlFlow(local, inst));
  else if (IsRegionBorder(inst)) value = TRY(RegionBorder(local, inst));
  else value = TRY(ComputedInParts(local, inst));
  return {};
}

// ---- Splits
// ---------------------------------------------------------------------------------------------------------

Result<ArraySplit> Partitioner::SplitOf(const Instruction& inst, int64_t leaf) const {
  const Shape& shape = *LeavesOf(inst.shape())[leaf];
  if (!shape.IsArray()) return ArraySplit();
  const Sharding* sharding = ShardingOfLeaf(inst, leaf);
  if (sharding == nullptr) FAIL(Refused(inst, "has no sharding (sharding-propagation gives it one)"));
  auto split = axes_.Read(*sharding, shape.rank());
  if (!split) FAIL(Refused(inst, split.error().message()));
  return split;
}

Result<std::vector<ArraySplit>> Partitioner::SplitsOf(const Instruction& inst) const {
  std::vector<ArraySplit> splits;
  for (int64_t leaf = 0; leaf < inst.shape().LeafCount(); ++leaf) splits.push_back(TRY(SplitOf(inst, leaf)));
  return splits;
}

Result<Shape> Partitioner::LocalShapeOf(const Instruction& inst) const {
  const std::vector<ArraySplit> splits = TRY(SplitsOf(inst));
  size_t leaf = 0;
  const auto local = [&](auto&& local, const Shape& shape) -> Shape {
    if (!shape.IsTuple()) {
      const ArraySplit& split = splits[leaf++];
      return shape.IsArray() ? axes_.LocalShape(shape, split) : shape;
    }
    Shape result = shape;
    for (Shape& element : result.mutable_elements()) element = local(local, element);
    return result;
  };
  return local(local, inst.shape());
}

Result<Instruction*> Partitioner::InSplit(Local& local, const Instruction& inst, const ArraySplit& split) {
  const ArraySplit own = TRY(SplitOf(inst, 0));
  if (own == split) return local.values.at(&inst);
  for (const auto& [key, value] : local.resharded) {
    if (key.first == &inst && key.second == split) return value;
  }
  Instruction* value = TRY(Changed(local, *local.values.at(&inst), own, split, inst.shape(), inst));
  local.resharded.push_back({{&inst, split}, value});
  return value;
}

Result<Instruction*> Partitioner::Changed(Local& local, Instruction& value, const ArraySplit& from,
                                          const ArraySplit& to, const Shape& whole, const Instruction& why) {
  if (from == to) return &value;
  auto plan = PlanReshard(from, to, whole, axes_);
  if (!plan) FAIL(Refused(why, plan.error().message()));
  if (plan->gathers_whole)
    gathered_.push_back(Str("'", why.name(), "' ", whole, ": ", axes_.Text(from), " to ", axes_.Text(to)));
  return &EmitReshard(value, *plan, axes_, local.digits, supply_);
}

// ---- Instructions
// ---------------------------------------------------------------------------------------------------

Result<Instruction*> Partitioner::Parameter(Local& local, const Instruction& inst) {
  if (inst.computation().IsEntry()) {
    for (const ArraySplit& split : TRY(SplitsOf(inst))) TRY(CheckWholeTerm(inst, split));
  }
  // The name stays, because the old computation, which has it too, goes.
  return &local.to.AddNamed(Opcode::kParameter, TRY(LocalShapeOf(inst)), {}, ParameterAttrs{inst.parameter_number()},
                            inst.name());
}

// The elements of an array of one number are equal in all parts. Other arrays are whole constants that are cut.
Result<Instruction*> Partitioner::Constant(Local& local, const Instruction& inst) {
  const ArraySplit split = TRY(SplitOf(inst, 0));
  TRY(CheckWholeTerm(inst, split));
  const Shape shape = axes_.LocalShape(inst.shape(), split);
  if (shape == inst.shape()) return &local.to.AddConstant(inst.literal());
  if (inst.literal().IsSplat()) {
    Instruction& number = local.to.AddConstant(FirstNumber(inst.literal()));
    return &local.to.AddLike(inst, Opcode::kBroadcast, shape, {&number}, DimensionsAttrs());
  }
  ArraySplit whole(split.rank());
  whole.manual = split.manual;
  return Changed(local, local.to.AddConstant(inst.literal()), whole, split, inst.shape(), inst);
}

// The leaves of operands have the splits that the computations expect: sharding-propagation gives both the same.
Result<Instruction*> Partitioner::ControlFlow(Local& local, const Instruction& inst) {
  std::vector<Instruction*> operands;
  for (const Instruction* operand : inst.operands()) operands.push_back(local.values.at(operand));
  if (inst.Is(Opcode::kTuple)) return &local.to.AddTuple(Operands(operands.begin(), operands.end()));
  if (inst.Is(Opcode::kGetTupleElement)) return &local.to.AddGetTupleElement(*operands[0], inst.tuple_index());
  Attributes attributes = inst.attributes();
  ForEachCalled(attributes, [&](Computation*& called) { called = partitioned_.at(called); });
  if (inst.Is(Opcode::kConditional)) {
    ArraySplit whole(inst.operand(0).shape().rank());
    operands[0] = TRY(InSplit(local, inst.operand(0), whole));
  }
  return &local.to.AddLike(inst, inst.opcode(), TRY(LocalShapeOf(inst)), Operands(operands.begin(), operands.end()),
                           std::move(attributes));
}

// The border of a manual region changes nothing on a device that has its part of the whole.
Result<Instruction*> Partitioner::RegionBorder(Local& local, const Instruction& inst) {
  const bool begins = MarkerOf(inst) == Marker::kShard;
  const auto text = FrontendAttribute(inst, begins ? kShardyInShardings : kShardyOutShardings);
  const auto meshes = FrontendAttribute(inst.module().header.frontend_attributes, kShardyMeshes);
  const auto stated = text ? ReadShardySharding(*text, meshes.value_or("")) : std::nullopt;
  if (!stated || std::ssize(*stated) != inst.operand_count()) FAIL(Refused(inst, "has no shardings of its values"));
  std::vector<Instruction*> parts;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    Sharding sharding = {.kind = ShardingKind::kNamed};
    sharding.named.Mutable() = (*stated)[i];
    const Shape& whole = begins                   ? inst.operand(i).shape()
                         : inst.shape().IsTuple() ? inst.shape().element(i)
                                                  : inst.shape();
    const ArraySplit split = TRY(axes_.Read(sharding, whole.rank()));
    if (begins) parts.push_back(TRY(InSplit(local, inst.operand(i), split)));
    else
      parts.push_back(
          TRY(Changed(local, *local.values.at(&inst.operand(i)), split, TRY(SplitOf(inst, i)), whole, inst)));
  }
  return inst.shape().IsTuple() ? &local.to.AddTuple(Operands(parts.begin(), parts.end())) : parts[0];
}

// On all devices but the first of the sum's atoms, an operand that is used once is the identity.
Result<Instruction*> Partitioner::WithIdentity(Local& local, Instruction& once, const Factor& factor,
                                               const std::vector<uint8_t>& atoms) {
  const auto identity = IdentityOf(*factor.reducer, once.shape().type());
  if (!identity) FAIL(Refused(once, "has no identity of its reducer"));
  if (once.Is(Opcode::kConstant) && once.shape().rank() == 0 && once.literal().BitEquals(*identity)) return &once;
  Instruction& scalar = local.to.AddConstant(*identity);
  Instruction* neutral = &scalar;
  if (once.shape().rank() > 0)
    neutral = &local.to.AddLike(once, Opcode::kBroadcast, once.shape(), {&scalar}, DimensionsAttrs());
  Instruction& zero = local.to.AddConstant(Literal::Scalar(PrimitiveType::kS32, int64_t{0}));
  Instruction& is_first = local.to.AddLike(once, Opcode::kCompare, Shape(PrimitiveType::kPred, {}),
                                           {&local.digits.PartNumber(axes_, atoms), &zero},
                                           CompareAttrs{.direction = ComparisonDirection::kEq});
  Instruction* choice = &is_first;
  if (once.shape().rank() > 0)
    choice = &local.to.AddLike(once, Opcode::kBroadcast, once.shape().WithType(PrimitiveType::kPred), {&is_first},
                               DimensionsAttrs());
  return &local.to.AddLike(once, Opcode::kSelect, once.shape(), {choice, &once, neutral});
}

Instruction& Partitioner::RowsOf(Instruction& part, const OperandRows& rows) {
  if (rows.rows.first == 0 && rows.rows.size == part.shape().dim(rows.dim)) return part;
  SliceRanges ranges;
  for (const int64_t size : part.shape().dims()) ranges.dims.push_back({0, size, 1});
  ranges.dims[rows.dim] = {rows.rows.first, rows.rows.first + rows.rows.size, 1};
  Shape shape = part.shape();
  shape.SetDim(rows.dim, rows.rows.size);
  return part.computation().AddLike(part, Opcode::kSlice, shape, {&part}, SliceAttrs{.slice = ranges});
}

Instruction& Partitioner::IndicesInPart(Local& local, Instruction& indices, const FactorIndex& index,
                                        const std::vector<uint8_t>& atoms, int64_t size) {
  const Shape& shape = indices.shape();
  const auto everywhere = [&](Instruction& scalar) -> Instruction& {
    return local.to.AddLike(indices, Opcode::kBroadcast, shape.WithType(scalar.shape().type()), {&scalar},
                            DimensionsAttrs());
  };
  Instruction& first = FirstElement(local, indices, shape.type(), atoms, size);
  Instruction* offset = &everywhere(first);
  if (index.vector_dim < shape.rank() && shape.dim(index.vector_dim) > 1) {
    Instruction& component = local.to.AddLike(indices, Opcode::kIota, shape, {}, IotaAttrs{index.vector_dim});
    Instruction& wanted = local.to.AddConstant(Literal::Scalar(shape.type(), index.component));
    Instruction& is_component =
        local.to.AddLike(indices, Opcode::kCompare, shape.WithType(PrimitiveType::kPred),
                         {&component, &everywhere(wanted)}, CompareAttrs{.direction = ComparisonDirection::kEq});
    Instruction& zero = local.to.AddConstant(Literal::Scalar(shape.type(), int64_t{0}));
    offset = &local.to.AddLike(indices, Opcode::kSelect, shape, {&is_component, offset, &everywhere(zero)});
  }
  return local.to.AddLike(indices, Opcode::kSubtract, shape, {&indices, offset});
}

// The index of a part's first element in the whole.
Instruction& Partitioner::FirstElement(Local& local, Instruction& like, PrimitiveType type,
                                       const std::vector<uint8_t>& atoms, int64_t size) {
  Instruction& part = InType(local.digits.PartNumber(axes_, atoms), type);
  Instruction& elements = local.to.AddConstant(Literal::Scalar(type, size));
  return local.to.AddLike(like, Opcode::kMultiply, Shape(type, {}), {&part, &elements});
}

// The numbers are counted in a type that holds all of them, so that each is rounded only once.
Instruction& Partitioner::IotaInPart(Local& local, const Instruction& inst, const Shape& part,
                                     const std::vector<uint8_t>& atoms) {
  const int64_t dim = inst.attrs<IotaAttrs>().iota_dimension;
  const PrimitiveType type = IndexType(inst.shape().dim(dim));
  Instruction& counted = local.to.AddLike(inst, Opcode::kIota, part.WithType(type), {}, IotaAttrs{dim});
  Instruction& first = FirstElement(local, counted, type, atoms, part.dim(dim));
  Instruction& everywhere = local.to.AddLike(inst, Opcode::kBroadcast, counted.shape(), {&first}, DimensionsAttrs());
  return InType(local.to.AddLike(inst, Opcode::kAdd, counted.shape(), {&counted, &everywhere}), part.type());
}

Result<Instruction*> Partitioner::ComputedInParts(Local& local, const Instruction& inst) {
  const FactorRule rule = FactorsOf(inst);
  if (rule.edges)
    FAIL(Refused(inst, "cannot be split over devices, because it calls a computation that was not inlined"));
  std::vector<ArraySplit> operand_splits;
  for (const Instruction* operand : inst.operands())
    operand_splits.push_back(operand->shape().IsArray() ? TRY(SplitOf(*operand, 0)) : ArraySplit());
  const std::vector<ArraySplit> wanted = TRY(SplitsOf(inst));
  TRY(CheckManual(inst, operand_splits, wanted));
  OpFit fit = FitOp(inst, rule, operand_splits, wanted, axes_);
  std::vector<FactorPart> parts;
  for (size_t f = 0; f < fit.atoms.size(); ++f) {
    const int64_t count = axes_.SizeOf(fit.atoms[f]);
    if (count > 1) parts.push_back(*PartOf(rule, static_cast<int64_t>(f), count, 0));
  }
  if (!parts.empty() && HasSideEffect(inst)) FAIL(Refused(inst, "has a side effect and split values"));
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Instruction& operand = inst.operand(i);
    if (operand.shape().IsTuple() && TRY(LocalShapeOf(operand)) != operand.shape())
      FAIL(Refused(inst, Str("takes a tuple of split arrays, '", operand.name(), "'")));
    operands.push_back(operand.shape().IsArray() ? TRY(InSplit(local, operand, fit.operands[i]))
                                                 : local.values.at(&operand));
  }
  for (size_t f = 0; f < fit.atoms.size(); ++f) {
    if (fit.atoms[f].empty()) continue;
    const Factor& factor = rule.factors[f];
    if (factor.kind == FactorKind::kPut) {
      const int64_t size = (factor.size + axes_.SizeOf(fit.atoms[f]) - 1) / axes_.SizeOf(fit.atoms[f]);
      Instruction*& indices = operands[factor.index->operand];
      // Differences of narrower types would wrap.
      if (ByteWidth(indices->shape().type()) < 4) indices = &InType(*indices, PrimitiveType::kS32);
      indices = &IndicesInPart(local, *indices, *factor.index, fit.atoms[f], size);
    }
    for (const int64_t once : rule.factors[f].used_once)
      operands[once] = TRY(WithIdentity(local, *operands[once], rule.factors[f], fit.atoms[f]));
  }
  LocalOp op = LocalOpOf(inst, rule, parts);
  for (const OperandRows& rows : op.rows) operands[rows.operand] = &RowsOf(*operands[rows.operand], rows);
  Instruction* value = &local.to.AddLike(inst, inst.opcode(), op.shape, Operands(operands.begin(), operands.end()),
                                         std::move(op.attributes));
  if (inst.Is(Opcode::kIota)) {
    const std::span<const uint8_t> atoms = fit.results[0].AtomsOf(inst.attrs<IotaAttrs>().iota_dimension);
    if (!atoms.empty()) value = &IotaInPart(local, inst, op.shape, {atoms.begin(), atoms.end()});
  }
  if (!inst.shape().IsTuple()) return Changed(local, *value, fit.results[0], wanted[0], inst.shape(), inst);
  if (fit.results == wanted) return value;
  size_t leaf = 0;
  const auto changed = [&](auto&& changed, Instruction& part, const Shape& whole) -> Result<Instruction*> {
    if (!whole.IsTuple()) {
      const size_t l = leaf++;
      return Changed(local, part, fit.results[l], wanted[l], whole, inst);
    }
    std::vector<Instruction*> elements;
    for (int64_t i = 0; i < std::ssize(whole.elements()); ++i)
      elements.push_back(TRY(changed(changed, local.to.AddGetTupleElement(part, i), whole.element(i))));
    return &local.to.AddTuple(Operands(elements.begin(), elements.end()));
  };
  return changed(changed, *value, inst.shape());
}

}  // namespace hlo
