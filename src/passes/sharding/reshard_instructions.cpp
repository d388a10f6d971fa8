#include "passes/sharding/reshard_instructions.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/check.h"
#include "base/text.h"
#include "ir/analysis/matrix_loops.h"
#include "ir/source_line.h"

namespace hlo {

// ---- Digits of the device -------------------------------------------------------------------------------------------

Instruction& DeviceDigits::PartitionId() {
  if (partition_id_ != nullptr) return *partition_id_;
  Instruction& id = computation_.Add(Opcode::kPartitionId, Shape::Scalar(PrimitiveType::kU32), {});
  partition_id_ = &computation_.Add(Opcode::kConvert, Shape::Scalar(PrimitiveType::kS32), {&id});
  return *partition_id_;
}

Instruction& DeviceDigits::Position() {
  if (!axes_.IsListed()) return PartitionId();
  if (position_ != nullptr) return *position_;
  std::vector<int64_t> positions;
  for (int64_t device = 0; device < axes_.devices(); ++device) positions.push_back(axes_.PositionOf(device));
  Instruction& table = computation_.AddConstant(Literal::Vector(PrimitiveType::kS32, positions));
  Instruction& entry = computation_.Add(Opcode::kDynamicSlice, table.shape().WithDims({1}), {&table, &PartitionId()},
                                        DynamicSliceAttrs{{1}});
  position_ = &computation_.Add(Opcode::kReshape, Shape::Scalar(PrimitiveType::kS32), {&entry}, ReshapeAttrs());
  return *position_;
}

Instruction& DeviceDigits::PartNumber(const Axes& axes, std::span<const uint8_t> atoms) {
  std::vector<Digit> digits;
  for (const uint8_t atom : atoms) {
    const auto& [size, stride, name] = axes.atoms()[atom];
    const bool continues = !digits.empty() && digits.back().stride == size * stride;
    if (continues) digits.back() = {digits.back().size * size, stride};
    else digits.push_back({size, stride});
  }
  return NumberOf(digits);
}

Instruction& DeviceDigits::NumberOf(std::span<const Digit> digits) {
  const auto known =
      std::ranges::find_if(numbers_, [&](const Number& number) { return std::ranges::equal(number.digits, digits); });
  if (known != numbers_.end()) return *known->value;
  Instruction& number = MakeNumber(digits);
  numbers_.push_back({{digits.begin(), digits.end()}, &number});
  return number;
}

Instruction& DeviceDigits::MakeNumber(std::span<const Digit> digits) {
  if (digits.empty()) return Constant(0);
  const auto [size, stride] = digits.back();
  if (digits.size() > 1) {
    Instruction &major = NumberOf(digits.first(digits.size() - 1)), &minor = NumberOf(digits.last(1));
    return Compute(Opcode::kAdd, Compute(Opcode::kMultiply, major, Constant(size)), minor);
  }
  Instruction* digit = &Position();
  if (stride > 1) digit = &Compute(Opcode::kDivide, *digit, Constant(stride));
  if (stride * size < axes_.devices()) digit = &Compute(Opcode::kRemainder, *digit, Constant(size));
  return *digit;
}

Instruction& DeviceDigits::Compute(Opcode opcode, Instruction& a, Instruction& b) {
  return computation_.Add(opcode, a.shape(), {&a, &b});
}

Instruction& DeviceDigits::Constant(int64_t value) {
  return computation_.AddConstant(Literal::Scalar(PrimitiveType::kS32, value));
}

// ---- Channels and reducers ------------------------------------------------------------------------------------------

namespace {

int64_t ChannelOf(const Instruction& inst) {
  const Attributes& attrs = inst.attributes();
  if (const auto* collective = attrs.GetIf<CollectiveAttrs>()) return collective->channel_id.value_or(0);
  if (const auto* permute = attrs.GetIf<PermuteAttrs>()) return permute->channel_id.value_or(0);
  if (const auto* transfer = attrs.GetIf<ChannelAttrs>()) return transfer->channel_id.value_or(0);
  return 0;
}

Opcode OpOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum: return Opcode::kAdd;
    case Reduction::kMax: return Opcode::kMaximum;
    case Reduction::kMin: return Opcode::kMinimum;
  }
  return Opcode::kAdd;
}

}  // namespace

