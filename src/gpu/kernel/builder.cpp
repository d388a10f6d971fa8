#include "gpu/kernel/builder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/check.h"
#include "gpu/kernel/barriers.h"
#include "gpu/kernel/byte_floats.h"
#include "gpu/kernel/verify.h"

namespace hlo::kernel {
namespace {

// These pointers and other parameters fit into the 32,764 bytes of launch parameters.
constexpr int64_t kMostMembers = 4000;
// Every GPU with clusters supports this many blocks in a cluster.
constexpr int kMostInCluster = 8;

uint64_t FloatBits(Type type, double value) {
  if (type == Type::kF64) return std::bit_cast<uint64_t>(value);
  if (type == Type::kF32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (IsByteFloat(type)) return EncodeFloat(FormatOf(type), value);
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == Type::kBF16) {
    if (value != value) return 0x7fc0;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
  CHECK(type == Type::kF16, "not a float: ", ToString(type));
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

}  // namespace

void KernelBuilder::CopyAsync(Array to, Value to_index, Array from, Value from_index) {
  const ArrayInfo &target = kernel_.arrays[to.id_], &source = kernel_.arrays[from.id_];
  CHECK(target.kind == ArrayKind::kShared && source.kind == ArrayKind::kInput && target.type == source.type,
        "asynchronous copy from '", source.name, "' to '", target.name, "'");
  CHECK(level() == Level::kThread && source.alignment % 16 == 0, "asynchronous copy of '", source.name, "'");
  Instruction& copy = Append(Op::kCopyAsync, target.type, std::array{to_index, from_index});
  copy.imm = to.id_;
  copy.imm2 = from.id_;
}

void KernelBuilder::CopyWait(int on_their_way) {
  CHECK(level() == Level::kBlock, "a wait in divergent code");
  Append(Op::kCopyWait, Type::kPred, {}).imm = on_their_way;
}

// The pointer is a handle, which has no alignment.
Array KernelBuilder::Condition(std::string name) { return Output(std::move(name), Type::kU8, 0, 1); }

void KernelBuilder::SetCondition(Array condition, Value value) {
  CHECK(value.type() == Type::kU32, "a condition of type ", ToString(value.type()));
  CHECK(condition.elements() == 0, "'", kernel_.arrays[condition.id_].name, "' is not a condition");
  Append(Op::kSetCondition, Type::kU32, std::array{value}).imm = condition.id_;
}

KernelBuilder::KernelBuilder(std::string name, int64_t blocks, int threads) {
  CHECK(blocks >= 0 && blocks < int64_t{1} << 31, "kernel '", name, "' of ", blocks, " blocks");
  CHECK(threads > 0 && threads <= 1024 && threads % kWarpSize == 0, "blocks of ", threads, " threads");
  kernel_.name = std::move(name);
  kernel_.blocks = blocks;
  kernel_.threads = threads;
  open_.push_back({.region = {}, .level = Level::kBlock});
  serials_.push_back(next_serial_++);
}

void KernelBuilder::SetSource(std::string instruction) {
  if (source_ >= 0 && kernel_.sources[source_] == instruction) return;
  kernel_.sources.push_back(std::move(instruction));
  source_ = static_cast<int32_t>(kernel_.sources.size()) - 1;
}

Array KernelBuilder::AddArray(ArrayInfo info) {
  CHECK(info.type != Type::kIndex, "array '", info.name, "' of index");
  CountsTo(info.elements);
  kernel_.arrays.push_back(std::move(info));
  Array array;
  array.builder_ = this;
  array.id_ = static_cast<int32_t>(kernel_.arrays.size()) - 1;
  return array;
}

Array KernelBuilder::Input(std::string name, Type type, int64_t elements, int64_t alignment) {
  return AddArray(
      {.name = std::move(name), .kind = ArrayKind::kInput, .type = type, .elements = elements, .alignment = alignment});
}

Array KernelBuilder::Output(std::string name, Type type, int64_t elements, int64_t alignment) {
  return AddArray({.name = std::move(name),
                   .kind = ArrayKind::kOutput,
                   .type = type,
                   .elements = elements,
                   .alignment = alignment});
}

Array KernelBuilder::InOut(std::string name, Type type, int64_t elements, int64_t alignment) {
  return AddArray(
      {.name = std::move(name), .kind = ArrayKind::kInOut, .type = type, .elements = elements, .alignment = alignment});
}

ArrayGroup KernelBuilder::AddGroup(ArrayInfo info) {
  CHECK(info.members > 0 && info.members <= kMostMembers, "group '", info.name, "' of ", info.members);
  ArrayGroup group;
  group.builder_ = this;
  group.id_ = AddArray(std::move(info)).id_;
  return group;
}

namespace {

ArrayInfo GroupOf(ArrayKind kind, std::string name, Type type, std::vector<int64_t> elements, int64_t alignment) {
  CHECK(!elements.empty(), "group '", name, "' without arrays");
  return {.name = std::move(name),
          .kind = kind,
          .type = type,
          .elements = std::ranges::max(elements),
          .alignment = alignment,
          .members = std::ssize(elements),
          .member_elements = std::move(elements)};
}

}  // namespace

ArrayGroup KernelBuilder::InputGroup(std::string name, Type type, std::vector<int64_t> elements, int64_t alignment) {
  return AddGroup(GroupOf(ArrayKind::kInput, std::move(name), type, std::move(elements), alignment));
}

ArrayGroup KernelBuilder::OutputGroup(std::string name, Type type, std::vector<int64_t> elements, int64_t alignment) {
  return AddGroup(GroupOf(ArrayKind::kOutput, std::move(name), type, std::move(elements), alignment));
}

ArrayGroup KernelBuilder::InOutGroup(std::string name, Type type, std::vector<int64_t> elements, int64_t alignment) {
  return AddGroup(GroupOf(ArrayKind::kInOut, std::move(name), type, std::move(elements), alignment));
}

ArrayGroup KernelBuilder::Group(ArrayKind kind, std::string name, Type type, int64_t members, int64_t elements,
                                Array sizes, int64_t alignment) {
  const ArrayInfo& input = kernel_.arrays[sizes.id_];
  CHECK(input.kind == ArrayKind::kInput && input.type == Type::kS64 && input.elements >= members, "'", input.name,
        "' as the sizes of '", name, "'");
  return AddGroup({.name = std::move(name),
                   .kind = kind,
                   .type = type,
                   .elements = elements,
                   .alignment = alignment,
                   .members = members,
                   .sizes = sizes.id_});
}

void KernelBuilder::SetMayAlias(Array array) { kernel_.arrays[array.id_].may_alias = true; }
void KernelBuilder::SetMayAlias(ArrayGroup group) { kernel_.arrays[group.id_].may_alias = true; }

Array KernelBuilder::Shared(std::string name, Type type, int64_t elements) {
  return AddArray(
      {.name = std::move(name), .kind = ArrayKind::kShared, .type = type, .elements = elements, .alignment = 16});
}

Array KernelBuilder::SharedTile(std::string name, Type type, int64_t rows, int64_t columns, int64_t padding) {
  CHECK(rows % 16 == 0 && columns % 16 == 0 && padding > 0, "tile of ", rows, " x ", columns, " + ", padding);
  const Array tile = Shared(std::move(name), type, rows * (columns + padding));
  kernel_.arrays[tile.id_].pitch = columns + padding;
  return tile;
}

void KernelBuilder::TransposeTile(Array tile, Value rows, Value columns) {
  CHECK(level() == Level::kBlock && kernel_.arrays[tile.id_].pitch > 0, "TransposeTile of '",
        kernel_.arrays[tile.id_].name, "'");
  Append(Op::kTransposeTile, tile.type(), std::array{rows, columns}).imm = tile.id_;
}

Array KernelBuilder::Table(std::string name, Type type, std::vector<int64_t> bits) {
  const int64_t elements = static_cast<int64_t>(bits.size());
  return AddArray({.name = std::move(name),
                   .kind = ArrayKind::kTable,
                   .type = type,
                   .elements = elements,
                   .alignment = 16,
                   .table = std::move(bits)});
}

Value KernelBuilder::Constant(Type type, int64_t value) {
  if (IsFloat(type)) return Bits(type, static_cast<int64_t>(FloatBits(type, static_cast<double>(value))));
  if (type == Type::kPred) value = value != 0;
  const int width = kernel::Bits(type);
  if (width < 64 && type != Type::kPred) {
    const int drop = 64 - width;
    value = IsSigned(type) ? value << drop >> drop : static_cast<int64_t>(static_cast<uint64_t>(value) << drop >> drop);
  }
  return Bits(type, value);
}

Value KernelBuilder::Constant(Type type, double value) {
  CHECK(IsFloat(type), "constant ", value, " of type ", ToString(type));
  return Bits(type, static_cast<int64_t>(FloatBits(type, value)));
}

Value KernelBuilder::Bits(Type type, int64_t bits) {
  const Value value = Record(Op::kConstant, type, {}, bits);
  values_[value.id_].constant = true;
  values_[value.id_].bits = bits;
  return value;
}

bool KernelBuilder::IsConstant(Value value, int64_t* bits) const {
  if (!values_[value.id_].constant) return false;
  *bits = values_[value.id_].bits;
  return true;
}

Value KernelBuilder::block() { return Record(Op::kBlock, Type::kIndex, {}); }

void KernelBuilder::SetCluster(int blocks) {
  CHECK(blocks >= 1 && blocks <= kMostInCluster && kernel_.blocks % blocks == 0, "clusters of ", blocks, " of ",
        kernel_.blocks, " blocks");
  kernel_.cluster = blocks;
}

Value KernelBuilder::cluster_rank() { return Record(Op::kClusterRank, Type::kIndex, {}); }
Value KernelBuilder::cluster_index() { return block() / kernel_.cluster; }

Value KernelBuilder::warp() {
  CHECK(current().in_warps || current().in_phase, "warp() at block level or in a tile of the block");
  return Record(Op::kWarp, Type::kIndex, {});
}

Value KernelBuilder::lane() {
  CHECK(current().in_phase, "lane() outside Phase");
  return Record(Op::kLane, Type::kIndex, {});
}

Value KernelBuilder::thread() {
  CHECK(current().in_phase, "thread() outside Phase");
  return Record(Op::kThread, Type::kIndex, {});
}

Value KernelBuilder::Define(Type type) {
  const Value value = ValueOf(kernel_.values++, type);
  values_.push_back({.region = serials_.back(), .constant = false, .bits = 0});
  return value;
}

Value KernelBuilder::ValueOf(int32_t id, Type type) {
  Value value;
  value.builder_ = this;
  value.id_ = id;
  value.type_ = type;
  return value;
}

void KernelBuilder::Use(Value value) const {
  CHECK(value.builder_ == this, "a value of another kernel, or none");
  const int region = values_[value.id_].region;
  for (const int open : serials_) {
    if (open == region) return;
  }
  CHECK(false, "value %", value.id_, " is used outside the region that defines it");
}

Instruction& KernelBuilder::Append(Op op, Type type, std::span<const Value> operands) {
  const int expected = InfoOf(op).operands;
  CHECK(expected == kSeveral || operands.size() == static_cast<size_t>(expected), ToString(op), " of ",
        operands.size());
  Instruction instruction{.op = op, .type = type, .source = source_};
  instruction.operands.reserve(operands.size());
  for (const Value operand : operands) {
    Use(operand);
    instruction.operands.push_back(operand.id_);
  }
  return current().region.body.emplace_back(std::move(instruction));
}

Value KernelBuilder::Record(Op op, Type type, std::initializer_list<Value> operands, int64_t imm, int64_t imm2) {
  Instruction& instruction = Append(op, type, std::span(operands.begin(), operands.size()));
  instruction.imm = imm;
  instruction.imm2 = imm2;
  instruction.result = kernel_.values;
  return Define(type);
}

Region KernelBuilder::Nest(Level level, bool in_phase, int tile_width, Value* argument, const Body& body) {
  const bool in_warps = current().in_warps || level == Level::kWarp;
  open_.push_back({.region = {}, .level = level, .in_phase = in_phase, .in_warps = in_warps, .tile_width = tile_width});
  serials_.push_back(next_serial_++);
  if (argument) {
    *argument = Define(Type::kIndex);
    current().region.arguments.push_back(argument->id_);
  }
  body();
  Region region = std::move(current().region);
  open_.pop_back();
  serials_.pop_back();
  return region;
}

void KernelBuilder::Phase(const Body& body) {
  CHECK(level() != Level::kThread, "Phase in a thread body");
  Region region = Nest(Level::kThread, true, 0, nullptr, body);
  Append(Op::kPhase, Type::kPred, {}).regions.push_back(std::move(region));
}

void KernelBuilder::Tile(int width, Value limit, const IndexBody& body) {
  CHECK(level() != Level::kThread, "Tile in a thread body");
  CHECK(width >= 1 && width <= 64 && (width & (width - 1)) == 0, "tile of width ", width);
  Value index;
  Region region = Nest(Level::kThread, false, width, &index, [&] { body(index); });
  Instruction& tile = limit ? Append(Op::kTile, Type::kPred, std::array{limit}) : Append(Op::kTile, Type::kPred, {});
  tile.imm = width;
  tile.regions.push_back(std::move(region));
}

void KernelBuilder::Tile(int width, const IndexBody& body) { Tile(width, Value(), body); }

void KernelBuilder::Warps(const Body& body) {
  CHECK(level() == Level::kBlock, "Warps below block level");
  Region region = Nest(Level::kWarp, false, 0, nullptr, body);
  Append(Op::kWarps, Type::kPred, {}).regions.push_back(std::move(region));
}

void KernelBuilder::Loop(Value begin, Value end, Value step, const IndexBody& body, int unroll) {
  Value index;
  const OpenRegion& outer = current();
  Region region = Nest(outer.level, outer.in_phase, outer.tile_width, &index, [&] { body(index); });
  Instruction& loop = Append(Op::kLoop, Type::kIndex, std::array{begin, end, step});
  loop.imm = unroll;
  loop.regions.push_back(std::move(region));
}

void KernelBuilder::Loop(int64_t begin, int64_t end, int64_t step, const IndexBody& body, int unroll) {
  Loop(Index(begin), Index(end), Index(step), body, unroll);
}

void KernelBuilder::Loop(Value begin, Value end, int64_t step, const IndexBody& body, int unroll) {
  Loop(begin, end, Index(step), body, unroll);
}

void KernelBuilder::If(Value condition, const Body& then, const Body& otherwise) {
  CHECK(condition.type() == Type::kPred, "If of ", ToString(condition.type()));
  const Level level = current().level;
  const bool in_phase = current().in_phase;
  const int tile_width = current().tile_width;
  std::vector<Region> regions;
  regions.push_back(Nest(level, in_phase, tile_width, nullptr, then));
  if (otherwise) regions.push_back(Nest(level, in_phase, tile_width, nullptr, otherwise));
  Append(Op::kIf, Type::kPred, std::array{condition}).regions = std::move(regions);
}

void KernelBuilder::While(const std::function<Value()>& condition, const Body& body) {
  CHECK(level() == Level::kBlock, "While below block level");
  std::vector<Region> regions;
  regions.push_back(Nest(Level::kBlock, false, 0, nullptr, [&] {
    const Value holds = condition();
    CHECK(holds.type() == Type::kPred, "While of ", ToString(holds.type()));
    Use(holds);
    current().region.yields.push_back(holds.id_);
  }));
  regions.push_back(Nest(Level::kBlock, false, 0, nullptr, body));
  Append(Op::kWhile, Type::kPred, {}).regions = std::move(regions);
}

Slot KernelBuilder::MakeSlot(Type type, int width) {
  CHECK(level() != Level::kThread, "MakeSlot in a thread body, where MakeVariable must be used");
  kernel_.slots.push_back({.type = type, .width = width, .level = level()});
  Slot slot;
  slot.builder_ = this;
  slot.id_ = static_cast<int32_t>(kernel_.slots.size()) - 1;
  return slot;
}

Slot KernelBuilder::MakeSlot(Type type, int width, Value initial) {
  const Slot slot = MakeSlot(type, width);
  Fill(slot, initial);
  return slot;
}

Variable KernelBuilder::MakeVariable(Type type) {
  kernel_.variables.push_back({.type = type, .level = level()});
  Variable variable;
  variable.builder_ = this;
  variable.id_ = static_cast<int32_t>(kernel_.variables.size()) - 1;
  return variable;
}

Variable KernelBuilder::MakeVariable(Value initial) {
  const Variable variable = MakeVariable(initial.type());
  variable.Set(initial);
  return variable;
}

void KernelBuilder::Fill(Slot slot, Value value) {
  Tile(slot.width(), [&](Value) { slot.Set(value); });
}

Kernel KernelBuilder::Build() && {
  CHECK(open_.size() == 1, "Build() inside a body");
  kernel_.body = std::move(open_[0].region);
  PlaceBarriers(kernel_);
  const Status verified = Verify(kernel_);
  CHECK(verified.has_value(), "kernel '", kernel_.name, "': ", verified.error().message());
  return std::move(kernel_);
}

}  // namespace hlo::kernel
