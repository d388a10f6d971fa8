// Divides the nodes of a graph into two sides with the least cost of arcs from the first to the second.
#ifndef HLO_PASSES_LAYOUT_MINIMAL_CUT_H_
#define HLO_PASSES_LAYOUT_MINIMAL_CUT_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace hlo {

class CutGraph {
 public:
  using Node = int;
  static constexpr Node kFirst = 0, kSecond = 1;    // Always on the first and the second side.
  static constexpr int64_t kNever = INT64_MAX / 4;  // More than all other costs together.

  CutGraph() : arcs_of_(2) {}

  Node Add();
  // Adds an arc: `cost` is due if `from` is on the first and `to` on the second side.
  void Connect(Node from, Node to, int64_t cost);

  // Returns for each node whether it is on the first side of the minimal cut with the fewest nodes there. nullopt after
  // more than `steps` steps.
  std::optional<std::vector<bool>> Cut(int64_t steps);
  int64_t cost() const { return cost_; }

 private:
  struct Arc {
    Node to;
    int64_t left;  // Remaining capacity. Arc i ^ 1 is the reverse arc.
  };

  bool FindDepths();
  int64_t Push();

  std::vector<Arc> arcs_;
  std::vector<std::vector<int>> arcs_of_;
  std::vector<int> depths_;    // Distance from kFirst. -1 if unreachable.
  std::vector<size_t> tried_;  // Number of exhausted arcs, by node.
  int64_t steps_ = 0, cost_ = 0;
};

}  // namespace hlo

#endif  // HLO_PASSES_LAYOUT_MINIMAL_CUT_H_
