#include "passes/sharding/partitioner.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "ir/factors/local_op.h"
#include "ir/factors/rule_builder.h"
#include "ir/frontend_attributes.h"
#include "ir/markers.h"
#include "ir/mesh/device_values.h"
#include "ir/mesh/parts.h"
#include "ir/mesh/reshard.h"
#include "ir/mesh/shardy_text.h"
#include "ir/reducer.h"
#include "ir/side_effects.h"
#include "passes/sharding/halo.h"
#include "passes/sharding/propagation.h"
#include "passes/sharding/region_border.h"
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

// Refuses an unreduced sharding: all devices would give the whole value as their term of the sum.
Status CheckWholeTerm(const Instruction& inst, const ArraySplit& split) {
  if (split.pending.empty()) return {};
  FAIL(Refused(inst, "has an unreduced sharding, but each device has the whole value, not a term of the sum"));
}

bool SharesShape(const InputOutputAlias& alias, const Computation& entry) {
  const Shape& parameter = entry.parameter(alias.parameter).shape();
  return Compatible(SubShape(parameter, alias.parameter_index), SubShape(entry.root().shape(), alias.output));
}

// Refuses an axis that is manual for one value and splits another.
Status CheckManual(const Instruction& inst, std::span<const ArraySplit> operands, std::span<const ArraySplit> results) {
  AxisSet manual, used;
  for (const std::span<const ArraySplit> splits : {operands, results}) {
    for (const ArraySplit& split : splits) {
      manual = manual | split.manual;
      used = used | split.InDims() | split.pending;
    }
  }
  if ((manual & used).empty()) return {};
  FAIL(Refused(inst, "has a value that is manual along an axis, and a value that this axis splits"));
}

// Drops axes that are not manual from unevenly split dimensions, where parts of the whole are not parts of the region's
// array.
ArraySplit EvenAtBorder(const ArraySplit& split, AxisSet manual, const Shape& whole, const Axes& axes) {
  ArraySplit result(split.rank());
  for (int64_t dim = 0; dim < split.rank(); ++dim) {
    const std::span<const uint8_t> atoms = split.AtomsOf(dim);
    const bool is_even = whole.dim(dim) % axes.SizeOf(atoms) == 0;
    for (const uint8_t atom : atoms) {
      if (is_even || manual.Has(atom)) result.Append(dim, atom);
    }
  }
  return result;
}

// A device's part has no sharding.
void CopyCommon(const Instruction& from, Instruction& to) {
  if (!from.HasCommon()) return;
  CommonAttrs common = from.common();
  common.sharding = {};
  to.SetCommon(std::move(common));
}

// Refuses partition-id outside of manual regions, where all devices have one value.
Status CheckPartitionIds(const Module& module) {
  const Instruction& root = module.entry().root();
  const Instruction* const id = PartitionIdsOf(module)[root.id()];
  if (id == nullptr) return {};
  FAIL(Refused(*id, Str("is outside of a manual region, so the result '", root.name(), "' differs between devices")));
}

// Parts of different shapes cannot share a buffer.
Status DropAliases(Module& module, const Computation& made) {
  std::vector<InputOutputAlias>& aliases = module.header.aliases;
  for (const InputOutputAlias& alias : aliases) {
    if (alias.must && !SharesShape(alias, made))
      FAIL(Refused(module.entry().parameter(alias.parameter), "must alias a result whose parts have another shape"));
  }
  std::erase_if(aliases, [&](const InputOutputAlias& alias) { return !SharesShape(alias, made); });
  return {};
}

}  // namespace

