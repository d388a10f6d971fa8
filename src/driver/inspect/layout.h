// A layered drawing of a directed acyclic graph of boxes: users below what they use, edges without crossing a box.
#ifndef HLO_DRIVER_INSPECT_LAYOUT_H_
#define HLO_DRIVER_INSPECT_LAYOUT_H_

#include <cstdint>
#include <vector>

namespace hlo {

struct LayoutBox {
  double width = 0, height = 0;
  double out_x = 0;     // Where its edges leave at the bottom, from its left side.
  bool at_top = false;  // In the first layer; else boxes stand as near to their users as they may.
};

struct LayoutEdge {
  int from, to;     // from < to.
  double in_x = 0;  // Where it arrives at the top of `to`, from its left side.
};

struct LayoutPoint {
  double x = 0, y = 0;
};

// Straight down when `from.x == to.x`, else an S between two layers.
struct LayoutStroke {
  LayoutPoint from, to;
  bool arrives = false;  // At a box.
};

struct GraphLayout {
  std::vector<LayoutPoint> corners;                // Upper left, by box.
  std::vector<std::vector<LayoutStroke>> strokes;  // All edges that leave a box: a tree that parts as late as it can.
  double width = 0, height = 0;
};

// Boxes are in topological order. Deterministic.
GraphLayout LayOut(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges);
// How many points all edges together pass: what LayOut works on.
int64_t LayoutSize(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges);

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_LAYOUT_H_
