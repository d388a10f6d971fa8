// Splits of arrays over small meshes, and the parts of an array whose elements have their number as value.
#ifndef HLO_TESTS_IR_MESH_SPLITS_H_
#define HLO_TESTS_IR_MESH_SPLITS_H_

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "ir/mesh/axes.h"

namespace hlo {

// ---- Meshes and splits ----------------------------------------------------------------------------------------------

// A mesh with the atoms x, y, z of these sizes. `listed`, if not empty, has the device at each position.
inline Axes MeshOf(const std::vector<int64_t>& sizes, std::vector<int64_t> listed = {}) {
  Sharding sharding = {.kind = ShardingKind::kNamed};
  NamedSharding& named = sharding.named.Mutable();
  int64_t devices = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    named.mesh.axes.push_back({std::string(1, static_cast<char>('x' + i)), sizes[i]});
    devices *= sizes[i];
  }
  named.mesh.devices = listed.empty() ? CountingOrder(devices) : DeviceOrder{std::move(listed), {}, {}};
  const Sharding* const pointer = &sharding;
  return Axes::Of(std::span(&pointer, 1), devices);
}

using Lists = std::vector<std::vector<int>>;

inline ArraySplit SplitBy(const Lists& lists) {
  ArraySplit split(std::ssize(lists));
  for (size_t d = 0; d < lists.size(); ++d)
    for (const int atom : lists[d]) split.Append(static_cast<int64_t>(d), atom);
  return split;
}

inline AxisSet SetOf(std::initializer_list<uint8_t> atoms) {
  return AxisSet::Of(std::span(atoms.begin(), atoms.size()));
}

// All ways to split an array of this rank by some of the atoms, in all orders.
inline std::vector<ArraySplit> AllSplits(int atoms, int64_t rank) {
  std::vector<ArraySplit> splits;
  const auto add = [&](auto&& self, Lists& lists, AxisSet left, int64_t first_dim) -> void {
    splits.push_back(SplitBy(lists));
    for (int64_t d = first_dim; d < rank; ++d) {
      for (const int atom : left.Atoms()) {
        lists[d].push_back(atom);
        AxisSet rest = left;
        rest.Remove(atom);
        self(self, lists, rest, d);
        lists[d].pop_back();
      }
    }
  };
  Lists lists(rank);
  add(add, lists, AxisSet::First(atoms), 0);
  return splits;
}

// ---- Devices --------------------------------------------------------------------------------------------------------

// The array on a device, row-major.
struct DevicePart {
  std::vector<int64_t> sizes;
  std::vector<int64_t> values;
};

inline constexpr int64_t kPadding = -1'000'000;

inline int64_t CountOf(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies());
}

// The box of `sizes` elements at `start`. Elements outside of the part are padding.
inline DevicePart BoxOf(const DevicePart& part, const std::vector<int64_t>& start, const std::vector<int64_t>& sizes) {
  DevicePart box = {sizes, std::vector<int64_t>(CountOf(sizes))};
  for (int64_t i = 0; i < std::ssize(box.values); ++i) {
    int64_t left = i, at = 0, stride = 1;
    bool inside = true;
    for (int64_t d = std::ssize(sizes); d-- > 0; left /= sizes[d], stride *= part.sizes[d]) {
      const int64_t index = start[d] + left % sizes[d];
      inside &= index < part.sizes[d];
      at += index * stride;
    }
    box.values[i] = inside ? part.values[at] : kPadding;
  }
  return box;
}

inline void PutBox(DevicePart& part, const std::vector<int64_t>& start, const DevicePart& box) {
  for (int64_t i = 0; i < std::ssize(box.values); ++i) {
    int64_t left = i, at = 0, stride = 1;
    for (int64_t d = std::ssize(box.sizes); d-- > 0; left /= box.sizes[d], stride *= part.sizes[d])
      at += (start[d] + left % box.sizes[d]) * stride;
    part.values[at] = box.values[i];
  }
}