Status Partitioner::Run() {
  TRY(CheckPartitionIds(module_));
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
    parts_.emplace_back(inst->id(), value->second->id());
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

// ---- Splits ---------------------------------------------------------------------------------------------------------

Result<ArraySplit> Partitioner::SplitOf(const Instruction& inst, int64_t leaf) const {
  const Shape& shape = *LeavesOf(inst.shape())[leaf];
  if (!shape.IsArray()) return ArraySplit();
  const Sharding* sharding = ShardingOfLeaf(inst, leaf);
  if (sharding == nullptr) FAIL(Refused(inst, "has no sharding (sharding-propagation gives it one)"));
  auto split = axes_.Read(*sharding, shape.rank());
  if (!split) FAIL(Refused(inst, split.error().message()));
  if (split->only_device)
    FAIL(Refused(inst, Str("is placed on device ", *split->only_device, " alone by its sharding")));
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    if (shape.IsDynamic(dim) && !split->AtomsOf(dim).empty())
      FAIL(Refused(inst, Str("splits dimension ", dim, " of ", shape, ", whose size is known at run time only")));
  }
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

Result<Instruction*> Partitioner::InSplit(Local& local, const Instruction& inst, const ArraySplit& split,
                                          const Instruction& user) {
  const ArraySplit own = TRY(SplitOf(inst, 0));
  if (own == split) return local.values.at(&inst);
  for (const auto& [key, value] : local.resharded) {
    if (key.first == &inst && key.second == split) return value;
  }
  Instruction* value = TRY(Changed(local, *local.values.at(&inst), own, split, inst.shape(), inst, user));
  local.resharded.push_back({{&inst, split}, value});
  return value;
}

Result<Instruction*> Partitioner::Changed(Local& local, Instruction& value, const ArraySplit& from,
                                          const ArraySplit& to, const Shape& whole, const Instruction& array,
                                          const Instruction& user) {
  if (from == to) return &value;
  if (whole.HasDynamicDims()) FAIL(Refused(array, "changes its split, but has a dimension of dynamic size"));
  const Result<ReshardPlan>& plan = plans_.Between(from, to, whole);
  if (!plan) FAIL(Refused(array, Str("changes its split: ", plan.error().message())));
  const bool is_gathered = !from.InDims().empty() && (plan->gathers_whole || to.InDims().empty());
  if (is_gathered && whole.ByteSize() > options_.max_gather) {
    FAIL(ErrorAt(array, "C040",
                 Str("each device would gather ", TextOf(array, whole, from, to, user),
                     ", beyond max_gather=", options_.max_gather)));
  }
  // The text asks for the gather of a result or a copy.
  const bool is_asked = &array == &user || user.Is(Opcode::kCopy) || IsRegionBorder(user);
  if (is_gathered && (plan->gathers_whole || !is_asked)) {
    const std::string& why = FactorsOf(user).why_whole;
    gathered_.push_back(
        {Str(TextOf(array, whole, from, to, user), why.empty() ? "" : ", because ", why), whole.ByteSize()});
  }
  return &EmitReshard(value, user, *plan, axes_, local.digits, supply_);
}

std::string Partitioner::TextOf(const Instruction& array, const Shape& whole, const ArraySplit& from,
                                const ArraySplit& to, const Instruction& user) const {
  return Str("'", array.name(), "' ", whole, " (", HumanBytes(static_cast<double>(whole.ByteSize())), ") for '",
             user.name(), "' (", user.opcode(), "): ", axes_.Text(from), " to ", axes_.Text(to));
}

// ---- Instructions ---------------------------------------------------------------------------------------------------

Result<Instruction*> Partitioner::Parameter(Local& local, const Instruction& inst) {
  if (inst.computation().IsEntry()) {
    for (const ArraySplit& split : TRY(SplitsOf(inst))) TRY(CheckWholeTerm(inst, split));
  }
  // Keeps the name, because the old computation is removed.
  return &local.to.AddNamed(Opcode::kParameter, TRY(LocalShapeOf(inst)), {}, ParameterAttrs{inst.parameter_number()},
                            inst.name());
}

// A constant of one number is equal in all parts. Others are cut from the whole.
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
  return Changed(local, local.to.AddConstant(inst.literal()), whole, split, inst.shape(), inst, inst);
}

