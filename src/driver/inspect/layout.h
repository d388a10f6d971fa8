// A layered layout of an acyclic graph of boxes, with users below operands.
#ifndef HLO_DRIVER_INSPECT_LAYOUT_H_
#define HLO_DRIVER_INSPECT_LAYOUT_H_

#include <cstdint>
#include <vector>

namespace hlo {

struct LayoutBox {
  double width = 0, height = 0;
  double out_x = 0;     // Where its edges start, from the left.
  bool at_top = false;  // In the first layer.
};

struct LayoutEdge {
  int from, to;     // from < to.
  double in_x = 0;  // End on `to`, from its left side.
};

struct LayoutPoint {
  double x = 0, y = 0;
};

// A vertical line if `from.x == to.x`, else an S between layers.
struct LayoutStroke {
  LayoutPoint from, to;
  bool arrives = false;  // Ends at a box.
};

struct GraphLayout {
  std::vector<LayoutPoint> corners;  // Upper left.
  // Edges of each box, as a tree that branches as late as possible.
  std::vector<std::vector<LayoutStroke>> strokes;
  double width = 0, height = 0;
};

// In topological order.
GraphLayout LayOut(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges);
// Points on all edges; determines the time of LayOut.
int64_t LayoutSize(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_LAYOUT_H_
