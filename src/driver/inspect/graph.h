// Draws a computation as a dot file, an SVG, or a self-contained HTML file.
//
// Nodes are instructions. Scalar constants and their broadcasts appear in the labels of their users. A fusion is a
// frame whose parameters are ports, or a single node.
//
// With `fold_tuples`, an edge connects the producer of a tuple element directly with the reader. Elements of a
// parameter are nodes, and elements of the root are marked.
#ifndef HLO_DRIVER_INSPECT_GRAPH_H_
#define HLO_DRIVER_INSPECT_GRAPH_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

struct GraphOptions {
  bool expand_fusions = true;
  bool fold_tuples = true;
  // If a picture has more nodes than this, a page shows scopes of op_name as nodes that can be opened. 0 means
  // unlimited.
  size_t most_nodes = 60;
  const Instruction* around = nullptr;  // Only nodes at most `width` edges away from this instruction. Null for all.
  int64_t width = 2;
};

// The kind of an op, which determines its colour.
enum class OpFamily : uint8_t {
  kParameter,
  kConstant,
  kElementwise,
  kContraction,
  kReduction,
  kMovement,
  kControl,
  kOther
};
OpFamily FamilyOf(const Instruction& inst);

struct GraphNode {
  const Instruction* inst;
  std::vector<std::string> lines;
  OpFamily family = OpFamily::kOther;
  int frame = -1;
  bool is_frame = false;       // A fusion drawn with its contents.
  bool is_outside = false;     // A value that is computed outside of the picture's scope and read inside.
  int scope = -1;              // The picture (graph_scopes.h) of the scope that the node represents, or -1.
  std::string_view mark = {};  // "wrong" draws a red border.
  std::string about = {};      // The tooltip of a scope.
};

struct GraphEdge {
  int from, to;   // from < to. The nodes are in the same frame, or in no frame.
  int port = -1;  // If `to` is a frame: the inner node that reads the value.
};

struct Graph {
  std::vector<GraphNode> nodes;  // Operands first. The contents of a frame follow it, the root last.
  std::vector<GraphEdge> edges;
};

Graph GraphOf(const Computation& computation, const GraphOptions& options);

std::string FrameTitle(const GraphNode& frame);
std::string GraphDot(const Graph& graph, const std::string& title);
// Errors: A014 if the graph is too large for a layout.
Result<std::string> GraphSvg(const Graph& graph);
// A page whose boxes link to called computations. Computations that are too large for a layout show the reason.
Result<std::string> GraphHtml(const Computation& computation, const GraphOptions& options, const std::string& title);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_GRAPH_H_
