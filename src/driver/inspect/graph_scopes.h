// Several pictures for one large graph: scopes of op_name are nodes, and each opens a picture of its inside.
#ifndef HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_
#define HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_

#include <string>
#include <vector>

#include "driver/inspect/graph.h"

namespace hlo {

struct GraphPicture {
  std::string name;  // The path of the scope; "" for the whole graph.
  int parent = -1;   // The picture that has the node of the scope; -1 for the whole graph.
  Graph graph;
};

// The first picture shows the whole graph. In a picture of more than `most_nodes` nodes, scopes are nodes, by the first
// part of the path in which they differ; 0: never. Below the scopes of op_name are the calls of the program, by line. A
// scope that would make a cycle becomes several nodes. Instructions without a scope join the scope that reads them,
// where that is one alone. The values that a scope reads from elsewhere are nodes of its picture, too (`is_outside`).
std::vector<GraphPicture> PicturesOf(const Graph& graph, size_t most_nodes);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_
