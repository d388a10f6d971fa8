// The double of the driver's graphs. Among the nodes that may run, the node added last runs first, so that a missing
// edge changes results.
#include "tests/doubles/cuda_graphs.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

namespace hlo::doubles {
namespace {

// CUgraphNodeParams for a conditional node.
struct NodeParams {
  int type;
  int reserved0[3];
  unsigned long long condition;
  int form;
  unsigned size;
  void** bodies;
  void* context;
  long long reserved1[25];
  long long reserved2;
};
constexpr int kConditional = 13;
constexpr unsigned kResetAtLaunch = 1;
constexpr int kFirstWithSwitch = 12080;

struct GraphExec {
  Graph* graph;
  std::vector<std::shared_ptr<GraphNode>> nodes;  // The nodes at the time of the instantiation.
  bool decides = false;
  // The address of the copy is the handle of the executable graph's own node.
  std::unordered_map<const GraphNode*, std::unique_ptr<char>> copies = {};
};

Registry<Graph>& Graphs() {
  static auto* const all = new Registry<Graph>("graph");
  return *all;
}
Registry<GraphExec>& Execs() {
  static auto* const all = new Registry<GraphExec>("executable graph");
  return *all;
}
std::unordered_map<const void*, std::unique_ptr<Graph>>& Bodies() {
  static auto* const all = new std::unordered_map<const void*, std::unique_ptr<Graph>>;
  return *all;
}
std::unordered_map<uint64_t, std::shared_ptr<Condition>>& Conditions() {
  static auto* const all = new std::unordered_map<uint64_t, std::shared_ptr<Condition>>;
  return *all;
}

std::unordered_map<const void*, const GraphNode*>& Nodes() {
  static auto* const all = new std::unordered_map<const void*, const GraphNode*>;
  return *all;
}

template <class F>
void ForEachGraph(Graph& graph, const F& f) {
  f(graph);
  for (const auto& node : graph.nodes) {
    for (Graph* body : node->bodies) ForEachGraph(*body, f);
  }
}

Graph& Whole(Graph& graph) { return graph.parent != nullptr ? Whole(*graph.parent) : graph; }

// ---- Words ----

constexpr const char* kForms[] = {"if", "while", "switch"};

// The nodes as text, such as "12 kernels, 1 copy, 1 while (3 kernels)".
std::string Counted(const std::vector<std::shared_ptr<GraphNode>>& nodes) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"kernel", "kernels"},           {"copy", "copies"},  {"fill", "fills"},  {"product", "products"},
      {"convolution", "convolutions"}, {"event", "events"}, {"graph", "graphs"}};
  std::string out;
  const auto add = [&](const std::string& one) { out += (out.empty() ? "" : ", ") + one; };
  for (int kind = 0; kind <= static_cast<int>(WorkKind::kGraph); ++kind) {
    int count = 0;
    for (const auto& node : nodes) count += node->condition == nullptr && static_cast<int>(node->work.kind) == kind;
    if (count > 0) add(Words(count, " ", count == 1 ? kNames[kind].first : kNames[kind].second));
  }
  std::map<std::string, int> deciding;
  for (const auto& node : nodes) {
    if (node->condition == nullptr) continue;
    std::string bodies;
    for (const Graph* body : node->bodies) bodies += (bodies.empty() ? "" : " | ") + Counted(body->nodes);
    ++deciding[Words(kForms[static_cast<int>(node->form)], " (", bodies, ")")];
  }
  for (const auto& [what, count] : deciding) add(Words(count, " ", what));
  return out.empty() ? "nothing" : out;
}

// ---- Rules ----

void CheckNodes(const Entry& entry, const std::vector<std::shared_ptr<GraphNode>>& nodes, bool in_body) {
  for (const auto& node : nodes) {
    if (node->condition != nullptr) {
      const bool is_loop = node->form == Form::kWhile;
      for (const Graph* body : node->bodies) {
        if (body->nodes.empty() && (is_loop || DriverVersion() < kFirstWithSwitch))
          entry.Violates(0, Words("the body of a node '", kForms[static_cast<int>(node->form)], "' is empty"));
        CheckNodes(entry, body->nodes, true);
      }
      continue;
    }
    const std::string& what = node->work.what;
    if (node->work.kind == WorkKind::kCopy && what.starts_with("copy in"))
      entry.Violates(0, "a copy from the process's memory is in the graph, which would be read at each launch");
    if (node->work.kind == WorkKind::kCopy && what.starts_with("copy out"))
      entry.Violates(0, "a copy to the process's memory is in the graph");
    if (in_body && (node->work.kind == WorkKind::kEvent || node->work.kind == WorkKind::kGraph))
      entry.Violates(0, Words("'", what, "' is in a body, which may have kernels, copies, fills and bodies"));
  }
}

