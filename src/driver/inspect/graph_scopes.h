// Several pictures for one large graph: nodes for scopes of op_name open pictures of their contents.
#ifndef HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_
#define HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_

#include <string>
#include <vector>

#include "driver/inspect/graph.h"

namespace hlo {

struct GraphPicture {
  std::string name;  // Its scope; "" for the whole graph.
  int parent = -1;   // Has the scope's node; -1 for the whole graph.
  Graph graph;
};

// The whole graph comes first. Pictures with more than `most_nodes` nodes (0: never) group scopes by the first path
// component in which they differ. Program calls by line are below the scopes of op_name. A scope becomes several nodes
// if it would create a cycle. Instructions without a scope join their only reading scope. Values from outside are
// nodes, too (`is_outside`).
std::vector<GraphPicture> PicturesOf(const Graph& graph, size_t most_nodes);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_
