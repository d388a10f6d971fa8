// The order of what is recorded as one: every dependency is kept, by an edge or a path, whatever may run side by side.
#include "gpu/runtime/graph_order.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hlo::gpu {
namespace {

using Order = std::vector<std::vector<int>>;
constexpr int64_t kMultiprocessors = 132;

// A fork into two sides, two steps each, and a join.
const Order kFork = {{}, {0}, {1}, {0}, {3}, {2, 4}};

std::vector<NodeWeight> Weights(size_t nodes, double microseconds, int64_t blocks) {
  return std::vector<NodeWeight>(nodes, {.seconds = microseconds * 1e-6, .blocks = blocks});
}

Order OrderOf(const Order& dependencies, const std::vector<NodeWeight>& weights, Concurrency concurrency) {
  return GraphOrder(dependencies, weights, concurrency, kMultiprocessors);
}

TEST(GraphOrder, IsAChainWhereNothingMayRunSideBySide) {
  const Order chain = {{}, {0}, {1}, {2}, {3}, {4}};
  EXPECT_EQ(OrderOf(kFork, Weights(6, 1000, 1), Concurrency::kNever), chain);
}

TEST(GraphOrder, HasSidesWhereAllMay) {
  EXPECT_EQ(OrderOf(kFork, Weights(6, 1, 10000), Concurrency::kAlways), kFork);
  // What a path says already is no edge; what waits for nothing comes at the begin.
  EXPECT_EQ(OrderOf({{}, {0}, {0, 1}, {}}, Weights(4, 1, 1), Concurrency::kAlways), (Order{{}, {0}, {1}, {}}));
}

TEST(GraphOrder, HasSidesWhereBothTakeLongAndLeaveRoom) {
  const Order chain = {{}, {0}, {1}, {2}, {3}, {4}};
  // Two steps of 10 us are a side of 20 us.
  EXPECT_EQ(OrderOf(kFork, Weights(6, 10.5, 66), Concurrency::kWhereItPays), kFork);
  EXPECT_EQ(OrderOf(kFork, Weights(6, 9.5, 66), Concurrency::kWhereItPays), chain);
  EXPECT_EQ(OrderOf(kFork, Weights(6, 10.5, 67), Concurrency::kWhereItPays), chain);
  // What comes before the fork is of no side.
  std::vector<NodeWeight> weights = Weights(6, 10.5, 66);
  weights[0] = {.seconds = 1, .blocks = 10000};
  EXPECT_EQ(OrderOf(kFork, weights, Concurrency::kWhereItPays), kFork);
  // Of one it is not known.
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
        // A chain has all before all.
        if (concurrency == Concurrency::kNever && node > 0) {
          ASSERT_EQ(order[node], std::vector<int>{node - 1});
        }
        sides += concurrency == Concurrency::kWhereItPays && order[node] != std::vector<int>{node - 1};
      }
    }
  }
  EXPECT_GT(sides, 400 + 100);  // The first of each has nothing before it.
}

}  // namespace
}  // namespace hlo::gpu