inline std::vector<int64_t> SizesOf(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

inline int64_t DigitOf(const Axes& axes, int64_t position, int atom) {
  return position / axes.atoms()[atom].stride % axes.atoms()[atom].size;
}

inline int64_t IndexAlong(const Axes& axes, int64_t position, std::span<const uint8_t> atoms) {
  int64_t index = 0;
  for (const uint8_t atom : atoms) index = index * axes.atoms()[atom].size + DigitOf(axes, position, atom);
  return index;
}

// The devices that differ from this one only in these atoms, in ascending order.
inline std::vector<int64_t> GroupOf(const Axes& axes, int64_t position, AxisSet atoms) {
  std::vector<int64_t> group = {position};
  for (const int atom : atoms.Atoms()) {
    const auto& [size, stride, name] = axes.atoms()[atom];
    std::vector<int64_t> larger;
    for (const int64_t member : group) {
      for (int64_t digit = 0; digit < size; ++digit)
        larger.push_back(member + (digit - DigitOf(axes, member, atom)) * stride);
    }
    group = std::move(larger);
  }
  std::ranges::sort(group);
  return group;
}

inline std::vector<int64_t> TileOf(const Axes& axes, const ArraySplit& split, int64_t position) {
  std::vector<int64_t> tile;
  for (int64_t d = 0; d < split.rank(); ++d) tile.push_back(IndexAlong(axes, position, split.AtomsOf(d)));
  return tile;
}

// The part at a position of an array whose elements are 0, 1, 2, ...
inline DevicePart IotaPart(const Axes& axes, const Shape& shape, const ArraySplit& split, int64_t position) {
  DevicePart whole = {SizesOf(shape), std::vector<int64_t>(shape.NumElements())};
  std::iota(whole.values.begin(), whole.values.end(), 0);
  const std::vector<int64_t> local = SizesOf(axes.LocalShape(shape, split));
  std::vector<int64_t> start = TileOf(axes, split, position);
  for (size_t d = 0; d < start.size(); ++d) start[d] *= local[d];
  return BoxOf(whole, start, local);
}

inline int64_t PartialValue(int64_t value, int64_t member, int64_t members, Reduction reduction) {
  const int64_t others = (member + 1) * (value % 7 + 1);
  switch (reduction) {
    case Reduction::kMax: return member == value % members ? value : value - others;
    case Reduction::kMin: return member == value % members ? value : value + others;
    case Reduction::kSum: break;
  }
  // The last member has the rest, so that the members' values add up to `value`.
  int64_t sum = 0;
  for (int64_t i = 0; i + 1 < members; ++i) sum += (i + 1) * (value % 7 + 1);
  return member + 1 < members ? others : value - sum;
}

inline int64_t Reduce(Reduction reduction, int64_t a, int64_t b) {
  switch (reduction) {
    case Reduction::kMax: return std::max(a, b);
    case Reduction::kMin: return std::min(a, b);
    case Reduction::kSum: break;
  }
  return a + b;
}

// The parts at all positions. Along pending atoms, the values of the devices differ, and their reduction is the iota
// array. Padding differs on all devices.
inline std::vector<DevicePart> PartsOf(const Axes& axes, const Shape& shape, const ArraySplit& split) {
  std::vector<DevicePart> parts;
  for (int64_t position = 0; position < axes.devices(); ++position) {
    DevicePart part = IotaPart(axes, shape, split, position);
    const auto group = GroupOf(axes, position, split.pending);
    const int64_t member = std::ranges::find(group, position) - group.begin();
    for (int64_t& value : part.values) {
      value = value == kPadding ? kPadding * (position + 2)
                                : PartialValue(value, member, std::ssize(group), split.reduction);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

// The first element of the parts that differs from the iota array, or an empty text. Padding is ignored.
inline std::string DifferenceOf(const std::vector<DevicePart>& parts, const Axes& axes, const Shape& shape,
                                const ArraySplit& split) {
  for (int64_t position = 0; position < axes.devices(); ++position) {
    const DevicePart expected = IotaPart(axes, shape, split, position);
    if (expected.sizes != parts[position].sizes) return Str("device ", position, " has another local shape");
    const auto group = GroupOf(axes, position, split.pending);
    for (size_t i = 0; i < expected.values.size(); ++i) {
      int64_t actual = parts[group[0]].values[i];
      for (size_t k = 1; k < group.size(); ++k) actual = Reduce(split.reduction, actual, parts[group[k]].values[i]);
      if (expected.values[i] != kPadding && expected.values[i] != actual)
        return Str("device ", position, ", element ", i, ": expected ", expected.values[i], ", has ", actual);
    }
  }
  return "";
}

// ---- Random arrays and pending reductions --------------------------------------------------------------------------

// Sizes that both splits divide evenly, or any sizes.
inline std::vector<int64_t> RandomDims(const Axes& axes, const ArraySplit& from, const ArraySplit& to,
                                       std::mt19937& random) {
  const bool is_even = random() % 2 == 0;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const int64_t parts = std::lcm(axes.SizeOf(from.AtomsOf(d)), axes.SizeOf(to.AtomsOf(d)));
    dims.push_back(is_even ? parts * (1 + random() % 2) : random() % 13);
  }
  return dims;
}

inline void AddPending(const Axes& axes, ArraySplit& from, ArraySplit& to, std::mt19937& random) {
  for (const int atom : (axes.All() - from.InDims()).Atoms()) {
    if (random() % 4 != 0) continue;
    from.pending.Add(atom);
    if (!to.InDims().Has(atom) && random() % 2 == 0) to.pending.Add(atom);
  }
  const auto reduction = static_cast<Reduction>(random() % 3);
  if (!from.pending.empty()) from.reduction = reduction;
  if (!to.pending.empty()) to.reduction = reduction;
}

}  // namespace hlo

#endif  // HLO_TESTS_IR_MESH_SPLITS_H_
