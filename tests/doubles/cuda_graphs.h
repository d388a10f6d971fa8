// Graphs of the driver's double, and how streams capture them.
#ifndef HLO_TESTS_DOUBLES_CUDA_GRAPHS_H_
#define HLO_TESTS_DOUBLES_CUDA_GRAPHS_H_

#include <memory>
#include <vector>

#include "tests/doubles/cuda.h"

namespace hlo::doubles {

struct Graph;

// The condition of a conditional node. The handle is its address.
struct Condition {
  Graph* graph;  // The graph of the node, or the graph that contains the node in a body.
  unsigned initially = 0;
  bool is_reset = false;  // Each launch sets the value to `initially`.
  bool has_node = false;
  bool is_live = false;  // A launch of its graph is in progress.
  bool is_set = false;
  unsigned value = 0;
};

enum class Form : uint8_t { kIf, kWhile, kSwitch };

struct GraphNode;

// The layout of CUgraphEdgeData.
struct EdgeData {
  unsigned char from_port = 0, to_port = 0, type = 0, reserved[5] = {};
};
// An edge from `from` to the node that stores the edge. If is_early, the node may begin when all blocks of `from`
// permit it.
struct Edge {
  const GraphNode* from;
  bool is_early = false;
};

struct GraphNode {
  Work work;
  std::vector<Edge> after;
  // Set only for a conditional node.
  Condition* condition = nullptr;
  Form form = Form::kIf;
  std::vector<Graph*> bodies;
};

// The object survives its destruction, so that late uses are detected.
struct Graph {
  std::vector<std::shared_ptr<GraphNode>> nodes;
  std::vector<std::shared_ptr<Condition>> conditions;
  Graph* parent = nullptr;  // Set for a body.
  bool is_captured = false;
  bool is_dead = false;  // The graph was destroyed. Its bodies are dead too.
  int instances = 0;
};

// A new graph that is not a body. It must be destroyed.
Graph* NewGraph();
// The graph or body with this handle. Null after a violation.
Graph* FindGraph(const Entry& entry, void* handle);
GraphNode* AddNode(const Entry& entry, Graph& graph, Work work, std::vector<Edge> after);
// Reads edges from `count` nodes of the graph. `edges` may be null. Returns false after a violation if a node or an
// edge is invalid.
bool ReadEdges(const Entry& entry, const Graph& graph, const void* const* nodes, const EdgeData* edges, size_t count,
               std::vector<Edge>* read);
// Destroys the whole graph that contains `graph`, as a driver drops the graph of a failed capture.
void LoseGraph(const Entry& entry, Graph& graph);

}  // namespace hlo::doubles

#endif  // HLO_TESTS_DOUBLES_CUDA_GRAPHS_H_
