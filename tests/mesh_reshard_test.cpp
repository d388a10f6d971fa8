// Tests of plans for changing a split. A simulation of the devices executes each move on their padded parts, as the
// collective of that kind would do it, and the result is compared with the parts of the final split.
#include "ir/mesh/reshard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>

#include "base/text.h"
#include "ir/mesh/link_cost.h"

namespace hlo {
namespace {

// ---- Meshes and splits ----------------------------------------------------------------------------------------------

// A mesh with the atoms x, y, z of these sizes.
Axes MeshOf(const std::vector<int64_t>& sizes) {
  Sharding sharding = {.kind = ShardingKind::kNamed};
  NamedSharding& named = sharding.named.Mutable();
  int64_t devices = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    named.mesh.axes.push_back({std::string(1, static_cast<char>('x' + i)), sizes[i]});
    devices *= sizes[i];
  }
  named.mesh.devices = CountingOrder(devices);
  const Sharding* const pointer = &sharding;
  return Axes::Of(std::span(&pointer, 1), devices);
}

using Lists = std::vector<std::vector<int>>;

ArraySplit SplitBy(const Lists& lists) {
  ArraySplit split(std::ssize(lists));
  for (size_t d = 0; d < lists.size(); ++d)
    for (const int atom : lists[d]) split.Append(static_cast<int64_t>(d), atom);
  return split;
}

AxisSet SetOf(std::initializer_list<uint8_t> atoms) { return AxisSet::Of(std::span(atoms.begin(), atoms.size())); }

// All ways to split an array of this rank by some of the atoms, in all orders.
std::vector<ArraySplit> AllSplits(int atoms, int64_t rank) {
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
struct Part {
  std::vector<int64_t> sizes;
  std::vector<int64_t> values;
};

constexpr int64_t kPadding = -1'000'000;

int64_t CountOf(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies());
}

// The box of `sizes` elements at `start`. Elements outside of the part are padding.
Part BoxOf(const Part& part, const std::vector<int64_t>& start, const std::vector<int64_t>& sizes) {
  Part box = {sizes, std::vector<int64_t>(CountOf(sizes))};
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

void PutBox(Part& part, const std::vector<int64_t>& start, const Part& box) {
  for (int64_t i = 0; i < std::ssize(box.values); ++i) {
    int64_t left = i, at = 0, stride = 1;
    for (int64_t d = std::ssize(box.sizes); d-- > 0; left /= box.sizes[d], stride *= part.sizes[d])
      at += (start[d] + left % box.sizes[d]) * stride;
    part.values[at] = box.values[i];
  }
}

std::vector<int64_t> SizesOf(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

int64_t DigitOf(const Axes& axes, int64_t position, int atom) {
  return position / axes.atoms()[atom].stride % axes.atoms()[atom].size;
}

int64_t IndexAlong(const Axes& axes, int64_t position, std::span<const uint8_t> atoms) {
  int64_t index = 0;
  for (const uint8_t atom : atoms) index = index * axes.atoms()[atom].size + DigitOf(axes, position, atom);
  return index;
}

// The devices that differ from this one only in these atoms, in ascending order.
std::vector<int64_t> GroupOf(const Axes& axes, int64_t position, AxisSet atoms) {
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

std::vector<int64_t> TileOf(const Axes& axes, const ArraySplit& split, int64_t position) {
  std::vector<int64_t> tile;
  for (int64_t d = 0; d < split.rank(); ++d) tile.push_back(IndexAlong(axes, position, split.AtomsOf(d)));
  return tile;
}

// The part of an array whose elements have their number as value.
Part IotaPart(const Axes& axes, const Shape& shape, const ArraySplit& split, int64_t position) {
  Part whole = {SizesOf(shape), std::vector<int64_t>(shape.NumElements())};
  std::iota(whole.values.begin(), whole.values.end(), 0);
  const std::vector<int64_t> local = SizesOf(axes.LocalShape(shape, split));
  std::vector<int64_t> start = TileOf(axes, split, position);
  for (size_t d = 0; d < start.size(); ++d) start[d] *= local[d];
  return BoxOf(whole, start, local);
}

class Devices {
 public:
  // Along pending atoms, the values of the devices differ and have the iota array as their reduction. Padding differs
  // on all devices. `move_axes` is the mesh of the moves, and `axes` the mesh of the split.
  Devices(const Axes& move_axes, const Axes& axes, const Shape& shape, const ArraySplit& split)
      : axes_(move_axes), shape_(shape) {
    for (int64_t position = 0; position < axes.devices(); ++position) {
      Part part = IotaPart(axes, shape, split, position);
      const auto group = GroupOf(axes, position, split.pending);
      const int64_t member = std::ranges::find(group, position) - group.begin();
      for (int64_t& value : part.values) {
        value = value == kPadding ? kPadding * (position + 2)
                                  : PartialValue(value, member, std::ssize(group), split.reduction);
      }
      parts_.push_back(std::move(part));
    }
  }

  void Execute(const Move& move) {
    ASSERT_EQ(SizesOf(move.local_before), parts_[0].sizes);
    if (move.kind == MoveKind::kPermute) Permute(move);
    else MoveBlocks(move);
    ASSERT_EQ(SizesOf(move.local_after), parts_[0].sizes);
  }

  // The first element that differs from the iota array, or an empty text. Padding is ignored.
  std::string Difference(const Axes& axes, const ArraySplit& split) const {
    for (int64_t position = 0; position < axes.devices(); ++position) {
      const Part expected = IotaPart(axes, shape_, split, position);
      if (expected.sizes != parts_[position].sizes) return Str("device ", position, " has another local shape");
      const auto group = GroupOf(axes, position, split.pending);
      for (size_t i = 0; i < expected.values.size(); ++i) {
        int64_t actual = parts_[group[0]].values[i];
        for (size_t k = 1; k < group.size(); ++k) actual = Reduce(split.reduction, actual, parts_[group[k]].values[i]);
        if (expected.values[i] != kPadding && expected.values[i] != actual)
          return Str("device ", position, ", element ", i, ": expected ", expected.values[i], ", has ", actual);
      }
    }
    return "";
  }

 private:
  static int64_t PartialValue(int64_t value, int64_t member, int64_t members, Reduction reduction) {
    const int64_t others = (member + 1) * (value % 7 + 1);
    switch (reduction) {
      case Reduction::kMax: return member == value % members ? value : value - others;
      case Reduction::kMin: return member == value % members ? value : value + others;
      case Reduction::kSum: break;
    }
    // The last member's value is the rest of the sum.
    int64_t sum = 0;
    for (int64_t i = 0; i + 1 < members; ++i) sum += (i + 1) * (value % 7 + 1);
    return member + 1 < members ? others : value - sum;
  }

  static int64_t Reduce(Reduction reduction, int64_t a, int64_t b) {
    switch (reduction) {
      case Reduction::kMax: return std::max(a, b);
      case Reduction::kMin: return std::min(a, b);
      case Reduction::kSum: break;
    }
    return a + b;
  }

  // Each member of a group sends its part to one member. Copies of a tile are assigned in the order of the devices.
  void Permute(const Move& move) {
    std::vector<Part> after(parts_.size());
    for (int64_t position = 0; position < axes_.devices(); ++position) {
      const std::vector<int64_t> group = GroupOf(axes_, position, move.atoms);
      if (group[0] != position) continue;
      std::map<std::vector<int64_t>, std::vector<int64_t>> sources, targets;
      for (const int64_t member : group) {
        sources[TileOf(axes_, move.before, member)].push_back(member);
        targets[TileOf(axes_, move.after, member)].push_back(member);
      }
      for (const auto& [tile, receivers] : targets) {
        ASSERT_EQ(sources[tile].size(), receivers.size()) << "a permute must be a bijection";
        for (size_t i = 0; i < receivers.size(); ++i) after[receivers[i]] = parts_[sources[tile][i]];
      }
    }
    parts_ = std::move(after);
  }

  // Blocks are local_before along dimensions that lose atoms, and local_after along the ones that get atoms. Each
  // device takes a block from each member of its group and places it by the sender's digits. For reductions it adds the
  // blocks instead. A slice takes only the device's own block.
  void MoveBlocks(const Move& move) {
    const std::vector<int64_t> before = SizesOf(move.local_before), after = SizesOf(move.local_after);
    const auto removed = move.Removed(), added = move.Added();
    std::vector<int64_t> block_sizes = before, padded = before;
    for (const auto& [dim, atoms] : added) block_sizes[dim] = after[dim];
    for (const auto& [dim, atoms] : removed) padded[dim] = before[dim] * axes_.SizeOf(atoms);
    for (const auto& [dim, atoms] : added) padded[dim] = after[dim];
    const bool reduces = move.kind == MoveKind::kSum || move.kind == MoveKind::kScatterSum;
    std::vector<Part> results;
    for (int64_t position = 0; position < axes_.devices(); ++position) {
      Part result = {padded, std::vector<int64_t>(CountOf(padded), kPadding)};
      const AxisSet senders = move.kind == MoveKind::kSlice ? AxisSet() : move.atoms;
      bool is_first = true;
      for (const int64_t sender : GroupOf(axes_, position, senders)) {
        std::vector<int64_t> start(before.size(), 0), target(before.size(), 0);
        for (const auto& [dim, atoms] : added) start[dim] = IndexAlong(axes_, position, atoms) * after[dim];
        for (const auto& [dim, atoms] : removed) target[dim] = IndexAlong(axes_, sender, atoms) * before[dim];
        Part block = BoxOf(parts_[sender], start, block_sizes);
        if (reduces && !is_first) {
          for (size_t i = 0; i < block.values.size(); ++i)
            block.values[i] = Reduce(move.before.reduction, block.values[i], result.values[i]);
        }
        PutBox(result, target, block);
        is_first = false;
      }
      results.push_back(BoxOf(result, std::vector<int64_t>(before.size(), 0), after));
    }
    parts_ = std::move(results);
  }

  const Axes& axes_;
  const Shape& shape_;
  std::vector<Part> parts_;
};

// ---- Examples -------------------------------------------------------------------------------------------------------

std::string PlanText(const Axes& axes, const std::vector<int64_t>& dims, const ArraySplit& from, const ArraySplit& to) {
  const auto plan = PlanReshard(from, to, Shape(PrimitiveType::kF32, dims), axes);
  return plan ? plan->Text(axes) : plan.error().message();
}

// XLA gathers the whole array here (openxla/xla issue 15207).
TEST(MeshReshard, ATransposedSplitNeedsNoWholeArray) {
  const Axes axes = MeshOf({4, 2});
  EXPECT_EQ(PlanText(axes, {16, 16, 16}, SplitBy({{1}, {}, {0}}), SplitBy({{}, {0, 1}, {}})),
            "exchange(2 -> 1: {x}) 2048 B; exchange(0 -> 1: {y}) 2048 B");
}

TEST(MeshReshard, OneAxis) {
  const Axes axes = MeshOf({8});
  const ArraySplit rows = SplitBy({{0}, {}}), columns = SplitBy({{}, {0}}), all = SplitBy({{}, {}});
  EXPECT_EQ(PlanText(axes, {64, 64}, rows, all), "gather(0: {x}) 16384 B");
  EXPECT_EQ(PlanText(axes, {64, 64}, all, rows), "slice(0: {x})");
  EXPECT_EQ(PlanText(axes, {64, 64}, rows, columns), "exchange(0 -> 1: {x}) 2048 B");
  EXPECT_EQ(PlanText(axes, {64, 64}, rows, rows), "none");
}

TEST(MeshReshard, TwoAxes) {
  const auto text = [axes = MeshOf({2, 4})](const Lists& from, const Lists& to) {
    return PlanText(axes, {64, 64}, SplitBy(from), SplitBy(to));
  };
  EXPECT_EQ(text({{0}, {1}}, {{0}, {}}), "gather(1: {y}) 8192 B");
  EXPECT_EQ(text({{0}, {}}, {{0}, {1}}), "slice(1: {y})");
  EXPECT_EQ(text({{0, 1}, {}}, {{0}, {1}}), "exchange(0 -> 1: {y}) 2048 B");
  EXPECT_EQ(text({{0, 1}, {}}, {{1, 0}, {}}), "permute({x, y}) 2048 B");
  EXPECT_EQ(text({{0}, {1}}, {{}, {0, 1}}), "exchange(0 -> 1: {x}) 2048 B; permute({x, y}) 2048 B");
  EXPECT_EQ(text({{0}, {1}}, {{}, {}}), "gather(0: {x}, 1: {y}) 16384 B");
}

TEST(MeshReshard, PartsOfAnAxis) {
  const auto text = [axes = MeshOf({2, 4})](const Lists& from, const Lists& to) {
    return PlanText(axes, {64, 64}, SplitBy(from), SplitBy(to));
  };
  EXPECT_EQ(text({{0}, {1}}, {{1}, {0}}), "exchange(1 -> 0: {y:(2)2}) 2048 B; permute({x, y:(1)2}) 2048 B");
  EXPECT_EQ(text({{0}, {}}, {{1}, {}}), "slice(0: {y:(2)2}); permute({x, y:(1)2}) 4096 B");
  EXPECT_EQ(PlanText(MeshOf({16, 128}), {4096, 4096}, SplitBy({{0}, {1}}), SplitBy({{1}, {0}})),
            "exchange(1 -> 0: {y:(16)8}) 32768 B; permute({x, y:(1)16}) 32768 B");
}

TEST(MeshReshard, LargeGathersAreSeparate) {
  EXPECT_EQ(PlanText(MeshOf({2, 4}), {512, 1024}, SplitBy({{0}, {1}}), SplitBy({{}, {}})),
            "gather(1: {y}) 1048576 B; gather(0: {x}) 2097152 B");
}

TEST(MeshReshard, PendingReductions) {
  const Axes axes = MeshOf({2, 4});
  ArraySplit from = SplitBy({{}, {}});
  from.pending = SetOf({0, 1});
  const auto text = [&](const Lists& to) { return PlanText(axes, {64, 64}, from, SplitBy(to)); };
  EXPECT_EQ(text({{}, {}}), "sum({x, y}) 16384 B");
  EXPECT_EQ(text({{0, 1}, {}}), "scatter_sum(0: {x, y}) 2048 B");
  EXPECT_EQ(text({{1}, {}}), "scatter_sum(0: {y}) 4096 B; sum({x}) 4096 B");
  from.reduction = Reduction::kMax;
  EXPECT_EQ(text({{0}, {1}}), "scatter_max(0: {x}, 1: {y}) 2048 B");
  ArraySplit to = SplitBy({{1}, {}});
  to.pending = SetOf({0});
  to.reduction = Reduction::kMax;
  EXPECT_EQ(PlanText(axes, {64, 64}, from, to), "scatter_max(0: {y}) 4096 B");
  ArraySplit scalar = SplitBy({});
  scalar.pending = SetOf({0});
  EXPECT_EQ(PlanText(axes, {}, scalar, SplitBy({})), "sum({x}) 4 B");
}

// 10 rows are 2 parts of 5 rows or 4 parts of 3, so parts of the 4 are not within parts of the 2.
TEST(MeshReshard, PartsThatDoNotNestAreNotSliced) {
  const Axes axes = MeshOf({2, 2});
  const ArraySplit halves = SplitBy({{0}, {}}), quarters = SplitBy({{0, 1}, {}});
  EXPECT_EQ(PlanText(axes, {8, 4}, halves, quarters), "slice(0: {y})");
  const auto plan = PlanReshard(halves, quarters, Shape(PrimitiveType::kF32, {10, 4}), axes);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->Text(axes), "slice(1: {y}); exchange(0 -> 1: {x}) 40 B; exchange(1 -> 0: {x, y}) 48 B");
  std::vector<std::string> shapes;
  for (const Move& move : plan->moves) shapes.push_back(move.local_after.ToString());
  EXPECT_EQ(shapes, (std::vector<std::string>{"f32[5,2]", "f32[10,1]", "f32[3,4]"}));
}

TEST(MeshReshard, APlanTellsThatItGathersTheWholeArray) {
  const auto plan = PlanReshard(SplitBy({{0}}), SplitBy({{0, 1}}), Shape(PrimitiveType::kF32, {10}), MeshOf({2, 2}));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->gathers_whole);
  EXPECT_EQ(plan->Text(MeshOf({2, 2})), "gather(0: {x}) 40 B; slice(0: {x, y}); whole");
}

TEST(MeshReshard, Errors) {
  const Axes axes = MeshOf({2, 4});
  const ArraySplit all = SplitBy({{}, {}});
  ArraySplit manual = all, pending = all, device = all, maximum = all;
  manual.manual = SetOf({0});
  pending.pending = maximum.pending = SetOf({1});
  maximum.reduction = Reduction::kMax;
  device.only_device = 3;
  const auto text = [&](const ArraySplit& from, const ArraySplit& to) { return PlanText(axes, {64, 64}, from, to); };
  EXPECT_EQ(text(manual, all),
            "no collectives change the split [{}, {}] manual={x} to [{}, {}]: the manual axes differ");
  EXPECT_EQ(text(all, pending),
            "no collectives change the split [{}, {}] to [{}, {}] sum={y}: the array would become "
            "unreduced");
  EXPECT_EQ(text(maximum, pending),
            "no collectives change the split [{}, {}] max={y} to [{}, {}] sum={y}: the "
            "reductions differ");
  EXPECT_EQ(text(device, all), "no collectives change the split device 3 to [{}, {}]: a single device holds the array");
  EXPECT_EQ(text(device, device), "none");
}

TEST(MeshReshard, ManualAxesStay) {
  ArraySplit from = SplitBy({{1}, {}}), to = SplitBy({{}, {1}});
  from.manual = to.manual = SetOf({0});
  EXPECT_EQ(PlanText(MeshOf({2, 4}), {64, 64}, from, to), "exchange(0 -> 1: {y}) 4096 B");
}

TEST(MeshReshard, SecondsOfALink) {
  const Axes axes = MeshOf({4, 2});
  const auto plan =
      PlanReshard(SplitBy({{1}, {}, {0}}), SplitBy({{}, {0, 1}, {}}), Shape(PrimitiveType::kF32, {16, 16, 16}), axes);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->Collectives(), 2);
  EXPECT_EQ(plan->ResultBytes(), 4096);
  EXPECT_EQ(plan->ArrivingBytes(), 2048 * 3 / 4 + 2048 / 2);
  EXPECT_DOUBLE_EQ(plan->Seconds(*FindLink("host2")), 2 * 2e-6 + 2560 / 8e9);
  EXPECT_EQ(FindLink("token_ring"), nullptr);
}

// ---- All pairs ------------------------------------------------------------------------------------------------------

// The bytes of a reduction of all pending atoms and a gather of the whole array.
int64_t GatherAllBytes(const Axes& axes, const Shape& shape, const ArraySplit& from, const ArraySplit& to) {
  const int64_t local = axes.LocalShape(shape, from).ByteSize();
  const int64_t members = axes.SizeOf(from.pending - to.pending), parts = axes.SizeOf(from.InDims());
  return (2 * local * (members - 1) + members - 1) / members + local * (parts - 1);
}

void CheckPlan(const Axes& axes, const Shape& shape, const ArraySplit& from, const ArraySplit& to) {
  const auto plan = PlanReshard(from, to, shape, axes);
  ASSERT_TRUE(plan) << plan.error().message();
  SCOPED_TRACE(Str(axes.Text(), ", ", shape, ", ", axes.Text(from), " to ", axes.Text(to), ": ", plan->Text(axes)));
  EXPECT_LE(std::ssize(plan->moves), 2 * std::ssize(axes.atoms()) + 1);
  EXPECT_LE(plan->ArrivingBytes(), GatherAllBytes(axes, shape, from, to));
  Devices devices(plan->finer_axes ? *plan->finer_axes : axes, axes, shape, from);
  for (const Move& move : plan->moves) ASSERT_NO_FATAL_FAILURE(devices.Execute(move));
  EXPECT_EQ(devices.Difference(axes, to), "");
}

// Sizes that the parts of both splits divide, or any sizes.
std::vector<int64_t> RandomDims(const Axes& axes, const ArraySplit& from, const ArraySplit& to, std::mt19937& random) {
  const bool is_even = random() % 2 == 0;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const int64_t parts = std::lcm(axes.SizeOf(from.AtomsOf(d)), axes.SizeOf(to.AtomsOf(d)));
    dims.push_back(is_even ? parts * (1 + random() % 2) : random() % 13);
  }
  return dims;
}

