// A layered layout of an acyclic graph of boxes, with users below operands.
#ifndef HLO_DRIVER_INSPECT_LAYOUT_H_
#define HLO_DRIVER_INSPECT_LAYOUT_H_

#include <cstdint>
#include <vector>

namespace hlo {

struct LayoutBox {
  double width = 0, height = 0;
  double out_x = 0;     // Where edges leave the bottom, as a distance from the left side of the box.
  bool at_top = false;  // Whether the box stays in the first layer.
};

struct LayoutEdge {
  int from, to;     // from < to.
  double in_x = 0;  // Where the edge reaches the top of `to`, as a distance from its left side.
};

struct LayoutPoint {
  double x = 0, y = 0;
};

// A vertical line if `from.x == to.x`, otherwise an S-shaped curve between two layers.
struct LayoutStroke {
  LayoutPoint from, to;
  bool arrives = false;  // Whether the stroke ends at a box.
};

struct GraphLayout {
  std::vector<LayoutPoint> corners;
  // For each box, all edges that leave it, as a tree that branches as late as possible.
  std::vector<std::vector<LayoutStroke>> strokes;
  double width = 0, height = 0;
};

// Boxes must be in topological order.
GraphLayout LayOut(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges);
// Number of points on all edges, which determines the time of LayOut.
int64_t LayoutSize(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_LAYOUT_H_
