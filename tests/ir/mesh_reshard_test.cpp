// Tests of plans for changing a split. A simulation of the devices executes each move on their padded parts, as the
// collective of that kind would do it, and the result is compared with the parts of the final split.
#include "ir/mesh/reshard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "base/text.h"
#include "tests/ir/mesh_splits.h"

namespace hlo {
namespace {

class Devices {
 public:
  // `move_axes` is the mesh of the moves, and `axes` the mesh of the split.
  Devices(const Axes& move_axes, const Axes& axes, const Shape& shape, const ArraySplit& split)
      : axes_(move_axes), shape_(shape), parts_(PartsOf(axes, shape, split)) {}

  void Execute(const Move& move) {
    ASSERT_EQ(SizesOf(move.local_before), parts_[0].sizes);
    if (move.kind == MoveKind::kPermute) Permute(move);
    else MoveBlocks(move);
    ASSERT_EQ(SizesOf(move.local_after), parts_[0].sizes);
  }

  std::string Difference(const Axes& axes, const ArraySplit& split) const {
    return DifferenceOf(parts_, axes, shape_, split);
  }

 private:
  // Each member of a group sends its part to one member. Members that hold the same tile send to its receivers in the
  // order of the devices.
  void Permute(const Move& move) {
    std::vector<DevicePart> after(parts_.size());
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

  // Each device takes a block from each member of its group, for a slice only from itself. It places blocks by the
  // senders' digits, or reduces them. Blocks have the size local_before along dimensions that lose atoms, and
  // local_after along dimensions that get atoms.
  void MoveBlocks(const Move& move) {
    const std::vector<int64_t> before = SizesOf(move.local_before), after = SizesOf(move.local_after);
    const auto removed = move.Removed(), added = move.Added();
    std::vector<int64_t> block_sizes = before, padded = before;
    for (const auto& [dim, atoms] : added) block_sizes[dim] = after[dim];
    for (const auto& [dim, atoms] : removed) padded[dim] = before[dim] * axes_.SizeOf(atoms);
    for (const auto& [dim, atoms] : added) padded[dim] = after[dim];
    const bool reduces = move.kind == MoveKind::kSum || move.kind == MoveKind::kScatterSum;
    std::vector<DevicePart> results;
    for (int64_t position = 0; position < axes_.devices(); ++position) {
      DevicePart result = {padded, std::vector<int64_t>(CountOf(padded), kPadding)};
      const AxisSet senders = move.kind == MoveKind::kSlice ? AxisSet() : move.atoms;
      bool is_first = true;
      for (const int64_t sender : GroupOf(axes_, position, senders)) {
        std::vector<int64_t> start(before.size(), 0), target(before.size(), 0);
        for (const auto& [dim, atoms] : added) start[dim] = IndexAlong(axes_, position, atoms) * after[dim];
        for (const auto& [dim, atoms] : removed) target[dim] = IndexAlong(axes_, sender, atoms) * before[dim];
        DevicePart block = BoxOf(parts_[sender], start, block_sizes);
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
  std::vector<DevicePart> parts_;
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
            "permute({x, y:(1)16}) 32768 B; exchange(1 -> 0: {y:(16)8}) 32768 B");
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

// 10 rows have 2 parts of 5 rows or 4 parts of 3 rows. The second of the 4 parts is not within one of the 2.
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

TEST(MeshReshard, BytesOfAPlan) {
  const Axes axes = MeshOf({4, 2});
  const auto plan =
      PlanReshard(SplitBy({{1}, {}, {0}}), SplitBy({{}, {0, 1}, {}}), Shape(PrimitiveType::kF32, {16, 16, 16}), axes);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->Collectives(), 2);
  EXPECT_EQ(plan->ArrayBytes(), 4096);
  EXPECT_EQ(plan->ArrivingBytes(), 2048 * 3 / 4 + 2048 / 2);
}

// ---- All pairs ------------------------------------------------------------------------------------------------------

// The bytes of a plan that reduces all pending atoms and gathers the whole array.
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
