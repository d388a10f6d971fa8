// Tests of the instructions for changing a split. A module takes a device's part and returns its part by another split.
// The interpreter runs it on all devices, and the results are compared with the parts of an iota array.
#include "passes/sharding/reshard_instructions.h"

#include <cstdlib>
#include <random>

#include "base/text.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "tests/interp/values.h"
#include "tests/ir/mesh_splits.h"

namespace hlo {
namespace {

struct ReshardCase {
  Axes axes;
  Shape shape;  // The shape of the whole array.
  ArraySplit from, to;
  int64_t replicas = 1;
};

std::unique_ptr<Module> ModuleFor(const ReshardCase& reshard, const ReshardPlan& plan) {
  const Axes& axes = reshard.axes;
  auto module = std::make_unique<Module>("reshard");
  module->header.replica_count = reshard.replicas;
  module->header.num_partitions = axes.devices();
  Computation& entry = module->AddComputation("main");
  module->SetEntry(entry);
  DeviceDigits digits(entry, axes);
  CollectiveSupply supply(*module);
  Instruction& part = entry.AddParameter(0, axes.LocalShape(reshard.shape, reshard.from), "part");
  entry.SetRoot(EmitReshard(part, part, plan, axes, digits, supply));
  return module;
}

// The values of replica r are r + 1 times as large, so that a collective that mixes replicas is noticed.
std::vector<std::vector<Literal>> ArgumentsOf(const ReshardCase& reshard) {
  const std::vector<DevicePart> parts = PartsOf(reshard.axes, reshard.shape, reshard.from);
  std::vector<std::vector<Literal>> args;
  for (int64_t replica = 0; replica < reshard.replicas; ++replica) {
    for (int64_t device = 0; device < reshard.axes.devices(); ++device) {
      const DevicePart& part = parts[reshard.axes.PositionOf(device)];
      Literal value(reshard.axes.LocalShape(reshard.shape, reshard.from));
      for (int64_t i = 0; i < std::ssize(part.values); ++i) value.SetInt(i, part.values[i] * (replica + 1));
      args.push_back({std::move(value)});
    }
  }
  return args;
}

std::vector<DevicePart> PartsFrom(const ReshardCase& reshard, std::span<const Literal> results, int64_t replica) {
  std::vector<DevicePart> parts;
  for (int64_t position = 0; position < reshard.axes.devices(); ++position) {
    const Literal& result = results[replica * reshard.axes.devices() + reshard.axes.DeviceAt(position)];
    DevicePart& part = parts.emplace_back(DevicePart{SizesOf(result.shape()), {}});
    for (int64_t i = 0; i < result.shape().NumElements(); ++i) part.values.push_back(result.GetInt(i) / (replica + 1));
  }
  return parts;
}

void CheckReshard(const ReshardCase& reshard) {
  const Axes& axes = reshard.axes;
  const auto plan = PlanReshard(reshard.from, reshard.to, reshard.shape, axes);
  ASSERT_TRUE(plan) << plan.error().message();
  const auto module = ModuleFor(reshard, *plan);
  SCOPED_TRACE(Str(axes.Text(), ", ", reshard.shape, ", ", axes.Text(reshard.from), " to ", axes.Text(reshard.to), ": ",
                   plan->Text(axes), "\n", Print(*module)));
  const Status valid = Verify(*module, VerifyLevel::kStrict);
  ASSERT_TRUE(valid) << valid.error().message();
  ASSERT_EQ(Print(ParseText(Print(*module))->entry()), Print(module->entry()));
  const auto results = InterpretDevices(*module, ArgumentsOf(reshard));
  ASSERT_TRUE(results) << results.error().message();
  for (int64_t replica = 0; replica < reshard.replicas; ++replica)
    ASSERT_EQ(DifferenceOf(PartsFrom(reshard, *results, replica), axes, reshard.shape, reshard.to), "");
}

// ---- Examples -------------------------------------------------------------------------------------------------------

Shape S32(Dims dims) { return Shape(PrimitiveType::kS32, std::move(dims)); }

// The instructions of a plan, one a line.
std::string InstructionsOf(const ReshardCase& reshard) {
  const auto plan = PlanReshard(reshard.from, reshard.to, reshard.shape, reshard.axes);
  const auto module = ModuleFor(reshard, *plan);
  std::string text;
  for (const Instruction* inst : module->entry().PostOrder()) text += Str(Print(*inst, ShortForm()), "\n");
  return text;
}

TEST(PassesReshard, NoMovesGiveThePart) {
  EXPECT_EQ(InstructionsOf({MeshOf({2}), S32({4}), SplitBy({{0}}), SplitBy({{0}})}), "part = s32[2] parameter(0)\n");
}

TEST(PassesReshard, AGatherAlongOneDimension) {
  EXPECT_EQ(InstructionsOf({MeshOf({2, 4}), S32({4, 10}), SplitBy({{}, {1}}), SplitBy({{}, {}})}),
            R"(part = s32[4,3] parameter(0)
all-gather = s32[4,12] all-gather(part), channel_id=1, replica_groups=mesh['x'=2,'y'=4] {'y'}, dimensions={1}, use_global_device_ids=true
slice = s32[4,10] slice(all-gather), slice={[0:4], [0:10]}
)");
}

TEST(PassesReshard, AGatherAlongTwoDimensions) {
  EXPECT_EQ(InstructionsOf({MeshOf({2, 4}), S32({4, 12}), SplitBy({{0}, {1}}), SplitBy({{}, {}})}),
            R"(part = s32[2,3] parameter(0)
reshape = s32[1,2,3] reshape(part)
all-gather = s32[8,2,3] all-gather(reshape), channel_id=1, replica_groups=mesh['x'=2,'y'=4] {'x','y'}, dimensions={0}, use_global_device_ids=true
reshape.1 = s32[2,4,2,3] reshape(all-gather)
transpose = s32[2,2,4,3] transpose(reshape.1), dimensions={0,2,1,3}
reshape.2 = s32[4,12] reshape(transpose)
)");
}

TEST(PassesReshard, ASliceOfAPaddedDimension) {
  EXPECT_EQ(InstructionsOf({MeshOf({2, 2}), S32({7}), SplitBy({{}}), SplitBy({{1, 0}})}), R"(part = s32[7] parameter(0)
constant = s32[] constant(0)
pad = s32[8] pad(part, constant), padding=0_1
partition-id = u32[] partition-id()
convert = s32[] convert(partition-id)
constant.1 = s32[] constant(2)
remainder = s32[] remainder(convert, constant.1)
constant.2 = s32[] constant(2)
divide = s32[] divide(convert, constant.2)
constant.3 = s32[] constant(2)
multiply = s32[] multiply(remainder, constant.3)
add = s32[] add(multiply, divide)
constant.4 = s32[] constant(2)
multiply.1 = s32[] multiply(add, constant.4)
dynamic-slice = s32[2] dynamic-slice(pad, multiply.1), dynamic_slice_sizes={2}
)");
}

TEST(PassesReshard, AnExchange) {
  EXPECT_EQ(InstructionsOf({MeshOf({2, 4}), S32({8, 12}), SplitBy({{1}, {}}), SplitBy({{}, {1}})}),
            R"(part = s32[2,12] parameter(0)
reshape = s32[2,4,3] reshape(part)
transpose = s32[4,2,3] transpose(reshape), dimensions={1,0,2}
all-to-all = s32[4,2,3] all-to-all(transpose), channel_id=1, replica_groups=mesh['x'=2,'y'=4] {'y'}, dimensions={0}
reshape.1 = s32[8,3] reshape(all-to-all)
)");
}

TEST(PassesReshard, AnExchangeThatAppendsAtomsInAnotherOrder) {
  EXPECT_EQ(InstructionsOf({MeshOf({2, 3}), S32({6, 12}), SplitBy({{0, 1}, {}}), SplitBy({{}, {1, 0}})}),
            R"(part = s32[1,12] parameter(0)
reshape = s32[1,6,2] reshape(part)
transpose = s32[6,1,2] transpose(reshape), dimensions={1,0,2}
all-to-all = s32[6,1,2] all-to-all(transpose), channel_id=1, replica_groups=mesh['x'=2,'y'=3] {'y','x'}, dimensions={0}
reshape.1 = s32[3,2,1,2] reshape(all-to-all)
transpose.1 = s32[2,3,1,2] transpose(reshape.1), dimensions={1,0,2,3}
reshape.2 = s32[6,1,2] reshape(transpose.1)
reshape.3 = s32[6,2] reshape(reshape.2)
)");
}

TEST(PassesReshard, PartsOfAnAtomAreAxesOfTheGroups) {
  EXPECT_EQ(InstructionsOf({MeshOf({2, 4}), S32({8, 8}), SplitBy({{0}, {1}}), SplitBy({{1}, {0}})}),
            R"(part = s32[4,2] parameter(0)
reshape = s32[2,2,2] reshape(part)
all-to-all = s32[2,2,2] all-to-all(reshape), channel_id=1, replica_groups=mesh['x'=2,'y:(1)2'=2,'y:(2)2'=2] {'y:(2)2'}, dimensions={0}
transpose = s32[2,2,2] transpose(all-to-all), dimensions={1,0,2}
reshape.1 = s32[2,4] reshape(transpose)
collective-permute = s32[2,4] collective-permute(reshape.1), channel_id=2, source_target_pairs={{0,0},{1,1},{2,4},{3,5},{4,2},{5,3},{6,6},{7,7}}
)");
}

TEST(PassesReshard, AReductionThatIsScattered) {
  ArraySplit from = SplitBy({{}, {}});
  from.pending = SetOf({1});
  from.reduction = Reduction::kMax;
  EXPECT_EQ(InstructionsOf({MeshOf({2, 4}), S32({8, 8}), from, SplitBy({{}, {1}})}), R"(part = s32[8,8] parameter(0)
reduce-scatter = s32[8,2] reduce-scatter(part), channel_id=1, replica_groups=mesh['x'=2,'y'=4] {'y'}, use_global_device_ids=true, dimensions={1}, to_apply=max_s32
)");
}

// Devices that differ along a pending atom hold different values of one part.
TEST(PassesReshard, APermuteDoesNotMixPendingValues) {
  const Axes axes = MeshOf({3, 2, 3});
  ReshardCase reshard = {axes, S32({6}), SplitBy({{0}}), SplitBy({{2}})};
  reshard.from.pending = reshard.to.pending = SetOf({1});
  const auto plan = PlanReshard(reshard.from, reshard.to, reshard.shape, axes);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->Text(axes), "permute({x, z}) 8 B");
  CheckReshard(reshard);
}

TEST(PassesReshard, ReplicasAreTheMajorAxisOfGroupsOfDevices) {
  EXPECT_EQ(InstructionsOf({MeshOf({2}), S32({4}), SplitBy({{0}}), SplitBy({{}}), /*replicas=*/3}),
            R"(part = s32[2] parameter(0)
all-gather = s32[4] all-gather(part), channel_id=1, replica_groups=mesh['replica'=3,'x'=2] {'x'}, dimensions={0}, use_global_device_ids=true
)");
  EXPECT_EQ(InstructionsOf({MeshOf({2}), S32({4, 4}), SplitBy({{0}, {}}), SplitBy({{}, {0}}), /*replicas=*/3}),
            R"(part = s32[2,4] parameter(0)
reshape = s32[2,2,2] reshape(part)
transpose = s32[2,2,2] transpose(reshape), dimensions={1,0,2}
all-to-all = s32[2,2,2] all-to-all(transpose), channel_id=1, replica_groups=mesh['x'=2] {'x'}, dimensions={0}
reshape.1 = s32[4,2] reshape(all-to-all)
)");
}

TEST(PassesReshard, ListedDevicesAreLookedUp) {
  EXPECT_EQ(InstructionsOf({MeshOf({4}, {0, 1, 3, 2}), S32({8}), SplitBy({{}}), SplitBy({{0}})}),
            R"(part = s32[8] parameter(0)
constant = s32[4] constant({0, 1, 3, 2})
partition-id = u32[] partition-id()
convert = s32[] convert(partition-id)
dynamic-slice = s32[1] dynamic-slice(constant, convert), dynamic_slice_sizes={1}
reshape = s32[] reshape(dynamic-slice)
constant.1 = s32[] constant(2)
multiply = s32[] multiply(reshape, constant.1)
dynamic-slice.1 = s32[2] dynamic-slice(part, multiply), dynamic_slice_sizes={2}
)");
  EXPECT_EQ(InstructionsOf({MeshOf({4}, {0, 1, 3, 2}), S32({8}), SplitBy({{0}}), SplitBy({{}})}),
            R"(part = s32[2] parameter(0)
all-gather = s32[8] all-gather(part), channel_id=1, replica_groups=mesh['x'=4], device_ids=(0,1,3,2) {'x'}, dimensions={0}, use_global_device_ids=true
)");
}

TEST(PassesReshard, MetadataIsThatOfThePart) {
  const Axes axes = MeshOf({2, 2});
  const auto module = ParseText(R"(HloModule m, num_partitions=4
ENTRY main {
  ROOT part = s32[3,2] parameter(0), metadata={op_name="layer"}
})");
  Computation& entry = module->entry();
  const auto plan = PlanReshard(SplitBy({{0}, {1}}), SplitBy({{1}, {0}}), S32({6, 4}), axes);
  ASSERT_TRUE(plan);
  DeviceDigits digits(entry, axes);
  CollectiveSupply supply(*module);
  EXPECT_EQ(EmitReshard(entry.parameter(0), entry.parameter(0), *plan, axes, digits, supply).metadata(),
            entry.parameter(0).metadata());
}

TEST(PassesReshard, ChannelsFollowThoseOfTheModule) {
  Module module("m");
  Computation& entry = module.AddComputation("main");
  module.SetEntry(entry);
  Instruction& part = entry.AddParameter(0, S32({4}), "part");
  PermuteAttrs attrs;
  attrs.channel_id = 7;
  entry.SetRoot(entry.Add(Opcode::kCollectivePermute, part.shape(), {&part}, std::move(attrs)));
  CollectiveSupply supply(module);
  EXPECT_EQ(supply.NextChannel(), 8);
  EXPECT_EQ(supply.NextChannel(), 9);
}

TEST(PassesReshard, ReducersAreShared) {
  Module module("m");
  CollectiveSupply supply(module);
  const Computation& sum = supply.Reducer(Reduction::kSum, PrimitiveType::kF32);
  EXPECT_EQ(&sum, &supply.Reducer(Reduction::kSum, PrimitiveType::kF32));
  EXPECT_NE(&sum, &supply.Reducer(Reduction::kSum, PrimitiveType::kF16));
  EXPECT_NE(&sum, &supply.Reducer(Reduction::kMax, PrimitiveType::kF32));
}

TEST(PassesReshard, DigitsAreShared) {
  Module module("m");
  Computation& entry = module.AddComputation("main");
  const Axes axes = MeshOf({2, 3, 4});
  DeviceDigits digits(entry, axes);
  EXPECT_EQ(&digits.PartitionId(), &digits.PartitionId());
  const std::vector<uint8_t> x_then_z = {0, 2};
  Instruction& number = digits.PartNumber(axes, x_then_z);
  const int64_t instructions = entry.InstructionCount();
  EXPECT_EQ(&digits.PartNumber(axes, x_then_z), &number);
  digits.DigitOf(axes.atoms()[0]);
  digits.DigitOf(axes.atoms()[2]);
  EXPECT_EQ(entry.InstructionCount(), instructions);
}

// ---- All pairs ------------------------------------------------------------------------------------------------------

// Pairs of splits of up to three dimensions, on meshes of up to three axes. The test checks about 400 pairs, and with
// FULL=1 a hundred times as many.
TEST(PassesReshard, ResultsAreThePartsOfTheFinalSplit) {
  const int pairs = std::getenv("FULL") != nullptr ? 1500 : 15;
  std::mt19937 random(1);
  for (const auto& sizes :
       std::vector<std::vector<int64_t>>{{2}, {3}, {4}, {2, 2}, {2, 3}, {4, 2}, {4, 3}, {2, 2, 2}, {2, 3, 4}}) {
    const Axes axes = MeshOf(sizes);
    for (int64_t rank = 1; rank <= 3; ++rank) {
      const auto splits = AllSplits(static_cast<int>(sizes.size()), rank);
      for (int i = 0; i < pairs; ++i) {
        ReshardCase reshard = {axes, {}, splits[random() % splits.size()], splits[random() % splits.size()]};
        AddPending(axes, reshard.from, reshard.to, random);
        reshard.shape = S32(Dims(RandomDims(axes, reshard.from, reshard.to, random)));
        ASSERT_NO_FATAL_FAILURE(CheckReshard(reshard));
      }
    }
  }
}

TEST(PassesReshard, ListedDevicesAndReplicas) {
  std::mt19937 random(1);
  const auto splits = AllSplits(2, 2);
  for (const bool is_listed : {false, true}) {
    const Axes axes = MeshOf({2, 3}, is_listed ? std::vector<int64_t>{3, 0, 4, 1, 2, 5} : std::vector<int64_t>());
    for (int i = 0; i < 25; ++i) {
      ReshardCase reshard = {axes, {}, splits[random() % splits.size()], splits[random() % splits.size()]};
      reshard.replicas = 1 + i % 2;
      AddPending(axes, reshard.from, reshard.to, random);
      reshard.shape = S32(Dims(RandomDims(axes, reshard.from, reshard.to, random)));
      ASSERT_NO_FATAL_FAILURE(CheckReshard(reshard));
    }
  }
}

}  // namespace
}  // namespace hlo
