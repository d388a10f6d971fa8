#include "driver/inspect/graph_scopes.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

// "a/b/model.py:80/model.py:12/" for the op_name "a/b/add", if line 80 calls line 12.
std::string ScopesOf(const Instruction& inst, const SourcePlaces& places) {
  const std::string_view op_name = inst.metadata().op_name.view();
  std::string scopes(op_name.substr(0, op_name.rfind('/') + 1));
  for (const std::string& call : places.CallsOf(inst)) {
    const std::string_view name = std::string_view(call).substr(call.rfind('/') + 1);
    if (!name.empty()) scopes += Str(name, "/");
  }
  return scopes;
}

std::string_view ScopeBelow(std::string_view scopes, std::string_view path) {
  if (!scopes.starts_with(path)) return "";
  const std::string_view rest = scopes.substr(path.size());
  const size_t end = rest.find('/');
  return end == std::string_view::npos ? "" : rest.substr(0, end);
}

// Groups of nodes, such that the graph of the groups has no cycles.
class Groups {
 public:
  // `operands` has indices by node, in topological order.
  explicit Groups(const std::vector<std::vector<int>>& operands)
      : operands_(operands), users_(operands.size()), group_of_(operands.size(), -1) {
    for (size_t node = 0; node < operands.size(); ++node) {
      for (const int operand : operands[node]) users_[operand].push_back(static_cast<int>(node));
    }
  }

  // Puts nodes with equal keys into one group, unless that makes a cycle. Nodes with the key "" stay alone.
  void MergeByKey(const std::vector<std::string_view>& keys) {
    std::map<std::string_view, int> open;
    for (int node = 0; node < static_cast<int>(operands_.size()); ++node) {
      if (!keys[node].empty()) {
        const auto known = open.find(keys[node]);
        if (known != open.end() && !MakesCycle(node, known->second)) {
          Join(node, known->second);
          continue;
        }
        open[keys[node]] = static_cast<int>(members_.size());
      }
      members_.emplace_back();
      Join(node, static_cast<int>(members_.size()) - 1);
    }
  }

  // Moves a node without a key into the only group that reads it. This makes no cycle: a path from the group to an
  // operand of the node would be a cycle already.
  void MergeIntoUsers(const std::vector<std::string_view>& keys) {
    for (int node = static_cast<int>(operands_.size()); node-- > 0;) {
      if (!keys[node].empty() || users_[node].empty()) continue;
      const int group = group_of_[users_[node].front()];
      const auto is_there = [&](int user) { return group_of_[user] == group; };
      if (members_[group].size() < 2 || !std::ranges::all_of(users_[node], is_there)) continue;
      std::erase(members_[group_of_[node]], node);
      Join(node, group);
    }
  }

  std::vector<std::vector<int>> InOrder() const {
    std::vector<std::set<int>> below(members_.size());
    std::vector<int> waits_for(members_.size());
    for (size_t node = 0; node < operands_.size(); ++node) {
      for (const int operand : operands_[node]) {
        if (group_of_[operand] != group_of_[node]) below[group_of_[operand]].insert(group_of_[node]);
      }
    }
    for (const std::set<int>& users : below) {
      for (const int user : users) ++waits_for[user];
    }
    const auto first_of = [&](int group) { return *std::ranges::min_element(members_[group]); };
    using Entry = std::pair<int, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    const auto add = [&](int group) {
      if (waits_for[group] == 0 && !members_[group].empty()) ready.emplace(first_of(group), group);
    };
    for (size_t group = 0; group < members_.size(); ++group) add(static_cast<int>(group));
    std::vector<std::vector<int>> order;
    while (!ready.empty()) {
      const int group = ready.top().second;
      ready.pop();
      order.push_back(members_[group]);
      std::ranges::sort(order.back());
      for (const int user : below[group]) {
        --waits_for[user];
        add(user);
      }
    }
    return order;
  }

