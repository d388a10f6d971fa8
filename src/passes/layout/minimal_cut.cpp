// The largest flow from kFirst to kSecond equals the cost of the cheapest cut (Ford and Fulkerson). Shortest paths find
// it (Dinic, 1970). In the end, reachable nodes are on the first side.
#include "passes/layout/minimal_cut.h"

#include <algorithm>

namespace hlo {

CutGraph::Node CutGraph::Add() {
  arcs_of_.emplace_back();
  return static_cast<Node>(arcs_of_.size()) - 1;
}

void CutGraph::Connect(Node from, Node to, int64_t cost) {
  if (cost <= 0 || from == to) return;
  for (const auto& [arc, start] : {std::pair(Arc{to, cost}, from), std::pair(Arc{from, 0}, to)}) {
    arcs_of_[start].push_back(static_cast<int>(arcs_.size()));
    arcs_.push_back(arc);
  }
}

bool CutGraph::FindDepths() {
  depths_.assign(arcs_of_.size(), -1);
  depths_[kFirst] = 0;
  std::vector<Node> queue = {kFirst};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const int arc : arcs_of_[queue[i]]) {
      --steps_;
      const Arc& a = arcs_[arc];
      if (a.left == 0 || depths_[a.to] >= 0) continue;
      depths_[a.to] = depths_[queue[i]] + 1;
      queue.push_back(a.to);
    }
  }
  return depths_[kSecond] >= 0;
}

// The flow along one more shortest path, or 0 without one.
int64_t CutGraph::Push() {
  std::vector<int> way;
  Node at = kFirst;
  while (at != kSecond) {
    --steps_;
    if (tried_[at] < arcs_of_[at].size()) {
      const int arc = arcs_of_[at][tried_[at]];
      const Arc& a = arcs_[arc];
      if (a.left > 0 && depths_[a.to] == depths_[at] + 1) {
        way.push_back(arc);
        at = a.to;
      } else {
        ++tried_[at];
      }
      continue;
    }
    if (way.empty()) return 0;
    at = arcs_[way.back() ^ 1].to;
    way.pop_back();
    ++tried_[at];
  }
  int64_t most = kNever;
  for (const int arc : way) most = std::min(most, arcs_[arc].left);
  for (const int arc : way) {
    arcs_[arc].left -= most;
    arcs_[arc ^ 1].left += most;
  }
  return most;
}

std::optional<std::vector<bool>> CutGraph::Cut(int64_t steps) {
  steps_ = steps;
  while (FindDepths()) {
    tried_.assign(arcs_of_.size(), 0);
    while (steps_ > 0) {
      const int64_t pushed = Push();
      if (pushed == 0) break;
      cost_ += pushed;
    }
    if (steps_ <= 0) return std::nullopt;
  }
  std::vector<bool> first(arcs_of_.size());
  for (size_t node = 0; node < first.size(); ++node) first[node] = depths_[node] >= 0;
  return first;
}

}  // namespace hlo
