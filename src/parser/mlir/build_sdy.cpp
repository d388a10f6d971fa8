// Shardy: meshes, constraints and manual computations as custom calls with frontend attributes, as in XLA.
#include <algorithm>

#include "base/text.h"
#include "ir/mesh/shardy_text.h"
#include "ir/text/printer.h"
#include "parser/mlir/builders.h"
#include "parser/mlir/hlo_values.h"

namespace hlo::mlir {
namespace {

std::string PerValue(std::string_view shardings) { return Quoted(Str("#sdy.sharding_per_value<[", shardings, "]>")); }

}  // namespace

Result<Instruction*> Lowering::Marker(const Operation& op, std::string target, Shape shape, Operands operands,
                                      std::string attributes, bool has_side_effect) {
  CustomCallAttrs attrs;
  attrs.target = std::move(target);
  attrs.has_side_effect = has_side_effect;
  Instruction& call = Add(op, Opcode::kCustomCall, std::move(shape), std::move(operands), std::move(attrs));
  call.mutable_common().frontend_attributes =
      TRY(ReadHloValue<FrontendAttributes>(Str("{", attributes, "}"), op.name_range));
  return &call;
}

// The tiles of whole axes. The other axes repeat the tiles.
std::optional<Sharding> Lowering::ShardyToTiles(std::string_view text, int64_t rank) const {
  std::vector<std::string> meshes;
  for (const auto& [name, mesh] : document_.meshes) meshes.push_back(Str(name, " = #sdy.mesh", mesh));
  const auto read = ReadShardySharding(Str("#sdy.sharding<", text, ">"), Str("{", Join(meshes, ", "), "}"));
  if (!read || read->size() != 1) return std::nullopt;
  const NamedSharding& named = read->front().named;
  if (named.mesh.single_device || !named.mesh.devices.IsCounting() || !named.unreduced.empty() ||
      !named.manual.empty() || (!named.dims.empty() && std::ssize(named.dims) != rank))
    return std::nullopt;
  std::vector<int64_t> sizes, tiles, order;
  for (const MeshAxis& axis : named.mesh.axes) sizes.push_back(axis.size);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t& count = tiles.emplace_back(1);
    if (named.dims.empty()) continue;
    for (const AxisRef& axis : named.dims[i].axes) {
      if (axis.size != 0) return std::nullopt;
      count *= named.mesh.SizeOf(axis);
      order.push_back(axis.axis);
    }
  }
  int64_t copies = 1;
  for (int64_t axis = 0; axis < std::ssize(sizes); ++axis) {
    if (std::ranges::find(order, axis) != order.end()) continue;
    order.push_back(axis);
    copies *= sizes[axis];
  }
  std::vector<ShardingKind> subgroups;
  if (copies > 1) {
    tiles.push_back(copies);
    subgroups.push_back(ShardingKind::kReplicated);
  }
  return TiledSharding(std::move(tiles), IotaOrder(sizes, order), subgroups);
}

Status Lowering::MarkResult(const Operation& op, const Attribute& attributes, Instruction*& value) {
  const Attribute* const sharding = attributes.Find("sdy.sharding");
  if (sharding == nullptr) return {};
  value = TRY(Marker(op, "xla.sdy.FuncResultSharding", value->shape(), {value},
                     Str("xla.sdy.sharding=", PerValue(Str("<", sharding->text, ">"))), true));
  return {};
}

Status BuildShardingConstraint(Lowering& to, const Operation& op) {
  if (op.operands.size() != 1) FAIL(ErrorAtOp(op, "V001", "a constraint has one operand"));
  const Attribute& sharding = *TRY(Need(op, "sharding"));
  Instruction& call = *TRY(to.Marker(op, "Sharding", to.ResultShape(op), to.AllOperands(op),
                                     Str("xla.sdy.sharding=", PerValue(Str("<", sharding.text, ">"))), false));
  if (auto tiles = to.ShardyToTiles(sharding.text, to.ResultShape(op).rank()))
    call.mutable_common().sharding = std::move(*tiles);
  to.SetResult(op, 0, call);
  return {};
}

// The arguments become parts of arrays, a call computes on them, and its results become whole arrays.
Status BuildManualComputation(Lowering& to, const Operation& op) {
  TRY(to.ExpectRegions(op, 1));
  const Region& region = op.regions[0];
  if (region.arguments.size() != op.operands.size())
    FAIL(ErrorAtOp(op, "V001", "the region must have an argument for each operand"));
  const std::string in = TRY(Need(op, "in_shardings"))->text, out = TRY(Need(op, "out_shardings"))->text;
  const std::string axes = Quoted(Str("#sdy<manual_axes{", TRY(Need(op, "manual_axes"))->text, "}>"));
  const auto elements = [&](Instruction& all, size_t count, const FrontendAttributes* attributes) {
    Operands values;
    for (size_t i = 0; i < count; ++i) {
      const auto index = static_cast<int64_t>(i);
      if (count == 1) return Operands{&all};
      values.push_back(&to.Add(op, Opcode::kGetTupleElement, all.shape().element(index), {&all}, IndexAttrs{index}));
      if (attributes != nullptr) values.back()->mutable_common().frontend_attributes = *attributes;
    }
    return values;
  };
  std::vector<Shape> shapes;
  for (size_t i = 0; i < region.arguments.size(); ++i)
    shapes.push_back(to.ShapeOf(region.first_value + static_cast<ValueId>(i)));
  Operands arguments = to.AllOperands(op);
  if (!arguments.empty()) {
    Instruction& local = *TRY(to.Marker(
        op, "xla.sdy.GlobalToLocalShape", shapes.size() == 1 ? shapes[0] : Shape::Tuple(shapes), std::move(arguments),
        Str("xla.sdy.in_shardings=", PerValue(in), ",xla.sdy.manual_axes=", axes), true));
    arguments = elements(local, shapes.size(), nullptr);
  }
  const CallAttrs attrs{.to_apply = TRY(to.LowerRegion(op, 0))};
  const Shape returned = attrs.to_apply->root().shape();
  Instruction& call = to.Add(op, Opcode::kCall, returned, std::move(arguments), attrs);
  const auto inlineable = TRY(ReadHloValue<FrontendAttributes>("{inlineable=\"false\"}", op.name_range));
  call.mutable_common().frontend_attributes = inlineable;
  if (op.result_count == 0) return {};
  Operands results = elements(call, op.result_count, &inlineable);
  Instruction& whole =
      *TRY(to.Marker(op, "xla.sdy.LocalToGlobalShape", to.ShapeOfResults(op), std::move(results),
                     Str("xla.sdy.manual_axes=", axes, ",xla.sdy.out_shardings=", PerValue(out)), true));
  return to.SetResults(op, whole);
}

}  // namespace hlo::mlir