 private:
  void Join(int node, int group) {
    group_of_[node] = group;
    members_[group].push_back(node);
  }

  // Whether a path leads from the group, through other groups, to an operand of the node.
  bool MakesCycle(int node, int group) const {
    std::set<int> ends;
    for (const int operand : operands_[node]) {
      if (group_of_[operand] != group) ends.insert(group_of_[operand]);
    }
    if (ends.empty()) return false;
    std::vector<int> left = {group};
    std::vector<bool> seen(members_.size());
    seen[group] = true;
    while (!left.empty()) {
      const int from = left.back();
      left.pop_back();
      for (const int member : members_[from]) {
        for (const int user : users_[member]) {
          const int to = group_of_[user];
          if (to < 0 || seen[to]) continue;
          if (ends.contains(to)) return true;
          seen[to] = true;
          left.push_back(to);
        }
      }
    }
    return false;
  }

  const std::vector<std::vector<int>>& operands_;
  std::vector<std::vector<int>> users_;
  std::vector<int> group_of_;
  std::vector<std::vector<int>> members_;
};

class Folder {
 public:
  Folder(const Graph& graph, size_t most_nodes) : all_(graph), most_nodes_(most_nodes), below_(graph.nodes.size()) {
    if (all_.nodes.empty()) return;
    const SourcePlaces places(all_.nodes.front().inst->module());
    for (const GraphNode& node : all_.nodes) scopes_.push_back(ScopesOf(*node.inst, places));
    for (const GraphEdge& edge : all_.edges) {
      if (all_.nodes[edge.to].frame < 0) below_[edge.from].push_back(edge.to);
    }
  }

  std::vector<GraphPicture> Take() {
    std::vector<int> members;
    for (size_t i = 0; i < all_.nodes.size(); ++i) {
      if (all_.nodes[i].frame < 0) members.push_back(static_cast<int>(i));
    }
    Add(members, "", "", -1);
    return std::move(pictures_);
  }

 private:
  // Adds a picture of `members`, which are nodes outside of frames.
  int Add(const std::vector<int>& members, std::string path, const std::string& name, int parent) {
    const int number = static_cast<int>(pictures_.size());
    pictures_.push_back({name, parent, {}});
    const std::vector<std::vector<int>> groups = GroupsOf(members, &path);
    Graph graph = Drawn(members, groups, path, number);
    pictures_[number].graph = std::move(graph);
    return number;
  }

  // Groups the nodes by their scope below `path`. First extends `path` by the part that all scopes share.
  std::vector<std::vector<int>> GroupsOf(const std::vector<int>& members, std::string* path) const {
    std::vector<std::vector<int>> alone;
    for (const int member : members) alone.push_back({member});
    if (most_nodes_ == 0 || members.size() <= most_nodes_) return alone;
    std::unordered_map<int, int> place;
    for (size_t i = 0; i < members.size(); ++i) place[members[i]] = static_cast<int>(i);
    std::vector<std::vector<int>> operands(members.size());
    for (const int member : members) {
      for (const int user : below_[member]) {
        if (const auto at = place.find(user); at != place.end()) operands[at->second].push_back(place[member]);
      }
    }
    while (true) {
      std::vector<std::string_view> keys;
      std::set<std::string_view> different;
      for (const int member : members) {
        keys.push_back(ScopeBelow(scopes_[member], *path));
        if (!keys.back().empty()) different.insert(keys.back());
      }
      if (different.empty()) return alone;
      Groups groups(operands);
      groups.MergeByKey(keys);
      groups.MergeIntoUsers(keys);
      std::vector<std::vector<int>> order = groups.InOrder();
      if (different.size() > 1 && order.size() > 1) {
        for (std::vector<int>& group : order) {
          for (int& node : group) node = members[node];
        }
        return order;
      }
      path->append(*different.begin()).append("/");
    }
  }