void AddTouches(const GraphNode& node, std::vector<Touch>& touches) {
  touches.insert(touches.end(), node.work.touches.begin(), node.work.touches.end());
  for (const Graph* body : node.bodies) {
    for (const auto& inside : body->nodes) AddTouches(*inside, touches);
  }
}

// before[i][j] is true if a path leads from node j to node i. A node comes after its predecessors in the list.
std::vector<std::vector<bool>> Before(const std::vector<std::shared_ptr<GraphNode>>& nodes) {
  std::unordered_map<const GraphNode*, size_t> number;
  std::vector<std::vector<bool>> before(nodes.size(), std::vector<bool>(nodes.size()));
  for (size_t i = 0; i < nodes.size(); ++i) {
    number[nodes[i].get()] = i;
    for (const Edge& edge : nodes[i]->after) {
      const size_t from = number.at(edge.from);
      before[i][from] = true;
      for (size_t j = 0; j < from; ++j) before[i][j] = before[i][j] || before[from][j];
    }
  }
  return before;
}

// If two nodes access the same bytes and one of them writes, a path must connect them, also within bodies.
void CheckOrder(const Entry& entry, const std::vector<std::shared_ptr<GraphNode>>& nodes) {
  struct Access {
    Touch touch;
    size_t node;
    const char* begin() const { return static_cast<const char*>(touch.begin); }
    const char* end() const { return begin() + touch.bytes; }
  };
  std::vector<Access> accesses, open;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<Touch> touches;
    AddTouches(*nodes[i], touches);
    for (const Touch& touch : touches) {
      if (touch.bytes > 0) accesses.push_back({touch, i});
    }
    for (const Graph* body : nodes[i]->bodies) CheckOrder(entry, body->nodes);
  }
  const auto before = Before(nodes);
  std::ranges::stable_sort(accesses, {}, &Access::begin);
  std::set<std::pair<size_t, size_t>> said;
  for (const Access& access : accesses) {
    std::erase_if(open, [&](const Access& one) { return one.end() <= access.begin(); });
    for (const Access& one : open) {
      const auto [first, second] = std::minmax(one.node, access.node);
      if (first == second || before[second][first] || !(one.touch.writes || access.touch.writes)) continue;
      if (!said.emplace(first, second).second) continue;
      const auto name = [&](size_t node) {
        return nodes[node]->condition != nullptr ? kForms[static_cast<int>(nodes[node]->form)]
                                                 : nodes[node]->work.what.c_str();
      };
      entry.Violates(0, Words("'", name(first), "' and '", name(second), "', nodes ", first, " and ", second,
                              ", touch the same memory, and no path leads from one to the other"));
    }
    open.push_back(access);
  }
}

// ---- Runs ----

const GraphExec* running = nullptr;
int bodies_now = 0;  // The number of bodies around the running node.

int RunNodes(const std::vector<std::shared_ptr<GraphNode>>& nodes, const std::string& depth);

int RunDeciding(const GraphNode& node, const std::string& depth) {
  Condition& condition = *node.condition;
  const char* const form = kForms[static_cast<int>(node.form)];
  for (bool again = true; again;) {
    if (!condition.is_set) {
      Violation(Words("a node '", form, "' decides by a condition that nothing has set"));
      return CUDA_ERROR_LAUNCH_FAILED;
    }
    const unsigned value = condition.value;
    Trace(Words(depth, form, " ", value));
    again = node.form == Form::kWhile && value != 0;
    size_t body = node.bodies.size();
    if (node.form == Form::kSwitch) body = value;
    else if (value != 0) body = 0;
    else if (node.form == Form::kIf) body = 1;
    if (body >= node.bodies.size()) continue;
    ++bodies_now;
    const int status = RunNodes(node.bodies[body]->nodes, depth + "> ");
    --bodies_now;
    if (status != CUDA_SUCCESS) return status;
  }
  return CUDA_SUCCESS;
}

