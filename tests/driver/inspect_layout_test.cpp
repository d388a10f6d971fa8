// Tests of graph layouts: boxes do not overlap, and no line passes through a box.
#include "driver/inspect/layout.h"

#include <gtest/gtest.h>

#include <random>

namespace hlo {
namespace {

struct Case {
  std::vector<LayoutBox> boxes;
  std::vector<LayoutEdge> edges;
};

Case MakeGraph(int seed, int boxes) {
  std::mt19937 random(seed);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  Case c;
  for (int i = 0; i < boxes; ++i) {
    const double width = 20 + below(100);
    c.boxes.push_back({width, 15.0 + below(60), width / 2, below(20) == 0});
    for (int k = 0; i > 0 && k < below(4) && !c.boxes[i].at_top; ++k) c.edges.push_back({below(i), i, width / 3});
  }
  return c;
}

// The S-shaped curve of a line. The control points have the x of the ends.
double Curve(double from, double to, double t) {
  const double u = 1 - t;
  return u * u * (u + 3 * t) * from + t * t * (t + 3 * u) * to;
}

TEST(GraphLayout, NothingOverlaps) {
  for (int seed = 0; seed < 20; ++seed) {
    const Case c = MakeGraph(seed, 10 + 15 * seed);
    const GraphLayout layout = LayOut(c.boxes, c.edges);
    const auto contains = [&](size_t box, double x, double y) {
      const LayoutPoint corner = layout.corners[box];
      constexpr double kBorder = 0.01;
      return corner.x + kBorder < x && x < corner.x + c.boxes[box].width - kBorder && corner.y + kBorder < y &&
             y < corner.y + c.boxes[box].height - kBorder;
    };
    for (size_t a = 0; a < c.boxes.size(); ++a) {
      EXPECT_GE(layout.corners[a].x, 0);
      EXPECT_LE(layout.corners[a].x + c.boxes[a].width, layout.width + 0.01);
      EXPECT_LE(layout.corners[a].y + c.boxes[a].height, layout.height + 0.01);
      for (size_t b = 0; b < a; ++b) {
        const bool apart = layout.corners[a].x + c.boxes[a].width <= layout.corners[b].x ||
                           layout.corners[b].x + c.boxes[b].width <= layout.corners[a].x ||
                           layout.corners[a].y + c.boxes[a].height <= layout.corners[b].y ||
                           layout.corners[b].y + c.boxes[b].height <= layout.corners[a].y;
        EXPECT_TRUE(apart) << "seed " << seed << ": boxes " << a << " and " << b;
      }
    }
    size_t arrivals = 0;
    for (size_t from = 0; from < c.boxes.size(); ++from) {
      for (const LayoutStroke& s : layout.strokes[from]) {
        arrivals += s.arrives;
        EXPECT_LE(s.from.y, s.to.y);
        for (double t = 0.05; t < 1; t += 0.05) {
          for (size_t box = 0; box < c.boxes.size(); ++box)
            EXPECT_FALSE(contains(box, Curve(s.from.x, s.to.x, t), s.from.y + (s.to.y - s.from.y) * t))
                << "seed " << seed << ": a line from " << from << " through " << box;
        }
      }
    }
    EXPECT_EQ(arrivals, c.edges.size());
  }
}

TEST(GraphLayout, AnEmptyGraphHasALayout) {
  const GraphLayout layout = LayOut({}, {});
  EXPECT_EQ(layout.width, 0);
  EXPECT_EQ(layout.height, 0);
}

}  // namespace
}  // namespace hlo