// Makes the array pending along some of the atoms that do not split it.
void AddPending(const Axes& axes, ArraySplit& from, ArraySplit& to, std::mt19937& random) {
  for (const int atom : (axes.All() - from.InDims()).Atoms()) {
    if (random() % 4 != 0) continue;
    from.pending.Add(atom);
    if (!to.InDims().Has(atom) && random() % 2 == 0) to.pending.Add(atom);
  }
  const auto reduction = static_cast<Reduction>(random() % 3);
  if (!from.pending.empty()) from.reduction = reduction;
  if (!to.pending.empty()) to.reduction = reduction;
}

// All pairs of splits of up to three dimensions, on meshes of up to three axes. The test checks one pair in 14, and
// with FULL=1 every pair.
TEST(MeshReshard, AllPairs) {
  const int stride = std::getenv("FULL") != nullptr ? 1 : 14;
  std::mt19937 random(1);
  for (const auto& sizes : std::vector<std::vector<int64_t>>{
           {2}, {3}, {4}, {2, 2}, {2, 3}, {2, 4}, {4, 3}, {4, 4}, {2, 2, 2}, {2, 3, 4}, {4, 2, 2}}) {
    const Axes axes = MeshOf(sizes);
    for (int64_t rank = 1; rank <= 3; ++rank) {
      const auto splits = AllSplits(static_cast<int>(sizes.size()), rank);
      for (const ArraySplit& whole_from : splits) {
        for (const ArraySplit& whole_to : splits) {
          ArraySplit from = whole_from, to = whole_to;
          if (random() % stride != 0) continue;
          AddPending(axes, from, to, random);
          const Shape shape(PrimitiveType::kF32, RandomDims(axes, from, to, random));
          ASSERT_NO_FATAL_FAILURE(CheckPlan(axes, shape, from, to));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hlo