// sharding-propagation gives operands and computations the same splits.
Result<Instruction*> Partitioner::ControlFlow(Local& local, const Instruction& inst) {
  std::vector<Instruction*> operands;
  for (const Instruction* operand : inst.operands()) operands.push_back(local.values.at(operand));
  if (inst.Is(Opcode::kTuple)) return &local.to.AddTuple(Operands(operands.begin(), operands.end()));
  if (inst.Is(Opcode::kGetTupleElement)) return &local.to.AddGetTupleElement(*operands[0], inst.tuple_index());
  Attributes attributes = inst.attributes();
  ForEachCalled(attributes, [&](Computation*& called) { called = partitioned_.at(called); });
  if (inst.Is(Opcode::kConditional)) {
    ArraySplit whole(inst.operand(0).shape().rank());
    operands[0] = TRY(InSplit(local, inst.operand(0), whole, inst));
  }
  Instruction& made = local.to.AddLike(inst, inst.opcode(), TRY(LocalShapeOf(inst)),
                                       Operands(operands.begin(), operands.end()), std::move(attributes));
  CopyCommon(inst, made);
  return &made;
}

// Inside a manual region an array is the device's part along the manual axes. Splits along other axes may differ from
// those outside.
Result<Instruction*> Partitioner::RegionBorder(Local& local, const Instruction& inst) {
  const auto border = RegionBorderOf(inst, axes_);
  if (!border) {
    const bool is_shardy = FrontendAttribute(inst, kShardyInShardings) || FrontendAttribute(inst, kShardyOutShardings);
    if (!is_shardy) return GspmdRegionBorder(local, inst);
    FAIL(Refused(inst, Str("needs a sharding for each operand in ",
                           MarkerOf(inst) == Marker::kShard ? kShardyInShardings : kShardyOutShardings)));
  }
  std::vector<Instruction*> parts;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Instruction& operand = inst.operand(i);
    const Shape& result = inst.shape().IsTuple() ? inst.shape().element(i) : inst.shape();
    const ArraySplit of_operand = TRY(SplitOf(operand, 0)), of_result = TRY(SplitOf(inst, i));
    const ArraySplit& inside = border->begins ? of_result : of_operand;
    ArraySplit outside = EvenAtBorder(border->values[i].Outside(inside), border->manual,
                                      border->begins ? operand.shape() : result, axes_);
    ArraySplit at_border = WithoutAtoms(outside, border->manual);
    outside.manual = (border->begins ? of_operand : of_result).manual;
    at_border.manual = inside.manual;
    if (border->begins) {
      Instruction& part = *TRY(InSplit(local, operand, outside, inst));
      parts.push_back(TRY(Changed(local, part, at_border, inside, result, inst, inst)));
    } else {
      Instruction& part =
          *TRY(Changed(local, *local.values.at(&operand), inside, at_border, operand.shape(), inst, inst));
      parts.push_back(TRY(Changed(local, part, outside, of_result, result, inst, inst)));
    }
  }
  return inst.shape().IsTuple() ? &local.to.AddTuple(Operands(parts.begin(), parts.end())) : parts[0];
}

// GSPMD's region borders have one value. The operand at the begin and the result at the end have the sharding outside.
// All axes are manual inside.
Result<Instruction*> Partitioner::GspmdRegionBorder(Local& local, const Instruction& inst) {
  const bool begins = MarkerOf(inst) == Marker::kShard;
  const Instruction &whole = begins ? inst.operand(0) : inst, &part = begins ? inst : inst.operand(0);
  const ArraySplit outside = TRY(SplitOf(whole, 0));
  if (TRY(SplitOf(part, 0)).manual != axes_.All())
    FAIL(Refused(inst, "needs a manual sharding for its value inside the region"));
  if (axes_.LocalShape(whole.shape(), outside).dims() != part.shape().dims())
    FAIL(Refused(inst, Str("has parts of ", part.shape(), ", but the split ", axes_.Text(outside), " gives parts of ",
                           axes_.LocalShape(whole.shape(), outside))));
  return local.values.at(&inst.operand(0));
}

// ---- Ops in parts ---------------------------------------------------------------------------------------------------

