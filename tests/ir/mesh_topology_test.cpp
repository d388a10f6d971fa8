// Tests of topologies, of the groups of collectives in them, and of the modelled times of exchanges.
#include "ir/mesh/topology.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "ir/device_description.h"
#include "ir/mesh/exchange_groups.h"
#include "ir/mesh/exchange_time.h"
#include "tests/interp/values.h"

namespace hlo {
namespace {

using Kind = ExchangeKind;

Topology On(std::string_view name, int64_t devices) {
  auto topology = FindTopology(name);
  EXPECT_TRUE(topology) << name;
  auto part = topology->For(devices);
  EXPECT_TRUE(part) << name;
  return *part;
}

std::string Sizes(const Topology& topology) {
  std::vector<int64_t> sizes;
  for (const TopologyLevel& level : topology.levels) sizes.push_back(level.size);
  return Join(sizes, " x ");
}

std::string WhyNot(std::string_view name, int64_t devices) {
  auto topology = FindTopology(name);
  if (!topology) return topology.error().message();
  auto part = topology->For(devices);
  return part ? "" : part.error().message();
}

double Milliseconds(ExchangeAlgorithm algorithm, Kind kind, double bytes, int64_t members, std::string_view name,
                    size_t level) {
  const TopologyLevel links = On(name, 1).levels[level];
  const auto phase = PhaseOf(algorithm, kind, bytes, members, links);
  EXPECT_TRUE(phase);
  return 1e3 * phase->Seconds(links);
}

TEST(Topology, NodesHoldEqualNumbersOfDevices) {
  EXPECT_EQ(Sizes(On("dgx_h100", 1)), "1 x 1");
  EXPECT_EQ(Sizes(On("dgx_h100", 8)), "8 x 1");
  EXPECT_EQ(Sizes(On("dgx_h100x128", 1024)), "8 x 128");
  EXPECT_EQ(Sizes(On("dgx_h100", 12)), "6 x 2");
  EXPECT_EQ(Sizes(On("gb200x72", 8192)), "64 x 128");
  EXPECT_EQ(Sizes(On("gb200x72x2", 144)), "72 x 2");
  EXPECT_EQ(Sizes(On("eth25x4", 3)), "3");
  EXPECT_EQ(FindTopology("dgx_h100x128")->DeviceCount(), 1024);
  EXPECT_EQ(FindTopology("dgx_h100")->DeviceCount(), 0);
  EXPECT_EQ(WhyNot("dgx_h100x1", 16),
            "--topology: 'dgx_h100x1' has 1 node, but a program for 16 devices needs 2 nodes");
  EXPECT_EQ(WhyNot("eth25x2", 3), "--topology: 'eth25x2' has 2 devices, but a program for 3 devices needs 3");
  for (const char* unknown : {"token_ring", "dgx_h100x0", "dgx_h100x", "x4", "", "dgx_h100x99999999999999999999"})
    EXPECT_TRUE(WhyNot(unknown, 1).starts_with("--topology: no description of '")) << unknown;
}

TEST(Topology, UsualOnesOfDevices) {
  EXPECT_EQ(UsualTopology("h200")->name, "dgx_h100");
  EXPECT_EQ(UsualTopology("host")->name, "host2");
  EXPECT_EQ(UsualTopology(""), nullptr);
  for (const DeviceDescription& device : AllDevices()) EXPECT_NE(UsualTopology(device.name), nullptr) << device.name;
}

// The times that the specification estimates by hand, within the rounding of its figures.
TEST(ExchangeTime, EstimatesOnPaper) {
  constexpr auto kRing = ExchangeAlgorithm::kRing, kTree = ExchangeAlgorithm::kTree;
  // Gradients of ResNet-50.
  EXPECT_NEAR(Milliseconds(kRing, Kind::kAllReduce, 102.4e6, 8, "dgx_h100", 0), 0.50 + 14 * 3e-3, 0.005);
  EXPECT_NEAR(Milliseconds(kRing, Kind::kAllReduce, 102.4e6, 2, "eth25", 0), 41, 0.5);
  EXPECT_NEAR(Milliseconds(kRing, Kind::kAllReduce, 1.69e6, 2, "host2", 0), 0.21, 0.006);
  // A training step of llama3_8b on 8 devices. 1.88 GB * 7 / (360 GB/s) is 36.6 ms, which the table cuts to 36.
  EXPECT_NEAR(Milliseconds(kRing, Kind::kAllGather, 29.0e9, 8, "dgx_h100", 0), 70, 0.6);
  EXPECT_NEAR(Milliseconds(kRing, Kind::kReduceScatter, 8 * 1.88e9, 8, "dgx_h100", 0), 36, 1);
  // Latencies between nodes.
  EXPECT_NEAR(Milliseconds(kRing, Kind::kAllReduce, 0, 128, "dgx_h100", 1), 2.0, 0.05);
  EXPECT_NEAR(Milliseconds(kRing, Kind::kAllReduce, 0, 8192, "dgx_h100", 1), 131, 0.5);
  EXPECT_NEAR(Milliseconds(kTree, Kind::kAllReduce, 0, 8192, "dgx_h100", 1), 26 * 8e-3, 1e-6);
}

// An all-reduce of 1 GB: the specification states 4.9, 9.8 and 9.9 ms without latencies, which are at most 0.3 ms.
TEST(ExchangeTime, AllReduceOfAGigabyte) {
  const struct {
    int64_t devices;
    double ms, latency_ms;
    std::string_view algorithm;
  } cases[] = {{8, 4.9, 0.02, "direct"}, {1024, 9.8, 0.2, "direct/direct"}, {65536, 9.9, 0.3, "direct/tree"}};
  for (const auto& one : cases) {
    const ExchangeTime time =
        TimeOfExchange(Kind::kAllReduce, 1e9, std::vector<int64_t>{8, one.devices / 8}, On("dgx_h100", one.devices));
    EXPECT_EQ(time.algorithm, one.algorithm);
    EXPECT_GT(1e3 * time.seconds, one.ms - 0.05);
    EXPECT_LT(1e3 * time.seconds, one.ms + 0.05 + one.latency_ms);
    EXPECT_NEAR(time.received[0], 2 * 7. / 8 * 1e9, 1);
    EXPECT_NEAR(time.received[1], one.devices == 8 ? 0 : 0.25e9, 0.01e9);
  }
}

TEST(ExchangeTime, EachKind) {
  const Topology topology = On("dgx_h100", 32);  // 4 nodes.
  const auto us = [&](Kind kind, double bytes, std::vector<int64_t> members) {
    const ExchangeTime time = TimeOfExchange(kind, bytes, members, topology);
    return Format("%s %.1f", time.algorithm.c_str(), 1e6 * time.seconds);
  };
  EXPECT_EQ(us(Kind::kAllReduce, 1e6, {1, 1}), "none 0.0");
  EXPECT_EQ(us(Kind::kPermute, 36e6, {2, 1}), "direct 103.0");
  EXPECT_EQ(us(Kind::kPermute, 5e6, {2, 2}), "direct 108.0");
  EXPECT_EQ(us(Kind::kBroadcast, 36e6, {8, 1}), "tree 109.0");
  EXPECT_EQ(us(Kind::kBroadcast, 3.6e6, {8, 4}), "tree/tree 107.0");
  // 24 of 32 pieces go to other nodes.
  EXPECT_EQ(us(Kind::kAllToAll, 32e6, {8, 4}), "direct 503.5");
  EXPECT_EQ(us(Kind::kAllToAll, 36e6, {4, 1}), "direct 79.5");
  // Inside of a node 3 + 3.5 us and 7/8 of 36 MB, between nodes 8 + 1.5 us and 3/4 of 4.5 MB.
  EXPECT_EQ(us(Kind::kAllGather, 36e6, {8, 4}), "direct/direct 171.0");
  // An all-reduce is a reduce-scatter and this all-gather.
  EXPECT_EQ(us(Kind::kAllReduce, 36e6, {8, 4}), "direct/direct 342.0");
}

// The members of a group of the collective at each level of nodes of 8, such as "16: 8 x 2". `growth` multiplies the
// devices.
std::string Levels(int64_t replicas, int64_t partitions, const std::string& attributes, int64_t growth = 1) {
  const std::string text = Str("HloModule m, replica_count=", replicas, ", num_partitions=", partitions,
                               "\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                               "  ROOT c = f32[] add(a, b)\n}\nENTRY main {\n  x = f32[8] parameter(0)\n  ROOT y = "
                               "f32[8] ",
                               attributes, "\n}\n");
  const auto module = ParseText(text);
  if (module == nullptr) return "";
  const int64_t devices = DevicesOf(*module);
  const ExchangeGroups groups = ExchangeGroupsOf(module->entry().root()).Grown(devices, growth);
  return Str(groups.Members(), ": ", Join(groups.MembersAtLevels(On("dgx_h100", devices * growth)), " x "));
}

std::string Reduce(std::string_view groups, std::string_view mode = ", channel_id=1, use_global_device_ids=true") {
  return Str("all-reduce(x), replica_groups=", groups, mode, ", to_apply=add");
}

TEST(ExchangeGroups, LevelsOfGroups) {
  EXPECT_EQ(Levels(1, 16, Reduce("{}")), "16: 8 x 2");
  EXPECT_EQ(Levels(1, 16, Reduce("[2,8]<=[16]")), "8: 8 x 1");
  EXPECT_EQ(Levels(1, 16, Reduce("[8,2]<=[2,8]T(1,0)")), "2: 1 x 2");
  EXPECT_EQ(Levels(1, 16, Reduce("[4,4]<=[4,4]T(1,0)")), "4: 2 x 2");
  EXPECT_EQ(Levels(1, 65536, Reduce("[1024,64]<=[64,1024]T(1,0)")), "64: 1 x 64");
  EXPECT_EQ(Levels(1, 65536, Reduce("[1,65536]<=[65536]")), "65536: 8 x 8192");
  EXPECT_EQ(Levels(1, 16, Reduce("mesh['x'=4,'y'=4] {'x'}")), "4: 2 x 2");
  EXPECT_EQ(Levels(1, 16, Reduce("mesh['x'=4,'y'=4] {'x':(1)2}")), "2: 1 x 2");
  EXPECT_EQ(Levels(1, 16, Reduce("mesh['x'=4,'y'=4] {'x':(2)2}")), "2: 2 x 1");
  // Lists: regular ones, and one whose groups are irregular.
  EXPECT_EQ(Levels(1, 4, Reduce("{{0,2},{1,3}}")), "2: 2 x 1");
  EXPECT_EQ(Levels(1, 16, Reduce("{{0,1,2,8},{3,4,5,6},{7,9,10,11},{12,13,14,15}}")), "4: 4 x 2");
}

TEST(ExchangeGroups, LevelsOfReplicasAndPartitions) {
  EXPECT_EQ(Levels(4, 8, Reduce("{{0,1},{2,3}}", "")), "2: 1 x 2");
  EXPECT_EQ(Levels(4, 8, Reduce("{{0,1},{2,3}}", ", channel_id=1")), "16: 8 x 2");
  EXPECT_EQ(Levels(8, 2, Reduce("{}", "")), "8: 4 x 2");
  EXPECT_EQ(Levels(1, 16, "collective-permute(x), channel_id=1, source_target_pairs={{0,1},{6,7}}"), "2: 2 x 1");
  EXPECT_EQ(Levels(1, 16, "collective-permute(x), channel_id=1, source_target_pairs={{0,1},{7,8}}"), "2: 2 x 2");
}

// Groups of 12 contiguous devices on nodes of 8 count as 6 devices on each of 2 nodes. Some groups of 6 are on two
// nodes, so all count as 3 on each.
TEST(ExchangeGroups, UnevenGroupsCountAsSpreadEvenly) {
  EXPECT_EQ(Levels(1, 96, Reduce("[8,12]<=[96]")), "12: 6 x 2");
  EXPECT_EQ(Levels(1, 48, Reduce("[8,6]<=[48]")), "6: 3 x 2");
}

TEST(ExchangeGroups, GroupsAlongTheMajorAxisGrow) {
  EXPECT_EQ(Levels(1, 8, Reduce("[4,2]<=[2,4]T(1,0)"), 16), "32: 2 x 16");
  EXPECT_EQ(Levels(1, 8, Reduce("[2,4]<=[8]"), 16), "4: 4 x 1");
  EXPECT_EQ(Levels(1, 8, Reduce("{{0,4},{1,5},{2,6},{3,7}}"), 16), "32: 2 x 16");
}

}  // namespace
}  // namespace hlo
