#include "gpu/runtime/binding.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "gpu/runtime/located.h"
#include "gpu/runtime/prepare.h"
#include "gpu/runtime/relayout.h"

namespace hlo::gpu {
namespace {

alignas(kBufferAlignment) std::byte g_nothing[kBufferAlignment];

bool UsableInPlace(const Shape& shape, const Literal& literal) {
  return shape.HasDefaultLayout() && !shape.HasDynamicDims() &&
         reinterpret_cast<uintptr_t>(literal.raw()) % kHostAlignment == 0;
}

Shape Sized(const Shape& shape, const Dims& sizes) {
  Shape sized = shape.WithDims(sizes);
  sized.SetLayout(shape.layout());
  return sized;
}

Literal Assemble(const Shape& shape, std::vector<Literal>& leaves, size_t& next) {
  if (!shape.IsTuple()) return std::move(leaves[next++]);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(Assemble(element, leaves, next));
  return Literal::Tuple(std::move(elements));
}

}  // namespace

Result<std::unique_ptr<Binding>> Binding::Make(std::shared_ptr<const Program> program, Device& device) {
  if (program->target != device.target()) {
    FAIL(DeviceError("R016", Str("the program is compiled for ", program->target, ", but ", device.name(), " is ",
                                 device.target())));
  }
  std::unique_ptr<Binding> binding(new Binding(std::move(program), device));
  TRY(binding->Prepare());
  return binding;
}

Status Binding::Prepare() {
  const BufferPlan& buffers = program_->buffers;
  kernels_ = TRY(device_.Load(program_->code));
  for (const auto& call : program_->calls) calls_.push_back(TRY(call->Bind(device_)));
  if (program_->options.host != nullptr) caller_ = program_->options.host->open();
  arena_ = TRY(DeviceMemory::Allocate(device_, buffers.arena_bytes));
  if (program_->counter_bytes > 0) {
    counters_ = TRY(DeviceMemory::Allocate(device_, program_->counter_bytes));
    TRY(ResetCounters());
  }
  if (program_->packed_bytes > 0) packed_ = TRY(DeviceMemory::Allocate(device_, program_->packed_bytes));
  for (const ConstantData& constant : program_->constants) TRY(LoadConstant(constant));
  const Computation& entry = program_->module->entry();
  for (const Instruction* parameter : entry.parameters()) {
    ForEachLeaf(parameter->shape(),
                [&](const ShapeIndex&, const Shape& shape) { leaves_.push_back({.shape = &shape}); });
  }
  ListDonated();
  outputs_.resize(buffers.output_bytes.size());
  int leaf = 0;
  ForEachLeaf(entry.root().shape(), [&](const ShapeIndex&, const Shape& shape) { outputs_[leaf++].shape = &shape; });
  for (size_t i = 0; !device_.IsHost() && i < outputs_.size(); ++i) {
    if (buffers.output_bytes[i] > 0) outputs_[i].memory = TRY(DeviceMemory::Allocate(device_, buffers.output_bytes[i]));
  }
  ForEachStep(program_->block, [&](const Step& step) {
    for (const Work& work : step.work) {
      const auto* kernel = std::get_if<KernelWork>(&work);
      if (kernel != nullptr && kernel->trips != 0) loops_.push_back({kernel->trips, kernel->loops});
    }
  });
  ForEachLoop(program_->block, [&](const LoopNode& loop) {
    if (loop.decided.trips != 0) loops_.push_back({loop.decided.trips, std::span(&loop.loop, 1)});
  });
  pointers_.resize(program_->places.size());
  return device_.Synchronize();
}

Status Binding::LoadConstant(const ConstantData& constant) {
  if (device_.IsHost() && UsableInPlace(constant.shape, constant.literal)) {
    constants_.push_back(const_cast<std::byte*>(constant.literal.raw()));
    return {};
  }
  constant_memory_.push_back(TRY(DeviceMemory::Allocate(device_, constant.shape.ByteSize())));
  constants_.push_back(constant_memory_.back().data());
  return Upload(constant.shape, constant.literal, constants_.back());
}

void Binding::ListDonated() {
  const BufferPlan& buffers = program_->buffers;
  for (size_t v = 0; v < buffers.values.values.size(); ++v) {
    const BufferedValue& value = buffers.values.values[v];
    const Place& place = buffers.place_of[v];
    if (value.kind == ValueKind::kParameter && place.area != Area::kParameter) leaves_[value.leaf].donated = place;
  }
}

Status Binding::SetLoopLimits(int64_t stop_after, int64_t most_trips) {
  if (loop_limits_ == std::pair(stop_after, most_trips)) return {};
  std::array<int64_t, kTripFields> trips = {};
  trips[kStopAfter] = stop_after;
  trips[kMostTrips] = most_trips;
  for (const CountedLoops& one : loops_) TRY(device_.CopyIn(Pointer(one.trips), trips.data(), sizeof(trips)));
  loop_limits_ = {stop_after, most_trips};
  return {};
}

Result<std::vector<int64_t>> Binding::ReadLoops() const {
  std::vector<int64_t> all(program_->counter_bytes / 8), counted;
  TRY(device_.CopyOut(all.data(), counters_.data(), program_->counter_bytes));
  for (const CountedLoops& one : loops_) {
    const int64_t first = program_->places[one.trips].place.offset / 8;
    counted.insert(counted.end(), all.begin() + first, all.begin() + first + kTripFields);
  }
  return counted;
}

Status Binding::ResetCounters() {
  loop_limits_ = {-1, -1};
  if (program_->counter_bytes == 0) return {};
  return device_.Fill(counters_.data(), 0, 8, program_->counter_bytes / 8);
}

// ---- Arguments -----------------------------------------------------------------------------------------------------

Status Binding::Bind(std::span<const Literal> arguments) {
  TRY(CheckArguments(arguments));
  size_t leaf = 0;
  for (size_t i = 0; i < arguments.size(); ++i)
    TRY(LocatedAt(*program_->module->entry().parameters()[i], BindLeaves(arguments[i], leaf)));
  resolved_ = packed_now_ = false;
  trips_made_.clear();
  return {};
}

Status Binding::CheckArguments(std::span<const Literal> arguments) const {
  const auto parameters = program_->module->entry().parameters();
  if (arguments.size() != parameters.size()) {
    FAIL(Rejected("A004", Str("expected ", parameters.size(), " arguments, found ", arguments.size())));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!FitsInto(arguments[i].shape(), parameters[i]->shape())) {
      FAIL(Rejected("A004", Str("argument ", i, " ('", parameters[i]->name(), "') wants ", parameters[i]->shape(),
                                ", found ", arguments[i].shape())));
    }
  }
  return {};
}

