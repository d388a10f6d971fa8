// Lays out a graph as Sugiyama does. Boxes get layers, and edges get points in the layers that they pass. The vertices
// of a layer are ordered by the mean place of their neighbours. Positions keep this order (isotonic regression).
#include "driver/inspect/layout.h"

#include <algorithm>
#include <numeric>

namespace hlo {
namespace {

constexpr double kBoxGap = 14, kLineGap = 7, kLayerGap = 34;
constexpr int kOrderSweeps = 12, kPositionSweeps = 12;

struct Vertex {
  int box = -1;  // -1 for a point.
  int source;    // Number of the box. For a point: of the box whose edges pass through it.
  int layer;
  double width, out_x;
  double left = 0;
};

struct Link {
  int from, to;
  double in_x;
};

std::vector<int> LayersOf(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges) {
  std::vector<std::vector<int>> below(boxes.size());
  std::vector<int> inputs(boxes.size()), layers(boxes.size());
  for (const LayoutEdge& edge : edges) {
    below[edge.from].push_back(edge.to);
    ++inputs[edge.to];
  }
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (const int user : below[i]) layers[user] = std::max(layers[user], layers[i] + 1);
  }
  // Moves boxes with at most one input down to their users. This shortens the outputs of a box, and lengthens its input
  // by at most as much.
  for (size_t i = boxes.size(); i-- > 0;) {
    if (boxes[i].at_top || below[i].empty() || inputs[i] > 1) continue;
    int first_user = layers[below[i].front()];
    for (const int user : below[i]) first_user = std::min(first_user, layers[user]);
    layers[i] = first_user - 1;
  }
  return layers;
}

class Layering {
 public:
  Layering(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges) : boxes_(boxes) {
    const std::vector<int> layers = LayersOf(boxes, edges);
    rows_.resize(boxes.empty() ? 0 : 1 + *std::max_element(layers.begin(), layers.end()));
    std::vector<std::vector<const LayoutEdge*>> outputs(boxes.size());
    for (const LayoutEdge& edge : edges) outputs[edge.from].push_back(&edge);
    for (int i = 0; i < static_cast<int>(boxes.size()); ++i)
      AddVertex({i, i, layers[i], boxes[i].width, boxes[i].out_x});
    for (int i = 0; i < static_cast<int>(boxes.size()); ++i) {
      int last = layers[i];
      for (const LayoutEdge* edge : outputs[i]) last = std::max(last, layers[edge->to] - 1);
      std::vector<int> chain = {i};
      for (int layer = layers[i] + 1; layer <= last; ++layer) {
        chain.push_back(AddVertex({-1, i, layer, 0, 0}));
        links_.push_back({chain[chain.size() - 2], chain.back(), 0});
      }
      for (const LayoutEdge* edge : outputs[i])
        links_.push_back({chain[layers[edge->to] - 1 - layers[i]], edge->to, edge->in_x});
    }
    above_.resize(vertices_.size());
    below_.resize(vertices_.size());
    for (size_t l = 0; l < links_.size(); ++l) {
      below_[links_[l].from].push_back(static_cast<int>(l));
      above_[links_[l].to].push_back(static_cast<int>(l));
    }
    // At first, a point is beside the box whose edges it carries.
    for (std::vector<int>& row : rows_) {
      std::stable_sort(row.begin(), row.end(), [&](int a, int b) { return vertices_[a].source < vertices_[b].source; });
    }
  }

