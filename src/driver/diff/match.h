// Matches the nodes of two graphs.
//
// The steps, each applied to the nodes that the earlier steps did not match:
//   1. Equal in both cones. Several equal nodes are
//      paired in order if both sides have the same number of them.
//   2. Equal in the operand cone, then in the user cone, if each side has one such node. This finds all nodes before
//      and after a difference.
//   3. Neighbours of pairs: operands at the same position, and users if each side has one of a kind. First neighbours
//      with the same operation, then nodes with the same op_name and source line (anchors), then neighbours of the same
//      opcode and shape, and of the same opcode.
//   4. Gaps in the longest sequence of pairs that have the same order on both sides: nodes of the same opcode and shape
//      in order; parameters of one number, and roots of one opcode. Then their neighbours as in 3.
//   5. Neighbours of another opcode whose operands are paired: the instruction was replaced.
//
// Steps 1 and 2 compare 64-bit hashes. Nodes paired by later steps may differ. Each step takes time n log n, without
// recursion. The module with the smaller hash comes first, so that swapped sides give the mirrored result.
#ifndef HLO_DRIVER_DIFF_MATCH_H_
#define HLO_DRIVER_DIFF_MATCH_H_

#include <vector>

#include "driver/diff/graph.h"

namespace hlo {

struct DiffMatch {
  std::vector<int> right_of, left_of;
};

DiffMatch MatchGraphs(const DiffGraph& left, const DiffGraph& right);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_MATCH_H_
