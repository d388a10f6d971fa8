// Two sides for the nodes of a graph, so that what leads from the one side to the other costs least.
#ifndef HLO_PASSES_LAYOUT_MINIMAL_CUT_H_
#define HLO_PASSES_LAYOUT_MINIMAL_CUT_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace hlo {

class CutGraph {
 public:
  using Node = int;
  static constexpr Node kFirst = 0, kSecond = 1;    // On the first side, on the second, whatever that costs.
  static constexpr int64_t kNever = INT64_MAX / 4;  // More than all else together.

  CutGraph() : arcs_of_(2) {}

  Node Add();
  // It costs so much to have `from` on the first side and `to` on the second. Adds up.
  void Connect(Node from, Node to, int64_t cost);

  // Is the node on the first side? Of several cheapest cuts that with the fewest nodes there. Nothing where finding one
  // takes more than `steps` steps: what is known of the method, the square of the nodes times the arcs, is far more
  // than graphs of programs ask for.
  std::optional<std::vector<bool>> Cut(int64_t steps);
  int64_t cost() const { return cost_; }  // Of the cut.

 private:
  struct Arc {
    Node to;
    int64_t left;  // Of its capacity. Arc i ^ 1 goes the other way.
  };

  bool FindDepths();
  int64_t Push();

  std::vector<Arc> arcs_;
  std::vector<std::vector<int>> arcs_of_;
  std::vector<int> depths_;    // From kFirst; -1: not to be reached.
  std::vector<size_t> tried_;  // So many arcs of the node lead nowhere.
  int64_t steps_ = 0, cost_ = 0;
};

}  // namespace hlo

#endif  // HLO_PASSES_LAYOUT_MINIMAL_CUT_H_
