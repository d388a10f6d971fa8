// Joins the five products of an attention's gradients and the kernels between them into a region "attention_gradient".
// A library computes it without storing scores and their gradients.
//
// Groups are found by arrays with the dimensions of the scores, which two products write and three others read.
// gpu/libraries checks that these really are gradients.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "ir/analysis/region.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/fusion/regions.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

using Launches = std::vector<const Instruction*>;

bool IsProduct(const Instruction& launch) { return IsFusion(launch) && LibraryOf(launch) == "gemm"; }

// An array that another launch reads or writes.
struct Edge {
  const Instruction* other;
  const Shape* shape;
};
// `to`: the readers of a launch's arrays. `from`: the makers of the arrays that it reads.
struct Edges {
  std::unordered_map<const Instruction*, std::vector<Edge>> to, from;

  explicit Edges(const std::vector<Instruction*>& launches) {
    for (const Instruction* reader : launches) {
      for (Instruction* operand : reader->operands()) {
        const Instruction* const producer = LaunchOf(*operand);
        if (producer == nullptr || !operand->shape().IsArray()) continue;
        to[producer].push_back({reader, &operand->shape()});
        from[reader].push_back({producer, &operand->shape()});
      }
    }
  }
};

bool Has(const Launches& launches, const Instruction* launch) {
  return std::ranges::find(launches, launch) != launches.end();
}

// The launches that are connected to `scores` by arrays with the dimensions of the scores, and kernels that compute one
// value for each row, if only these launches read it.
Launches GroupOf(const Instruction& scores, const Edges& edges) {
  const Shape& shape = scores.shape();
  Launches group = {&scores};
  const auto add = [&](const std::unordered_map<const Instruction*, std::vector<Edge>>& map, const Instruction* at) {
    const auto found = map.find(at);
    if (found == map.end()) return;
    for (const Edge& edge : found->second) {
      if (SameDims(*edge.shape, shape) && !Has(group, edge.other)) group.push_back(edge.other);
    }
  };
  constexpr size_t kMostLaunches = 16;
  for (size_t i = 0; i < group.size() && group.size() <= kMostLaunches; ++i) {
    add(edges.to, group[i]);
    add(edges.from, group[i]);
  }
  for (size_t i = 0; i < group.size() && group.size() <= kMostLaunches; ++i) {
    const auto found = edges.from.find(group[i]);
    if (found == edges.from.end()) continue;
    for (const Edge& edge : found->second) {
      const bool is_of_rows = edge.shape->rank() == shape.rank() - 1 && IsKernel(*edge.other) &&
                              edge.other->shape().IsArray() && !IsReadByOthers(*edge.other, group);
      if (is_of_rows && !Has(group, edge.other)) group.push_back(edge.other);
    }
  }
  return group;
}

std::string_view WhyNotGradients(const Launches& group, const Instruction& scores) {
  int inner = 0, outer = 0;
  for (const Instruction* launch : group) {
    if (IsProduct(*launch)) ++(SameDims(launch->shape(), scores.shape()) ? inner : outer);
    else if (!IsKernel(*launch) && RegionOf(*launch) != "rows")
      return "the group has launches that are neither products nor kernels";
  }
  return inner == 2 && outer == 3 ? "" : "the group does not have two products whose values three other products read";
}

bool FuseInto(Computation& computation) {
  const bool logs = LOGS_WHY();
  RegionGraph graph(computation);
  const std::vector<Instruction*>& launches = graph.launches();
  const Edges edges(launches);
  Launches taken;
  for (const Instruction* scores : launches) {
    if (!IsProduct(*scores) || !scores->shape().IsArray() || scores->shape().rank() < 3 || Has(taken, scores)) continue;
    const Launches group = GroupOf(*scores, edges);
    const std::string_view why_not = WhyNotGradients(group, *scores);
    if (logs)
      LogWhy("attention-gradient-fusion", *scores,
             why_not.empty() ? Str("=> a region of ", group.size(), " launches") : "makes no region",
             why_not.empty() ? "three products read the values of two products of the same size" : why_not);
    if (!why_not.empty()) continue;
    taken.insert(taken.end(), group.begin(), group.end());
    // Joins in program order, because a launch can join only after the launches between it and `first`.
    const Instruction* first = nullptr;
    for (const Instruction* launch : launches) {
      if (!Has(group, launch)) continue;
      if (first == nullptr) first = launch;
      else if (graph.CanJoin(*first, *launch)) graph.Join(*first, *launch);
    }
  }
  constexpr int64_t kProducts = 5;
  return graph.Build("attention_gradient", [](const std::vector<Instruction*>& group) {
    return std::ranges::count_if(group, [](const Instruction* launch) { return IsProduct(*launch); }) == kProducts;
  });
}

}  // namespace

Result<bool> FuseAttentionGradients(Module& module, const PassContext&) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) changed |= FuseInto(*computation);
  return changed;
}

}  // namespace hlo