int RunNodes(const std::vector<std::shared_ptr<GraphNode>>& nodes, const std::string& depth) {
  std::unordered_map<const GraphNode*, size_t> waits;
  std::unordered_map<const GraphNode*, std::vector<size_t>> next;
  std::vector<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    waits[nodes[i].get()] = nodes[i]->after.size();
    for (const Edge& edge : nodes[i]->after) next[edge.from].push_back(i);
    if (nodes[i]->after.empty()) ready.push_back(i);
  }
  while (!ready.empty()) {
    const auto last = std::max_element(ready.begin(), ready.end());
    const GraphNode& node = *nodes[*last];
    ready.erase(last);
    int status = CUDA_SUCCESS;
    if (node.condition != nullptr) {
      status = RunDeciding(node, depth);
    } else {
      Trace(depth + node.work.what);
      status = RunWatched(node.work, running->copies.at(&node).get(), bodies_now > 0);
    }
    if (status != CUDA_SUCCESS) return status;
    for (const size_t later : next[&node]) {
      if (--waits[nodes[later].get()] == 0) ready.push_back(later);
    }
  }
  return CUDA_SUCCESS;
}

int Run(const GraphExec& executable) {
  std::vector<Condition*> conditions;
  if (executable.decides) {
    ForEachGraph(*executable.graph, [&](const Graph& graph) {
      for (const auto& condition : graph.conditions) conditions.push_back(condition.get());
    });
  }
  for (Condition* condition : conditions) {
    condition->is_live = true;
    condition->is_set = condition->is_reset;
    condition->value = condition->initially;
  }
  running = &executable;
  const int status = RunNodes(executable.nodes, "> > ");
  for (Condition* condition : conditions) condition->is_live = false;
  return status;
}

}  // namespace

void SetCondition(uint64_t handle, uint32_t value) {
  const auto found = Conditions().find(handle);
  if (found == Conditions().end() || !found->second->is_live)
    return Violation(Words("cudaGraphSetConditional: ", handle,
                           found == Conditions().end() ? " is no condition" : " is of a graph that does not run"));
  found->second->value = value;
  found->second->is_set = true;
}

Graph* NewGraph() { return Graphs().Add({}); }

Graph* FindGraph(const Entry& entry, void* handle) {
  const auto body = Bodies().find(handle);
  if (body == Bodies().end()) return Graphs().Find(entry, handle);
  if (!body->second->is_dead) return body->second.get();
  entry.Violates(0, Words("graph ", handle, ", a body, is gone with its graph"));
  return nullptr;
}

// Adds a node. An edge that lets it begin early is a violation unless the node is a kernel whose code waits.
GraphNode* AddNode(const Entry& entry, Graph& graph, Work work, std::vector<Edge> after) {
  for (const Edge& edge : after) {
    if (edge.is_early && (work.kind != WorkKind::kKernel || !work.waits))
      entry.Violates(0, Words("'", work.what, "' may begin before '", edge.from->work.what,
                              "' has ended, and does not wait for it before it touches memory"));
  }
  graph.nodes.push_back(std::make_shared<GraphNode>());
  GraphNode& node = *graph.nodes.back();
  node.work = std::move(work);
  node.after = std::move(after);
  Nodes()[&node] = &node;
  return &node;
}

bool ReadEdges(const Entry& entry, const Graph& graph, const void* const* nodes, const EdgeData* edges, size_t count,
               std::vector<Edge>* read) {
  constexpr unsigned char kDefaultPort = 0, kProgrammaticPort = 1, kProgrammatic = 1;
  for (size_t i = 0; i < count; ++i) {
    const auto is_it = [&](const auto& node) { return node.get() == nodes[i]; };
    const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(), is_it);
    if (found == graph.nodes.end()) {
      entry.Violates(0, Words(nodes[i], " is no node of the graph"));
      return false;
    }
    if (std::count(nodes, nodes + count, nodes[i]) > 1) {
      entry.Violates(0, "a node is named twice");
      return false;
    }
    const EdgeData data = edges != nullptr ? edges[i] : EdgeData();
    const bool is_early = data.type == kProgrammatic;
    const bool is_zero = std::ranges::all_of(data.reserved, [](unsigned char byte) { return byte == 0; });
    if (data.type > kProgrammatic || data.from_port != (is_early ? kProgrammaticPort : kDefaultPort) ||
        data.to_port != kDefaultPort || !is_zero) {
      entry.Violates(0, Words("an edge of type ", int{data.type}, " from port ", int{data.from_port}, " to port ",
                              int{data.to_port}));
      return false;
    }
    if (is_early && (*found)->work.kind != WorkKind::kKernel) {
      entry.Violates(0, Words("'", (*found)->work.what, "' is no kernel, and lets nothing go early"));
      return false;
    }
    read->push_back({found->get(), is_early});
  }
  return true;
}

