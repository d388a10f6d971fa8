// Several pictures for one large graph. The node of a scope of op_name opens a picture of the scope's contents.
#ifndef HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_
#define HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_

#include <string>
#include <vector>

#include "driver/inspect/graph.h"

namespace hlo {

struct GraphPicture {
  std::string name;  // The path of the scope. "" for the whole graph.
  int parent = -1;   // The picture with the node of the scope. -1 for the whole graph.
  Graph graph;
};

// The first picture shows the whole graph. If a picture has more than `most_nodes` nodes (0: never), scopes become
// nodes. They are named by the first path component in which they differ. Inside the scopes of op_name, calls of the
// program form scopes by source line. If a scope would create a cycle, it becomes several nodes. An instruction without
// a scope joins the scope of its users if they share one. A picture also has nodes for values from outside
// (`is_outside`).
std::vector<GraphPicture> PicturesOf(const Graph& graph, size_t most_nodes);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_GRAPH_SCOPES_H_