  void OrderRows() {
    std::vector<double> place(vertices_.size());
    const auto number = [&](const std::vector<int>& row) {
      for (size_t i = 0; i < row.size(); ++i) place[row[i]] = static_cast<double>(i) / static_cast<double>(row.size());
    };
    for (const std::vector<int>& row : rows_) number(row);
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t r = 0; r < rows_.size(); ++r) {
        std::vector<int>& row = rows_[down ? r : rows_.size() - 1 - r];
        std::vector<std::pair<double, int>> keys;
        for (const int v : row) {
          const std::vector<int>& near = down ? above_[v] : below_[v];
          double sum = 0;
          for (const int l : near) sum += place[down ? links_[l].from : links_[l].to];
          keys.emplace_back(near.empty() ? place[v] : sum / static_cast<double>(near.size()), v);
        }
        std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (size_t i = 0; i < row.size(); ++i) row[i] = keys[i].second;
        number(row);
      }
    }
  }

  void Place() {
    for (const std::vector<int>& row : rows_) {
      double x = 0;
      for (const int v : row) {
        vertices_[v].left = x;
        x += vertices_[v].width + kBoxGap;
      }
    }
    for (int sweep = 0; sweep < kPositionSweeps; ++sweep) {
      const bool both = sweep + 2 >= kPositionSweeps, down = sweep % 2 == 0;
      for (size_t r = 0; r < rows_.size(); ++r)
        PlaceRow(rows_[down ? r : rows_.size() - 1 - r], both || down, both || !down);
    }
  }

  GraphLayout Result() const {
    GraphLayout layout;
    std::vector<double> tops(rows_.size()), bottoms(rows_.size());
    double y = 0;
    for (size_t r = 0; r < rows_.size(); ++r) {
      double height = 0;
      for (const int v : rows_[r]) {
        if (vertices_[v].box >= 0) height = std::max(height, boxes_[vertices_[v].box].height);
      }
      tops[r] = y;
      bottoms[r] = y + height;
      y = bottoms[r] + kLayerGap;
    }
    double least = 0;
    for (size_t i = 0; i < vertices_.size(); ++i)
      least = i == 0 ? vertices_[i].left : std::min(least, vertices_[i].left);
    layout.corners.resize(boxes_.size());
    layout.strokes.resize(boxes_.size());
    for (const Vertex& v : vertices_) {
      const double x = v.left - least;
      layout.width = std::max(layout.width, x + v.width);
      if (v.box < 0) {
        layout.strokes[v.source].push_back({{x, tops[v.layer]}, {x, bottoms[v.layer]}});
        continue;
      }
      layout.corners[v.box] = {x, tops[v.layer]};
      const double bottom = tops[v.layer] + boxes_[v.box].height;
      if (!below_[v.box].empty() && bottom < bottoms[v.layer])
        layout.strokes[v.box].push_back({{x + v.out_x, bottom}, {x + v.out_x, bottoms[v.layer]}});
    }
    for (const Link& link : links_) {
      const Vertex &from = vertices_[link.from], &to = vertices_[link.to];
      layout.strokes[from.source].push_back({{from.left + from.out_x - least, bottoms[from.layer]},
                                             {to.left + link.in_x - least, tops[to.layer]},
                                             to.box >= 0});
    }
    layout.height = bottoms.empty() ? 0 : bottoms.back();
    return layout;
  }

  int64_t size() const { return static_cast<int64_t>(vertices_.size() + links_.size()); }

 private:
  int AddVertex(Vertex vertex) {
    rows_[vertex.layer].push_back(static_cast<int>(vertices_.size()));
    vertices_.push_back(vertex);
    return static_cast<int>(vertices_.size()) - 1;
  }

  double Gap(int left, int right) const {
    return vertices_[left].box < 0 && vertices_[right].box < 0 ? kLineGap : kBoxGap;
  }

  // Positions are as near as possible to the neighbours (least squares), in order and with gaps. Runs of vertices whose
  // positions would decrease share their mean.
  void PlaceRow(const std::vector<int>& row, bool look_up, bool look_down) {
    struct Run {
      double sum, weight;
      size_t end;
    };
    std::vector<Run> runs;
    std::vector<double> offsets(row.size());
    for (size_t i = 0; i < row.size(); ++i) {
      const Vertex& v = vertices_[row[i]];
      if (i > 0) offsets[i] = offsets[i - 1] + vertices_[row[i - 1]].width + Gap(row[i - 1], row[i]);
      double sum = 0, count = 0;
      const auto want = [&](double left) { sum += left, count += 1; };
      if (look_up) {
        for (const int l : above_[row[i]])
          want(vertices_[links_[l].from].left + vertices_[links_[l].from].out_x - links_[l].in_x);
      }
      if (look_down) {
        for (const int l : below_[row[i]]) want(vertices_[links_[l].to].left + links_[l].in_x - v.out_x);
      }
      const double weight = count == 0 ? 0.1 : v.box < 0 ? 4 : 1;
      const double left = count == 0 ? v.left : sum / count;
      runs.push_back({(left - offsets[i]) * weight, weight, i + 1});
      while (runs.size() > 1) {
        const Run last = runs.back();
        Run& before = runs[runs.size() - 2];
        if (before.sum / before.weight <= last.sum / last.weight) break;
        before = {before.sum + last.sum, before.weight + last.weight, last.end};
        runs.pop_back();
      }
    }
    size_t i = 0;
    for (const Run& run : runs) {
      for (; i < run.end; ++i) vertices_[row[i]].left = run.sum / run.weight + offsets[i];
    }
  }

  const std::vector<LayoutBox>& boxes_;
  std::vector<Vertex> vertices_;
  std::vector<Link> links_;
  std::vector<std::vector<int>> rows_, above_, below_;
};

}  // namespace

GraphLayout LayOut(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges) {
  Layering layering(boxes, edges);
  layering.OrderRows();
  layering.Place();
  return layering.Result();
}

int64_t LayoutSize(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges) {
  const std::vector<int> layers = LayersOf(boxes, edges);
  std::vector<int> last(layers);
  for (const LayoutEdge& edge : edges) last[edge.from] = std::max(last[edge.from], layers[edge.to]);
  int64_t size = static_cast<int64_t>(boxes.size() + edges.size());
  for (size_t i = 0; i < boxes.size(); ++i) size += 2 * (last[i] - layers[i]);
  return size;
}

}  // namespace hlo
