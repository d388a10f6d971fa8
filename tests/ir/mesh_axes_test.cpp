// Tests of the mesh of a module: its atoms, and splits read from shardings and written back.
#include "ir/mesh/axes.h"

#include "base/text.h"
#include "ir/mesh/parts.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

std::string ModuleText(int64_t devices, const std::vector<std::string>& shardings, std::string_view header = "") {
  std::string text = Str("HloModule m, num_partitions=", devices, header, "\nENTRY main {\n");
  for (size_t i = 0; i < shardings.size(); ++i)
    text += Str("  p", i, " = f32[16,16] parameter(", i, "), sharding=", shardings[i], "\n");
  return text + "  ROOT r = () tuple()\n}\n";
}

// The mesh, and the split of each sharding or the reason why it has none.
std::vector<std::string> SplitsOf(int64_t devices, const std::vector<std::string>& shardings) {
  const auto module = ParseText(ModuleText(devices, shardings));
  const Axes axes = Axes::Of(*module);
  std::vector<std::string> texts = {axes.Text()};
  for (const Instruction* parameter : module->entry().parameters()) {
    const auto split = axes.Read(*ShardingOfLeaf(*parameter, 0), 2);
    texts.push_back(split ? axes.Text(*split) : split.error().message());
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(MeshAxes, AtomsAreTheCoarsestDigitsOfAllShardings) {
  EXPECT_EQ(SplitsOf(8, {"{devices=[8,1]<=[8]}"}), (Texts{"a=8", "[{a}, {}]"}));
  EXPECT_EQ(SplitsOf(8, {"{devices=[2,4]<=[8]}"}), (Texts{"a=2, b=4", "[{a}, {b}]"}));
  EXPECT_EQ(SplitsOf(8, {"{devices=[2,4]<=[8]}", "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
                         "{devices=[4,2]<=[8]}", "{replicated}"}),
            (Texts{"a=2, b=2, c=2", "[{a}, {b, c}]", "[{b, c}, {}]", "[{a, b}, {c}]", "[{}, {}]"}));
}

TEST(MeshAxes, TheMajorAtomOfADimensionIsFirst) {
  EXPECT_EQ(SplitsOf(8, {"{devices=[8,1]<=[2,4]T(1,0)}"}), (Texts{"a=2, b=4", "[{b, a}, {}]"}));
}

TEST(MeshAxes, AListOfDevicesIsReadAsAPermutationOfDigits) {
  EXPECT_EQ(SplitsOf(4, {"{devices=[4,1]0,2,1,3}", "{devices=[2,2]<=[4]}"}),
            (Texts{"a=2, b=2", "[{b, a}, {}]", "[{a}, {b}]"}));
}

TEST(MeshAxes, AListWithoutDigitsBecomesTheOrderOfTheMesh) {
  EXPECT_EQ(SplitsOf(4, {"{devices=[4,1]0,1,3,2}", "{devices=[1,2,2]0,1,3,2 last_tile_dim_replicate}"}),
            (Texts{"a=2, b=2", "[{a, b}, {}]", "[{}, {a}]"}));
}

TEST(MeshAxes, AShardingOutsideTheMeshHasAReason) {
  const Texts texts = SplitsOf(6, {"{devices=[2,3]<=[6]}", "{devices=[2,3]<=[6]}", "{devices=[3,2]<=[6]}"});
  EXPECT_EQ(texts[0], "a=2, b=3");
  EXPECT_EQ(texts[3], "sharding {devices=[3,2]<=[6]} does not split along the axes of the module's mesh: a=2, b=3");
}

TEST(MeshAxes, SubgroupsAreManualPendingOrReplicated) {
  EXPECT_EQ(SplitsOf(8, {"{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}",
                         "{devices=[1,2,4]<=[8] last_tile_dims={unreduced}}", "{manual}", "{maximal device=3}"}),
            (Texts{"a=2, b=2, c=2", "[{a}, {}] manual={b}", "[{}, {a}] sum={b, c}", "[{}, {}] manual={a, b, c}",
                   "device 3"}));
}

TEST(MeshAxes, ANamedMeshNamesTheAtoms) {
  EXPECT_EQ(
      SplitsOf(8, {"{mesh['x'=2,'y'=4], [{'x'}, {'y'}]}", "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"}),
      (Texts{"x=2, y=4", "[{x}, {y}]", "[{}, {y}]"}));
  EXPECT_EQ(SplitsOf(8, {"{mesh['x'=2,'y'=4], [{'y':(1)2}, {'x'}]}"}),
            (Texts{"x=2, y:(1)2=2, y:(2)2=2", "[{y:(1)2}, {x}]"}));
  EXPECT_EQ(SplitsOf(8, {"{mesh['x'=2,'y'=4], [{}, {}], unreduced={'y'}}"}), (Texts{"x=2, y=4", "[{}, {}] sum={y}"}));
}

// Write gives the sharding back, or for lists and named meshes a sharding with the same parts.
TEST(MeshAxes, WriteAndReadAreInverse) {
  for (const std::string text :
       {"{devices=[8,1]<=[8]}", "{devices=[2,4]<=[8]}", "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
        "{devices=[2,2,2]<=[2,2,2]T(2,0,1) last_tile_dim_replicate}", "{replicated}", "{manual}", "{maximal device=3}",
        "{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}", "{devices=[4,2]0,4,1,5,2,6,3,7}",
        "{devices=[8,1]0,1,2,3,7,6,5,4}", "{devices=[2,4]<=[4,2]T(1,0)}",
        "{mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)), [{'y'}, {'x'}]}", "{mesh['x'=2,'y'=4], [{'y':(2)2}, {'x'}]}"}) {
    const auto module = ParseText(ModuleText(8, {text}));
    const Sharding& sharding = *ShardingOfLeaf(module->entry().parameter(0), 0);
    const Axes axes = Axes::Of(*module);
    const auto split = axes.Read(sharding, 2);
    ASSERT_TRUE(split) << text << ": " << split.error().message();
    const Sharding written = axes.Write(*split);
    const auto again = axes.Read(written, 2);
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(*again, *split) << text;
    if (sharding.kind == ShardingKind::kTiled && sharding.tiles->devices.IsFormula()) {
      EXPECT_EQ(written, sharding) << text;
    }
    const auto table = PartTable::Make(sharding, 2, 8), written_table = PartTable::Make(written, 2, 8);
    ASSERT_EQ(table.has_value(), written_table.has_value()) << text;
    for (int64_t device = 0; table && device < 8; ++device) {
      EXPECT_EQ(table->PartOf(device, std::vector<int64_t>{16, 16}).start,
                written_table->PartOf(device, std::vector<int64_t>{16, 16}).start)
          << text;
    }
  }
}

}  // namespace
}  // namespace hlo