namespace {

// The value outside of the operand. Null if windows stay inside.
Instruction* PaddingOf(Computation& to, const Instruction& inst, std::span<Instruction* const> operands) {
  if (inst.Is(Opcode::kPad)) return operands[1];
  const std::optional<Literal> neutral = NeutralElementOf(inst);
  return neutral ? &to.AddConstant(*neutral) : nullptr;
}

Instruction& Concatenated(PartWriter& writer, const Instruction& inst, const Factor& factor,
                          const PartWriter::Atoms& atoms, int64_t parts, std::span<Instruction* const> operands) {
  std::vector<Instruction*> rows;
  std::vector<Halo> halos;
  for (const FactorWindow& read : factor.windows) {
    const int64_t size = inst.operand(read.operand).shape().dim(read.dim);
    halos.push_back(*HaloOf(factor, read, size, parts));
    rows.push_back(&writer.WindowRows(*operands[read.operand], read.dim, size, halos.back(), atoms, nullptr));
  }
  return writer.PartOfConcatenation(rows, halos, factor.windows[0].dim, atoms);
}

// Writes a dynamic-update-slice along the split dimensions of `atoms_of_dim`. Rows on other devices keep their value.
void UpdateInParts(PartWriter& writer, const Instruction& inst,
                   const std::map<int64_t, PartWriter::Atoms>& atoms_of_dim, std::vector<Instruction*>& operands) {
  if (atoms_of_dim.empty()) return;
  Instruction* update = operands[1];
  std::vector<std::pair<int64_t, Instruction*>> masks;
  PrimitiveType type = PrimitiveType::kS32;
  for (const auto& [dim, atoms] : atoms_of_dim) {
    const auto [rows, start, is_valid] =
        writer.UpdateInPart(*update, dim, inst.shape().dim(dim), *operands[2 + dim], atoms);
    update = rows;
    operands[2 + dim] = start;
    masks.push_back({dim, is_valid});
    if (start->shape().type() == PrimitiveType::kS64) type = PrimitiveType::kS64;
  }
  std::vector<Instruction*> slice = {operands[0]};
  std::vector<int64_t> sizes;
  for (int64_t dim = 0; dim < inst.shape().rank(); ++dim) {
    if (!atoms_of_dim.contains(dim)) {
      const int64_t most = operands[0]->shape().dim(dim) - update->shape().dim(dim);
      operands[2 + dim] = &writer.Clamped(*operands[2 + dim], most);
    }
    operands[2 + dim] = &writer.InType(*operands[2 + dim], type);
    slice.push_back(operands[2 + dim]);
    sizes.push_back(update->shape().dim(dim));
  }
  Instruction& old = writer.Add(Opcode::kDynamicSlice, update->shape(), Operands(slice.begin(), slice.end()),
                                DynamicSliceAttrs{std::move(sizes)});
  for (const auto& [dim, is_valid] : masks)
    update = &writer.Select(writer.Along(*is_valid, dim, update->shape()), *update, old);
  operands[1] = update;
}

bool IsRotated(const ShuffleAttrs& attrs) {
  return std::ranges::any_of(attrs.shifts, [](int64_t shift) { return shift != 0; });
}

}  // namespace

Status Partitioner::MaskPadding(Local& local, PartWriter& writer, const Instruction& inst, const FactorRule& rule,
                                int64_t f, const Atoms& atoms, std::vector<Instruction*>& operands) {
  const Factor& factor = rule.factors[f];
  if (factor.size % axes_.SizeOf(atoms) == 0) return {};
  const std::optional<Literal> neutral = NeutralElementOf(inst);
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    for (int64_t dim = 0; dim < std::ssize(rule.operands[i][0]); ++dim) {
      const DimFactors& factors = rule.operands[i][0][dim];
      if (std::find(factors.begin(), factors.end(), f) == factors.end()) continue;
      // A reduce that picks an element may use its initial values any number of times.
      Instruction& padding = neutral ? local.to.AddConstant(*neutral) : *operands[inst.operand_count() / 2 + i];
      operands[i] = &writer.WithoutPadding(*operands[i], dim, factor.size, padding, atoms);
    }
  }
  return {};
}