CollectiveSupply::CollectiveSupply(Module& module) : module_(module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions())
      last_channel_ = std::max(last_channel_, ChannelOf(*inst));
  }
}

Computation& CollectiveSupply::Reducer(Reduction reduction, PrimitiveType type) {
  Computation*& reducer = reducers_[{reduction, type}];
  if (reducer != nullptr) return *reducer;
  CHECK(reduction == Reduction::kSum || !IsComplex(type), "complex numbers have no order");
  const Shape scalar = Shape::Scalar(type);
  reducer = &module_.AddComputation(Str(ToString(reduction), "_", type));
  Instruction &a = reducer->AddParameter(0, scalar), &b = reducer->AddParameter(1, scalar);
  reducer->SetRoot(reducer->Add(OpOf(reduction), scalar, {&a, &b}));
  return *reducer;
}

// ---- Groups and pairs of devices ------------------------------------------------------------------------------------

namespace {

using AtomList = std::vector<uint8_t>;  // The major atom first.

AtomList AtomsOf(const std::vector<DimAtoms>& changes) {
  AtomList all;
  for (const DimAtoms& change : changes) all.insert(all.end(), change.atoms.begin(), change.atoms.end());
  return all;
}

// The device numbers of all replicas, in mesh order.
DeviceOrder OrderOf(const Axes& axes, int64_t replicas) {
  const int64_t devices = axes.devices();
  if (!axes.IsListed()) return CountingOrder(devices * replicas);
  DeviceOrder order;
  for (int64_t i = 0; i < devices * replicas; ++i)
    order.listed.push_back(i / devices * devices + axes.DeviceAt(i % devices));
  return order;
}

// Groups of devices that differ only in these atoms, the major atom first. Several replicas become the major axis of
// the mesh.
ReplicaGroups GroupsAlong(const Axes& axes, const AtomList& atoms, int64_t replicas) {
  MeshGroups groups;
  std::vector<MeshAxis>& mesh_axes = groups.mesh.axes;
  for (const Atom& atom : axes.atoms()) mesh_axes.push_back({atom.name, atom.size});
  for (const uint8_t atom : atoms) groups.axes.push_back({.axis = atom});
  if (replicas > 1) {
    std::string name = "replica";
    while (std::ranges::find(mesh_axes, name, &MeshAxis::name) != mesh_axes.end()) name += "s";
    mesh_axes.insert(mesh_axes.begin(), {name, replicas});
    for (AxisRef& ref : groups.axes) ++ref.axis;
  }
  groups.mesh.devices = OrderOf(axes, replicas);
  return {std::move(groups)};
}

// Identifies the part of the device at this mesh position, and the devices that exchange parts.
std::vector<int64_t> PlaceOf(const Axes& axes, AxisSet exchanging, const ArraySplit& split, int64_t position) {
  const auto append_digit = [&](int64_t& number, int atom) {
    const auto& [size, stride, name] = axes.atoms()[atom];
    number = number * size + position / stride % size;
  };
  std::vector<int64_t> place(split.rank() + 1);
  for (int64_t d = 0; d < split.rank(); ++d) {
    for (const uint8_t atom : split.AtomsOf(d)) append_digit(place[d], atom);
  }
  for (const int atom : (axes.All() - exchanging).Atoms()) append_digit(place.back(), atom);
  return place;
}

// Devices that already have their part keep it. Devices with equal parts send in mesh order.
ListOfLists PermutePairs(const Axes& axes, const Move& move) {
  const auto before = [&](int64_t position) { return PlaceOf(axes, move.atoms, move.before, position); };
  const auto after = [&](int64_t position) { return PlaceOf(axes, move.atoms, move.after, position); };
  std::map<std::vector<int64_t>, std::vector<int64_t>> senders;  // Positions, descending.
  for (int64_t position = axes.devices(); position-- > 0;)
    if (before(position) != after(position)) senders[before(position)].push_back(position);
  ListOfLists pairs;
  for (int64_t position = 0; position < axes.devices(); ++position) {
    int64_t sender = position;
    if (before(position) != after(position)) {
      std::vector<int64_t>& holders = senders[after(position)];
      CHECK(!holders.empty(), "a permute has more receivers than senders of a part");
      sender = holders.back();
      holders.pop_back();
    }
    pairs.push_back({axes.DeviceAt(sender), axes.DeviceAt(position)});
  }
  std::ranges::sort(pairs);
  return pairs;
}

// ---- Local changes of shape -----------------------------------------------------------------------------------------

Instruction* Reshaped(Writer& writer, Instruction* x, const Dims& dims) {
  if (x->shape().dims() == dims) return x;
  return writer.Add(Opcode::kReshape, x->shape().WithDims(dims), {x}, ReshapeAttrs());
}

Dims InOrder(const Dims& dims, const std::vector<int64_t>& order) {
  Dims result;
  for (const int64_t dim : order) result.push_back(dims[dim]);
  return result;
}

std::vector<int64_t> InverseOf(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  return inverse;
}

Instruction* Transposed(Writer& writer, Instruction* x, const std::vector<int64_t>& order) {
  if (std::ranges::is_sorted(order)) return x;
  return writer.Add(Opcode::kTranspose, x->shape().WithDims(InOrder(x->shape().dims(), order)), {x},
                    DimensionsAttrs{order});
}

Instruction* PaddedTo(Writer& writer, Instruction* x, const Dims& dims) {
  if (x->shape().dims() == dims) return x;
  PadAttrs attrs;
  for (size_t d = 0; d < dims.size(); ++d) attrs.padding.dims.push_back({.high = dims[d] - x->shape().dims()[d]});
  Instruction* const zero = writer.Constant(0, Shape::Scalar(x->shape().type()));
  return writer.Add(Opcode::kPad, x->shape().WithDims(dims), {x, zero}, std::move(attrs));
}

Instruction* CutTo(Writer& writer, Instruction* x, const Dims& dims) {
  if (x->shape().dims() == dims) return x;
  SliceAttrs attrs;
  for (const int64_t size : dims) attrs.slice.dims.push_back({.limit = size});
  return writer.Add(Opcode::kSlice, x->shape().WithDims(dims), {x}, std::move(attrs));
}

// An array of blocks, such as 3 parts along dimension 0 and 4 along dimension 1, each of 2 x 5 elements.
struct Blocks {
  Blocks(const Axes& axes, const std::vector<DimAtoms>& parts, const Dims& block);

