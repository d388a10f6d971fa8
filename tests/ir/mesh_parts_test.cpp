// Tests of the parts of arrays on devices: shardings in all forms, on 1, 2 and 4 devices, with even and uneven parts.
// Dividing and joining an array does not change it.
#include "ir/mesh/parts.h"

#include <tuple>

#include "base/text.h"
#include "interp/devices/parts.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

struct Parameter {
  std::unique_ptr<Module> module;
  const Shape& shape() const { return module->entry().parameter(0).shape(); }
  const Sharding& sharding() const { return *ShardingOfLeaf(module->entry().parameter(0), 0); }
};

Parameter ParameterOf(int64_t devices, const std::string& shape, const std::string& sharding) {
  return {ParseText(Str("HloModule m, num_partitions=", devices, "\nENTRY main {\n  ROOT p = ", shape,
                        " parameter(0), sharding=", sharding, "\n}\n"))};
}

// The local shape, and start and size of each device's part: "f32[3,3] 0:[0,0]+[3,3] ...". If the sharding does not
// determine parts, the reason.
std::string PartsText(int64_t devices, const std::string& shape, const std::string& sharding) {
  const Parameter parameter = ParameterOf(devices, shape, sharding);
  const auto table = PartTable::Make(parameter.sharding(), parameter.shape().rank(), devices);
  if (!table) return table.error().message();
  std::string text = Str(table->LocalShape(parameter.shape()));
  for (int64_t device = 0; device < devices; ++device) {
    const Part part = table->PartOf(device, parameter.shape().dims());
    text += Str(" ", device, ":[", Join(part.start, ","), "]+[", Join(part.size, ","), "]");
  }
  return text;
}

TEST(MeshParts, OneDeviceHoldsTheWhole) {
  EXPECT_EQ(PartsText(1, "f32[5,3]", "{replicated}"), "f32[5,3] 0:[0,0]+[5,3]");
  EXPECT_EQ(PartsText(1, "f32[]", "{replicated}"), "f32[] 0:[]+[]");
  EXPECT_EQ(PartsText(1, "f32[5,3]", "{devices=[1,1]<=[1]}"), "f32[5,3] 0:[0,0]+[5,3]");
}

TEST(MeshParts, TwoDevicesHoldHalves) {
  EXPECT_EQ(PartsText(2, "f32[6,3]", "{devices=[2,1]<=[2]}"), "f32[3,3] 0:[0,0]+[3,3] 1:[3,0]+[3,3]");
  EXPECT_EQ(PartsText(2, "f32[6,3]", "{devices=[2,1]1,0}"), "f32[3,3] 0:[3,0]+[3,3] 1:[0,0]+[3,3]");
  EXPECT_EQ(PartsText(2, "f32[6,3]", "{replicated}"), "f32[6,3] 0:[0,0]+[6,3] 1:[0,0]+[6,3]");
}

TEST(MeshParts, TheLastPartsOfUnevenDimensionsAreShortOrEmpty) {
  EXPECT_EQ(PartsText(2, "f32[6,3]", "{devices=[1,2]<=[2]}"), "f32[6,2] 0:[0,0]+[6,2] 1:[0,2]+[6,1]");
  EXPECT_EQ(PartsText(4, "f32[5]", "{devices=[4]<=[4]}"), "f32[2] 0:[0]+[2] 1:[2]+[2] 2:[4]+[1] 3:[5]+[0]");
  EXPECT_EQ(PartsText(4, "f32[1]", "{devices=[4]<=[4]}"), "f32[1] 0:[0]+[1] 1:[1]+[0] 2:[1]+[0] 3:[1]+[0]");
  EXPECT_EQ(PartsText(2, "f32[0]", "{devices=[2]<=[2]}"), "f32[0] 0:[0]+[0] 1:[0]+[0]");
}

TEST(MeshParts, FourDevicesFormAGrid) {
  EXPECT_EQ(PartsText(4, "f32[4,6]", "{devices=[2,2]<=[4]}"),
            "f32[2,3] 0:[0,0]+[2,3] 1:[0,3]+[2,3] 2:[2,0]+[2,3] 3:[2,3]+[2,3]");
  EXPECT_EQ(PartsText(4, "f32[4,6]", "{devices=[2,2]<=[2,2]T(1,0)}"),
            "f32[2,3] 0:[0,0]+[2,3] 1:[2,0]+[2,3] 2:[0,3]+[2,3] 3:[2,3]+[2,3]");
  EXPECT_EQ(PartsText(4, "f32[8]", "{devices=[4]<=[2,2]T(1,0)}"), "f32[2] 0:[0]+[2] 1:[4]+[2] 2:[2]+[2] 3:[6]+[2]");
}

