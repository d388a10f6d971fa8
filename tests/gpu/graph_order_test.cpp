// Tests that, for every setting of concurrency, an edge or a path of a recorded graph keeps each dependency between
// steps.
#include "gpu/runtime/graph_order.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hlo::gpu {
namespace {

using Order = std::vector<std::vector<int>>;
constexpr int64_t kMultiprocessors = 132;

// A fork into two sides of two steps each, and a join.
const Order kFork = {{}, {0}, {1}, {0}, {3}, {2, 4}};

std::vector<NodeWeight> Weights(size_t nodes, double microseconds, int64_t blocks) {
  return std::vector<NodeWeight>(nodes, {.seconds = microseconds * 1e-6, .blocks = blocks});
}

Order OrderOf(const Order& dependencies, const std::vector<NodeWeight>& weights, Concurrency concurrency) {
  return GraphOrder(dependencies, weights, concurrency, kMultiprocessors);
}

TEST(GraphOrder, IsAChainIfNothingMayRunConcurrently) {
  const Order chain = {{}, {0}, {1}, {2}, {3}, {4}};
  EXPECT_EQ(OrderOf(kFork, Weights(6, 1000, 1), Concurrency::kNever), chain);
}

TEST(GraphOrder, HasSidesIfAllMayRunConcurrently) {
  EXPECT_EQ(OrderOf(kFork, Weights(6, 1, 10000), Concurrency::kAlways), kFork);
  // A dependency that a path already implies has no edge. A step without dependencies has no incoming edges.
  EXPECT_EQ(OrderOf({{}, {0}, {0, 1}, {}}, Weights(4, 1, 1), Concurrency::kAlways), (Order{{}, {0}, {1}, {}}));
}

TEST(GraphOrder, HasSidesIfBothTakeLongAndLeaveRoom) {
  const Order chain = {{}, {0}, {1}, {2}, {3}, {4}};
  // Two steps of 10 us are a side of 20 us, which is long enough. Two launches of 66 blocks fill the 132
  // multiprocessors.
  EXPECT_EQ(OrderOf(kFork, Weights(6, 10.5, 66), Concurrency::kWhereItPays), kFork);
  EXPECT_EQ(OrderOf(kFork, Weights(6, 9.5, 66), Concurrency::kWhereItPays), chain);
  EXPECT_EQ(OrderOf(kFork, Weights(6, 10.5, 67), Concurrency::kWhereItPays), chain);
  // The step before the fork belongs to neither side.
  std::vector<NodeWeight> weights = Weights(6, 10.5, 66);
  weights[0] = {.seconds = 1, .blocks = 10000};
  EXPECT_EQ(OrderOf(kFork, weights, Concurrency::kWhereItPays), kFork);
  // A side with an unknown number of blocks does not run concurrently.
  weights[4].blocks = 0;
  EXPECT_EQ(OrderOf(kFork, weights, Concurrency::kWhereItPays), chain);
}

TEST(GraphOrder, KeepsEveryDependency) {
  std::mt19937_64 draw(7);
  int sides = 0;
  for (int round = 0; round < 400; ++round) {
    const int count = 1 + static_cast<int>(draw() % 90);
    Order dependencies(count);
    std::vector<NodeWeight> weights;
    for (int node = 0; node < count; ++node) {
      for (int before = 0; before < node; ++before) {
        if (draw() % 12 == 0) dependencies[node].push_back(before);
      }
      weights.push_back(
          {.seconds = static_cast<double>(draw() % 40) * 1e-6, .blocks = static_cast<int64_t>(draw() % 90)});
    }
    for (const Concurrency concurrency : {Concurrency::kNever, Concurrency::kWhereItPays, Concurrency::kAlways}) {
      const Order order = OrderOf(dependencies, weights, concurrency);
      ASSERT_EQ(order.size(), dependencies.size());
      std::vector<std::vector<bool>> after(count, std::vector<bool>(count));
      for (int node = 0; node < count; ++node) {
        for (const int before : order[node]) {
          ASSERT_LT(before, node);
          after[node][before] = true;
          for (int i = 0; i < before; ++i) after[node][i] = after[node][i] || after[before][i];
        }
        for (const int before : dependencies[node]) ASSERT_TRUE(after[node][before]) << before << " before " << node;
        if (concurrency == Concurrency::kNever && node > 0) {
          ASSERT_EQ(order[node], std::vector<int>{node - 1});
        }
        sides += concurrency == Concurrency::kWhereItPays && order[node] != std::vector<int>{node - 1};
      }
    }
  }
  EXPECT_GT(sides, 400 + 100);  // Each round counts its first step, which has no predecessor.
}

}  // namespace
}  // namespace hlo::gpu