  Dims whole;                  // [6,20]
  Dims numbered;               // [12,2,5]
  Dims apart;                  // [3,4,2,5]
  std::vector<int64_t> order;  // {0,2,1,3}: the dimensions of `apart` in their order in `whole`.
};

Blocks::Blocks(const Axes& axes, const std::vector<DimAtoms>& parts, const Dims& block) : whole(block) {
  numbered.push_back(axes.SizeOf(AtomsOf(parts)));
  for (int64_t d = 0; d < std::ssize(block); ++d) order.push_back(std::ssize(parts) + d);
  for (const auto& [dim, atoms] : parts) {
    order.insert(std::ranges::find(order, std::ssize(parts) + dim), std::ssize(apart));
    apart.push_back(axes.SizeOf(atoms));
    whole[dim] *= apart.back();
  }
  for (const int64_t size : block) {
    numbered.push_back(size);
    apart.push_back(size);
  }
}

// whole => numbered
Instruction* BlocksInFront(Writer& writer, Instruction* x, const Blocks& blocks) {
  x = Reshaped(writer, x, InOrder(blocks.apart, blocks.order));
  x = Transposed(writer, x, InverseOf(blocks.order));
  return Reshaped(writer, x, blocks.numbered);
}

// numbered => whole
Instruction* BlocksMerged(Writer& writer, Instruction* x, const Blocks& blocks) {
  x = Reshaped(writer, x, blocks.apart);
  x = Transposed(writer, x, blocks.order);
  return Reshaped(writer, x, blocks.whole);
}

// Renumbers blocks from the atoms `from` to `to`, the same atoms in another order.
Instruction* BlocksReordered(Writer& writer, Instruction* x, const Axes& axes, const AtomList& from,
                             const AtomList& to) {
  if (from == to) return x;
  const Dims numbered = x->shape().dims();
  Dims apart;
  std::vector<int64_t> order;
  for (const uint8_t atom : from) apart.push_back(axes.atoms()[atom].size);
  for (const uint8_t atom : to) order.push_back(std::ranges::find(from, atom) - from.begin());
  for (size_t d = 1; d < numbered.size(); ++d) {
    order.push_back(std::ssize(apart));
    apart.push_back(numbered[d]);
  }
  x = Reshaped(writer, x, apart);
  x = Transposed(writer, x, order);
  return Reshaped(writer, x, numbered);
}

// ---- Moves ----------------------------------------------------------------------------------------------------------

class MoveWriter {
 public:
  MoveWriter(Computation& to, const Instruction& like, const Axes& axes, DeviceDigits& digits, CollectiveSupply& supply)
      : writer_(like, to), axes_(axes), digits_(digits), supply_(supply), replicas_(to.module().header.replica_count) {}