TEST(MeshParts, SomeDevicesHoldTheSamePart) {
  EXPECT_EQ(PartsText(4, "f32[4,3]", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"),
            "f32[2,3] 0:[0,0]+[2,3] 1:[0,0]+[2,3] 2:[2,0]+[2,3] 3:[2,0]+[2,3]");
  EXPECT_EQ(PartsText(4, "f32[4,3]", "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"),
            "f32[2,3] 0:[0,0]+[2,3] 1:[2,0]+[2,3] 2:[0,0]+[2,3] 3:[2,0]+[2,3]");
}

TEST(MeshParts, AShardingMayNameAxesOfAMesh) {
  EXPECT_EQ(PartsText(4, "f32[4,6]", "{mesh['x'=2,'y'=2], [{'x'}, {'y'}]}"),
            "f32[2,3] 0:[0,0]+[2,3] 1:[0,3]+[2,3] 2:[2,0]+[2,3] 3:[2,3]+[2,3]");
  EXPECT_EQ(PartsText(4, "f32[8,6]", "{mesh['x'=2,'y'=2], [{'y', 'x'}, {}]}"),
            "f32[2,6] 0:[0,0]+[2,6] 1:[4,0]+[2,6] 2:[2,0]+[2,6] 3:[6,0]+[2,6]");
  EXPECT_EQ(PartsText(4, "f32[8]", "{mesh['a'=4], [{'a':(2)2}]}"), "f32[4] 0:[0]+[4] 1:[4]+[4] 2:[0]+[4] 3:[4]+[4]");
}

TEST(MeshParts, SomeShardingsDoNotDetermineParts) {
  EXPECT_EQ(PartsText(2, "f32[6]", "{maximal device=1}"),
            "sharding {maximal device=1} places the whole array on one device");
  EXPECT_EQ(PartsText(2, "f32[6]", "{manual}"), "sharding {manual} leaves it to the program which part a device holds");
  EXPECT_EQ(PartsText(2, "f32[6]", "{unknown}"), "sharding {unknown} does not say which part a device holds");
  EXPECT_EQ(PartsText(4, "f32[6]", "{devices=[2,2]<=[4] last_tile_dims={manual}}"),
            "sharding {devices=[2,2]<=[4] last_tile_dims={manual}} leaves it to the program which part a device holds");
}

TEST(MeshParts, FindsWholesWithGivenParts) {
  const Parameter parameter = ParameterOf(4, "f32[2,3]", "{devices=[4,1]<=[4]}");
  const auto table = PartTable::Make(parameter.sharding(), 2, 4);
  ASSERT_TRUE(table.has_value());
  const Shape& local = parameter.shape();
  EXPECT_EQ(table->WholesText(local), "f32[5..8,3]");
  EXPECT_EQ(Str(table->LargestWhole(local)), "f32[8,3]");
  for (const int64_t rows : {5, 6, 7, 8}) EXPECT_TRUE(table->Fits(std::vector<int64_t>{rows, 3}, local.dims())) << rows;
  for (const int64_t rows : {2, 4, 9}) EXPECT_FALSE(table->Fits(std::vector<int64_t>{rows, 3}, local.dims())) << rows;
  EXPECT_FALSE(table->Fits(std::vector<int64_t>{8}, local.dims()));
}

class CutAndJoin : public testing::TestWithParam<std::tuple<int, const char*, const char*>> {};

TEST_P(CutAndJoin, GivesTheSameArray) {
  const auto [devices, shape, sharding] = GetParam();
  const Parameter parameter = ParameterOf(devices, shape, sharding);
  const auto table = PartTable::Make(parameter.sharding(), parameter.shape().rank(), devices);
  ASSERT_TRUE(table.has_value());
  Literal whole(parameter.shape());
  for (int64_t i = 0; i < whole.shape().NumElements(); ++i) whole.SetDouble(i, static_cast<double>(i + 1));
  std::vector<Literal> parts;
  for (int64_t device = 0; device < devices; ++device)
    parts.push_back(CutPart(whole, table->LocalShape(whole.shape()), *table, device));
  std::vector<const Literal*> pointers;
  for (const Literal& part : parts) pointers.push_back(&part);
  JoinedParts joined = JoinParts(pointers, whole.shape(), *table);
  EXPECT_TRUE(joined.whole.BitEquals(whole));
  EXPECT_FALSE(joined.differing.has_value());
  // The last parts are padded with zeros, so the largest array with these parts has the same sum.
  const Shape largest = table->LargestWhole(table->LocalShape(whole.shape()));
  joined = JoinParts(pointers, largest, *table);
  double sum = 0;
  for (int64_t i = 0; i < largest.NumElements(); ++i) sum += joined.whole.GetDouble(i);
  const auto count = static_cast<double>(whole.shape().NumElements());
  EXPECT_EQ(sum, count * (count + 1) / 2);
}

INSTANTIATE_TEST_SUITE_P(
    MeshParts, CutAndJoin,
    testing::Values(std::tuple(1, "f32[5,3]", "{devices=[1,1]<=[1]}"),
                    std::tuple(2, "f32[5,3]", "{devices=[2,1]<=[2]}"), std::tuple(2, "f64[5,3]", "{devices=[1,2]1,0}"),
                    std::tuple(4, "s8[5,3]", "{devices=[2,2]<=[4]}"),
                    std::tuple(4, "f32[5,3,2]", "{devices=[2,1,2]<=[2,2]T(1,0)}"),
                    std::tuple(4, "f32[5,3]", "{devices=[4,1]<=[2,2]T(1,0)}"),
                    std::tuple(4, "bf16[3,5]", "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"),
                    std::tuple(4, "f32[3]", "{replicated}")));

TEST(MeshParts, DevicesWithTheSamePartMustAgree) {
  const Parameter parameter = ParameterOf(4, "f32[4]", "{devices=[2,2]<=[4] last_tile_dim_replicate}");
  const auto table = PartTable::Make(parameter.sharding(), 1, 4);
  ASSERT_TRUE(table.has_value());
  std::vector<Literal> parts(4, Literal(table->LocalShape(parameter.shape())));
  parts[3].SetDouble(1, 7);
  std::vector<const Literal*> pointers;
  for (const Literal& part : parts) pointers.push_back(&part);
  const JoinedParts joined = JoinParts(pointers, parameter.shape(), *table);
  ASSERT_TRUE(joined.differing.has_value());
  EXPECT_EQ(*joined.differing, (std::pair<int64_t, int64_t>(2, 3)));
}

}  // namespace
}  // namespace hlo
