// Collectives, and transfers to other devices and to the host.
#include "base/text.h"
#include "ir/text/printer.h"
#include "parser/mlir/builders.h"

namespace hlo::mlir {
namespace {

// The rows of a matrix of numbers. -1 fills short rows.
Result<ListOfLists> RowsOf(const Operation& op, std::string_view name) {
  ListOfLists rows;
  const Attribute* const attribute = op.Find(name);
  if (attribute == nullptr) return rows;
  const std::vector<int64_t> values = TRY(IntsIn(*attribute));
  const bool is_matrix = attribute->kind == Attribute::Kind::kElements && attribute->elements->shape.rank() == 2;
  if (!is_matrix) FAIL(Rejected("P037", "expected a matrix of numbers", attribute->range));
  const int64_t size = attribute->elements->shape.dim(1);
  if (values.empty()) return rows;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % size == 0) rows.emplace_back();
    if (values[i] >= 0) rows.back().push_back(values[i]);
  }
  return rows;
}

Result<std::optional<int64_t>> ChannelOf(const Operation& op) {
  const Attribute* const handle = op.Find("channel_handle");
  if (handle == nullptr) return std::optional<int64_t>();
  return std::optional<int64_t>(TRY(IntOfField(*handle, "handle", 0)));
}

Result<CollectiveAttrs> CollectiveOf(const Operation& op) {
  CollectiveAttrs attrs;
  attrs.channel_id = TRY(ChannelOf(op));
  attrs.replica_groups.groups = TRY(RowsOf(op, "replica_groups"));
  attrs.use_global_device_ids = TRY(BoolOf(op, "use_global_device_ids", false));
  return attrs;
}

Result<bool> IsHostTransfer(const Operation& op) { return BoolOf(op, "is_host_transfer", false); }

}  // namespace