  Instruction* Write(Instruction* x, const Move& move) {
    CHECK(SameDims(x->shape(), move.local_before), "a move of ", move.local_before, " for ", x->shape());
    x = PaddedTo(writer_, x, DimsOfBlocks(move));
    return CutTo(writer_, Moved(x, move), move.local_after.dims());
  }

 private:
  // The local dimensions before a move. If a dimension gets more parts, it is padded to a multiple of the later size.
  Dims DimsOfBlocks(const Move& move) const {
    Dims dims = move.local_before.dims();
    for (const auto& [dim, atoms] : move.Added()) dims[dim] = move.local_after.dim(dim) * axes_.SizeOf(atoms);
    return dims;
  }

  Instruction* Moved(Instruction* x, const Move& move) {
    switch (move.kind) {
      case MoveKind::kSlice: return OwnBlock(x, move);
      case MoveKind::kPermute: return Permuted(x, move);
      case MoveKind::kExchange: return Exchanged(x, move);
      case MoveKind::kGather: return Gathered(x, move);
      case MoveKind::kScatterSum: return ScatterReduced(x, move);
      case MoveKind::kSum: return Reduced(x, move);
    }
    return x;
  }

  Instruction* OwnBlock(Instruction* x, const Move& move) {
    std::vector<Instruction*> starts(x->shape().rank());
    for (const auto& [dim, atoms] : move.Added()) {
      Instruction& part = digits_.PartNumber(axes_, atoms);
      Instruction* const size = writer_.Constant(static_cast<double>(move.local_after.dim(dim)), part.shape());
      starts[dim] = writer_.Binary(Opcode::kMultiply, &part, size);
    }
    const Dims& dims = move.local_after.dims();
    return writer_.Slice(x, starts, dims, x->shape().WithDims(dims));
  }

  Instruction* Permuted(Instruction* x, const Move& move) {
    PermuteAttrs attrs;
    attrs.channel_id = supply_.NextChannel();
    attrs.source_target_pairs = PermutePairs(axes_, move);
    return writer_.Add(Opcode::kCollectivePermute, x->shape(), {x}, std::move(attrs));
  }

  Instruction* Gathered(Instruction* x, const Move& move) {
    const std::vector<DimAtoms> removed = move.Removed();
    const Blocks blocks(axes_, removed, x->shape().dims());
    CollectiveAttrs attrs = GroupsOfDevices(AtomsOf(removed));
    if (removed.size() == 1) {
      attrs.dimension = OneDimension{removed[0].dim};
      return writer_.Add(Opcode::kAllGather, x->shape().WithDims(blocks.whole), {x}, std::move(attrs));
    }
    attrs.dimension = OneDimension{0};
    Dims own = blocks.numbered;
    own[0] = 1;
    x = Reshaped(writer_, x, own);
    x = writer_.Add(Opcode::kAllGather, x->shape().WithDims(blocks.numbered), {x}, std::move(attrs));
    return BlocksMerged(writer_, x, blocks);
  }