Status Binding::BindLeaves(const Literal& literal, size_t& next) {
  if (literal.shape().IsTuple()) {
    for (const Literal& element : literal.elements()) TRY(BindLeaves(element, next));
    return {};
  }
  Leaf& leaf = leaves_[next++];
  leaf.literal = literal;
  const int64_t bytes = BytesInMemory(*leaf.shape);
  if (bytes == 0 || leaf.donated.area != Area::kNothing) return {};
  if (device_.IsHost() && UsableInPlace(*leaf.shape, literal)) {
    leaf.pointer = const_cast<std::byte*>(literal.raw());
    return {};
  }
  if (leaf.memory.data() == nullptr) leaf.memory = TRY(DeviceMemory::Allocate(device_, bytes));
  leaf.pointer = leaf.memory.data();
  return Upload(*leaf.shape, literal, leaf.pointer);
}

Status Binding::MakeReady() {
  TRY(MakeOutputs());
  if (!resolved_) {
    for (size_t i = 0; i < pointers_.size(); ++i) pointers_[i] = Resolve(program_->places[i].place);
    resolved_ = true;
  }
  for (const Leaf& leaf : leaves_) {
    if (leaf.donated.area != Area::kNothing) TRY(Upload(*leaf.shape, leaf.literal, Resolve(leaf.donated)));
  }
  if (!packed_now_) TRY(PackWeights());
  packed_now_ = true;
  return device_.Synchronize();
}

