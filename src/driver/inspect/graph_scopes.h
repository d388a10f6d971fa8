// Several pictures for one large graph: nodes for scopes of op_name open pictures of their contents.
#ifndef HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_
#define HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_

#include <string>
#include <vector>

#include "driver/inspect/graph.h"

namespace hlo {

struct GraphPicture {
  std::string name;  // The path of the scope; "" for the whole graph.
  int parent = -1;   // The picture with the node of the scope; -1 for the whole graph.
  Graph graph;
};

// The first picture shows the whole graph. If a picture has more than `most_nodes` nodes (0: never), scopes become
// nodes, named by the first path component in which they differ. Below the scopes of op_name are the program's calls by
// line. A scope that would create a cycle becomes several nodes. Instructions without a scope join the only scope that
// reads them. A picture also has nodes for values from outside (`is_outside`).
std::vector<GraphPicture> PicturesOf(const Graph& graph, size_t most_nodes);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_