void LoseGraph(const Entry& entry, Graph& graph) {
  Graph& whole = Whole(graph);
  ForEachGraph(whole, [](Graph& each) { each.is_dead = true; });
  Graphs().Remove(entry, &whole);
}

}  // namespace hlo::doubles

using namespace hlo::doubles;  // NOLINT: the functions of the interface follow.

extern "C" {

int cuGraphConditionalHandleCreate(unsigned long long* handle, void* graph, void* context, unsigned initially,
                                   unsigned flags) {
  ENTER(cuGraphConditionalHandleCreate);
  Graph* const found = FindGraph(entry, graph);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!IsContext(context)) return entry.Violates(CUDA_ERROR_INVALID_CONTEXT, "of another context");
  if (flags > kResetAtLaunch) return entry.Violates(CUDA_ERROR_INVALID_VALUE, Words("flags ", flags));
  const auto made = std::make_shared<Condition>(
      Condition{.graph = found, .initially = initially, .is_reset = flags == kResetAtLaunch});
  found->conditions.push_back(made);
  *handle = reinterpret_cast<uint64_t>(made.get());
  Conditions()[*handle] = made;
  return CUDA_SUCCESS;
}

int cuGraphAddNode_v2(void** node, void* graph, const void* const* after, const void* edges, size_t count,
                      NodeParams* params) {
  ENTER(cuGraphAddNode_v2);
  Graph* const found = FindGraph(entry, graph);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (params->type != kConditional) return entry.Violates(CUDA_ERROR_NOT_SUPPORTED, Words("of type ", params->type));
  const auto is_zero = [](const auto& words) {
    return std::all_of(std::begin(words), std::end(words), [](auto word) { return word == 0; });
  };
  if (!is_zero(params->reserved0) || !is_zero(params->reserved1) || params->reserved2 != 0)
    return entry.Violates(CUDA_ERROR_INVALID_VALUE, "what is not used is not zero");
  const auto condition = Conditions().find(params->condition);
  if (condition == Conditions().end() || condition->second->has_node)
    return entry.Violates(CUDA_ERROR_INVALID_VALUE, "the condition is none, or another node's");
  bool is_for = false;
  for (const Graph* at = found; at != nullptr; at = at->parent) is_for |= at == condition->second->graph;
  if (!is_for) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "the condition is of another graph");
  if (!IsContext(params->context)) return entry.Violates(CUDA_ERROR_INVALID_CONTEXT, "of another context");
  const unsigned most = params->form == 0 ? (DriverVersion() < kFirstWithSwitch ? 1 : 2) : params->form == 1 ? 1 : ~0u;
  if (params->form < 0 || params->form > (DriverVersion() < kFirstWithSwitch ? 1 : 2) || params->size == 0 ||
      params->size > most)
    return entry.Violates(CUDA_ERROR_INVALID_VALUE, Words("form ", params->form, " of ", params->size, " bodies"));
  std::vector<Edge> before;
  if (!ReadEdges(entry, *found, after, static_cast<const EdgeData*>(edges), count, &before))
    return CUDA_ERROR_INVALID_VALUE;
  GraphNode* const made =
      AddNode(entry, *found, {.kind = WorkKind::kGraph, .what = "a node that decides"}, std::move(before));
  made->condition = condition->second.get();
  made->condition->has_node = true;
  made->form = static_cast<Form>(params->form);
  for (unsigned i = 0; i < params->size; ++i) {
    auto body = std::make_unique<Graph>(Graph{.parent = found});
    Graph* const handle = body.get();
    made->bodies.push_back(handle);
    Bodies().emplace(handle, std::move(body));
  }
  params->bodies = reinterpret_cast<void**>(made->bodies.data());
  *node = made;
  return CUDA_SUCCESS;
}