// Replaces literals that the caller has received by new literals.
Status Binding::MakeOutputs() {
  if (!device_.IsHost()) return {};
  for (size_t i = 0; i < outputs_.size(); ++i) {
    OutputLeaf& output = outputs_[i];
    if (program_->buffers.output_bytes[i] == 0 || (output.literal.raw() != nullptr && !output.given)) continue;
    output.literal = Literal::Uninitialized(output.shape->WithDefaultLayout());
    output.given = false;
    resolved_ = false;
  }
  return {};
}

Status Binding::SpoilResults() {
  TRY(MakeOutputs());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int64_t bytes = program_->buffers.output_bytes[i];
    void* const to = Resolve({.area = Area::kOutput, .number = static_cast<int64_t>(i)});
    if (bytes > 0) TRY(device_.Fill(to, 0xFF, 1, bytes));
  }
  return {};
}

Status Binding::PackWeights() {
  if (program_->packed_bytes == 0) return {};
  Status status;
  ForEachStep(program_->block, [&](const Step& step) {
    for (const Work& work : step.work) {
      const auto* call = std::get_if<LibraryWork>(&work);
      if (status && call != nullptr && call->pack_once)
        status = Call(*call).Pack(Pointers(call->operands), Pointer(call->packed));
    }
  });
  return status;
}

void* Binding::Resolve(const Place& place) const {
  switch (place.area) {
    case Area::kNothing: return g_nothing;
    case Area::kParameter: return leaves_[place.number].pointer;
    case Area::kConstant: return constants_[place.number];
    case Area::kOutput: {
      const OutputLeaf& output = outputs_[place.number];
      return device_.IsHost() ? const_cast<std::byte*>(output.literal.raw()) : output.memory.data();
    }
    case Area::kArena: return arena_.data() + place.offset;
    case Area::kCounters: return counters_.data() + place.offset;
    case Area::kPacked: return packed_.data() + place.offset;
  }
  return nullptr;
}

// ---- Values to memory and back -------------------------------------------------------------------------------------

Status Binding::Upload(const Shape& shape, const Literal& literal, void* to) const {
  if (shape.HasDynamicDims()) return UploadSized(shape, literal, to);
  if (device_.IsHost()) {
    ToLayout(shape, literal.raw(), to);
    return {};
  }
  if (shape.HasDefaultLayout()) return device_.CopyIn(to, literal.raw(), shape.ByteSize());
  std::vector<std::byte> staged(shape.ByteSize());
  ToLayout(shape, literal.raw(), staged.data());
  return device_.CopyIn(to, staged.data(), shape.ByteSize());
}

// Memory has only the elements within the actual sizes. The sizes are at SizesOffset (prepare.h).
Status Binding::UploadSized(const Shape& shape, const Literal& literal, void* to) const {
  std::vector<std::byte> staged(BytesInMemory(shape));
  const Dims& sizes = literal.shape().dims();
  ToLayout(Sized(shape, sizes), literal.raw(), staged.data());
  std::memcpy(staged.data() + SizesOffset(shape), sizes.data(), 8 * sizes.size());
  return device_.CopyIn(to, staged.data(), std::ssize(staged));
}

Result<Literal> Binding::Read(const Instruction& inst, Lent lent) const {
  if (inst.Is(Opcode::kConstant)) return inst.literal();
  std::vector<Literal> leaves;
  Status status;
  ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& shape) {
    if (!status) return;
    auto leaf = ReadLeaf(inst, static_cast<int>(leaves.size()), shape, lent);
    if (leaf) {
      leaves.push_back(std::move(*leaf));
    } else {
      status = std::unexpected(std::move(leaf).error());
    }
  });
  TRY(std::move(status));
  size_t next = 0;
  return Assemble(inst.shape(), leaves, next);
}