  std::vector<int> WithInside(int node) const {
    std::vector<int> nodes = {node};
    for (int i = node + 1; i < static_cast<int>(all_.nodes.size()) && all_.nodes[i].frame == node; ++i)
      nodes.push_back(i);
    return nodes;
  }

  Graph Drawn(const std::vector<int>& members, const std::vector<std::vector<int>>& groups, const std::string& path,
              int number) {
    Graph graph;
    std::vector<int> place(all_.nodes.size(), -1);  // Indexed by nodes of the whole graph.
    const auto copy = [&](int node) {
      place[node] = static_cast<int>(graph.nodes.size());
      graph.nodes.push_back(all_.nodes[node]);
      if (graph.nodes.back().frame >= 0) graph.nodes.back().frame = place[graph.nodes.back().frame];
    };
    const std::set<int> is_member(members.begin(), members.end());
    for (int node = 0; node < static_cast<int>(all_.nodes.size()); ++node) {
      const auto reads = [&](int user) { return is_member.contains(user); };
      if (is_member.contains(node) || std::ranges::none_of(below_[node], reads)) continue;
      copy(node);
      graph.nodes.back().is_outside = true;
      graph.nodes.back().is_frame = false;
    }
    for (const std::vector<int>& group : groups) {
      if (group.size() == 1) {
        for (const int node : WithInside(group.front())) copy(node);
        continue;
      }
      for (const int node : group) place[node] = static_cast<int>(graph.nodes.size());
      graph.nodes.push_back(NodeOf(group, path, number));
    }
    std::set<std::tuple<int, int, int>> seen;
    for (const GraphEdge& edge : all_.edges) {
      const int from = place[edge.from], to = place[edge.to];
      if (from < 0 || to < 0 || from == to || graph.nodes[to].is_outside) continue;
      const int port = edge.port < 0 || graph.nodes[to].scope >= 0 ? -1 : place[edge.port];
      if (seen.emplace(from, to, port).second) graph.edges.push_back({from, to, port});
    }
    return graph;
  }

  GraphNode NodeOf(const std::vector<int>& group, const std::string& path, int number) {
    constexpr size_t kWidest = 40, kMostOpcodes = 3;
    std::string scope, names;
    std::map<std::string, int> counts;
    for (const int node : group) {
      const Instruction& inst = *all_.nodes[node].inst;
      const std::string_view below = ScopeBelow(scopes_[node], path);
      if (scope.empty() && !below.empty()) scope = below;
      names += Str(" ", inst.name());
      if (!inst.Is(Opcode::kParameter) && !inst.Is(Opcode::kConstant)) ++counts[std::string(ToString(inst.opcode()))];
    }
    std::vector<std::pair<int, std::string>> opcodes;
    for (const auto& [opcode, count] : counts) opcodes.emplace_back(-count, opcode);
    std::ranges::sort(opcodes);
    std::string most;
    for (size_t i = 0; i < std::min(kMostOpcodes, opcodes.size()); ++i)
      most += Str(most.empty() ? "" : ", ", -opcodes[i].first, " ", opcodes[i].second);
    if (opcodes.size() > kMostOpcodes) most += ", ...";
    GraphNode node{.inst = all_.nodes[group.back()].inst,
                   .lines = {scope.size() > kWidest ? Str(scope.substr(0, kWidest - 3), "...") : scope,
                             Counted(std::ssize(group), "instruction"), most}};
    node.about = Str(path, scope, ": ", Counted(std::ssize(group), "instruction"), "\n", names);
    node.scope = Add(group, Str(path, scope, "/"), Str(path, scope), number);
    return node;
  }

  const Graph& all_;
  const size_t most_nodes_;
  std::vector<std::string> scopes_;
  std::vector<std::vector<int>> below_;  // The nodes outside of frames that read a node.
  std::vector<GraphPicture> pictures_;
};

}  // namespace

std::vector<GraphPicture> PicturesOf(const Graph& graph, size_t most_nodes) { return Folder(graph, most_nodes).Take(); }

}  // namespace hlo
