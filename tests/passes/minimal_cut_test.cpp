// Compares minimal cuts of small random graphs with all cuts.
#include <bit>
#include <random>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "passes/layout/minimal_cut.h"

namespace hlo {
namespace {

struct Arc {
  int from, to;
  int64_t cost;
};

int64_t CostOf(const std::vector<Arc>& arcs, unsigned first) {
  int64_t cost = 0;
  for (const Arc& arc : arcs) {
    if ((first >> arc.from & 1) != 0 && (first >> arc.to & 1) == 0) cost += arc.cost;
  }
  return cost;
}

TEST(MinimalCut, IsTheSmallestOfTheCheapestCuts) {
  std::mt19937 random(20261123);
  const auto below = [&](int limit) { return static_cast<int>(random() % limit); };
  for (int round = 0; round < 500; ++round) {
    const int nodes = 3 + below(8);
    std::vector<Arc> arcs;
    for (int i = below(30); i >= 0; --i) {
      if (const Arc arc{below(nodes), below(nodes), below(5)}; arc.from != arc.to) arcs.push_back(arc);
    }
    CutGraph graph;
    while (graph.Add() < nodes - 1) {
    }
    for (const Arc& arc : arcs) graph.Connect(arc.from, arc.to, arc.cost);
    unsigned best = 1;  // The nodes on the side of kFirst, as bits. At first only kFirst.
    for (unsigned first = 1; first < 1u << nodes; ++first) {
      if ((first & 3) != 1) continue;
      if (std::tuple(CostOf(arcs, first), std::popcount(first)) < std::tuple(CostOf(arcs, best), std::popcount(best)))
        best = first;
    }
    const auto cut = graph.Cut(1'000'000);
    ASSERT_TRUE(cut);
    unsigned found = 0;
    for (int node = 0; node < nodes; ++node) found |= static_cast<unsigned>((*cut)[node]) << node;
    EXPECT_EQ(found, best) << "round " << round;
    EXPECT_EQ(graph.cost(), CostOf(arcs, best)) << "round " << round;
  }
}

TEST(MinimalCut, GivesUpAfterTooManySteps) {
  CutGraph graph;
  CutGraph::Node last = CutGraph::kFirst;
  for (int i = 0; i < 100; ++i) {
    const CutGraph::Node next = graph.Add();
    graph.Connect(last, next, 1);
    last = next;
  }
  graph.Connect(last, CutGraph::kSecond, 1);
  EXPECT_FALSE(graph.Cut(50));
}

}  // namespace
}  // namespace hlo