const Literal* Binding::LiteralAt(const Place& place, const Shape& shape, Lent lent) const {
  if (!device_.IsHost() || !shape.HasDefaultLayout() || shape.HasDynamicDims()) return nullptr;
  const Literal* literal = nullptr;
  if (place.area == Area::kParameter) literal = &leaves_[place.number].literal;
  if (place.area == Area::kOutput && lent == Lent::kResultsToo) literal = &outputs_[place.number].literal;
  const bool in_place = literal != nullptr && literal->raw() == Resolve(place);
  return in_place && literal->shape().type() == shape.type() && literal->byte_size() == shape.ByteSize() ? literal
                                                                                                         : nullptr;
}

Result<Literal> Binding::ReadLeaf(const Instruction& inst, int leaf, const Shape& shape, Lent lent) const {
  if (BytesInMemory(shape) == 0) return Literal(shape);
  const Place& place = program_->buffers.PlaceOf(inst, leaf);
  if (const Literal* literal = LiteralAt(place, shape, lent)) return literal->WithShape(shape);
  const void* from = Resolve(place);
  if (shape.HasDynamicDims()) return ReadSized(shape, from);
  Literal literal = Literal::Uninitialized(shape);
  if (device_.IsHost()) {
    FromLayout(shape, from, literal.mutable_raw());
  } else if (shape.HasDefaultLayout()) {
    TRY(device_.CopyOut(literal.mutable_raw(), from, shape.ByteSize()));
  } else {
    std::vector<std::byte> staged(shape.ByteSize());
    TRY(device_.CopyOut(staged.data(), from, shape.ByteSize()));
    FromLayout(shape, staged.data(), literal.mutable_raw());
  }
  return literal;
}

// Clamps sizes that are out of range by a fault of the run time. The comparison then finds the wrong result.
Result<Literal> Binding::ReadSized(const Shape& shape, const void* from) const {
  std::vector<std::byte> staged(BytesInMemory(shape));
  TRY(device_.CopyOut(staged.data(), from, std::ssize(staged)));
  Dims sizes = shape.dims();
  for (int64_t d = 0; d < shape.rank(); ++d) {
    int64_t size = 0;
    std::memcpy(&size, staged.data() + SizesOffset(shape) + 8 * d, 8);
    sizes[d] = std::clamp<int64_t>(size, 0, shape.dim(d));
  }
  const Shape sized = Sized(shape, sizes);
  Literal literal = Literal::Uninitialized(sized.WithDefaultLayout());
  FromLayout(sized, staged.data(), literal.mutable_raw());
  return literal;
}

Result<Literal> Binding::Output() {
  const Instruction& root = program_->module->entry().root();
  std::vector<Literal> leaves;
  for (size_t i = 0; i < outputs_.size(); ++i)
    leaves.push_back(TRY(LocatedAt(root, Give(root, static_cast<int>(i), *outputs_[i].shape))));
  size_t next = 0;
  return Assemble(root.shape(), leaves, next);
}

// The returned literal shares the output's bytes until one of them is written, which avoids a copy.
Result<Literal> Binding::Give(const Instruction& root, int number, const Shape& shape) {
  if (BytesInMemory(shape) == 0 || !device_.IsHost()) return ReadLeaf(root, number, shape);
  const Place& place = program_->buffers.PlaceOf(root, number);
  if (place.area == Area::kOutput && shape.HasDefaultLayout()) {
    outputs_[place.number].given = true;
    return outputs_[place.number].literal.WithShape(shape);
  }
  return ReadLeaf(root, number, shape);
}

}  // namespace hlo::gpu