Status Partitioner::AdjustOperands(Local& local, PartWriter& writer, const Instruction& inst, const FactorRule& rule,
                                   int64_t f, const Atoms& atoms, std::vector<Instruction*>& operands) {
  const Factor& factor = rule.factors[f];
  if (factor.kind == FactorKind::kSum) TRY(MaskPadding(local, writer, inst, rule, f, atoms, operands));
  for (const int64_t once : factor.used_once)
    operands[once] = TRY(writer.WithIdentity(*operands[once], *factor.reducer, atoms));
  if (factor.index && inst.Is(Opcode::kDynamicSlice)) {
    const int64_t dim = factor.index->operand - 1;
    Instruction*& start = operands[factor.index->operand];
    operands[0] = &writer.SlicedInPart(*operands[0], dim, factor.size, *start, factor.index->width, atoms);
    start = &writer.Scalar(start->shape().type(), 0);
  } else if (factor.index && !inst.Is(Opcode::kDynamicUpdateSlice)) {
    Instruction*& indices = operands[factor.index->operand];
    indices = &writer.IndicesInPart(*indices, *factor.index, factor.size, atoms);
  } else if (inst.Is(Opcode::kShuffle) && !factor.windows.empty()) {
    const int64_t dim = factor.windows[0].dim;
    operands[0] = &writer.Rotated(*operands[0], dim, -factor.windows[0].window.pad_low, atoms);
  } else if (!inst.Is(Opcode::kConcatenate)) {
    for (const FactorWindow& read : factor.windows) {
      const int64_t size = inst.operand(read.operand).shape().dim(read.dim);
      operands[read.operand] =
          &writer.WindowRows(*operands[read.operand], read.dim, size, *HaloOf(factor, read, size, axes_.SizeOf(atoms)),
                             atoms, PaddingOf(local.to, inst, operands));
    }
  }
  return {};
}

Result<Instruction*> Partitioner::ReducedOverParts(Local& local, PartWriter& writer, const Instruction& inst,
                                                   const OpFit& fit, const Atoms& atoms, Instruction& value,
                                                   std::span<Instruction* const> operands) {
  const int64_t arrays = inst.operand_count() / 2, parts = axes_.SizeOf(atoms);
  const std::vector<const Shape*> leaves = LeavesOf(inst.shape());
  Operands gathered;
  for (int64_t i = 0; i < arrays; ++i) {
    const ArraySplit& rest = fit.results[i];
    ArraySplit from(rest.rank() + 1), to(rest.rank() + 1);
    from.manual = to.manual = rest.manual;
    for (const uint8_t atom : atoms) from.Append(0, atom);
    for (int64_t dim = 0; dim < rest.rank(); ++dim) {
      for (const uint8_t atom : rest.AtomsOf(dim)) {
        from.Append(dim + 1, atom);
        to.Append(dim + 1, atom);
      }
    }
    const auto with_parts = [](const Shape& shape, int64_t count) {
      Dims dims = {count};
      for (const int64_t size : shape.dims()) dims.push_back(size);
      return shape.WithDims(dims);
    };
    Instruction& leaf = inst.shape().IsTuple() ? local.to.AddGetTupleElement(value, i) : value;
    Instruction& own = writer.Add(Opcode::kReshape, with_parts(leaf.shape(), 1), {&leaf}, ReshapeAttrs());
    gathered.push_back(TRY(Changed(local, own, from, to, with_parts(*leaves[i], parts), inst, inst)));
  }
  for (Instruction* const init : operands.subspan(arrays)) gathered.push_back(init);
  return &writer.Add(Opcode::kReduce, value.shape(), std::move(gathered),
                     ReduceAttrs{{0}, inst.attrs<ReduceAttrs>().to_apply});
}

Result<Instruction*> Partitioner::Picked(Local& local, PartWriter& writer, const Instruction& inst, Instruction& value,
                                         const ArraySplit& from, const ArraySplit& to) {
  const PrimitiveType type = value.shape().type(), bits = *PickType(type);
  const Opcode opcode = IsFloat(type) ? Opcode::kBitcastConvert : Opcode::kConvert;
  const auto as = [&](Instruction& x, PrimitiveType other) -> Instruction& {
    return type == bits ? x : writer.Add(opcode, x.shape().WithType(other), {&x});
  };
  return &as(*TRY(Changed(local, as(value, bits), from, to, inst.shape().WithType(bits), inst, inst)), type);
}

