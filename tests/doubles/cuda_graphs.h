// Graphs of the driver's double, as streams capture them.
#ifndef HLO_TESTS_DOUBLES_CUDA_GRAPHS_H_
#define HLO_TESTS_DOUBLES_CUDA_GRAPHS_H_

#include <memory>
#include <vector>

#include "tests/doubles/cuda.h"

namespace hlo::doubles {

struct Graph;

// Of a node that decides. The handle is its address.
struct Condition {
  Graph* graph;  // Whose node, or whose bodies' node, it is for.
  unsigned initially = 0;
  bool is_reset = false;  // To `initially`, at each launch.
  bool has_node = false;
  bool is_live = false;  // A launch of its graph is under way.
  bool is_set = false;
  unsigned value = 0;
};

enum class Form : uint8_t { kIf, kWhile, kSwitch };

struct GraphNode;

// CUgraphEdgeData.
struct EdgeData {
  unsigned char from_port = 0, to_port = 0, type = 0, reserved[5] = {};
};
// To the node that has it. Early: that may begin when all blocks of `from` have let it go.
struct Edge {
  const GraphNode* from;
  bool is_early = false;
};

struct GraphNode {
  Work work;
  std::vector<Edge> after;
  // Of one that decides.
  Condition* condition = nullptr;
  Form form = Form::kIf;
  std::vector<Graph*> bodies;
};

// Stays in memory after its end, so that what comes too late is noticed.
struct Graph {
  std::vector<std::shared_ptr<GraphNode>> nodes;
  std::vector<std::shared_ptr<Condition>> conditions;
  Graph* parent = nullptr;  // Of a body.
  bool is_captured = false;
  bool is_dead = false;  // Of a body: with the whole that it is part of.
  int instances = 0;
};

// Alive ones that are no bodies; all that are to be ended.
Graph* NewGraph();
// Null, after a violation. A body too.
Graph* FindGraph(const Entry& entry, void* handle);
GraphNode* AddNode(const Entry& entry, Graph& graph, Work work, std::vector<Edge> after);
// From `count` nodes of the graph. False, after a violation: they are not, or the edges, which may be null, none.
bool ReadEdges(const Entry& entry, const Graph& graph, const void* const* nodes, const EdgeData* edges, size_t count,
               std::vector<Edge>* read);
// With all that it is part of: as a driver that drops the graph of a capture which came to nothing.
void LoseGraph(const Entry& entry, Graph& graph);

}  // namespace hlo::doubles

#endif  // HLO_TESTS_DOUBLES_CUDA_GRAPHS_H_