int cuGraphNodeGetDependencies_v2(void* node, const void** before, void* edges, size_t* count) {
  ENTER(cuGraphNodeGetDependencies_v2);
  const auto found = Nodes().find(node);
  if (found == Nodes().end()) return entry.Violates(CUDA_ERROR_INVALID_VALUE, Words(node, " is no node"));
  const std::vector<Edge>& all = found->second->after;
  if (edges == nullptr && std::ranges::any_of(all, &Edge::is_early))
    return entry.Violates(CUDA_ERROR_LOSSY_QUERY, "edges of a kind are not asked for");
  for (size_t i = 0; before != nullptr && i < *count; ++i) {
    before[i] = i < all.size() ? all[i].from : nullptr;
    if (edges != nullptr && i < all.size())
      static_cast<EdgeData*>(edges)[i] = all[i].is_early ? EdgeData{.from_port = 1, .type = 1} : EdgeData();
  }
  *count = before == nullptr ? all.size() : std::min(*count, all.size());
  return CUDA_SUCCESS;
}

int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  ENTER(cuGraphInstantiateWithFlags);
  Graph* const found = FindGraph(entry, graph);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags != 0) return entry.Violates(CUDA_ERROR_INVALID_VALUE, Words("the double knows no flags ", flags));
  if (found->parent != nullptr) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "of a body");
  if (found->nodes.empty()) entry.Violates(0, "of a graph without nodes");
  CheckNodes(entry, found->nodes, false);
  CheckOrder(entry, found->nodes);
  bool decides = false, is_captured = false, has_loose = false;
  ForEachGraph(*found, [&](const Graph& each) {
    is_captured |= each.is_captured;
    for (const auto& condition : each.conditions) (condition->has_node ? decides : has_loose) = true;
  });
  if (is_captured) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "of a graph that is still captured");
  if (has_loose) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "a condition has no node");
  if (decides && found->instances > 0)
    return entry.Violates(CUDA_ERROR_NOT_SUPPORTED, "a graph that decides may be there once");
  ++found->instances;
  GraphExec* const made = Execs().Add({.graph = found, .nodes = found->nodes, .decides = decides});
  *executable = made;
  ForEachGraph(*found, [&](const Graph& each) {
    for (const auto& node : each.nodes) {
      auto& copy = made->copies[node.get()] = std::make_unique<char>();
      RecordClone(node.get(), copy.get());
    }
  });
  Trace(Words("> graph of ", Counted(found->nodes)));
  size_t edges = 0, early = 0, begins = 0;
  ForEachGraph(*found, [&](const Graph& each) {
    for (const auto& node : each.nodes) {
      edges += node->after.size();
      early += std::ranges::count_if(node->after, &Edge::is_early);
      begins += node->after.empty();
    }
  });
  Trace(Words("> by ", edges, " edges, ", early, " of them early; ", begins, " nodes at the begin"));
  return CUDA_SUCCESS;
}

int cuGraphUpload(void* executable, void* stream) {
  ENTER(cuGraphUpload);
  if (Execs().Find(entry, executable) == nullptr || !IsStream(entry, stream)) return CUDA_ERROR_INVALID_HANDLE;
  return CUDA_SUCCESS;
}

int cuGraphLaunch(void* executable, void* stream) {
  ENTER(cuGraphLaunch);
  const GraphExec* const found = Execs().Find(entry, executable);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Enqueue(entry, stream, {.kind = WorkKind::kGraph, .what = "graph", .run = [found] { return Run(*found); }});
}

int cuGraphDestroy(void* graph) {
  ENTER(cuGraphDestroy);
  Graph* const found = FindGraph(entry, graph);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (found->parent != nullptr) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "of a body");
  ForEachGraph(*found, [&](Graph& each) {
    if (each.is_captured) entry.Violates(0, "of a graph that is still captured");
    each.is_dead = true;
  });
  Graphs().Remove(entry, found);
  return entry.status();
}

// Does not stop launches in progress.
int cuGraphExecDestroy(void* executable) {
  ENTER(cuGraphExecDestroy);
  GraphExec* const found = Execs().Find(entry, executable);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  --found->graph->instances;
  Execs().Remove(entry, executable);
  return entry.status();
}

}  // extern "C"