Result<Instruction*> Partitioner::InSplits(Local& local, const Instruction& inst, Instruction& value,
                                           const std::vector<ArraySplit>& from, const std::vector<ArraySplit>& to) {
  if (from == to) return &value;
  size_t leaf = 0;
  const auto changed = [&](auto&& changed, Instruction& part, const Shape& whole) -> Result<Instruction*> {
    if (!whole.IsTuple()) {
      const size_t l = leaf++;
      return Changed(local, part, from[l], to[l], whole, inst, inst);
    }
    std::vector<Instruction*> elements;
    for (int64_t i = 0; i < std::ssize(whole.elements()); ++i)
      elements.push_back(TRY(changed(changed, local.to.AddGetTupleElement(part, i), whole.element(i))));
    return &local.to.AddTuple(Operands(elements.begin(), elements.end()));
  };
  return changed(changed, value, inst.shape());
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
  const OpFit fit = FitOp(inst, rule, operand_splits, wanted, axes_, plans_);
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Instruction& operand = inst.operand(i);
    if (operand.shape().IsTuple() && TRY(LocalShapeOf(operand)) != operand.shape())
      FAIL(Refused(inst, Str("takes a tuple of split arrays, '", operand.name(), "'")));
    operands.push_back(operand.shape().IsArray() ? TRY(InSplit(local, operand, fit.operands[i], inst))
                                                 : local.values.at(&operand));
  }
  PartWriter writer(local.to, inst, axes_, local.digits, supply_);
  std::vector<FactorPart> parts;
  Atoms picked;  // Along these atoms a reduce's own computation combines the parts' results.
  std::vector<int64_t> looked;
  std::map<int64_t, Atoms> updated;  // Indexed by dimension.
  Instruction* value = nullptr;
  for (size_t f = 0; f < fit.atoms.size(); ++f) {
    const Atoms& atoms = fit.atoms[f];
    const int64_t count = axes_.SizeOf(atoms);
    if (count == 1) continue;
    const Factor& factor = rule.factors[f];
    // The first part has no padding.
    parts.push_back(*PartOf(rule, static_cast<int64_t>(f), count, 0));
    parts.back().has_padding_rows = true;
    TRY(AdjustOperands(local, writer, inst, rule, static_cast<int64_t>(f), atoms, operands));
    if (factor.kind == FactorKind::kWindow && inst.Is(Opcode::kConcatenate))
      value = &Concatenated(writer, inst, factor, atoms, count, operands);
    if (factor.kind == FactorKind::kSum && !factor.reducer) picked.insert(picked.end(), atoms.begin(), atoms.end());
    if (factor.kind == FactorKind::kLook) looked.push_back(static_cast<int64_t>(f));
    if (factor.kind == FactorKind::kPut && inst.Is(Opcode::kDynamicUpdateSlice))
      updated[factor.index->operand - 2] = atoms;
  }
  if (!parts.empty() && HasSideEffect(inst))
    FAIL(Refused(inst, "has a side effect, but its values would be split over devices"));
  UpdateInParts(writer, inst, updated, operands);
  if (value == nullptr) {
    LocalOp op = LocalOpOf(inst, rule, parts);
    const ShuffleAttrs* const shuffle = op.attributes.GetIf<ShuffleAttrs>();
    if (shuffle != nullptr && !IsRotated(*shuffle)) {
      value = operands[0];
    } else {
      value =
          &writer.Add(inst.opcode(), op.shape, Operands(operands.begin(), operands.end()), std::move(op.attributes));
      CopyCommon(inst, *value);
    }
  }
  if (inst.Is(Opcode::kIota)) {
    const int64_t dim = inst.attrs<IotaAttrs>().iota_dimension;
    const std::span<const uint8_t> atoms = fit.results[0].AtomsOf(dim);
    if (!atoms.empty()) value = &writer.IotaInPart(dim, value->shape(), {atoms.begin(), atoms.end()});
  }
  if (!picked.empty()) value = TRY(ReducedOverParts(local, writer, inst, fit, picked, *value, operands));
  for (const int64_t f : looked) {
    const FactorIndex& index = *rule.factors[f].index;
    if (inst.Is(Opcode::kGather))
      value = &writer.GatheredInPart(*value, *operands[index.operand], index, rule.factors[f].size, fit.atoms[f]);
  }
  if (!looked.empty()) return Picked(local, writer, inst, *value, fit.results[0], wanted[0]);
  return InSplits(local, inst, *value, fit.results, wanted);
}

}  // namespace hlo