Status BuildAllGather(Lowering& to, const Operation& op) {
  CollectiveAttrs attrs = TRY(CollectiveOf(op));
  attrs.dimension = OneDimension{TRY(IntOf(op, "all_gather_dim"))};
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildAllReduce(Lowering& to, const Operation& op) {
  TRY(to.ExpectRegions(op, 1));
  CollectiveAttrs attrs = TRY(CollectiveOf(op));
  attrs.to_apply = TRY(to.LowerRegion(op, 0));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

Status BuildReduceScatter(Lowering& to, const Operation& op) {
  TRY(to.ExpectRegions(op, 1));
  CollectiveAttrs attrs = TRY(CollectiveOf(op));
  attrs.dimension = OneDimension{TRY(IntOf(op, "scatter_dimension"))};
  attrs.to_apply = TRY(to.LowerRegion(op, 0));
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

// HLO splits and joins along one dimension. To join along another one, the pieces get a dimension of their own, which
// is moved.
Status BuildAllToAll(Lowering& to, const Operation& op) {
  CollectiveAttrs attrs = TRY(CollectiveOf(op));
  const int64_t split = TRY(IntOf(op, "split_dimension")), concat = TRY(IntOf(op, "concat_dimension"));
  const int64_t count = TRY(IntOf(op, "split_count"));
  attrs.dimension = OneDimension{split};
  if (op.operands.size() != 1 || split == concat) return to.Build(op, to.AllOperands(op), std::move(attrs));
  const Shape& shape = to.OperandShape(op, 0);
  if (split < 0 || split >= shape.rank() || concat < 0 || concat >= shape.rank() || count < 1 ||
      shape.dim(split) % count != 0)
    FAIL(ErrorAtOp(op, "P037", Str(shape, " cannot be split by ", count, " along dimension ", split)));
  Instruction& pieces = to.Add(op, Opcode::kAllToAll, shape, {&to.Operand(op, 0)}, std::move(attrs));
  Dims sizes, moved_sizes;
  std::vector<int64_t> permutation;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i == split) sizes.push_back(count);
    sizes.push_back(i == split ? shape.dim(i) / count : shape.dim(i));
    if (i == concat) permutation.push_back(split);
    permutation.push_back(i >= split ? i + 1 : i);
  }
  for (const int64_t dim : permutation) moved_sizes.push_back(sizes[dim]);
  Instruction& split_up = to.Add(op, Opcode::kReshape, Shape(shape.type(), sizes), {&pieces}, ReshapeAttrs());
  Shape moved_shape = TransposedShape(Shape(shape.type(), moved_sizes), permutation);
  Instruction& moved =
      to.Add(op, Opcode::kTranspose, std::move(moved_shape), {&split_up}, DimensionsAttrs{std::move(permutation)});
  return to.SetResults(op, to.Add(op, Opcode::kReshape, to.ResultShape(op), {&moved}, ReshapeAttrs()));
}

Status BuildCollectiveBroadcast(Lowering& to, const Operation& op) {
  return to.Build(op, to.AllOperands(op), TRY(CollectiveOf(op)));
}

Status BuildCollectivePermute(Lowering& to, const Operation& op) {
  PermuteAttrs attrs{.channel_id = TRY(ChannelOf(op)), .source_target_pairs = TRY(RowsOf(op, "source_target_pairs"))};
  return to.Build(op, to.AllOperands(op), std::move(attrs));
}

// ---- Transfers ---------------------------------------------------------------------------------------------------

// The data without the last value, the token.
static Shape DataShape(Lowering& to, const Operation& op, bool always_tuple) {
  std::vector<Shape> shapes;
  for (int32_t i = 0; i + 1 < op.result_count; ++i) shapes.push_back(to.ResultShape(op, i));
  if (shapes.size() == 1 && !always_tuple) return shapes[0];
  return Shape::Tuple(std::move(shapes));
}

// Sets the results of a pair (data, token).
static void SetDataAndToken(Lowering& to, const Operation& op, Instruction& pair) {
  const Shape& data_shape = pair.shape().element(0);
  const int32_t token = op.result_count - 1;
  if (token > 0) {
    Instruction& data = to.Add(op, Opcode::kGetTupleElement, data_shape, {&pair}, IndexAttrs{0});
    if (!data_shape.IsTuple()) to.SetResult(op, 0, data);
    for (int32_t i = 0; data_shape.IsTuple() && i < token; ++i)
      to.SetResult(op, i, to.Add(op, Opcode::kGetTupleElement, data_shape.element(i), {&data}, IndexAttrs{i}));
  }
  to.SetResult(op, token, to.Add(op, Opcode::kGetTupleElement, Shape::Token(), {&pair}, IndexAttrs{1}));
}

static Status ExpectToken(Lowering& to, const Operation& op, bool returns_one) {
  const bool good = !op.operands.empty() && to.ShapeOf(op.operands.back()).IsToken() && op.result_count > 0 &&
                    to.ResultShape(op, op.result_count - 1).IsToken() && (!returns_one || op.result_count == 1);
  if (good) return {};
  FAIL(ErrorAtOp(op, "V001", Str("the last operand and the last result of '", op.name, "' must be tokens")));
}

Status BuildInfeed(Lowering& to, const Operation& op) {
  TRY(ExpectToken(to, op, false));
  InfeedAttrs attrs;
  if (op.Find("infeed_config") != nullptr) attrs.config = TRY(TextOf(op, "infeed_config"));
  const Shape shape = Shape::Tuple({DataShape(to, op, true), Shape::Token()});
  SetDataAndToken(to, op, to.Add(op, Opcode::kInfeed, shape, to.AllOperands(op), std::move(attrs)));
  return {};
}

Status BuildOutfeed(Lowering& to, const Operation& op) {
  TRY(ExpectToken(to, op, true));
  OutfeedAttrs attrs;
  if (op.Find("outfeed_config") != nullptr) attrs.config = TRY(TextOf(op, "outfeed_config"));
  Operands values = to.AllOperands(op);
  Instruction* const token = values.back();
  values.pop_back();
  std::vector<Shape> shapes;
  for (const Instruction* value : values) shapes.push_back(value->shape());
  attrs.shape = Shape::Tuple(shapes);
  Instruction& data = to.Add(op, Opcode::kTuple, Shape::Tuple(std::move(shapes)), std::move(values));
  to.SetResult(op, 0, to.Add(op, Opcode::kOutfeed, Shape::Token(), {&data, token}, std::move(attrs)));
  return {};
}

// A transfer is two instructions. The state between them is (data, u32[], token).
static Shape TransferState(const Shape& data) {
  return Shape::Tuple({data, Shape::Scalar(PrimitiveType::kU32), Shape::Token()});
}

Status BuildSend(Lowering& to, const Operation& op) {
  TRY(ExpectToken(to, op, true));
  const ChannelAttrs attrs{.channel_id = TRY(ChannelOf(op)), .is_host_transfer = TRY(IsHostTransfer(op))};
  Operands values = to.AllOperands(op);
  Instruction* const token = values.back();
  values.pop_back();
  Instruction& data = to.Together(op, std::move(values));
  Instruction& send = to.Add(op, Opcode::kSend, TransferState(data.shape()), {&data, token}, attrs);
  to.SetResult(op, 0, to.Add(op, Opcode::kSendDone, Shape::Token(), {&send}, attrs));
  return {};
}

Status BuildRecv(Lowering& to, const Operation& op) {
  TRY(ExpectToken(to, op, false));
  const ChannelAttrs attrs{.channel_id = TRY(ChannelOf(op)), .is_host_transfer = TRY(IsHostTransfer(op))};
  const Shape data = DataShape(to, op, false);
  Instruction& recv = to.Add(op, Opcode::kRecv, TransferState(data), to.AllOperands(op), attrs);
  SetDataAndToken(to, op, to.Add(op, Opcode::kRecvDone, Shape::Tuple({data, Shape::Token()}), {&recv}, attrs));
  return {};
}

}  // namespace hlo::mlir
