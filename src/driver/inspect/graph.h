// A computation as a picture: a dot file, an SVG, or one HTML file that needs nothing else.
//
// Nodes are instructions. Scalar constants, and broadcasts of them, stand in their users' labels. A fusion is a frame
// around its computation, whose parameters are its ports; or, collapsed, a node.
//
// Tuples are folded unless `fold_tuples` is off: lines go from the instruction that computes an element to the one that
// reads it. The elements of a parameter are nodes of their own; elements of the root are marked as results.
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
  // A page shows the scopes of op_name as nodes, which open, where a picture has more nodes than this; 0: never.
  size_t most_nodes = 60;
  const Instruction* around = nullptr;  // Only what is at most `width` edges away from it; null: everything.
  int64_t width = 2;
};

// What an op is for, for its colour.
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
  std::vector<std::string> lines;  // The label: the op, the name, the shape, constants.
  OpFamily family = OpFamily::kOther;
  int frame = -1;              // The fusion's node, when it stands inside one.
  bool is_frame = false;       // A fusion that is shown with its inside.
  bool is_outside = false;     // In the picture of a scope: a value from elsewhere that the scope reads.
  int scope = -1;              // The picture (graph_scopes.h) of the scope that the node shows; -1: no scope.
  std::string_view mark = {};  // "wrong": drawn with a red border.
  std::string about = {};      // The text that a page shows for a scope when it is pointed at.
};

struct GraphEdge {
  int from, to;   // from < to; both outside of frames or in the same one.
  int port = -1;  // When `to` is a frame: the node inside where the value arrives.
};

struct Graph {
  std::vector<GraphNode> nodes;  // Operands first; a frame's inside follows it, the root last.
  std::vector<GraphEdge> edges;
};

Graph GraphOf(const Computation& computation, const GraphOptions& options);

// The line at the top of a frame.
std::string FrameTitle(const GraphNode& frame);
std::string GraphDot(const Graph& graph, const std::string& title);
// Errors: [A014], more than can be laid out.
Result<std::string> GraphSvg(const Graph& graph);
// A page on which boxes of loops, calls and conditionals lead to what they call, as far as that can be laid out.
Result<std::string> GraphHtml(const Computation& computation, const GraphOptions& options, const std::string& title);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_GRAPH_H_