  Instruction* ScatterReduced(Instruction* x, const Move& move) {
    const std::vector<DimAtoms> added = move.Added();
    const Dims& dims = move.local_after.dims();
    CollectiveAttrs attrs = GroupsOfDevices(AtomsOf(added));
    attrs.to_apply = &supply_.Reducer(move.before.reduction, x->shape().type());
    if (added.size() == 1) {
      attrs.dimension = OneDimension{added[0].dim};
      return writer_.Add(Opcode::kReduceScatter, x->shape().WithDims(dims), {x}, std::move(attrs));
    }
    attrs.dimension = OneDimension{0};
    const Blocks blocks(axes_, added, dims);
    Dims own = blocks.numbered;
    own[0] = 1;
    x = BlocksInFront(writer_, x, blocks);
    x = writer_.Add(Opcode::kReduceScatter, x->shape().WithDims(own), {x}, std::move(attrs));
    return Reshaped(writer_, x, dims);
  }

  Instruction* Reduced(Instruction* x, const Move& move) {
    const std::vector<int> atoms = move.atoms.Atoms();
    CollectiveAttrs attrs = GroupsOfDevices(AtomList(atoms.begin(), atoms.end()));
    attrs.to_apply = &supply_.Reducer(move.before.reduction, x->shape().type());
    return writer_.Add(Opcode::kAllReduce, x->shape(), {x}, std::move(attrs));
  }

  // Sends the blocks of the dimension that gets atoms to the group's members, and joins received blocks along the
  // dimension that loses atoms.
  Instruction* Exchanged(Instruction* x, const Move& move) {
    const std::vector<DimAtoms> removed = move.Removed(), added = move.Added();
    CHECK(removed.size() == 1 && added.size() == 1, "an exchange of more than two dimensions");
    Dims block = x->shape().dims();
    block[added[0].dim] = move.local_after.dim(added[0].dim);
    CollectiveAttrs attrs;
    attrs.channel_id = supply_.NextChannel();
    attrs.replica_groups = GroupsAlong(axes_, added[0].atoms, /*replicas=*/1);
    attrs.dimension = OneDimension{0};
    x = BlocksInFront(writer_, x, Blocks(axes_, added, block));
    x = writer_.Add(Opcode::kAllToAll, x->shape(), {x}, std::move(attrs));
    x = BlocksReordered(writer_, x, axes_, added[0].atoms, removed[0].atoms);
    return BlocksMerged(writer_, x, Blocks(axes_, removed, block));
  }

  // For collectives whose ids are devices. Those of all-to-all and collective-permute are partitions.
  CollectiveAttrs GroupsOfDevices(const AtomList& atoms) {
    CollectiveAttrs attrs;
    attrs.channel_id = supply_.NextChannel();
    attrs.replica_groups = GroupsAlong(axes_, atoms, replicas_);
    attrs.use_global_device_ids = true;
    return attrs;
  }

  Writer writer_;
  const Axes& axes_;
  DeviceDigits& digits_;
  CollectiveSupply& supply_;
  int64_t replicas_;
};

}  // namespace

Instruction& EmitReshard(Instruction& local, const Instruction& reason, const ReshardPlan& plan, const Axes& axes,
                         DeviceDigits& digits, CollectiveSupply& supply) {
  const Instruction& like = HasSourceLine(reason) || !HasSourceLine(local) ? reason : local;
  MoveWriter writer(local.computation(), like, plan.finer_axes ? *plan.finer_axes : axes, digits, supply);
  Instruction* value = &local;
  for (const Move& move : plan.moves) value = writer.Write(value, move);
  return *value;
}

}  // namespace hlo
